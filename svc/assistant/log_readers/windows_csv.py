"""Read event logs exported as CSV: each row becomes an event with the names of the header.

Supported are Windows events as exported by Event Viewer, PowerShell, EvtxECmd and search systems. The columns become
the names that ``windows_json.py`` knows, and the lines of a message become the event's own fields. Parser: the
standard library's csv.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from svc.assistant.findings import Gap
from svc.assistant.log_readers.lines import Lines, ReadItem, Unread
from svc.assistant.log_readers.tables.times import clock
from svc.assistant.log_readers.windows_json import event_of
from svc.assistant.log_readers.windows_messages import line_fields, message_fields
from svc.assistant.sigma.event import Event

MAX_COLUMNS = 300
MAX_ROW_CHARS = 262_144  # of one cell; csv's own limit is 131,072
_NAMES = {
    "eventid": "EventID", "id": "EventID", "eventcode": "EventID", "event.code": "EventID",
    "winlog.event_id": "EventID", "channel": "Channel", "logname": "Channel", "log": "Channel",
    "winlog.channel": "Channel", "sourcename": "SourceName", "source": "SourceName", "provider": "SourceName",
    "providername": "SourceName", "winlog.provider_name": "SourceName", "computer": "Computer",
    "computername": "Computer", "machinename": "Computer", "host": "Computer", "hostname": "Computer",
    "winlog.computer_name": "Computer", "dateandtime": "EventTime", "timecreated": "EventTime",
    "_time": "EventTime", "timegenerated": "EventTime", "@timestamp": "@timestamp", "systemtime": "SystemTime",
    "message": "Message", "recordid": "EventRecordID", "recordnumber": "EventRecordID",
    "eventrecordid": "EventRecordID",
    # as the Event Viewer writes them in German, French, Spanish, Italian, Portuguese and Japanese
    "ereignis-id": "EventID", "iddel'événement": "EventID", "iddel'évènement": "EventID", "id.delevento": "EventID",
    "iddeevento": "EventID", "idevento": "EventID", "identificaçãodoevento": "EventID", "イベントid": "EventID",
    "datumunduhrzeit": "EventTime", "dateetheure": "EventTime", "fechayhora": "EventTime", "dataeora": "EventTime",
    "dataehora": "EventTime", "日付と時刻": "EventTime",
    "quelle": "SourceName", "origen": "SourceName", "origine": "SourceName", "origem": "SourceName",
    "ソース": "SourceName", "protokoll": "Channel", "journal": "Channel", "registro": "Channel",
    "ログの名前": "Channel",
    "beschreibung": "Message", "description": "Message", "descripción": "Message", "descrizione": "Message",
    "descrição": "Message", "説明": "Message", "nachricht": "Message", "ordinateur": "Computer", "equipo": "Computer",
    "コンピューター": "Computer",
}  # fmt: skip
_TIMES = frozenset({"EventTime", "@timestamp", "SystemTime"})
_NAMED_MONTH = re.compile(r"[A-Z][a-z]{2} \d{1,2}, \d{4} @ ")
_DATA_PREFIX = re.compile(r"^(?:winlog\.event_data\.|event_data\.|EventData\.)")


def is_event_csv(head: bytes) -> bool:
    """Return whether a file's first line has a column of event IDs and one of logs, or those of a host and a time."""
    first = head.lstrip(b"\xef\xbb\xbf\r\n").split(b"\n", 1)[0].decode("utf-8", errors="replace")
    if first.startswith("#TYPE"):  # Export-Csv of Windows PowerShell
        first = head.split(b"\n", 2)[1].decode("utf-8", errors="replace") if head.count(b"\n") > 1 else ""
    names = {_known(name) for name in _cells(first)}
    is_of_windows = bool(names & {"Channel", "SourceName"}) or ("Computer" in names and bool(names & _TIMES))
    return "EventID" in names and is_of_windows


def _cells(line: str) -> list[str]:
    return next(csv.reader([line.replace("\r", " ")], delimiter=_separator(line)), [])


def _separator(line: str) -> str:
    return max(",;\t", key=line.count)


