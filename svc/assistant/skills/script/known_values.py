"""Put known values of PowerShell's variables in their places, so that a rule sees a path instead of a name. Pure.

Only literals, lists of literals and loops over them count, and only for a variable that is written once, in a script
that writes none in another way: anything else stays a name, for which a rule assumes the worst.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

MAX_VARIABLES = 200
MAX_CHARS = 100_000  # of a script; longer ones keep their names
MAX_VALUE_CHARS = 1_000

_ITEM = r"(?:'[^'\n]{0,300}'|\"[^\"\n$`]{0,300}\")"
_ITEMS = rf"{_ITEM}(?:[ \t]{{0,10}},[ \t]{{0,10}}{_ITEM}){{0,20}}"
_ASSIGNED = re.compile(
    rf"^[ \t]{{0,40}}\$(?P<name>\w{{1,60}})[ \t]{{0,20}}=[ \t]{{0,20}}(?P<value>(?:@\()?{_ITEMS}\)?)"
    r"[ \t]{0,20};?[ \t\r]{0,20}$",
    re.MULTILINE,
)
_LOOP = re.compile(
    rf"\bforeach[ \t]{{0,10}}\([ \t]{{0,10}}\$(?P<name>\w{{1,60}})[ \t]{{1,10}}in[ \t]{{1,10}}"
    rf"(?:\$(?P<list>\w{{1,60}})|(?P<value>{_ITEMS}))[ \t]{{0,10}}\)",
    re.IGNORECASE,
)
_WRITTEN = re.compile(r"\$(\w{1,60})[ \t]{0,20}[+]?=(?!=)|\$(\w{1,60})[ \t]{1,10}in\b", re.IGNORECASE)
_WRITTEN_OTHERWISE = re.compile(
    r"\b(?:set-variable|sv|new-variable|nv|set-item|si|invoke-expression|iex)\b|variable:|-(?:out|pipeline|error"
    r"|information|warning)variable|-[opeiw]v\b|\[ref\]|\$\{[^}\n]{1,60}\}[ \t]{0,20}[-+*/%]?="
    r"|\$(?:global|script|local|private|using):"
    r"|\$\w{1,60}[ \t]{0,20}(?:,|[-*/%]=|\+\+|--)[ \t]{0,20}",
    re.IGNORECASE,
)
"""Ways of writing a variable that are not followed: in a script with any of them, all variables stay names."""
_USED = re.compile(r"\$(?:\{(\w{1,60})\}|(\w{1,60})(?![\w:.\[(]))")


def with_values(script: str) -> str:
    """Return the script with known values instead of their variables; the assignments stay as they are."""
    if len(script) > MAX_CHARS or _WRITTEN_OTHERWISE.search(script) is not None:
        return script
    values = dict(_values(script))
    return _USED.sub(lambda match: _value(match, values, script), script) if values else script


def _values(script: str) -> Iterator[tuple[str, str]]:
    written = Counter((match[1] or match[2]).lower() for match in _WRITTEN.finditer(script))
    known: dict[str, str] = {}
    for match in list(_ASSIGNED.finditer(script))[:MAX_VARIABLES]:
        if written[match["name"].lower()] == 1:
            known[match["name"].lower()] = match["value"].removeprefix("@(").rstrip(")")
    yield from known.items()
    for match in list(_LOOP.finditer(script))[:MAX_VARIABLES]:
        value = match["value"] or known.get((match["list"] or "").lower(), "")
        if value and written[match["name"].lower()] == 1:
            yield match["name"].lower(), value[:MAX_VALUE_CHARS]


def _value(match: re.Match[str], values: dict[str, str], script: str) -> str:
    rest = script[match.end() : match.end() + 12].lstrip()
    is_written = (rest.startswith("=") and not rest.startswith("==")) or rest[:3].lower() == "in "
    return match[0] if is_written else values.get((match[1] or match[2]).lower(), match[0])
