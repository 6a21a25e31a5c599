"""Read logs inside a container runtime's log: each inner line by the reader of its kind.

An event has the number of the line in the runtime's file. The runtime's time and the container's name are used if
the inner line states none. Lines of no known kind are syslog messages of the container, with the runtime's time.
"""

from __future__ import annotations

import io
import re
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import BinaryIO, NamedTuple, cast

from svc.assistant.findings import Gap
from svc.assistant.log_readers import auditd, cloudtrail, syslog, web_server, windows_json
from svc.assistant.log_readers.container_lines import STAMPED, ContainerLine, container_line, form_of_lines
from svc.assistant.log_readers.json_objects import object_of
from svc.assistant.log_readers.lines import MAX_LINE_BYTES, Lines, ReadAs, ReadItem, Unread, split_lines
from svc.assistant.log_readers.tables import reader as tables
from svc.assistant.log_readers.tables.raw_lines import is_sshd, with_logins
from svc.assistant.sigma.event import MAX_EXCERPT_CHARS, Event

HEAD_BYTES = 65_536
MAX_HELD = 20_000  # lines whose place is remembered, while a reader holds back their events
MAX_GROUPS = 200  # of lines: by container, stream and shape
MAX_PART_CHARS = MAX_LINE_BYTES
_SAMPLE = 50  # first and last lines of a group in the head, by which its reader is found
_ACCESS = re.compile(r"\[\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:")
_ERROR = re.compile(r"\d{4}/\d\d/\d\d \d\d:\d\d:\d\d \[|\[[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d ")
_PROGRAM = "container"
_UNTIMED = ("no year", "no time that could be read")  # what a reader says of lines that get the runtime's time

_Reader = Callable[[BinaryIO], Iterator[ReadItem]]
_Group = tuple[str, str, str]


def _is_windows_json(head: bytes) -> bool:
    found = object_of(head.split(b"\n", 1)[0])
    return isinstance(found, dict) and windows_json.event_of(found, 1) is not None


class _InnerReader(NamedTuple):
    """What reads inner lines of one kind; the composed ones are syslog lines that are made here."""

    what: str
    matches: Callable[[bytes], bool]
    read: _Reader
    is_composed: bool = False


_READERS = (
    _InnerReader("audit records", auditd.is_audit_log, auditd.read),
    _InnerReader("CloudTrail records", cloudtrail.is_cloudtrail, cloudtrail.read_lines),
    _InnerReader("journal entries", syslog.is_journal, syslog.read),
    _InnerReader("records", tables.is_known_export, tables.read),
    _InnerReader("Windows events", _is_windows_json, windows_json.read),
    _InnerReader("web server lines", web_server.is_web_log, web_server.read),
    _InnerReader("syslog lines", syslog.is_syslog, syslog.read),
    _InnerReader("records", tables.is_event_table, tables.read),
)
_COMPOSED = _InnerReader("messages", lambda _head: True, syslog.read, is_composed=True)


def is_container_log(head: bytes) -> bool:
    """Return whether a file's first bytes are a container runtime's log.

    Lines that only begin with a time of nanoseconds are one if a reader knows what follows.
    """
    text = _text(head)
    form = form_of_lines(text)
    return form != "" and (form != STAMPED or any(not one.is_composed for one in _chosen(text, form).values()))


def read(content: BinaryIO) -> Iterator[ReadItem]:
    """Yield the events; the lines of each inner kind in their order, one kind after the other."""
    text = _text(content.read(HEAD_BYTES))
    form = form_of_lines(text)
    chosen = _chosen(text, form)
    readers = list(dict.fromkeys(chosen.values()))
    if _COMPOSED not in readers:
        readers.append(_COMPOSED)
    named: list[str] = []
    foreign = Lines(content)
    for reader in readers:
        inner = _InnerLines(content, form, chosen, reader)
        is_empty = True
        for item in _events(inner, reader):
            if isinstance(item, Event) and is_empty:
                is_empty = False
                named.append(reader.what)
                yield ReadAs(f"container log ({form}) with {' and '.join(dict.fromkeys(named))}")
            if isinstance(item, Event | Gap | Unread):
                yield item
        if reader is _COMPOSED:
            foreign.foreign = inner.foreign
    yield from foreign.gaps("lines of a container's log")


def _events(inner: _InnerLines, reader: _InnerReader) -> Iterator[ReadItem]:
    stream = cast("BinaryIO", io.BufferedReader(inner))
    for item in reader.read(stream):
        if not isinstance(item, Event):
            if not isinstance(item, Gap) or not any(words in item.text for words in _UNTIMED):
                yield item
            continue
        inner.place(item)
        yield from with_logins(item)
    yield from inner.gaps()


def _text(head: bytes) -> str:
    is_wide = head.startswith((b"\xff\xfe", b"\xfe\xff"))
    return head.decode("utf-16" if is_wide else "utf-8-sig", errors="replace")


