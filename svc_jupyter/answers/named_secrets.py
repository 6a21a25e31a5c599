"""The secrets that this kernel must not write: values of secret parameters and of ``--redact``. In memory only.

``svc report run`` sets them in each kernel before the first cell; other kernels have none.
"""

from __future__ import annotations

from collections.abc import Iterable

_values: list[str] = []


def remember(values: Iterable[str]) -> None:
    """Set the secrets; replaces earlier ones."""
    _values[:] = values


def known() -> tuple[str, ...]:
    """Return the secrets."""
    return tuple(_values)
