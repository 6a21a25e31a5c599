"""One tool in its own process: receive a job from the socket, limit the process, run the tool, send what it yields.

The other end is ``pool.py``. A job's bytes come from its file or, if they may not be on disk, over the socket. The
process ends after one job, or at once when the other end is gone. Frames are four bytes of length (big-endian) and
msgpack. Down go the ``JobRequest`` and, without a path, the bytes; up come ``ToolEvent`` values, then ``Done`` or
``Crashed``.
"""

from __future__ import annotations

import bz2
import contextlib
import gc
import gzip
import importlib
import io
import lzma
import os
import resource
import signal
import socket
import sys
import threading
import time
import traceback
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, Protocol

import msgspec

from svc.assistant import knowledge
from svc.assistant.file_types.signatures import starts_as
from svc.assistant.findings import Coverage, Finding, Gap, InputKind, Progress, ToolEvent
from svc.assistant.instruction_text.scan import Scanner
from svc.assistant.log_readers.lines import split_lines
from svc.assistant.workers.counted_file import open_counted
from svc.assistant.workers.frames import InputSearched, MemberFrame
from svc.process_safety import forbid_core_dumps

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
_PARENT_GONE = 3  # exit status if the other end of the socket is closed


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What one job may use. ``pool.py`` enforces ``wall_seconds`` and ``findings``, the kernel the rest."""

    memory_bytes: int = 1024 * 1024 * 1024
    cpu_seconds: int = 240
    wall_seconds: float = 600.0
    findings: int = 2_500_000


class JobRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The job as it is sent. ``path`` None: the bytes follow in a frame of their own.

    ``knowledge`` is the folder of the user's own tables, which take precedence over the shipped ones.
    ``looks_for_instructions``: also look for text that addresses an analyst or a model. ``is_prompt``: the input is the
    user's question. ``known_texts``: what that search found in the input earlier, so that it is not searched again.
    """

    tool: str
    input: InputKind
    name: str
    limits: Limits
    path: str | None = None
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


Frame = ToolEvent | MemberFrame | InputSearched | Done | Crashed
"""What the process sends. Findings are decoded with the facts types that the job names."""
HEADER_BYTES = 4

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


def serve(connection: socket.socket) -> None:
    """The main function of the process: wait for the job, run it, end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.freeze()  # imported modules are never garbage, and one job leaves few cycles
    gc.set_threshold(_GC_OBJECTS, 20, 100)
    os.environ.clear()  # parsers of hostile input must not see the parent's secrets
    with connection, connection.makefile("rb") as incoming:
        body = _receive(incoming)
        if body is None:
            return
        request = msgspec.msgpack.decode(body, type=JobRequest)
        content = _receive(incoming) if request.path is None else b""
        if content is None:
            return
        threading.Thread(target=_exit_with_parent, args=(connection,), daemon=True).start()
        _apply_limits(request.limits)
        with connection.makefile("wb") as outgoing:
            _run_job(request, content, outgoing)


def _receive(incoming: BinaryIO) -> bytes | None:
    """The next frame's body, or None if the other end is gone."""
    header = incoming.read(HEADER_BYTES)
    if len(header) < HEADER_BYTES:
        return None
    length = int.from_bytes(header, "big")
    body = incoming.read(length)
    return body if len(body) == length else None


def _exit_with_parent(connection: socket.socket) -> None:
    """Thread that ends this process when the service closes its end or dies."""
    try:
        connection.recv(1)
    finally:
        os._exit(_PARENT_GONE)


def _apply_limits(limits: Limits) -> None:
    """Limit memory, CPU time and written files (none)."""
    forbid_core_dumps()
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (limits.cpu_seconds, limits.cpu_seconds + 5))
    memory = min(limits.memory_bytes, _hard_limit(resource.RLIMIT_DATA))
    resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))


def _hard_limit(which: int) -> int:
    hard = resource.getrlimit(which)[1]
    return sys.maxsize if hard == resource.RLIM_INFINITY else hard


def _run_job(request: JobRequest, content: bytes, outgoing: BinaryIO) -> None:
    last: Done | Crashed = Done()
    try:
        _send_events(request, content, outgoing)
    except MemoryError:
        last = Crashed(error=f"it needed more than {request.limits.memory_bytes:,} bytes of memory", where=request.tool)
    except BrokenPipeError:
        return
    except Exception as error:  # noqa: BLE001 - hostile input can make a parser raise anything
        last = Crashed(error=_one_line(error), where=_where(error, request.tool))
    try:
        outgoing.write(pack(last))
        outgoing.flush()
    except BrokenPipeError:
        return


def _send_events(request: JobRequest, content: bytes, outgoing: BinaryIO) -> None:
    """Send each event that the tool yields: progress at once, findings buffered."""
    if request.knowledge is not None:
        knowledge.use(Path(request.knowledge))
    tool = _load(request.tool)

    def send(item: ToolEvent | MemberFrame | InputSearched) -> None:
        outgoing.write(pack(item))
        if isinstance(item, Progress):
            outgoing.flush()

    for item in _events(tool, request, content, send):
        send(item)


def _load(name: str) -> _Tool:
    module, _, function = name.partition(":")
    tool: _Tool = getattr(importlib.import_module(module), function)
    return tool


