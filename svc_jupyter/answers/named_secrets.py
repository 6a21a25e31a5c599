"""The secrets that this kernel must not write: values of secret parameters and of ``--redact``. In memory only.

``svc report run`` sets them in each kernel before the first cell; other kernels have none.
"""

from __future__ import annotations

import json

_values: list[str] = []


def remember(values: str) -> None:
    """Set the secrets, a JSON list of strings; replaces earlier ones."""
    _values[:] = [str(value) for value in json.loads(values)]


def known() -> tuple[str, ...]:
    """Return the secrets."""
    return tuple(_values)
