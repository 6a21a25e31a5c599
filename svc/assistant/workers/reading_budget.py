"""How long a job may read its input: it must stop early enough to report what it found within its limits.

A tool yields most findings after the last line. One that was killed at its limit while it read would have found
nothing, so a part of the limit is kept for what comes after reading.
"""

from __future__ import annotations

import io
import re
import time
from collections.abc import Callable, Iterable
from typing import BinaryIO, cast

import msgspec

from svc.assistant.log_readers.parts import Part

SEARCH_SHARE = 0.25  # of a job's limits until the search for text that addresses an analyst or a model stops
READING_SHARE = 0.65  # the same for the tool's reading; the rest is for its findings
COUNTING_SHARE = 0.85  # the same for counting what was not read
RESERVED_SECONDS = 600.0  # at most, for what comes after reading: the findings of a log do not grow with its size
STOPPED_COUNTING_SECONDS = 1.0  # for counting what a stopped job did not read
STOPPED = "the question was cancelled"
TURN_LIMIT = "the time limit of the turn was reached"
MAX_LINE_BYTES = 2 * 1024 * 1024  # read on in search of a line's end once the time is up
_PIECE_BYTES = 256 * 1024
_BYTES_FROM = 10_000_000  # a smaller file's size is given in bytes
_GB_FROM = 10_000_000_000
_HEAD_BYTES = 4_096
_LIST = re.compile(rb"\A(?:\xef\xbb\xbf)?\s*(?:\{\s*\"\w{1,40}\"\s*:\s*)?\[(\s*)\{")
_FILLED = re.compile(rb"\n[^\r\n]")


def seconds_until(limit: float, share: float) -> float:
    """Return how many seconds of a limit may be used until a share of it counts as used up.

    Of a long limit more may be used: what comes after reading takes RESERVED_SECONDS at most.
    """
    if share < READING_SHARE:
        return limit * share
    return max(limit * share, limit - RESERVED_SECONDS * (1 - share) / (1 - READING_SHARE))


class Exceeded(msgspec.Struct, frozen=True):
    """The limit that stopped the reading, in words; ``is_passing`` if it depends on what else the machine does."""

    limit: str
    is_passing: bool


class ReadingBudget:
    """The time of one job, from now on, or until it is stopped. ``is_over`` tells that reading ended, so that no
    progress is reported.

    Args:
        cpu_seconds: The job's limit of processor time.
        wall_seconds: The job's limit of time.
        processor: Returns this process's processor time in seconds.
        clock: Returns the time in seconds.
        stop_reason: Returns why the reading was stopped from outside; "" if it was not.
        used: What earlier parts of the job used, in the order of the limits.
    """

    def __init__(
        self,
        cpu_seconds: float,
        wall_seconds: float,
        *,
        processor: Callable[[], float] = time.process_time,
        clock: Callable[[], float] = time.monotonic,
        stop_reason: Callable[[], str] = lambda: "",
        used: tuple[float, float] = (0.0, 0.0),
    ) -> None:
        self._cpu_seconds, self._wall_seconds = cpu_seconds, wall_seconds
        self._processor, self._clock, self._stop_reason = processor, clock, stop_reason
        self._stopped_at: float | None = None
        self.is_over = False
        self._processor_start, self._clock_start = processor() - used[0], clock() - used[1]

    @property
    def cpu_used(self) -> float:
        """The processor time that the job has used."""
        return self._processor() - self._processor_start

    def exceeded(self, share: float) -> Exceeded | None:
        """The limit of which this share is used up. A stopped job may still count for a moment what it did not read."""
        if reason := self._stop_reason():
            self._stopped_at = self._clock() if self._stopped_at is None else self._stopped_at
            if share < COUNTING_SHARE or self._clock() - self._stopped_at >= STOPPED_COUNTING_SECONDS:
                return Exceeded(reason, is_passing=True)
            return None
        if self._processor() - self._processor_start >= seconds_until(self._cpu_seconds, share):
            return Exceeded(f"the limit of {self._cpu_seconds:g} s of processor time", is_passing=False)
        if self._clock() - self._clock_start >= seconds_until(self._wall_seconds, share):
            return Exceeded(f"the limit of {self._wall_seconds:,.0f} s", is_passing=True)
        return None


class Blocks(msgspec.Struct, frozen=True):
    """A binary file that may end after any block of ``size`` bytes, the first of which begins at ``start``."""

    start: int
    size: int

    def whole(self, end: int) -> int:
        """Return where the last whole block before ``end`` ends."""
        return self.start + (end - self.start) // self.size * self.size