def _events(
    tool: _Tool, request: JobRequest, content: bytes, send: Callable[[Progress], None]
) -> Iterator[ToolEvent | MemberFrame | InputSearched]:
    scanner = Scanner(request.name, is_prompt=request.is_prompt) if request.looks_for_instructions else None
    if scanner is not None and request.known_texts is not None:
        scanner.know(request.known_texts)
    elif scanner is not None:  # before the tool, which may crash or be stopped
        yield from _instruction_texts(scanner, request, content, send)
        yield InputSearched()
    with _open_input(request, content, send) as stream:
        source = _InputFile(stream)
        for item in tool(source.content(request.input), source=request.name, **request.options):
            yield source.complete(item) if isinstance(item, Coverage) else item
            if scanner is not None and isinstance(item, Finding):
                yield from scanner.in_finding(item)
        yield from source.gaps()
    if scanner is not None:
        yield from scanner.last_findings()


def _instruction_texts(
    scanner: Scanner, request: JobRequest, content: bytes, send: Callable[[Progress], None]
) -> Iterator[ToolEvent]:
    """What the input itself contains; damage is the tool's to report."""
    try:
        with _open_input(request, content, send, work=INSTRUCTION_SEARCH) as stream:
            source = _InputFile(stream)
            scanner.read(source.pieces())
            if not source.is_packed:
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

    return open_counted(request.path, content, on_read)


_COMPRESSED = (("gzip_start", gzip.open), ("bzip2", bz2.open), ("xz", lzma.open), ("zst", zstd.open))
_DAMAGE_ERRORS = (EOFError, OSError, zlib.error, lzma.LZMAError, zstd.ZstdError, RuntimeError)
_PIECE_BYTES = 1024 * 1024
_BOMS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))


class _Readable(Protocol):
    """What every opened file, compressed or not, can do."""

    def read(self, size: int = -1, /) -> bytes: ...

    def readline(self, size: int = -1, /) -> bytes: ...

    def seek(self, offset: int, /) -> int: ...


class _InputFile:
    """A file in the form that a tool needs, decompressed if necessary, within limits; records what it skipped."""

    def __init__(self, stream: BinaryIO) -> None:
        self._file = stream
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
        self._long_lines = 0
        self._first_long = 0
        self._gaps: list[Gap] = []
        self._is_cut = False

    def content(self, kind: InputKind) -> _Content:
        """Return the content in the form that the tool needs."""
        match kind:
            case InputKind.TEXT:
                return self.text()
            case InputKind.LINES:
                return self.lines()
            case InputKind.BINARY:
                return self.binary()
            case InputKind.RAW:
                return self._file

    def pieces(self) -> Iterator[bytes]:
        """The content in pieces as UTF-8, as far as it can be read."""
        if self._encoding == "utf-16":
            yield self.text().encode()
            return
        total = 0
        with contextlib.suppress(*_DAMAGE_ERRORS):
            while total < MAX_UNPACKED_BYTES and (piece := self._stream.read(_PIECE_BYTES)):
                total += len(piece)
                yield piece

    def text(self) -> str:
        """The whole file, or its first MAX_TEXT_BYTES."""
        data = self._read_all(MAX_TEXT_BYTES)
        if len(data) > MAX_TEXT_BYTES:
            self._cut(f"only the first {MAX_TEXT_BYTES:,} bytes were examined")
        return data[:MAX_TEXT_BYTES].decode(self._encoding, errors="replace")

    def binary(self) -> BinaryIO:
        """The file itself; a compressed one is decompressed into memory, up to MAX_BINARY_BYTES."""
        if not self.is_packed:
            return self._file
        data = self._read_all(MAX_BINARY_BYTES)
        if len(data) > MAX_BINARY_BYTES:
            self._cut(f"only the first {MAX_BINARY_BYTES:,} decompressed bytes were examined")
        return io.BytesIO(data[:MAX_BINARY_BYTES])

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
        return b"".join(pieces)

    def _line(self) -> bytes:
        try:
            return self._stream.readline(MAX_LINE_BYTES)
        except _DAMAGE_ERRORS as error:
            self._cut(f"the archive is damaged ({_one_line(error)}); the rest was not examined")
            return b""

    def lines(self) -> Iterator[str]:
        """The lines without their ends; what exceeds MAX_LINE_BYTES in a line is skipped."""
        if self._encoding == "utf-16":
            yield from split_lines(self.text())
            return
        total = number = 0
        while raw := self._line():
            number += 1
            total += len(raw)
            if not raw.endswith(b"\n") and len(raw) == MAX_LINE_BYTES:
                self._long_lines += 1
                self._first_long = self._first_long or number
                while total <= MAX_UNPACKED_BYTES and (rest := self._line()) and not rest.endswith(b"\n"):
                    total += len(rest)
            yield raw.decode(self._encoding, errors="replace").rstrip("\r\n")
            if self.is_packed and total > MAX_UNPACKED_BYTES:
                self._cut(f"only the first {MAX_UNPACKED_BYTES:,} decompressed bytes ({number:,} lines) were examined")
                return

    def _cut(self, text: str) -> None:
        self._gaps.append(Gap(text=text, in_headline=True))
        self._is_cut = True

    def complete(self, coverage: Coverage) -> Coverage:
        """The tool's coverage with what a limit cut off before the tool saw it, as far as that can be counted."""
        if not self._is_cut:
            return coverage
        size = lines = 0
        with contextlib.suppress(*_DAMAGE_ERRORS):
            while size < MAX_UNPACKED_BYTES and (piece := self._stream.read(_PIECE_BYTES)):
                size += len(piece)
                lines += piece.count(b"\n")
        more = lines if coverage.unit == "line" else size if coverage.unit in ("byte", "character") else 0
        return msgspec.structs.replace(coverage, total=coverage.total + max(more, 1))

    def gaps(self) -> Iterator[Gap]:
        """What was skipped."""
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
    return f"{frames[-1].filename.rsplit('/', 1)[-1]} line {frames[-1].lineno}" if frames else tool
