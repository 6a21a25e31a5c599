"""How strings are marked in a script whose expressions are evaluated: between OPEN and CLOSE, without quotes."""

from __future__ import annotations

OPEN, CLOSE = "\ue000", "\ue001"
LITERAL = f"{OPEN}([^{OPEN}{CLOSE}]*){CLOSE}"


def literal(value: str) -> str:
    """Return ``value`` as a marked string."""
    return OPEN + value.replace(OPEN, "").replace(CLOSE, "") + CLOSE
