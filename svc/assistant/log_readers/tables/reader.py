"""Read a table as events: recognise its form and kind, map its columns, make an event of each record.

A table is CSV, TSV, JSON records, Zeek's or W3C's log, key=value lines, CEF, LEEF or lines of a known layout. Nothing
depends on the file's name. What was recognised but is not read is reported.
"""

from __future__ import annotations

import copy
import io
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain, islice
from typing import BinaryIO

import msgspec

from svc.assistant.findings import Gap
from svc.assistant.log_readers.lines import ReadAs, ReadItem, Unread
from svc.assistant.log_readers.parts import Part, part_of
from svc.assistant.log_readers.tables import user_sources
from svc.assistant.log_readers.tables.cells import RawColumn, expanded
from svc.assistant.log_readers.tables.kinds import Kind
from svc.assistant.log_readers.tables.mapping import MAX_SAMPLE
from svc.assistant.log_readers.tables.raw_lines import RawLines
from svc.assistant.log_readers.tables.records import Form, JsonForm, TableRecord, form_of, header_form
from svc.assistant.log_readers.tables.routes import Routes, RoutesSoFar
from svc.untrusted.markup import plural

HEAD_BYTES = 65_536
MAX_NAMED = 8  # columns in a message
MAX_KINDS_NAMED = 4
LEFT_OUT = "records are not events, by the definition of their kind, and were left out"
_STATED_OF_RAW = ("time=", "host=", "program=", "message=")  # what the lines get from the other columns


class Recognised(msgspec.Struct, frozen=True):
    """What a file's first bytes show: ``kind`` is a product's export, ``is_events`` whether its records are events."""

    kind: Kind | None
    is_events: bool
    columns: tuple[str, ...] = ()


_NOTHING = Recognised(None, is_events=False)


def recognise(head: bytes) -> Recognised:
    """Return what kind of table starts with ``head``."""
    state, _ = user_sources.load()
    return _recognised(head[:HEAD_BYTES], state)


@lru_cache(maxsize=8)
def _recognised(head: bytes, _definitions: tuple[object, ...]) -> Recognised:
    return recognised_now(head)


def recognised_now(head: bytes) -> Recognised:
    """Return what kind of table starts with ``head``, with the definitions that are loaded."""
    text = _decoded(head)
    form = None if "\x00" in text else form_of(text)  # a program's strings can look like the names of columns
    if form is None:
        return _NOTHING
    table = _OpenTable(form, io.BytesIO(head))
    if not table.sample:
        return _NOTHING
    kind, columns = table.routes.kind, tuple(table.sample[0].values)
    if kind is not None and kind.unread:
        return Recognised(kind, is_events=False, columns=columns)
    is_events = table.routes.rows.is_usable or bool(RawLines(table.routes.mapping, table.sample).what)
    return Recognised(kind, is_events=is_events, columns=columns)


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


class _TableSoFar:
    """What is carried of a table from one part to the next."""

    def __init__(self) -> None:
        self.header: tuple[str, ...] = ()
        self.each = ""
        self.sample: list[TableRecord] = []
        self.routes: RoutesSoFar | None = None
        self.skipped = self.first = self.untimed = self.left_out = 0


class _OpenTable:
    """A table that is open: its form, its kinds, and its records from the first."""

    def __init__(self, form: Form, content: BinaryIO) -> None:
        self.form = form
        self.part = part_of(content)
        self.read = self.part.carry(_TableSoFar)
        if not self.part.is_first:
            self._go_on(content)
            return
        with self.part.unbroken():
            self._start(content)
            kind = self.routes.kind
            if kind is not None and kind.each and isinstance(form, JsonForm):
                form.each = f"{self.routes.prefix}.{kind.each}".removeprefix(".")
                self.part.begin_again()
                self._start(content)
        self.read = self.part.carry(_TableSoFar)
        self.read.header, self.read.each = form.header, form.each if isinstance(form, JsonForm) else ""
        self.read.sample = copy.deepcopy(self.sample)
        if self.routes.kind is None and self._raw.name:
            self.part.refuse("its rows hold log lines")

    def _start(self, content: BinaryIO) -> None:
        content.seek(0)
        records = expanded(self.form.records(content))
        self.sample = list(islice(records, MAX_SAMPLE))
        self.routes = Routes(self.form.header, self.sample)
        if self.routes.kind is None and self._add_raw_columns():
            records = self._raw.added(records)
        self.records = chain(self.sample, records)

    def _go_on(self, content: BinaryIO) -> None:
        """Read the table from where the part before ended; its first records decide again what the columns mean."""
        if isinstance(self.form, JsonForm):
            self.form.each = self.read.each
        self.sample = self.read.sample
        self.routes = Routes(self.read.header, copy.deepcopy(self.sample))
        self.routes.go_on(self.read.routes)
        self.records = chain(expanded(self.form.records(content)))

    def _add_raw_columns(self) -> bool:
        """Add the columns of log lines in a cell; whether there are such."""
        self._raw = RawColumn(self.routes.mapping.columns.get("message", ()), self.sample)
        if self._raw.name:
            self.sample = list(self._raw.added(self.sample))
            self.routes = Routes((), self.sample)
        return bool(self._raw.name)


