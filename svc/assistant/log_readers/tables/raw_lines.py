"""Read the raw log lines in a table's column with the reader of that kind of log.

A SIEM's export often has the original line in one column (``message``, ``_raw``). If the column has messages only,
they become syslog lines with the table's time, host and program. sshd's lines are logins, so that they are counted.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import BinaryIO, cast

from svc.assistant.findings import Gap
from svc.assistant.log_readers import auditd, cloudtrail, syslog, web_server, windows_json, windows_xml
from svc.assistant.log_readers.json_objects import object_of
from svc.assistant.log_readers.lines import MAX_LINE_BYTES, ReadItem, Unread
from svc.assistant.log_readers.tables.mapping import ColumnMapping
from svc.assistant.log_readers.tables.records import TableRecord
from svc.assistant.sigma.event import Event

MAX_HELD = 5_000  # records whose place is remembered; auditd's reader holds back up to 64 events of 512 records
MAX_REPEATS = 1_000
_REPLAYED = 200  # lines that a reader may look at before it starts
_SSHD = re.compile(
    r"(?:message repeated (?P<times>\d{1,6}) times: \[ ?)?(?P<word>Failed|Accepted) (?P<method>\S{1,40}) for "
    r"(?:(?:invalid|illegal) user )?(?P<user>.{0,100}?) from (?P<source>\S{1,100})"
)
_LOGIN_SHARE = 0.3

_Reader = Callable[[BinaryIO], Iterator[ReadItem]]


def _is_windows_json(head: bytes) -> bool:
    found = object_of(head.split(b"\n", 1)[0])
    return isinstance(found, dict) and windows_json.event_of(found, 1) is not None


_READERS: tuple[tuple[str, Callable[[bytes], bool], _Reader], ...] = (
    ("audit records", auditd.is_audit_log, auditd.read),
    ("CloudTrail records", cloudtrail.is_cloudtrail, cloudtrail.read),
    ("journal entries", syslog.is_journal, syslog.read),
    ("Windows events", _is_windows_json, windows_json.read),
    ("Windows events", lambda head: head.lstrip().startswith(b"<Event"), windows_xml.read_lines),
    ("web server lines", web_server.is_web_log, web_server.read),
    ("syslog lines", syslog.is_syslog, syslog.read),
)


class RawLines:
    """The raw lines of one table. ``what`` says what they are, "" if the table has none."""

    def __init__(self, mapping: ColumnMapping, sample: Sequence[TableRecord]) -> None:
        self._mapping = mapping
        self._reader: _Reader = syslog.read
        self._is_composed = False
        self.what: str = ""
        for column in mapping.columns.get("message", ()):
            cells = [_line(cell) for record in sample if (cell := record.values.get(column))]
            if cells and self._recognise(cells, sample):
                self._column = column
                return

    def _recognise(self, cells: list[str], sample: Sequence[TableRecord]) -> bool:
        head = "\n".join(cells).encode()
        for what, matches, reader in _READERS:
            if matches(head):
                self.what, self._reader = what, reader
                return True
        are_logins = sum(map(is_sshd, cells)) >= _LOGIN_SHARE * len(cells)
        if are_logins or (self._mapping.has("program", "time") and not self._mapping.has("command")):
            self.what, self._is_composed = "syslog messages", True
        return self._is_composed

    def read(self, records: Iterable[TableRecord]) -> Iterator[ReadItem]:
        """Yield the events of the lines, each with the number and, if the line has none, the time of its record."""
        stream = _Stream(records, self._text)
        for item in self._reader(cast("BinaryIO", stream)):
            if not isinstance(item, Event):
                if not isinstance(item, Gap) or "no year" not in item.text:
                    yield item
                continue
            record = stream.record(item.number)
            if record is not None:
                self._place(item, record)
            yield from with_logins(item)
        if stream.without:
            yield Gap(text=f"{stream.without:,} records have no text in the column {self._column}")
            yield Unread(stream.without)

    def _text(self, record: TableRecord) -> str:
        text = _line(record.values.get(self._column, ""))
        if not text or not self._is_composed:
            return text
        value = self._mapping.value
        host = value(record.values, "host").replace(" ", "-") or "-"
        program = value(record.values, "program").replace(" ", "-")
        program = program or ("sshd" if is_sshd(text) else "message")
        time = self._mapping.time(record.values) or "1970-01-01T00:00:00"
        return f"{time} {host} {program}: {text}"

    def _place(self, event: Event, record: TableRecord) -> None:
        event.number, event.offset = record.number, record.offset
        if not event.time or event.time.startswith("--") or self._is_composed:
            event.time = self._mapping.time(record.values)
        if event.host in ("", "-"):
            event.host = self._mapping.value(record.values, "host")


def _line(cell: str) -> str:
    return cell.replace("\r", " ").replace("\n", " ").strip()


def is_sshd(text: str) -> bool:
    """Return whether a message is sshd's about a login."""
    return _SSHD.match(text) is not None


def with_logins(event: Event) -> Iterator[Event]:
    """Yield an event; one of sshd about a login as a login, as often as it was repeated."""
    found = _SSHD.match(event.fields.get("message", "")) if event.service in ("sshd", "syslog") else None
    if found is None:
        yield event
        return
    event.category = "authentication"
    event.fields |= {
        "TargetUserName": found["user"],
        "IpAddress": found["source"],
        "Method": found["method"],
        "Outcome": "success" if found["word"] == "Accepted" else "failure",
    }
    for _ in range(min(int(found["times"] or 1), MAX_REPEATS)):
        yield event


class _Stream:
    """The lines as a file, for the readers of files; it remembers which record each line is from."""

    def __init__(self, records: Iterable[TableRecord], text_of: Callable[[TableRecord], str]) -> None:
        self._records = iter(records)
        self._text_of = text_of
        self._number = 0
        self._places: OrderedDict[int, TableRecord] = OrderedDict()
        self._replay: list[bytes] = []
        self._position = 0
        self.without = 0

    def read(self, _size: int = -1) -> bytes:
        """Nothing: readers look at the first bytes for a byte order mark, and records have none."""
        return b""

    def seek(self, _position: int) -> None:
        """Start again; readers look at the first lines only."""
        self._position = 0

    def readline(self, _limit: int = -1) -> bytes:
        """Return the next record's line."""
        if self._position < len(self._replay):
            self._position += 1
            return self._replay[self._position - 1]
        for record in self._records:
            text = self._text_of(record)
            if not text:
                self.without += 1
                continue
            self._number += 1
            self._places[self._number] = record
            if len(self._places) > MAX_HELD:
                self._places.popitem(last=False)
            line = text.encode(errors="replace")[: MAX_LINE_BYTES - 2] + b"\n"
            if self._number <= _REPLAYED:
                self._replay.append(line)
                self._position += 1
            return line
        return b""

    def record(self, number: int) -> TableRecord | None:
        """Return the record of a line."""
        return self._places.get(number)
