"""What is quoted of a long JSON record: what was done, by whom, to what and from where, before anything else.

Audit records often begin with a page about the actor. Names and values are the record's own, nested names with dots;
only their order is changed, so that the cut comes after what an analyst reads first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from json.encoder import encode_basestring
from typing import NamedTuple

from svc.assistant.log_readers.tables.mapping import ColumnMapping
from svc.assistant.sigma.event import MAX_EXCERPT_CHARS

QUOTED_CHARS = 200
"""What an answer quotes of a record: a shorter one is seen whole, in its own order (``skills/events/answer.py``)."""
MAX_VALUE_CHARS = 120  # so that one value does not displace the others
MAX_NAMES = 60  # of a record's members that are considered
_BEFORE = ("alert", "action", "command", "image", "query", "url", "file", "registry", "user")
_AFTER = ("source_address", "destination_address", "outcome", "reason", "host")
_TARGET = re.compile(
    r"(?:^|\.)(?:target\w{0,20}|resources?|entity|objectref|affected\w{0,20}|requestparam\w{0,6}|assets?|participants?)"
    r"(?:\.\w{1,30}){0,2}\.(?:\w{0,20}name|alternateid|\w{0,12}email|login|title|details|path)$"
    r"|^(?:target_?(?:user|name)|repo|repository\.full_name|source_label|object|objectid)$",
    re.IGNORECASE,
)
"""Where audit logs name what an action was done to."""
_DULL = re.compile(
    r"(?:^|[._])(?:\w{0,20}id|\w{0,3}uuid|guid|version|hash|offset|time\w{0,10}|date|created\w{0,4}|published)$"
    r"|(?:^|\.)(?:actor|client|created_?by|author\w{0,12}|initiat\w{1,6}_?by|\w{0,8}identity|auth|session|geo\w{0,20}"
    r"|(?:security_?)?context|request_?metadata|\w{0,8}user_?agent|ua|identity|claims)(?:\.|$)",
    re.IGNORECASE,
)
"""What identifies the record, or only describes the actor further."""
MAX_ORDERS = 500  # of names of records that are remembered


class _Order(NamedTuple):
    """The columns of the records with the same names: of each group, the first that has a value is shown."""

    before: list[list[str]]
    targets: list[str]
    after: list[list[str]]
    others: list[str]


class Excerpts:
    """Arranges the records of one table."""

    def __init__(self, mapping: ColumnMapping) -> None:
        self._mapping = mapping
        self._known = -1
        self._orders: dict[tuple[str, ...], _Order] = {}

    def arranged(self, excerpt: str, values: Mapping[str, str]) -> str:
        """Return the excerpt of a record: as it is if it is short, no JSON object, or begins with what matters."""
        if len(excerpt) <= QUOTED_CHARS or not excerpt.startswith("{"):
            return excerpt
        order = self._order_of(tuple(values))
        before = [found for group in order.before if (found := _first(group, values))]
        matters = [*before, *(found for group in order.after[:1] if (found := _first(group, values)))]
        head = excerpt[:QUOTED_CHARS]
        if all(values[name] in head for name in matters):  # it is seen as it is
            return excerpt
        leading = dict.fromkeys(_leading(order, before, values))
        parts: list[str] = []
        size = 0
        for name in (*leading, *order.others):
            value = values[name]
            if not value or (name in leading and len(parts) >= len(leading)):
                continue
            part = f'"{name}": {encode_basestring(value[:MAX_VALUE_CHARS])}'
            parts.append(part)
            size += len(part) + 2
            if size >= MAX_EXCERPT_CHARS:
                break
        return ("{" + ", ".join(parts) + "}")[:MAX_EXCERPT_CHARS]

    def _order_of(self, names: tuple[str, ...]) -> _Order:
        """The order of the columns of a record, found again after the mapping has placed new ones."""
        if self._known != len(self._mapping.learned):
            self._known = len(self._mapping.learned)
            self._orders.clear()
        order = self._orders.get(names)
        if order is None:
            if len(self._orders) >= MAX_ORDERS:
                self._orders.clear()
            order = self._orders[names] = self._found(names)
        return order

    def _found(self, names: tuple[str, ...]) -> _Order:
        present = frozenset(names)
        before, after = (
            [kept for group in self._columns(roles) if (kept := [name for name in group if name in present])]
            for roles in (_BEFORE, _AFTER)
        )
        known = [name for name in self._mapping.columns.get("target", []) if name in present]
        first = names[:MAX_NAMES]
        targets = [*known, *(name for name in first if _TARGET.search(name[:MAX_VALUE_CHARS]))]
        others = [name for name in first if not _DULL.search(name[:MAX_VALUE_CHARS])]
        return _Order(before, targets, after, others)

    def _columns(self, roles: tuple[str, ...]) -> list[list[str]]:
        """Return the columns of which the first with a value is shown, for each role; joined ones are all shown."""
        mapping = self._mapping
        joined = ([name] for role in roles for name in mapping.joined.get(role, ()))
        return [*joined, *(mapping.columns[role] for role in roles if role in mapping.columns)]


def _leading(order: _Order, before: list[str], values: Mapping[str, str]) -> Iterator[str]:
    """Yield the columns of what was done, by whom, to what, from where."""
    yield from before
    shown = {values[name] for name in before}
    target = next((name for name in order.targets if values[name] and values[name] not in shown), "")
    if target:
        yield target
    yield from (found for group in order.after if (found := _first(group, values)))


def _first(names: list[str], values: Mapping[str, str]) -> str:
    for name in names:
        if values[name]:
            return name
    return ""
