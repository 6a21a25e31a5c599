"""A front end's settings are defaults of ``SvcMagics``: what the user sets by %config or a file wins. None is a key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from traitlets import TraitError

from svc_jupyter.errors import AskError

if TYPE_CHECKING:
    from svc_jupyter.extension import Extension

NAMES = ("model", "language", "ttl", "log_session", "base_url")


def apply(extension: Extension, settings: Mapping[str, object]) -> None:
    """Take what is given; an empty text or None is the setting's own default. Raises AskError for a value that is none.

    A setting that the user has set, or changed since a front end set it, stays as it is.
    """
    given = extension.front_end_settings
    for name in NAMES:
        if name not in settings:
            continue
        default = extension.trait_defaults(name)
        is_users = name in extension.config.get("SvcMagics", {}) or getattr(extension, name) != given.get(name, default)
        if is_users:
            continue
        value = settings[name] if settings[name] not in ("", None) else default
        try:
            setattr(extension, name, value)
        except TraitError as error:
            raise AskError(f"the setting {name}: {error}") from None
        given[name] = getattr(extension, name)
