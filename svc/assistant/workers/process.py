"""One tool in its own process: receive a job from the socket, limit the process, run the tool, send what it yields.

The other end is ``pool.py``. A job's bytes come from its file or, if they may not be on disk, over the socket. The
process ends after one job, or at once when the other end is gone; the bytes STOP_READING and TIME_IS_OVER make it
report what it has found in what it read so far. Frames are four bytes of length (big-endian) and
msgpack. Down go the ``JobRequest`` and, without a path, the bytes; up come ``ToolEvent`` values, then ``Done`` or
``Crashed``.
"""

from __future__ import annotations

import bz2
import codecs
import contextlib
import gc
import gzip
import importlib
import io
import lzma
import os
import socket
import sys
import threading
import time
import traceback
import zlib
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import BinaryIO, Protocol

import msgspec

from svc.assistant import knowledge
from svc.assistant.file_types.signatures import starts_as
from svc.assistant.findings import Coverage, Finding, Gap, InputKind, Progress, ToolEvent
from svc.assistant.instruction_text.scan import Scanner
from svc.assistant.log_readers.lines import at_lone_cr
from svc.assistant.log_readers.parts import LinesSoFar, Part, PartLines
from svc.assistant.workers import own_limits
from svc.assistant.workers.counted_file import open_counted
from svc.assistant.workers.frames import InputSearched, MemberFrame, PartEnd, PartPlan
from svc.assistant.workers.leading_zeros import after_zeros
from svc.assistant.workers.part_state import PartState, part_for, unpacked
from svc.assistant.workers.reading_budget import (
    COUNTING_SHARE,
    READING_SHARE,
    SEARCH_SHARE,
    STOPPED,
    TURN_LIMIT,
    Blocks,
    Exceeded,
    LineCounts,
    ReadingBudget,
    StoppingFile,
    part_words,
)

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

MAX_TEXT_BYTES = 64 * 1024 * 1024  # of a file that a tool needs as one text; the rest becomes a Gap
MAX_BINARY_BYTES = 256 * 1024 * 1024  # of a compressed file read as bytes: a quarter of the worker's memory
MAX_UNPACKED_BYTES = 512 * 1024 * 1024  # of a compressed log
MAX_LINE_BYTES = 64 * 1024  # the rest of a longer line is skipped
MAX_ERROR_CHARS = 300
COUNT_SECONDS = 0.5  # between two counts of the bytes read
INSTRUCTION_SEARCH = "instruction search"
_GC_OBJECTS = 100_000
ZEROS = "its first {:,} bytes are zeros (a crash, or emptied while it was written): records there are lost"
_PARENT_GONE = 3  # exit status if the other end of the socket is closed


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What a job may use: ``pool.py`` limits ``wall_seconds`` and ``findings``, the system or ``watch.py`` the rest."""

    memory_bytes: int = 1024 * 1024 * 1024
    cpu_seconds: int = 240
    wall_seconds: float = 600.0
    findings: int = 2_500_000
    part_bytes: int = 256 * 1024 * 1024
    """A larger log is read in parts of this size, each by a process of its own."""


class JobRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The job as it is sent. ``path`` None: the bytes follow in a frame of their own.

    ``knowledge`` is the folder of the user's own tables, which take precedence over the shipped ones.
    ``part`` is the part of a large log to read; None for all of it.
    ``looks_for_instructions``: also look for text that addresses an analyst or a model. ``is_prompt``: the input is the
    user's question. ``known_texts``: what that search found in the input earlier, so that it is not searched again.
    """

    tool: str
    input: InputKind
    name: str
    limits: Limits
    path: str | None = None
    part: PartPlan | None = None
    options: dict[str, str] = {}
    knowledge: str | None = None
    looks_for_instructions: bool = False
    is_prompt: bool = False
    known_texts: tuple[str, ...] | None = None


class Done(msgspec.Struct, frozen=True, tag="done"):
    """The tool has finished."""


class Crashed(msgspec.Struct, frozen=True, kw_only=True, tag="crashed"):
    """The tool raised, or the file could not be read; ``error`` is one line, ``where`` a line of our code."""

    error: str
    where: str


Frame = ToolEvent | MemberFrame | InputSearched | PartEnd | Done | Crashed
"""What the process sends. Findings are decoded with the facts types that the job names."""
HEADER_BYTES = 4
STOP_READING = b"s"
TIME_IS_OVER = b"t"
STOP_REASONS = {STOP_READING: STOPPED, TIME_IS_OVER: TURN_LIMIT}