class _StoppingBytes(io.RawIOBase):
    """A stream that ends after a whole line once the time for reading is up."""

    def __init__(
        self,
        stream: BinaryIO,
        size: int,
        is_up: Callable[[int], bool],
        *,
        record_end: bytes = b"\n",
        unit: int = 1,
        blocks: Blocks | None = None,
    ) -> None:
        self._stream = stream
        self._size = size
        self._is_up = is_up
        self._record_end, self._unit, self._blocks = record_end, unit, blocks
        self._overtime = 0
        self.end: int | None = None

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0, /) -> int:
        return self._stream.seek(offset, whence)

    def tell(self) -> int:
        return self._stream.tell()

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        at = self.tell()
        most = _PIECE_BYTES if self.end is None else max(0, min(_PIECE_BYTES, self.end - at))
        data = self._stream.read(min(len(buffer), most))
        if self.end is None and at + len(data) < self._size and self._is_up(at + len(data)):
            data = self._cut(data, at)
        buffer[: len(data)] = data
        return len(data)

    def _cut(self, data: bytes, at: int) -> bytes:
        if self._blocks is not None:
            kept = self._blocks.whole(at + len(data)) - at
        else:
            kept = _end_of_last(data, self._record_end, self._unit, at)
        kept = max(0, kept)
        self._overtime += len(data)
        if not kept and self._overtime < MAX_LINE_BYTES:
            return data
        kept = kept or data.rfind(b"},") + 1 or len(data) // 2 * 2  # a JSON list on one line ends after an object
        self.end = at + kept
        self._stream.seek(self.end)
        return data[:kept]


def _end_of_last(data: bytes, record_end: bytes, unit: int, at: int) -> int:
    """Where the last whole record ends; 0 if none does."""
    found = data.rfind(record_end)
    while found >= 0 and (at + found) % unit:  # across two characters of UTF-16
        found = data.rfind(record_end, 0, found + len(record_end) - 1)
    return found + len(record_end) if found >= 0 else 0


def _record_end(head: bytes) -> bytes:
    """What ends a record of a text: the line's end, or in a JSON list over many lines that of an object."""
    listed = _LIST.match(head)
    return b"}," + listed[1] if listed is not None and b"\n" in listed[1] else b"\n"


class _EndingReader(io.BufferedReader):
    """The stream as a tool gets it; ``ended_early`` tells a reader that the file goes on."""

    raw: _StoppingBytes
    part: Part

    @property
    def ended_early(self) -> bool:
        return self.raw.end is not None


class StoppingFile:
    """A file of lines, JSON objects or blocks that ends early, after a whole one, once the time for reading is up.

    Args:
        stream: The file, at its beginning.
        size: Its bytes.
        is_up: Whether the time is up, asked with the bytes read.
        encoding: ``utf-8``, ``utf-16-le`` or ``utf-16-be``.
        blocks: The blocks of a binary file; None for a text.
    """

    def __init__(
        self, stream: BinaryIO, size: int, is_up: Callable[[int], bool], encoding: str, *, blocks: Blocks | None = None
    ) -> None:
        is_wide = encoding != "utf-8"
        head = stream.read(_HEAD_BYTES)
        stream.seek(0)
        record_end = "\n".encode(encoding) if is_wide else _record_end(head)
        self._raw = _StoppingBytes(stream, size, is_up, record_end=record_end, unit=2 if is_wide else 1, blocks=blocks)
        self.is_text: bool = blocks is None
        self._reader = _EndingReader(self._raw, _PIECE_BYTES)
        self.stream: BinaryIO = cast(BinaryIO, self._reader)

    def begin(self, part: Part, end: int | None) -> None:
        """Say which part of the file is read, and where it ends early if that is known already."""
        self._reader.part, self._raw.end = part, end

    @property
    def end(self) -> int | None:
        """The bytes before its early end; None if it did not end early."""
        return self._raw.end


def part_words(done: int, total: int, *, is_packed: bool) -> str:
    """How much of a file was read: ``the first 38 % (235 of 620 MB)``."""
    of = " compressed" if is_packed else ""
    percent = done * 100 // total if total else 100
    share = f"{percent} %" if percent else f"{done * 100 / total:.2g} %"
    if total < _BYTES_FROM:
        return f"the first {share} ({done:,} of {total:,} bytes{of})"
    if total < _GB_FROM:
        return f"the first {share} ({done // 1_000_000:,} of {total // 1_000_000:,} MB{of})"
    return f"the first {share} ({done / 1e9:,.1f} of {total / 1e9:,.1f} GB{of})"


class LineCounts:
    """Counts the lines of a text in UTF-8 that comes in pieces."""

    size: int
    filled: int
    records: int
    objects: int

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self.size = self.filled = self.records = self.objects = 0
        ends, last = 0, b"\n"
        for piece in pieces:
            text = last + piece  # a pair across two pieces counts once
            filled = len(_FILLED.findall(text))
            self.size += len(piece)
            self.filled += filled
            self.records += filled - text.count(b"\n#") - text.count(b"\n]")
            self.objects += piece.count(b"{")
            ends += piece.count(b"\n")
            last = text[-1:]
        self.lines: int = ends + (last != b"\n")

    def of(self, read: LineCounts, unit: str, total: int) -> int | None:
        """The units in these lines, if a tool counted ``total`` of them in the lines ``read``; None if unknown.

        A tool may count every line, or leave out the empty ones, comments, and a line with columns; or it counts
        objects of JSON, which may be on any number of lines.
        """
        for more in (0, 1):
            for name in ("lines", "records", "filled", "objects"):
                if getattr(read, name) - total == more:
                    return int(getattr(self, name))
        return {"line": self.lines, "byte": self.size, "character": self.size}.get(unit)
