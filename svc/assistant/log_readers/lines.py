"""Read the lines of a log: numbered, with their offset in the file, and limited in length."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from typing import BinaryIO

import msgspec

from svc.assistant.findings import Gap
from svc.assistant.log_readers.parts import Part, part_of
from svc.assistant.sigma.event import Event

MAX_LINE_BYTES = 65_536  # of one line; the rest of it is skipped
_WIDE_PIECE_BYTES = 256 * 1024
_WIDE = (b"\xff\xfe", b"\xfe\xff")


class Unread(msgspec.Struct, frozen=True):
    """Records that a reader could not make sense of; a Gap says which."""

    count: int


class ReadAs(msgspec.Struct, frozen=True):
    """What a reader took the log for, if only its content tells: the form's name, and how its columns were read."""

    form: str
    columns: tuple[str, ...] = ()
    """``role=column``."""
    unused: tuple[str, ...] = ()
    """Columns without a known meaning."""


ReadItem = Event | Gap | Unread | ReadAs
"""Everything that a log reader may yield."""


def ended_early(content: BinaryIO) -> bool:
    """Return whether the content goes on after its end: the time for reading it is up, or its reading was stopped."""
    return bool(getattr(content, "ended_early", False))


_LONE_CR = re.compile(
    r"(?<!\r)\r++(?=(?:<\d{1,3}>)?(?:[A-Z][a-z]{2} [ \d]\d \d\d:|\d{4}-\d\d-\d\d[ T]|\{\"|\d{1,3}(?:\.\d{1,3}){3} ))"
)


def at_lone_cr(line: str) -> list[str]:
    """A line in parts, if one begins as a log line does behind a CR without LF: some programs end lines so.

    Such a line would otherwise be hidden in the one before it. Elsewhere a CR is left as it is: it may be in a message.
    """
    return _LONE_CR.split(line) if "\r" in line else [line]


def split_lines(text: str) -> list[str]:
    """Return the lines of ``text`` as files have them: ends are LF or CR LF.

    ``str.splitlines`` also splits at 0x1D, which auditd writes within a record, at 0x85 and at U+2028.
    """
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def wide_lines(content: BinaryIO, limit: int = MAX_LINE_BYTES) -> Iterator[tuple[str, int, bool]]:
    """Yield the lines of a file in UTF-16 from its beginning, without their LF.

    Each comes with the number of its 16-bit units, LF included, and whether it was cut after ``limit`` characters.
    """
    content.seek(0)
    decoder = codecs.getincrementaldecoder("utf-16")(errors="replace")
    kept, units, is_cut = "", 0, False
    for piece in iter(lambda: content.read(_WIDE_PIECE_BYTES), b""):
        *whole, rest = decoder.decode(piece).split("\n")
        for line in whole:
            text = kept + line
            yield text[:limit], units + _units(line) + 1, is_cut or len(text) > limit
            kept, units, is_cut = "", 0, False
        kept, units = kept + rest, units + _units(rest)
        if len(kept) > limit:
            kept, is_cut = kept[:limit], True
    kept += decoder.decode(b"", final=True)
    if kept:
        yield kept[:limit], units, is_cut


def _units(text: str) -> int:
    """Return how many 16-bit units a text has in UTF-16."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


class Places:
    """How many places there are, and the first: any number of them takes no memory."""

    def __init__(self) -> None:
        self.count: int = 0
        self.first: int = 0

    def append(self, number: int) -> None:
        """Count a place, by its line or position."""
        self.first = self.first or number
        self.count += 1


class Lines:
    """Iterate it once for number, offset and text of each line that is not empty; ``gaps`` reports what was cut.

    A reader counts in ``foreign`` what it could not make sense of. ``offset`` is where the next line begins. Those of
    ``in_parts`` go on where the part before ended, and pause at the end of the part.
    """

    def __init__(self, content: BinaryIO) -> None:
        self._content = content
        self._part = Part()
        self._long = Places()
        self.foreign: Places = Places()
        self._number = 0
        self.offset: int = 0

    @classmethod
    def in_parts(cls, content: BinaryIO, *, pauses: bool = True) -> Lines:
        """Return the lines of a part; unless it ``pauses``, the reader decides where the part ends."""
        part = part_of(content)
        carried = part.carry(_CarriedLines)
        lines = carried.lines = carried.lines or cls(content)
        lines._content, lines._part = content, part if pauses else Part()
        return lines

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in self.__dict__.items() if name not in ("_content", "_part")}

    def __iter__(self) -> Iterator[tuple[int, int, str]]:
        if self.offset:
            return self._narrow(self.offset)
        self._content.seek(0)
        head = self._content.read(3)
        self._content.seek(0)
        if head[:2] in _WIDE:
            self._part.refuse("it is in UTF-16")
            return self._wide()
        return self._narrow(3 if head == b"\xef\xbb\xbf" else 0)

    def _narrow(self, start: int) -> Iterator[tuple[int, int, str]]:
        self._content.seek(start)
        readline, part = self._content.readline, self._part
        number, offset = self._number, start
        while (offset < part.end or not part.is_over(offset)) and (raw := readline(MAX_LINE_BYTES)):
            number += 1
            at = offset
            offset += len(raw)
            if len(raw) == MAX_LINE_BYTES and not raw.endswith(b"\n"):
                self._long.append(number)
                while (rest := readline(MAX_LINE_BYTES)) and not rest.endswith(b"\n"):
                    offset += len(rest)
                offset += len(rest)
            if raw[0] == 0:  # of a crash in the middle of a log
                raw = raw.lstrip(b"\0")
            text = raw.decode("utf-8", errors="replace").rstrip("\r\n")
            self._number, self.offset = number, offset
            if text:
                for line in at_lone_cr(text):
                    yield number, at, line

    def _wide(self) -> Iterator[tuple[int, int, str]]:
        offset = 2
        for number, (line, units, is_cut) in enumerate(wide_lines(self._content), start=1):
            if is_cut:
                self._long.append(number)
            if line.strip():
                yield number, offset, line.rstrip("\r")
            offset += 2 * units

    def gaps(self, what: str) -> Iterator[Gap | Unread]:
        """Yield what was cut, and how many lines were not ``what``."""
        if self._long.count:
            yield Gap(
                text=f"{self._long.count:,} lines are longer than {MAX_LINE_BYTES:,} bytes (the first is line "
                f"{self._long.first:,}); only that much of each was examined"
            )
        if self.foreign.count:
            yield Gap(text=f"{self.foreign.count:,} lines are not {what}; the first is line {self.foreign.first:,}")
            yield Unread(self.foreign.count)


class _CarriedLines:
    """The lines of a log that is read in parts."""

    def __init__(self) -> None:
        self.lines: Lines | None = None