_encoder = msgspec.msgpack.Encoder()


_Content = str | Iterator[str] | BinaryIO


class _Tool(Protocol):
    """A tool's public generator."""

    def __call__(
        self, content: str | Iterator[str] | BinaryIO, /, *, source: str, **options: str
    ) -> Iterator[ToolEvent | MemberFrame]: ...


def pack(value: JobRequest | Frame | bytes) -> bytes:
    """Encode a value as one frame; bytes are framed as they are."""
    body = value if isinstance(value, bytes) else _encoder.encode(value)
    return len(body).to_bytes(HEADER_BYTES, "big") + body


def serve(connection: socket.socket, imports: tuple[str, ...] = ()) -> None:
    """The main function of the process: import these modules, wait for the job, run it, end."""
    own_limits.ignore_interrupts()
    for module in imports:
        importlib.import_module(module)
    collect_seldom()
    os.environ.clear()  # parsers of hostile input must not see the parent's secrets
    with connection, connection.makefile("rb") as incoming:
        body = _receive(incoming)
        if body is None:
            return
        request = msgspec.msgpack.decode(body, type=JobRequest)
        content = _receive(incoming) if request.path is None else b""
        state = _receive(incoming) if request.part is not None and request.part.has_state else b""
        if content is None or state is None:
            return
        stop = _Stop()
        threading.Thread(target=_obey_parent, args=(incoming, stop), daemon=True).start()
        used = int(request.part.cpu_seconds) if request.part is not None else 0
        own_limits.apply(request.limits.memory_bytes, request.limits.cpu_seconds - used)
        with connection.makefile("wb") as outgoing:
            _run_job(request, content, outgoing, stop, state)


def stop_byte(reason: str) -> bytes:
    """Return the byte that makes a process report what it has found so far."""
    return TIME_IS_OVER if reason == TURN_LIMIT else STOP_READING


def collect_seldom() -> None:
    """Let the garbage collector look less: imported modules are never garbage, and one job leaves few cycles."""
    gc.freeze()
    gc.set_threshold(_GC_OBJECTS, 20, 100)


def _receive(incoming: BinaryIO) -> bytes | None:
    """The next frame's body, or None if the other end is gone."""
    header = incoming.read(HEADER_BYTES)
    if len(header) < HEADER_BYTES:
        return None
    length = int.from_bytes(header, "big")
    body = incoming.read(length)
    return body if len(body) == length else None


class _Stop:
    """Why the job should report what it has found so far; "" while it may go on."""

    def __init__(self) -> None:
        self.reason = ""


def _obey_parent(incoming: BinaryIO, stop: _Stop) -> None:
    """Thread that ends this process when the service closes its end or dies, and sets ``stop`` when asked to."""
    try:
        while reason := STOP_REASONS.get(incoming.read(1)):
            stop.reason = reason
    finally:
        os._exit(_PARENT_GONE)


def _run_job(request: JobRequest, content: bytes, outgoing: BinaryIO, stop: _Stop, state: bytes) -> None:
    last: Done | Crashed = Done()
    try:
        _send_events(request, content, outgoing, stop, state)
    except MemoryError:
        last = Crashed(error=f"it needed more than {request.limits.memory_bytes:,} bytes of memory", where=request.tool)
    except ConnectionError:
        return
    except Exception as error:  # noqa: BLE001 - hostile input can make a parser raise anything
        last = Crashed(error=_one_line(error), where=_where(error, request.tool))
    try:
        outgoing.write(pack(last))
        outgoing.flush()
    except ConnectionError:
        return


def _send_events(request: JobRequest, content: bytes, outgoing: BinaryIO, stop: _Stop, state: bytes) -> None:
    """Send each event that the tool yields: progress at once, findings buffered."""
    if request.knowledge is not None:
        knowledge.use(Path(request.knowledge))
    tool = _load(request.tool)

    def send(item: ToolEvent | MemberFrame | InputSearched | PartEnd) -> None:
        outgoing.write(pack(item))
        if isinstance(item, Progress):
            outgoing.flush()

    for item in _events(tool, request, content, send, lambda: stop.reason, state):
        send(item)


def _load(name: str) -> _Tool:
    module, _, function = name.partition(":")
    tool: _Tool = getattr(importlib.import_module(module), function)
    return tool