def _known(name: str) -> str:
    return _NAMES.get("".join(name.replace("\u2019", "'").lower().split()), "")


def read(content: BinaryIO) -> Iterator[ReadItem]:
    """Yield the events in the file's order; an event's number is the line on which its row ends."""
    lines = Lines(content)
    text = _CsvLines(lines)
    csv.field_size_limit(MAX_ROW_CHARS)
    rows: Iterator[list[str]] = iter(())
    header: list[str] = []
    broken = 0
    for line in text:
        if not line.startswith("#TYPE"):
            header = _cells(line.rstrip("\n"))[:MAX_COLUMNS]
            rows = csv.reader(text, delimiter=_separator(line))
            break
    while True:
        try:
            row = next(rows)
        except StopIteration:
            break
        except csv.Error:
            broken += 1
            continue
        event = event_of_row(header, row, text.number)
        if event is None:
            broken += 1
        else:
            yield event
    if broken:
        yield Gap(text=f"{broken:,} rows are damaged or not Windows events")
        yield Unread(broken)
    yield from lines.gaps("rows")


_LOCAL_TIME = re.compile(
    r"(?:(?P<day>\d{1,2})[./](?P<month>\d{1,2})[./](?P<year>\d{4})|(?P<year2>\d{4})/(?P<month2>\d{1,2})/(?P<day2>\d{1,2}))"
    r"[ ,T]{1,2}(?P<hour>\d{1,2}):(?P<minute>\d\d):(?P<second>\d\d)(?:[ \u202f\u00a0](?P<half>[AP])M)?\s*\Z"
)


def _local_time(written: str) -> str:
    """A time of the Event Viewer in ISO 8601, without a zone: ``20.11.2026 3:00:00``.

    With slashes, the month comes first if AM or PM follows, as in the United States, or if the second number can be no
    month; but never if the first can be none.
    """
    found = _LOCAL_TIME.match(written)
    if found is None:
        return written
    day, month = int(found["day"] or found["day2"]), int(found["month"] or found["month2"])
    hour = int(found["hour"])
    if month > 12 or (found["half"] and found["year"] and day <= 12):
        day, month = month, day
    if found["half"]:
        hour = hour % 12 + (12 if found["half"] == "P" else 0)
    year = found["year"] or found["year2"]
    return f"{year}-{month:02}-{day:02}T{hour:02}:{found['minute']}:{found['second']}"


class _CsvLines:
    """The lines as csv needs them, with the number of the last one read."""

    def __init__(self, lines: Iterable[tuple[int, int, str]]) -> None:
        self._lines = iter(lines)
        self.number = 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        self.number, _, line = next(self._lines)
        return line.replace("\x00", "").replace("\r", " ") + "\n"


_LOGS_OF = {"1102": "Security", "104": "System"}
"""The log of an event whose provider writes to several: the clearing of a log."""


def event_of_row(header: list[str], row: list[str], number: int) -> Event | None:
    """Return the event of a row by its columns' names; None if it has no event ID."""
    found: dict[str, object] = {}
    for name, value in zip(header, row, strict=False):
        if value:
            found.setdefault(_known(name) or _DATA_PREFIX.sub("", name.strip()), value)
    extra = row[len(header) :]
    if extra and "Message" not in found:
        found["Message"] = extra[0]  # Event Viewer has no header for this column
    for name in ("@timestamp", "EventTime"):
        if isinstance(written := found.get(name), str) and _NAMED_MONTH.match(written):  # Kibana, in the browser's zone
            del found[name]
            found["EventTime"] = clock([written])(written, "") or written
    found.setdefault("Channel", _LOGS_OF.get(str(found.get("EventID", "")), "") or found.get("SourceName", "Security"))
    if isinstance(written := found.get("EventTime"), str) and _LOCAL_TIME.match(written):
        found["EventTime"] = _local_time(written)
    message = found.get("Message")
    if isinstance(message, str):
        is_line = "\n" not in message.strip()
        event_id = str(found.get("EventID", ""))
        for name, value in line_fields(message, event_id) if is_line else message_fields(message):
            found.setdefault(name, value)
    return event_of(found, number)