def _group_of(line: ContainerLine) -> _Group:
    text = line.text
    shape = "json" if text.lstrip().startswith("{") else "access" if _ACCESS.search(text, 0, 400) else ""
    return line.container, line.stream, shape or ("error" if _ERROR.match(text) else "")


def _chosen(text: str, form: str) -> dict[_Group, _InnerReader]:
    """Return what reads the lines of each group in the head."""
    groups: dict[_Group, list[str]] = {}
    for line in split_lines(text):
        found = container_line(line, form) if line.strip() else None
        if found is not None and not found.is_part and (len(groups) < MAX_GROUPS or _group_of(found) in groups):
            groups.setdefault(_group_of(found), []).append(_one_line(found.text))
    return {group: _reader_of(lines, group[2]) for group, lines in groups.items()}


def _reader_of(lines: list[str], shape: str) -> _InnerReader:
    """Return the reader of a group: what a program prints when it starts may differ from the rest."""
    for kept in (lines[-_SAMPLE:], lines[:_SAMPLE]):
        if shape == "json" and sum(isinstance(object_of(line), dict) for line in kept) < 0.6 * len(kept):
            return _COMPOSED
        head = "\n".join(kept).encode(errors="replace")
        if found := next((one for one in _READERS if one.matches(head)), None):
            return found
    return _COMPOSED


def _one_line(text: str) -> str:
    return text.replace("\r", " ").replace("\n", " ").strip()


class _InnerLines(io.RawIOBase):
    """The inner lines of one reader as a file, each at the number of its outer line; the others are empty lines."""

    def __init__(self, content: BinaryIO, form: str, chosen: dict[_Group, _InnerReader], reader: _InnerReader) -> None:
        super().__init__()
        self._content, self._form, self._chosen, self._reader = content, form, chosen, reader
        self._begin()

    def _begin(self) -> None:
        self._lines = Lines(self._content)
        self._outer = iter(self._lines)
        self._rest = b""
        self._position = self._number = 0
        self._parts: dict[tuple[str, str], str] = {}
        self._places: OrderedDict[int, tuple[int, ContainerLine]] = OrderedDict()
        self.foreign = self._lines.foreign

    def readable(self) -> bool:
        """It can be read."""
        return True

    def seekable(self) -> bool:
        """It can be read again from the start."""
        return True

    def tell(self) -> int:
        """The number of bytes that were read."""
        return self._position

    def seek(self, offset: int, whence: int = 0, /) -> int:
        """Start again, and skip as much."""
        if whence != 0:
            raise io.UnsupportedOperation("the end of the inner lines is not known")
        self._begin()
        while self._position < offset and self.read(min(offset - self._position, HEAD_BYTES)):
            pass
        return self._position

    def readinto(self, buffer: memoryview, /) -> int:  # type: ignore[override]
        """Read the next bytes."""
        if not self._rest:
            self._rest = self._next()
        piece = self._rest[: len(buffer)]
        buffer[: len(piece)] = piece
        self._rest = self._rest[len(piece) :]
        self._position += len(piece)
        return len(piece)

    def _next(self) -> bytes:
        for number, offset, line in self._outer:
            gap = b"\n" * (number - self._number - 1)  # empty lines of the file itself
            self._number = number
            found = container_line(line, self._form)
            if found is None:
                self._lines.foreign.append(number)
                return gap + b"\n"
            return gap + self._inner(number, offset, found).encode(errors="replace") + b"\n"
        return b""

    def _inner(self, number: int, offset: int, found: ContainerLine) -> str:
        key = found.container, found.stream
        begun = self._parts.pop(key, "")
        text = (begun + found.text)[:MAX_PART_CHARS]
        if found.is_part and len(text) < MAX_PART_CHARS:
            self._parts[key] = text
            return ""
        found = found._replace(text=_one_line(text))
        if not found.text or self._chosen.get(_group_of(found), _COMPOSED) is not self._reader:
            return ""
        self._places[number] = offset, found
        if len(self._places) > MAX_HELD:
            self._places.popitem(last=False)
        if not self._reader.is_composed:
            return found.text
        program = "sshd" if is_sshd(found.text) else _PROGRAM
        return f"{found.time or '1970-01-01T00:00:00'} {found.container or '-'} {program}: {found.text}"

    def place(self, event: Event) -> None:
        """Give an event the place of its outer line, and what the inner line does not state."""
        place = self._places.get(event.number)
        if place is None:
            return
        event.offset, line = place
        if self._reader.is_composed:
            event.excerpt = line.text[:MAX_EXCERPT_CHARS]
            event.time = event.time if line.time else ""
        elif (not event.time or event.time.startswith("--")) and line.time:
            event.time = syslog.in_utc(line.time)
        if event.host in ("", "-"):
            event.host = line.container

    def gaps(self) -> Iterator[Gap | Unread]:
        """Yield that a line was not finished."""
        if self._parts and self._reader.is_composed:
            yield Gap(text=f"{len(self._parts)} lines were not complete when the log ended")
            yield Unread(len(self._parts))
