"""Decide of which kind each record of a table is: all of one kind, or, in JSON, records of several kinds in one file.

A record may be inside another object (``properties``, ``_source.okta``): a kind is also found by the columns below a
common prefix, which is then left out of their names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from svc.assistant.log_readers.tables.declared import Members
from svc.assistant.log_readers.tables.kinds import Kind, kind_of, plain_name
from svc.assistant.log_readers.tables.mapping import ColumnMapping
from svc.assistant.log_readers.tables.records import TableRecord
from svc.assistant.log_readers.tables.row_events import RowEvents, RowsSoFar

MAX_SHAPES = 5_000  # sets of columns whose kind is remembered
MAX_SEARCHED = 500  # sets of columns in which a prefix is looked for
MAX_DEPTH = 3  # names in a prefix
MIN_MEMBERS = 3  # columns below a prefix


class _ShownKind(NamedTuple):
    """The kind that the columns of a record show, and the prefix of its columns."""

    kind: Kind | None
    prefix: str = ""


_NOTHING = _ShownKind(None)


class RoutesSoFar(NamedTuple):
    """What was learned after the sample: sets of columns, the records that began a kind, and what was counted."""

    shapes: list[tuple[str, ...]]
    searched: int
    begun: list[TableRecord]
    rows: list[RowsSoFar]
    read: Counter[str]
    unread: Counter[tuple[str, str]]


class Routes:
    """The kinds of one table's records. ``kind`` is that of most records, None if none is known."""

    kind: Kind | None
    prefix: str
    rows: RowEvents

    def __init__(self, header: Sequence[str], sample: Sequence[TableRecord]) -> None:
        self._found: dict[tuple[str, ...], _ShownKind] = {}
        self._searched = 0
        fixed = kind_of(frozenset(map(plain_name, header))) if header else None
        self._is_fixed = fixed is not None
        shown = [_ShownKind(fixed)] if fixed is not None else [self._shown_by(record.values) for record in sample]
        self._main = _main(shown) or _ShownKind(kind_of(frozenset(plain_name(n) for one in sample for n in one.values)))
        self.kind, self.prefix = self._main
        self._found.clear()
        self._members: dict[int, Members] = {}
        self._samples: dict[int, list[dict[str, str]]] = {}
        for record in sample:
            found = self._of(record.values)
            values = self._own(found, record.values)
            self._samples.setdefault(id(found.kind), []).append(values)
        self._rows: dict[int, RowEvents] = {}
        self.mapping: ColumnMapping = ColumnMapping(self.kind, self._samples.get(id(self.kind), []))
        self.rows = self._rows[id(self.kind)] = RowEvents(self.mapping, self._samples.get(id(self.kind), []))
        self._begun: list[TableRecord] = []
        self.read: Counter[str] = Counter()
        self.unread: Counter[tuple[str, str]] = Counter()

    def of(self, record: TableRecord) -> tuple[RowEvents | None, TableRecord]:
        """Return what makes an event of a record, and the record without its prefix; None if its kind is not read."""
        found, whole = self._of(record.values), record
        kind = found.kind
        if found.prefix or (kind is not None and (kind.inside or kind.extract)):
            record = record._replace(values=self._own(found, record.values))
        if kind is not None and kind.unread:
            self.unread[kind.name, kind.unread] += 1
            return None, record
        if kind is not None:
            self.read[kind.name] += 1
        rows = self._rows.get(id(kind))
        if rows is None:
            sample = self._samples.get(id(kind), [record.values])
            rows = self._rows[id(kind)] = RowEvents(ColumnMapping(kind, sample), sample)
            self._begun.append(whole._replace(values=dict(whole.values), excerpt=""))
        return rows, record

    def so_far(self) -> RoutesSoFar:
        """Return what was learned after the sample, for ``go_on``."""
        rows = [one.so_far() for one in self._rows.values()]
        return RoutesSoFar(list(self._found), self._searched, self._begun, rows, self.read, self.unread)

    def go_on(self, earlier: RoutesSoFar | None) -> None:
        """Learn again what the parts before have learned, in the same order."""
        if earlier is None:
            return
        for names in earlier.shapes:
            self._of(dict.fromkeys(names, ""))
        for record in earlier.begun:
            self.of(record)
        for rows, so_far in zip(self._rows.values(), earlier.rows, strict=True):
            rows.go_on(so_far)
        self._searched, self.read, self.unread = earlier.searched, earlier.read, earlier.unread

    def kinds_read(self) -> list[Kind]:
        """Return the kinds of the records so far."""
        kinds = {rows.kind.name: rows.kind for rows in self._rows.values() if rows.kind is not None}
        return [kinds[name] for name in self.read if name in kinds]

    def _own(self, found: _ShownKind, values: Mapping[str, str]) -> dict[str, str]:
        """Return a record's values without the prefix, with the members that its kind takes as the record's own."""
        members = self._members.get(id(found.kind))
        if members is None:
            members = self._members[id(found.kind)] = Members(found.kind)
        return members.own(_without(values, found.prefix))

    def _of(self, values: Mapping[str, str]) -> _ShownKind:
        if self._is_fixed:
            return self._main
        key = tuple(values)
        found = self._found.get(key)
        if found is None:
            if len(self._found) >= MAX_SHAPES:
                self._found.clear()
            found = self._found[key] = self._decided(values)
        return found

    def _decided(self, values: Mapping[str, str]) -> _ShownKind:
        """Return the table's own kind if the record's columns show it or no other one."""
        prefix = self.prefix if any(name.startswith(f"{self.prefix}.") for name in values) else ""
        main = _ShownKind(self.kind, prefix)
        if self.kind is None or self.kind.fit(frozenset(map(plain_name, _without(values, prefix)))):
            return main
        shown = self._shown_by(values)
        return shown if shown.kind is not None else main

    def _shown_by(self, values: Mapping[str, str]) -> _ShownKind:
        key = tuple(values)
        found = self._found.get(key)
        if found is None:
            kind = kind_of(frozenset(map(plain_name, values)))
            self._searched += kind is None
            is_searched = kind is None and self._searched <= MAX_SEARCHED
            found = self._found[key] = self._below(values) if is_searched else _ShownKind(kind)
        return found

    def _below(self, values: Mapping[str, str]) -> _ShownKind:
        """Return the kind that the columns below a prefix show, with the others."""
        best, best_size = _NOTHING, 0
        whole = frozenset(map(plain_name, values))
        for prefix, members in _prefixes(values).items():
            if members < MIN_MEMBERS:
                continue
            columns = frozenset(map(plain_name, _without(values, prefix)))
            kind = kind_of(columns)
            if kind is None or not whole.isdisjoint(kind.unless):
                continue
            if (size := kind.fit(columns)) > best_size:
                best, best_size = _ShownKind(kind, prefix), size
        return best


