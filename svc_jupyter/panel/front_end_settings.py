"""Apply a front end's settings as defaults of ``SvcMagics``. The user's own settings take precedence; none is a key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from traitlets import TraitError

from svc_jupyter.errors import AskError

if TYPE_CHECKING:
    from svc_jupyter.extension import Extension

NAMES = ("model", "language", "ttl", "log_session", "base_url")


def apply(extension: Extension, settings: Mapping[str, object]) -> None:
    """Apply the settings. An empty string or None restores the built-in default.

    A setting that the user set, or changed since a front end set it, stays as it is. Raises AskError for an invalid
    value.
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