def _events(
    tool: _Tool,
    request: JobRequest,
    content: bytes,
    send: Callable[[Progress], None],
    stop_reason: Callable[[], str] = lambda: "",
    state: bytes = b"",
) -> Iterator[ToolEvent | MemberFrame | InputSearched | PartEnd]:
    plan = request.part or PartPlan(size=0)
    budget = ReadingBudget(
        request.limits.cpu_seconds, request.limits.wall_seconds, stop_reason=stop_reason,
        used=(plan.cpu_seconds, plan.wall_seconds),
    )  # fmt: skip
    earlier = unpacked(state) if state else None
    scanner = Scanner(request.name, is_prompt=request.is_prompt) if request.looks_for_instructions else None
    if earlier is not None:
        scanner = earlier.scanner
    elif scanner is not None and request.known_texts is not None:
        scanner.know(request.known_texts)
    elif scanner is not None:  # before the tool, which may crash or be stopped
        yield from _instruction_texts(scanner, request, content, send, budget)
        yield InputSearched()
    with _open_input(request, content, lambda read: None if budget.is_over else send(read)) as opened:
        stream, zeros = after_zeros(opened)
        if zeros and earlier is None:
            yield Gap(text=ZEROS.format(zeros), in_headline=True)
        part = part_for(request.part, earlier)
        source = _InputFile(stream, budget, part=part)
        if plan.given_up:
            source.give_up(plan.given_up, plan.start)
        for item in tool(source.content(request.input), source=request.name, **request.options):
            yield source.complete(item) if isinstance(item, Coverage) else item
            if scanner is not None and isinstance(item, Finding):
                yield from scanner.in_finding(item)
        if part.paused_at is not None:
            packed = PartState(part.carried, part.state, scanner).packed()
            yield PartEnd(state=packed, start=part.paused_at, cpu_seconds=budget.cpu_used)
            return
        if part.whole_because and request.part is not None:
            send(Progress(text=f"{request.name} is read at once, not in parts: {part.whole_because}"))
        yield from source.gaps()
    if scanner is not None:
        yield from scanner.last_findings()


def _instruction_texts(
    scanner: Scanner, request: JobRequest, content: bytes, send: Callable[[Progress], None], budget: ReadingBudget
) -> Iterator[ToolEvent]:
    """What the input itself contains; damage is the tool's to report."""
    try:
        with _open_input(request, content, send, work=INSTRUCTION_SEARCH) as opened:
            stream, _ = after_zeros(opened)
            source = _InputFile(stream, budget, SEARCH_SHARE)
            scanner.read(source.pieces())
            if (stop := source.stop_gap()) is not None:
                yield stop
            elif not source.is_packed:
                stream.seek(0)
                scanner.read_parts(stream)
    except Exception as error:  # noqa: BLE001 - hostile input must not keep the tool from running
        yield Gap(text=f"not searched to its end for text addressed to an analyst or a model ({_one_line(error)})")
    yield from scanner.findings()


def _open_input(request: JobRequest, content: bytes, send: Callable[[Progress], None], *, work: str = "") -> BinaryIO:
    """The input; what is read of it is sent as progress, every ``COUNT_SECONDS`` and, after that, at its end."""
    sent_at, is_reported = time.monotonic(), False

    def on_read(done: int, total: int) -> None:
        nonlocal sent_at, is_reported
        if time.monotonic() - sent_at >= COUNT_SECONDS or (is_reported and done == total):
            send(Progress.of(request.name, done, total, "byte", work=work))
            sent_at, is_reported = time.monotonic(), done < total

    return open_counted(request.path, content, on_read, request.part.start if request.part is not None else 0)


_COMPRESSED = (("gzip_start", gzip.open), ("bzip2", bz2.open), ("xz", lzma.open), ("zst", zstd.open))
_DAMAGE_ERRORS = (EOFError, OSError, zlib.error, lzma.LZMAError, zstd.ZstdError, RuntimeError)
_PIECE_BYTES = 1024 * 1024
_CHECKED_BYTES = 64 * 1024  # of lines, before the time is looked at again
_HEAD_BYTES = 4_096  # without a zero byte in text
_BLOCKS = {"evtx": Blocks(4_096, 65_536), "pcap": Blocks(0, 1), "pcapng": Blocks(0, 1)}
"""Binary logs, which are read up to any of their blocks; of other binary files, readers need the whole."""
_BOMS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))


