"""Read a table as events: recognise its form and kind, map its columns, make an event of each record.

A table is CSV, TSV, JSON records, Zeek's or W3C's log, key=value lines, CEF, LEEF or lines of a known layout. Nothing
depends on the file's name. What was recognised but is not read is reported.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain, islice
from typing import BinaryIO

import msgspec

from svc.assistant.findings import Gap
from svc.assistant.log_readers.flatten import flatten
from svc.assistant.log_readers.json_objects import object_of
from svc.assistant.log_readers.lines import ReadAs, ReadItem, Unread
from svc.assistant.log_readers.tables.kinds import Kind, kind_of, plain_name
from svc.assistant.log_readers.tables.mapping import MAX_SAMPLE, ColumnMapping
from svc.assistant.log_readers.tables.raw_lines import RawLines
from svc.assistant.log_readers.tables.records import Form, TableRecord, form_of
from svc.assistant.log_readers.tables.row_events import RowEvents

HEAD_BYTES = 65_536
MAX_JSON_CELL = 65_536
MAX_NAMED = 8  # columns in a message
_STATED_OF_RAW = ("time=", "host=", "program=", "message=")  # what the lines get from the other columns
_JSON_COLUMNS = frozenset(
    ["auditdata", "raw", "message", "payload", "body", "log", "eventoriginal", "rawevent", "data"]
)


class Recognised(msgspec.Struct, frozen=True):
    """What a file's first bytes show: ``kind`` is a product's export, ``is_events`` whether its records are events."""

    kind: Kind | None
    is_events: bool
    columns: tuple[str, ...] = ()


_NOTHING = Recognised(None, is_events=False)


@lru_cache(maxsize=8)
def recognise(head: bytes) -> Recognised:
    """Return what kind of table starts with ``head``."""
    head = head[:HEAD_BYTES]
    text = _decoded(head)
    form = None if "\x00" in text else form_of(text)  # a program's strings can look like the names of columns
    if form is None:
        return _NOTHING
    sample = list(islice(_records(form, io.BytesIO(head)), MAX_SAMPLE))
    if not sample:
        return _NOTHING
    kind = _kind(sample)
    if kind is not None and kind.unread:
        return Recognised(kind, is_events=False, columns=tuple(sample[0].values))
    mapping = ColumnMapping(kind, [record.values for record in sample])
    rows = RowEvents(mapping, [record.values for record in sample])
    is_events = rows.is_usable or bool(RawLines(mapping, sample).what)
    return Recognised(kind, is_events=is_events, columns=tuple(sample[0].values))


def is_known_export(head: bytes) -> bool:
    """Return whether a file's first bytes are a known product's export."""
    found = recognise(head)
    return found.kind is not None and found.is_events


def is_event_table(head: bytes) -> bool:
    """Return whether a file's first bytes are a table whose columns describe events."""
    return recognise(head).is_events


def is_unread_kind(head: bytes) -> bool:
    """Return whether a file's first bytes are an export that is known, but not read as events."""
    found = recognise(head)
    return found.kind is not None and not found.is_events


def why_unread(head: bytes) -> str | None:
    """Return why a table is not read as events, and what can be done; None if it is not a table."""
    found = recognise(head)
    if found.is_events or not found.columns:
        return None
    if found.kind is not None:
        return f"it looks like a {found.kind.name}; {found.kind.unread}"
    return f"it is a table, but its columns describe no events ({', '.join(found.columns[:MAX_NAMED])})"


def name_of(head: bytes) -> str:
    """Return what a table is that is not read as events; "" if it is no table."""
    found = recognise(head)
    return "" if not found.columns else found.kind.name if found.kind is not None else "table without event columns"


def _decoded(head: bytes) -> str:
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return head.decode("utf-16", errors="replace")
    return head.decode("utf-8", errors="replace")


def _kind(sample: list[TableRecord]) -> Kind | None:
    """Return the kind of the first record whose columns show it; JSON records may differ."""
    seen: set[frozenset[str]] = set()
    for record in sample:
        columns = frozenset(map(plain_name, record.values))
        if columns in seen:
            continue
        seen.add(columns)
        if (kind := kind_of(columns)) is not None:
            return kind
    return kind_of(frozenset(plain_name(name) for record in sample for name in record.values))


def _records(form: Form, content: BinaryIO) -> Iterator[TableRecord]:
    """Yield the records; a cell that holds a JSON object adds its members."""
    for record in form.records(content):
        for name, cell in list(record.values.items()):
            if not cell.startswith("{") or len(cell) > MAX_JSON_CELL or plain_name(name) not in _JSON_COLUMNS:
                continue
            found = object_of(cell)
            if isinstance(found, dict):
                inner: dict[str, str] = {}
                flatten(inner, "", found)
                for member, value in inner.items():
                    record.values.setdefault(member, value)
        yield record


def read(content: BinaryIO) -> Iterator[ReadItem]:
    """Yield how the table was read, then its events; an event's number is its line, or its position in a list."""
    head = content.read(HEAD_BYTES)
    content.seek(0)
    form = form_of(_decoded(head))
    if form is None:
        return
    records = _records(form, content)
    sample = list(islice(records, MAX_SAMPLE))
    kind = _kind(sample)
    mapping = ColumnMapping(kind, [record.values for record in sample])
    raw = RawLines(mapping, sample) if kind is None else None
    everything = chain(sample, records)
    if raw is not None and raw.what:
        stated = tuple(one for one in mapping.stated() if one.startswith(_STATED_OF_RAW))
        yield ReadAs(f"{form.name} with {raw.what}", stated, tuple(mapping.unused))
        yield from raw.read(everything)
    else:
        name = kind.name if kind is not None else form.name
        yield ReadAs(f"{name} (mapped columns)", mapping.stated(), tuple(mapping.unused))
        yield from _events(RowEvents(mapping, [record.values for record in sample]), everything)
    yield from form.gaps()


def _events(rows: RowEvents, records: Iterator[TableRecord]) -> Iterator[ReadItem]:
    skipped, first, untimed = 0, 0, 0
    for record in records:
        event = rows.event(record)
        if event is None:
            skipped, first = skipped + 1, first or record.number
            continue
        untimed += not event.time
        yield event
    if skipped:
        yield Gap(text=f"{skipped:,} records have no columns of an event; the first is at {first:,}")
        yield Unread(skipped)
    if untimed:
        yield Gap(text=f"{untimed:,} records have no time that could be read")