def _main(shown: Sequence[_ShownKind]) -> _ShownKind | None:
    """Return what most records show, rather a kind that is read; the first of several."""
    by_key = {(id(one.kind), one.prefix): one for one in shown if one.kind is not None}
    counts = Counter((id(one.kind), one.prefix) for one in shown if one.kind is not None)
    best = max(counts, key=lambda key: (_is_read(by_key[key]), counts[key]), default=None)
    return by_key[best] if best is not None else None


def _is_read(found: _ShownKind) -> bool:
    return found.kind is not None and not found.kind.unread


def _prefixes(values: Mapping[str, str]) -> Counter[str]:
    """Return the prefixes of the names, with the number of names below each."""
    counts: Counter[str] = Counter()
    for name in values:
        parts = name.split(".")
        for length in range(1, min(len(parts) - 1, MAX_DEPTH) + 1):
            counts[".".join(parts[:length])] += 1
    return counts


def _without(values: Mapping[str, str], prefix: str) -> dict[str, str]:
    """Return the columns, those below the prefix under their own names."""
    if not prefix:
        return dict(values)
    start = f"{prefix}."
    others = {name: cell for name, cell in values.items() if not name.startswith(start)}
    return others | {name[len(start) :]: cell for name, cell in values.items() if name.startswith(start)}
