"""Settings of the service and the model, and every environment variable that the code reads.

``environment.toml`` describes the variables that are not settings. A variable that it lacks ends the build.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from pathlib import Path

from sphinx.errors import ExtensionError

from reference_pages.markdown import code, escaped, table
from svc._settings import SettingRow
from svc.assistant.model import configuration
from svc.service import settings

_DESCRIPTIONS = Path(__file__).with_name("environment.toml")
_ROOT = Path(__file__).parents[3]
_NAMED = re.compile(r"""["'](SVC_[A-Z_]*[A-Z])["']""")
_HEAD = """# Settings and environment variables

Values are plain numbers (`2592000` or `2,592,000`), `yes` or `no`, or text. Lists are comma-separated."""
_SERVICE = """## The service

Each setting is an option of `svc serve` and an environment variable; the option takes precedence.
`svc serve --show-settings` prints the values in use. [Limits](../../wire.md#limits) says what clients see of them."""
_MODEL = """## A language model

Limits per turn, if [a model answers](../../how_to/language_model.md)."""


def page() -> str:
    """Return the page."""
    parts = [_HEAD]
    for section in _sections():
        parts += [f"## {section['title']}", _variables(section["variables"])]
    parts += [_SERVICE, _rows(settings.describe(settings.Settings()), is_option=True)]
    parts += [_MODEL, _rows(configuration.describe(configuration.ModelLimits()), is_option=False)]
    return "\n\n".join(parts) + "\n"


def _sections() -> Sequence[dict]:
    sections = tomllib.loads(_DESCRIPTIONS.read_text("utf-8"))["section"]
    described = {name for section in sections for name in section["variables"]}
    read = _variables_in_code()
    of_service = {row.variable for row in settings.describe(settings.Settings())}  # described with the service
    if (missing := read - described - of_service) or described - read:
        raise ExtensionError(
            f"{_DESCRIPTIONS.name} must describe the variables that the code reads. Add: {sorted(missing)}. "
            f"Remove: {sorted(described - read)}."
        )
    return sections


def _variables_in_code() -> set[str]:
    files = (path for package in ("svc", "svc_jupyter") for path in (_ROOT / package).rglob("*.py"))
    return {name for path in files for name in _NAMED.findall(path.read_text("utf-8"))}


def _variables(meanings: dict[str, str]) -> str:
    return table(("variable", "meaning"), [(code(name), meaning) for name, meaning in meanings.items()])


def _rows(rows: Sequence[SettingRow], *, is_option: bool) -> str:
    cells = [
        (
            f"{code(row.option)}<br>{code(row.variable)}" if is_option else code(row.variable),
            escaped(row.default or "none"),
            escaped(row.description),
        )
        for row in rows
    ]
    return table(("setting", "default", "meaning"), cells)
