"""Read logs of programs that write a time and a message in a form of their own: services, databases, scanners.

A record begins with a time that has a year, perhaps after a level. Lines without one go on with the message of the
record before, as a stack trace does. What a message says of a request, a file transfer or another product's verdict
becomes fields (``program_messages.py``). The kernel's own messages (``dmesg``) have seconds since its start.

Records without a date are read, too: Logback's and Serilog's default layouts, glog (Kubernetes), a level and no time.
Forms of the times: ISO 8601 with a space or ``T`` (Log4j, Logback, Python's logging, PostgreSQL, MySQL), ``2026/11/20``
(Go, nginx), ``20-Nov-2026`` and ``20 Nov 2026`` (Tomcat, Redis), ``Fri Nov 20 03:12:45 2026`` (vsftpd, ``xferlog``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import BinaryIO

from svc.assistant.findings import Gap
from svc.assistant.log_readers.lines import Lines, ReadItem, split_lines
from svc.assistant.log_readers.messages.program_messages import describe
from svc.assistant.log_readers.parts import part_of
from svc.assistant.log_readers.syslog import in_utc
from svc.assistant.log_readers.timestamps import MONTHS
from svc.assistant.sigma.event import MAX_EXCERPT_CHARS, Event

MAX_MESSAGE_CHARS = 16_384
HEAD_LINES = 100
LEAST_RECORDS = 2
_RECORD_SHARE = 0.6  # of the first lines that begin a record, unless the others look like what follows one
_LEVEL = "TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|CRITICAL|FATAL|SEVERE|PANIC"
_CLOCK = r"(?P<clock>[0-2]\d:[0-5]\d:[0-6]\d)(?:[.,](?P<fraction>\d{1,9}))?"
_ZONE = r"(?: ?(?P<zone>Z|UTC|GMT|[+-]\d\d:?\d\d)(?![\w:]))?"
_BEGIN = re.compile(
    rf"[\[(<\"]{{0,2}}(?:\[?(?:{_LEVEL})\]?[:,]?\s{{1,8}}[\[(]?|\d{{1,7}}:[A-Z] |[DIWEFA], \[)?"
    r"(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? )?"
    r"(?:(?P<year>\d{4})[-/](?P<month>\d\d)[-/](?P<day>\d\d)[T ]"
    r"|(?P<day2>\d{1,2})[-/ ](?P<name>[A-Z][a-z]{2})[-/ ](?P<year2>\d{4})[ :]"
    r"|(?P<name3>[A-Z][a-z]{2}) {1,2}(?P<day3>\d{1,2}) (?=[\d:.,]{8,18} (?P<year3>\d{4})\b))"
    rf"{_CLOCK}(?: (?P=year3))?{_ZONE}[\])>\"]{{0,2}}[,:;|]?(?=[\s\[\]|-]|$)"
)
_UNDATED = re.compile(
    rf"\[?{_CLOCK}\]? (?=.{{0,60}}?\b(?:{_LEVEL}|INF|WRN|ERR|DBG|FTL)\b)"
    rf"|(?P<level>{_LEVEL}):(?:\s|(?=[\w.]{{1,100}}:))"
)
"""Logback's and Serilog's default layouts, and lines with a level and no time (uvicorn, Python's ``basicConfig``)."""
_GLOG = re.compile(
    rf"(?P<level>[IWEF])(?P<month>[01]\d)(?P<day>[0-3]\d) {_CLOCK}\s{{1,9}}\d{{1,10}} [\w.-]{{1,100}}:\d{{1,6}}\] "
)
_GLOG_LEVELS = {"I": "info", "W": "warning", "E": "error", "F": "fatal"}
_LEVEL_IN = re.compile(rf"\b(?:{_LEVEL}|LOG|HINT|STATEMENT|DETAIL|Note|Warning|Error)\b")
_LEVEL_CHARS = 80
_FOLLOWS = re.compile(
    r"\s|\}|\]|\)|Caused by: |Traceback \(most recent|During handling of|The above exception"
    r"|[\w.$]{1,200}(?:Exception|Error)\b"
)
_MARK = re.compile(rf"\b(?:{_LEVEL}|LOG)\b|[\[\]{{}}=|<>\"\t]|\s{{4}}|^\s{{0,4}}(?:[\w./-]{{1,100}}:|[*#] )|\w\(\)")
_MARK_CHARS = 120
_MARKED_SHARE = 0.5
_FUNCTION_WORD = re.compile(
    r"\b(?:the|an?|was|were|is|has|had|and|then|to|from|with|by|on|in|at|of|our|his|their|we)\b", re.I
)
_KERNEL = re.compile(r"(?:<\d{1,3}>)?\[ {0,8}\d{1,9}\.\d{6}\] ")
_CONTINUED = "\n"


def _first_lines(head: bytes) -> list[str]:
    is_wide = head.startswith((b"\xff\xfe", b"\xfe\xff"))
    text = head[: len(head) & ~1].decode("utf-16", errors="replace") if is_wide else head.decode("utf-8-sig", "replace")
    return [line for line in split_lines(text)[:HEAD_LINES] if line.strip()]


def is_application_log(head: bytes) -> bool:
    """Return whether a file's first lines are records that begin with a time or a level."""
    lines = _first_lines(head)
    if len(lines) >= LEAST_RECORDS and all(map(_KERNEL.match, lines[:-1])):
        return True
    if sum(_is_undated(line) for line in lines) >= max(LEAST_RECORDS, _RECORD_SHARE * len(lines)):
        return True
    begins = [found for line in lines if (found := _BEGIN.match(line)) is not None]
    is_leveled = any(_LEVEL_IN.search(found.string, 0, found.end() + _LEVEL_CHARS) for found in begins)
    if not begins or (len(begins) < LEAST_RECORDS and not is_leveled) or is_timeline(head):
        return False
    rest = [line for line in lines[lines.index(begins[0].string) :] if not _BEGIN.match(line)]
    return len(begins) >= _RECORD_SHARE * len(lines) or all(map(_FOLLOWS.match, rest))


def is_timeline(head: bytes) -> bool:
    """Return whether somebody wrote the lines after the times, as in the timeline of an incident.

    These are sentences without the marks that programs put into their messages.
    """
    lines = _first_lines(head)
    messages = [line[found.end() :] for line in lines if (found := _BEGIN.match(line)) is not None]
    marked = sum(_MARK.search(one[:_MARK_CHARS]) is not None for one in messages)
    written = sum(_FUNCTION_WORD.search(one) is not None for one in messages)
    return bool(messages) and marked < _MARKED_SHARE * len(messages) and written >= _RECORD_SHARE * len(messages)


def _is_undated(line: str) -> bool:
    return _UNDATED.match(line) is not None or _GLOG.match(line) is not None


def read(content: BinaryIO) -> Iterator[ReadItem]:
    """Yield the records in the file's order, each with the lines that go on with its message."""
    part = part_of(content)
    lines, open_record = Lines.in_parts(content), part.carry(_OpenRecord)
    for number, offset, line in lines:
        event = _begun(line, number, offset)
        if event is not None:
            yield from open_record.ended()
            open_record.event = event
            open_record.lacks_year |= event.time.startswith("--")
        elif open_record.event is not None:
            open_record.go_on(line)
        else:
            lines.foreign.append(number)
    if part.is_paused:
        return
    yield from open_record.ended()
    yield from lines.gaps("records that begin with a time or a level")
    if open_record.lacks_year:
        yield Gap(text="the timestamps have no year")


class _OpenRecord:
    """The record whose message may go on in the next line."""

    def __init__(self) -> None:
        self.event: Event | None = None
        self.lacks_year = False

    def go_on(self, line: str) -> None:
        """Add a line to the message."""
        if self.event is not None:
            message = self.event.fields["message"]
            if len(message) < MAX_MESSAGE_CHARS:
                self.event.fields["message"] = f"{message}{_CONTINUED}{line}"[:MAX_MESSAGE_CHARS]
            self.event.excerpt = f"{self.event.excerpt} {line.strip()}"[:MAX_EXCERPT_CHARS]

    def ended(self) -> Iterator[Event]:
        """Yield the record, if there is one, with what its message says."""
        if self.event is not None:
            describe(self.event)
            yield self.event
            self.event = None


def _begun(line: str, number: int, offset: int) -> Event | None:
    """Return the record that a line begins; None if it begins none."""
    if (kernel := _KERNEL.match(line)) is not None:
        return _event(number, offset, line, "", {"program": "kernel", "message": line[kernel.end() :]})
    if (glog := _GLOG.match(line)) is not None:
        fields = {"level": _GLOG_LEVELS[glog["level"]], "message": line[glog.end() :][:MAX_MESSAGE_CHARS]}
        return _event(number, offset, line, f"--{glog['month']}-{glog['day']}T{glog['clock']}", fields)
    found = _BEGIN.match(line)
    time = _time_of(found) if found is not None else ""
    if not time:
        found = _UNDATED.match(line)
    if found is None:
        return None
    fields = {"message": line[found.end() :].lstrip(" \t-|")[:MAX_MESSAGE_CHARS]}
    if (level := _LEVEL_IN.search(line, 0, found.end() + _LEVEL_CHARS)) is not None:
        fields["level"] = level[0].lower()
    return _event(number, offset, line, time, fields)


def _time_of(found: re.Match[str]) -> str:
    """Return the time as ISO 8601, in UTC if its zone is stated; "" if there is no such time."""
    name = found["name"] or found["name3"]
    month = found["month"] or (f"{MONTHS[name]:02}" if name in MONTHS else "")
    year = found["year"] or found["year2"] or found["year3"]
    day = found["day"] or found["day2"] or found["day3"]
    fraction = f".{found['fraction']:0<3}" if found["fraction"] else ""
    zone = {"UTC": "Z", "GMT": "Z", None: ""}.get(found["zone"], found["zone"])
    text = f"{year}-{month}-{day:0>2}T{found['clock']}{fraction}"
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return ""
    return in_utc(f"{text}{zone}")


def _event(number: int, offset: int, line: str, time: str, fields: dict[str, str]) -> Event:
    is_kernel = fields.get("program") == "kernel"
    return Event(
        number=number,
        offset=offset,
        time=time,
        product="linux" if is_kernel else "",
        service="syslog" if is_kernel else "",
        category="" if is_kernel else "application",
        host="",
        event_id=None,
        fields=fields,
        excerpt=line[:MAX_EXCERPT_CHARS],
    )