class _Readable(Protocol):
    """What every opened file, compressed or not, can do."""

    def read(self, size: int = -1, /) -> bytes: ...

    def readline(self, size: int = -1, /) -> bytes: ...

    def seek(self, offset: int, /) -> int: ...


class _InputFile:
    """A file in the form that a tool needs, decompressed if necessary, within limits; records what it skipped."""

    def __init__(
        self,
        stream: BinaryIO,
        budget: ReadingBudget | None = None,
        share: float = READING_SHARE,
        *,
        part: Part | None = None,
    ) -> None:
        self._file = stream
        self._part = part or Part()
        self._budget = budget
        self._share = share
        self._size = stream.seek(0, io.SEEK_END)
        stream.seek(0)
        self._stream: _Readable = stream
        head = stream.read(6)
        stream.seek(0)
        opener = next((opener for label, opener in _COMPRESSED if starts_as(head, label)), None)
        if opener is not None:
            with contextlib.suppress(*_DAMAGE_ERRORS):  # reported when the content is read
                head = opener(stream, "rb").read(6)
            stream.seek(0)
            self._stream = opener(stream, "rb")  # reopened, because libbz2 fails if it is read again after an error
        self.is_packed = opener is not None
        self._encoding = next((encoding for bom, encoding in _BOMS if head.startswith(bom)), "utf-8")
        self._wide = "utf-16-be" if head.startswith(b"\xfe\xff") else "utf-16-le"
        if self.is_packed or self._encoding == "utf-16":
            self._part.refuse("it is compressed" if self.is_packed else "it is in UTF-16")
        self._end: int | None = None
        self._stopping: StoppingFile | None = None
        self._stopped: tuple[Exceeded, int, int] | None = None
        self._unread: Iterator[bytes] = iter(())  # what was read, but not given to the tool
        self._long_lines = 0
        self._first_long = 0
        self._gaps: list[Gap] = []
        self._is_cut = self._is_stop_noted = self._is_end_unknown = False
        self._whole: BinaryIO = stream

    def give_up(self, reason: str, end: int) -> None:
        """Let the file end here: what comes after was not read for this reason."""
        self._stopped, self._end = (Exceeded(reason, is_passing=True), end, self._size), end

    def content(self, kind: InputKind) -> _Content:
        """Return the content in the form that the tool needs."""
        match kind:
            case InputKind.TEXT:
                return self.text()
            case InputKind.LINES:
                return PartLines(self.lines(), self._part)
            case InputKind.BINARY:
                return self.binary()
            case InputKind.RAW:
                return self._file

    def pieces(self) -> Iterator[bytes]:
        """The content in pieces as UTF-8, as far as it can be read."""
        if self._encoding == "utf-16":
            yield from (text.encode(errors="replace") for text in self._wide_texts())
            return
        total = 0
        with contextlib.suppress(*_DAMAGE_ERRORS):
            while total < MAX_UNPACKED_BYTES and (piece := self._stream.read(_PIECE_BYTES)):
                total += len(piece)
                yield piece
                if self._is_time_up(self._file.tell()):
                    return

    def _is_time_up(self, done: int, total: int | None = None) -> bool:
        """Whether reading must end after so many bytes of the file, or of ``total``; not if these are all."""
        of = self._size if total is None else total
        exceeded = self._budget.exceeded(self._share) if self._budget is not None and done < of else None
        if exceeded is not None:
            self._stopped = exceeded, done, of
        return exceeded is not None

    def text(self) -> str:
        """The whole file, or its first MAX_TEXT_BYTES."""
        data = self._read_all(MAX_TEXT_BYTES)
        if len(data) > MAX_TEXT_BYTES:
            self._cut(f"only the first {MAX_TEXT_BYTES:,} bytes were examined")
        return data[:MAX_TEXT_BYTES].decode(self._encoding, errors="replace")

    def binary(self) -> BinaryIO:
        """The file itself; a compressed one is decompressed into memory, up to MAX_BINARY_BYTES."""
        whole, size = self._file, self._size
        if self.is_packed:
            data = self._read_all(MAX_BINARY_BYTES)
            if len(data) > MAX_BINARY_BYTES:
                self._cut(f"only the first {MAX_BINARY_BYTES:,} decompressed bytes were examined")
            whole, size = io.BytesIO(data[:MAX_BINARY_BYTES]), min(len(data), MAX_BINARY_BYTES)
        head = whole.read(_HEAD_BYTES)
        whole.seek(0)
        is_wide = self._encoding == "utf-16"
        blocks = next((one for label, one in _BLOCKS.items() if starts_as(head, label)), None)
        is_whole_needed = (b"\0" in head and not is_wide) or starts_as(head, "pdf")
        if self._budget is None or (is_whole_needed and blocks is None):
            return whole
        encoding = self._wide if is_wide else "utf-8"
        self._whole = whole
        self._stopping = StoppingFile(whole, size, lambda at: self._is_time_up(at, size), encoding, blocks=blocks)
        self._stopping.begin(self._part, self._end)
        return self._stopping.stream

    def _read_all(self, limit: int) -> bytes:
        """Read up to one byte more than ``limit``; of a damaged archive, what can be read."""
        pieces: list[bytes] = []
        total = 0
        try:
            while total <= limit and (piece := self._stream.read(min(_PIECE_BYTES, limit + 1 - total))):
                pieces.append(piece)
                total += len(piece)
        except _DAMAGE_ERRORS as error:
            self._cut(
                f"the archive is damaged after {total:,} decompressed bytes ({_one_line(error)}); "
                "the rest was not examined"
            )
            self._is_end_unknown = True
        return b"".join(pieces)

    def _line(self) -> bytes:
        try:
            return self._stream.readline(MAX_LINE_BYTES)
        except _DAMAGE_ERRORS as error:
            self._cut(f"the archive is damaged ({_one_line(error)}); the rest was not examined")
            self._is_end_unknown = True
            return b""

    def lines(self) -> Iterator[str]:
        """The lines without their ends; what exceeds MAX_LINE_BYTES in a line is skipped."""
        if self._encoding == "utf-16":
            yield from self._wide_lines()
            return
        part, so_far = self._part, self._part.carry(LinesSoFar)
        total, number, checked = so_far.bytes, so_far.lines, so_far.bytes
        self._long_lines, self._first_long = so_far.long_lines, so_far.first_long
        self._stream.seek(total)
        while total != self._end and (raw := self._line()):
            if total >= part.end and part.is_over(total):
                so_far.bytes, so_far.lines = total, number
                so_far.long_lines, so_far.first_long = self._long_lines, self._first_long
                return
            if total >= checked + _CHECKED_BYTES:
                checked = total
                if self._is_time_up(self._file.tell() - (0 if self.is_packed else len(raw))):
                    self._unread = iter([raw])
                    return
            number += 1
            total += len(raw)
            if not raw.endswith(b"\n") and len(raw) == MAX_LINE_BYTES:
                self._long_lines += 1
                self._first_long = self._first_long or number
                while total <= MAX_UNPACKED_BYTES and (rest := self._line()) and not rest.endswith(b"\n"):
                    total += len(rest)
            if raw[0] == 0:  # of a crash in the middle of a log
                raw = raw.lstrip(b"\0")
            yield from at_lone_cr(raw.decode(self._encoding, errors="replace").rstrip("\r\n"))
            if self.is_packed and total > MAX_UNPACKED_BYTES:
                self._cut(f"only the first {MAX_UNPACKED_BYTES:,} decompressed bytes ({number:,} lines) were examined")
                return

    def _wide_lines(self) -> Iterator[str]:
        number, kept, is_long = 0, "", False
        for text in self._wide_texts():
            *whole, rest = text.split("\n")  # as ``split_lines``
            for part in whole:
                number += 1
                yield self._cut_line(kept + part, number, is_long=is_long).removesuffix("\r")
                kept, is_long = "", False
            kept += rest
            if len(kept) > MAX_LINE_BYTES:
                kept, is_long = kept[: MAX_LINE_BYTES + 1], True
            if self._is_time_up(self._file.tell()):
                self._unread = iter([kept.encode(errors="replace")])
                return
        if kept:
            yield self._cut_line(kept, number + 1, is_long=is_long)

    def _cut_line(self, line: str, number: int, *, is_long: bool) -> str:
        if is_long or len(line) > MAX_LINE_BYTES:
            self._long_lines += 1
            self._first_long = self._first_long or number
        return line[:MAX_LINE_BYTES]

    def _wide_texts(self) -> Iterator[str]:
        """A file in UTF-16 in pieces, as far as it can be read."""
        decoder = codecs.getincrementaldecoder("utf-16")(errors="replace")
        total = 0
        while piece := self._piece():
            total += len(piece)
            yield decoder.decode(piece)
            if self.is_packed and total > MAX_UNPACKED_BYTES:
                self._cut(f"only the first {total:,} decompressed bytes were examined")
                return
        yield decoder.decode(b"", final=True)

    def _piece(self) -> bytes:
        try:
            return self._stream.read(_CHECKED_BYTES)
        except _DAMAGE_ERRORS as error:
            self._cut(f"the archive is damaged ({_one_line(error)}); the rest was not examined")
            self._is_end_unknown = True
            return b""

    def _cut(self, text: str, *, is_passing: bool = False) -> None:
        self._gaps.append(Gap(text=text, in_headline=True, is_passing=is_passing))
        self._is_cut = True

    def stop_gap(self) -> Gap | None:
        """What the search for instructions did not read, because its time was up."""
        if self._stopped is None:
            return None
        exceeded, done, of = self._stopped
        part = part_words(done, of, is_packed=self.is_packed)
        share = "" if exceeded.limit in STOP_REASONS.values() else "the search has a quarter of "
        return Gap(
            text=f"only {part} was searched for text addressed to an analyst or a model: {share}{exceeded.limit}",
            is_passing=exceeded.is_passing,
        )

    def _note_stop(self) -> None:
        """Report that reading ended early, once."""
        if self._stopped is None or self._is_stop_noted:
            return
        exceeded, done, of = self._stopped
        if self._stopping is not None:
            if self._stopping.end is None:  # the rest was one line, and was read
                return
            done = self._stopping.end
        self._is_stop_noted = True
        is_packed = self.is_packed and of == self._size
        part = part_words(done, of, is_packed=is_packed)
        self._cut(f"only {part} was read: {exceeded.limit}", is_passing=exceeded.is_passing)

    def complete(self, coverage: Coverage) -> Coverage:
        """The tool's coverage with what a limit cut off before the tool saw it, as far as that can be counted."""
        self._note_stop()
        if not self._is_cut:
            return coverage
        if self._budget is not None:
            self._budget.is_over = True
        if self._stopping is not None and not self._stopping.is_text:
            more = None  # what is in the rest is known only by reading it
        elif self._stopping is not None and self._stopping.end is not None:
            at = self._whole.tell()
            self._whole.seek(0)
            read = LineCounts(self._rest_of(self._whole, self._stopping.end))
            self._whole.seek(self._stopping.end)
            more = LineCounts(self._rest_of(self._whole, None)).of(read, coverage.unit, coverage.total)
            self._whole.seek(at)
        else:
            rest = LineCounts(chain(self._unread, self._rest_of(self._stream, None)))
            more = {"line": rest.lines, "byte": rest.size, "character": rest.size}.get(coverage.unit)
        total, is_minimum = coverage.total + max(more or 0, 1), more is None or self._is_end_unknown
        return msgspec.structs.replace(coverage, total=total, is_cut=True, total_is_minimum=is_minimum)

    def _rest_of(self, stream: _Readable, most: int | None) -> Iterator[bytes]:
        """The stream's content from here in UTF-8, up to ``most`` bytes of it, as far as there is time to count it.

        If it ends early, the end is unknown.
        """
        is_wide = self._encoding == "utf-16"
        decoder = codecs.getincrementaldecoder(self._wide)(errors="replace")
        limit = MAX_UNPACKED_BYTES if self.is_packed else self._size
        left = limit if most is None else most
        with contextlib.suppress(*_DAMAGE_ERRORS):
            while left > 0:
                if not (piece := stream.read(min(_PIECE_BYTES, left))):
                    return
                left -= len(piece)
                yield decoder.decode(piece).encode() if is_wide else piece
                if self._budget is not None and self._budget.exceeded(COUNTING_SHARE):
                    break
            else:
                if most is not None or not self.is_packed:
                    return
        self._is_end_unknown = True

    def gaps(self) -> Iterator[Gap]:
        """What was skipped."""
        self._note_stop()
        yield from self._gaps
        if self._long_lines:
            yield Gap(
                text=f"{self._long_lines:,} lines are longer than {MAX_LINE_BYTES:,} bytes (the first is line "
                f"{self._first_long:,}); only that much of each was examined"
            )


def _one_line(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{type(error).__name__}: {error.strerror}"  # without the path, which is internal to the service
    text = " ".join(f"{type(error).__name__}: {error}".split())
    return text if len(text) <= MAX_ERROR_CHARS else text[:MAX_ERROR_CHARS] + "…"


def _where(error: Exception, tool: str) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    return f"{Path(frames[-1].filename).name} line {frames[-1].lineno}" if frames else tool