def read(content: BinaryIO, *, is_loaded: bool = False) -> Iterator[ReadItem]:
    """Yield how the table was read, then its events; an event's number is its line, or its position in a list.

    ``is_loaded``: use the definitions that are loaded, and do not look for the user's.
    """
    part = part_of(content)
    for one in () if is_loaded or not part.is_first else user_sources.load()[1]:
        yield Gap(text=f"source definition {one.name} cannot be used: {one.reason}")
    content.seek(0)
    form = form_of(_decoded(content.read(HEAD_BYTES)))
    if form is not None:
        yield from read_form(form, content)


def records_of(content: BinaryIO) -> Iterator[TableRecord]:
    """Yield the records of a table, whatever its columns describe; nothing if it is no table with a header."""
    head = content.read(HEAD_BYTES)
    content.seek(0)
    form = form_of(_decoded(head)) or header_form(_decoded(head))
    yield from form.records(content) if form is not None else ()


def read_form(form: Form, content: BinaryIO) -> Iterator[ReadItem]:
    """Yield how a table of this form was read, then its events."""
    table = _OpenTable(form, content)
    part, routes, mapping = table.part, table.routes, table.routes.mapping
    raw = RawLines(mapping, table.sample) if routes.kind is None else None
    if raw is not None and raw.what:
        part.refuse("its rows hold log lines")
        stated = tuple(one for one in mapping.stated() if one.startswith(_STATED_OF_RAW))
        yield ReadAs(f"{form.name} with {raw.what}", stated, tuple(mapping.unused))
        yield from raw.read(table.records)
    else:
        name = routes.kind.name if routes.kind is not None else form.name
        if part.is_first:
            yield ReadAs(f"{name} (mapped columns)", mapping.stated(), tuple(mapping.unused))
        yield from _events(routes, table.records, table.read, part)
        if part.is_paused:
            table.read.routes = routes.so_far()
            return
        if len(routes.read) > 1:
            yield ReadAs(f"{_names(routes)} (mapped columns)", mapping.stated(), tuple(mapping.unused))
    yield from form.gaps()


def _names(routes: Routes) -> str:
    """Return the kinds that were read, most records first."""
    names = [name for name, _ in routes.read.most_common()]
    listed = (
        names if len(names) <= MAX_KINDS_NAMED else [*names[:MAX_KINDS_NAMED], f"{len(names) - MAX_KINDS_NAMED} more"]
    )
    return " and ".join([", ".join(listed[:-1]), listed[-1]])


def _events(routes: Routes, records: Iterable[TableRecord], read: _TableSoFar, part: Part) -> Iterator[ReadItem]:
    for found in records:
        rows, record = routes.of(found)
        if rows is None:
            continue
        event = rows.event(record)
        if event is None and rows.is_left_out:
            read.left_out += 1
            continue
        if event is None:
            read.skipped, read.first = read.skipped + 1, read.first or record.number
            continue
        if not event.time:
            read.untimed += 1
        yield event
    if part.is_paused:
        return
    if skipped := read.skipped:
        yield Gap(text=f"{plural(skipped, 'record')} without a column of an event; the first is at {read.first:,}")
        yield Unread(skipped)
    for (name, what), count in routes.unread.items():
        yield Gap(text=f"{count:,} records look like a {name}; {what}")
        yield Unread(count)
    if read.left_out:
        yield Gap(text=f"{read.left_out:,} {LEFT_OUT}")
    if read.untimed:
        yield Gap(text=f"{read.untimed:,} records have no time that could be read")
    for kind in routes.kinds_read():
        if kind.lacks:
            yield Gap(text=f"{kind.name}: {kind.lacks}")
