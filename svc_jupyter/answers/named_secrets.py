"""What this kernel was told never to write: values of secret parameters and of ``--redact``. In memory alone.

``svc report run`` tells each kernel before its first cell; a kernel that nobody told has none.
"""

from __future__ import annotations

import json

_values: list[str] = []


def remember(values: str) -> None:
    """Take a JSON list of texts, in place of those of before."""
    _values[:] = [str(value) for value in json.loads(values)]


def known() -> tuple[str, ...]:
    """The values."""
    return tuple(_values)
