"""What is quoted of a long JSON record: what was done, by whom, to what and from where, before anything else.

Audit records often begin with a page about the actor. Names and values are the record's own, nested names with dots;
only their order is changed, so that the cut comes after what an analyst reads first.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import islice

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
_TEXT = json.JSONEncoder(ensure_ascii=False)


class Excerpts:
    """Arranges the records of one table."""

    def __init__(self, mapping: ColumnMapping) -> None:
        self._mapping = mapping
        self._known = -1
        self._before: list[list[str]] = []
        self._after: list[list[str]] = []
        self._targets: list[str] = []

    def arranged(self, excerpt: str, values: Mapping[str, str]) -> str:
        """Return the excerpt of a record: as it is if it is short or no JSON object."""
        if len(excerpt) <= QUOTED_CHARS or not excerpt.startswith("{"):
            return excerpt
        self._learn()
        leading = dict.fromkeys(self._leading(values))
        parts: list[str] = []
        size = 0
        for name in (*leading, *_others(values, leading)):
            part = f'"{name}": {_TEXT.encode(values[name][:MAX_VALUE_CHARS])}'
            parts.append(part)
            size += len(part) + 2
            if size >= MAX_EXCERPT_CHARS:
                break
        return ("{" + ", ".join(parts) + "}")[:MAX_EXCERPT_CHARS] if leading else excerpt

    def _learn(self) -> None:
        """Find the columns again after the mapping has placed new ones."""
        mapping = self._mapping
        if self._known != len(mapping.learned):
            self._known = len(mapping.learned)
            self._before, self._after = self._columns(_BEFORE), self._columns(_AFTER)
            self._targets = mapping.columns.get("target", [])

    def _columns(self, roles: tuple[str, ...]) -> list[list[str]]:
        """Return the columns of which the first with a value is shown, for each role; joined ones are all shown."""
        mapping = self._mapping
        joined = ([name] for role in roles for name in mapping.joined.get(role, ()))
        return [*joined, *(mapping.columns[role] for role in roles if role in mapping.columns)]

    def _leading(self, values: Mapping[str, str]) -> Iterator[str]:
        """Yield the columns of what was done, by whom, to what, from where."""
        before = [found for names in self._before if (found := _first(names, values))]
        yield from before
        shown = {values[name] for name in before}
        targets = (*self._targets, *filter(_is_target, islice(values, MAX_NAMES)))
        yield from islice((name for name in targets if values.get(name) and values[name] not in shown), 1)
        yield from (found for names in self._after if (found := _first(names, values)))


def _first(names: Iterable[str], values: Mapping[str, str]) -> str:
    return next((name for name in names if values.get(name)), "")


def _others(values: Mapping[str, str], leading: Mapping[str, None]) -> Iterator[str]:
    """Yield the other columns, except those that only describe the actor or the record."""
    for name in islice(values, MAX_NAMES):
        if values[name] and name not in leading and not _is_dull(name):
            yield name


@lru_cache(maxsize=5_000)
def _is_target(name: str) -> bool:
    return _TARGET.search(name[:MAX_VALUE_CHARS]) is not None


@lru_cache(maxsize=5_000)
def _is_dull(name: str) -> bool:
    return _DULL.search(name[:MAX_VALUE_CHARS]) is not None
