"""One tool in a process of its own: take a job from the socket, cap the process, run the tool, send what it yields.

The other end is ``workers.py``. A job's bytes come from its file or, where nothing may be on disk, over the socket. The
process ends after one job, and at once when the other end is gone. Frames: four bytes of length (big-endian), then
msgpack; the job goes down, then its bytes if it has no path; ``ToolEvent`` come up, then ``Done`` or ``Crashed``.
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
import traceback
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Protocol

import msgspec

from svc.assistant import knowledge
from svc.assistant.file_types.signatures import starts_as
from svc.assistant.findings import Gap, InputKind, Progress, ToolEvent

MAX_TEXT_BYTES = 64 * 1024 * 1024  # of one file that a tool wants as a whole; the rest becomes a Gap
MAX_BINARY_BYTES = 256 * 1024 * 1024  # of a packed file that a tool wants as bytes: a quarter of the worker's memory
MAX_UNPACKED_BYTES = 512 * 1024 * 1024  # of a compressed log
MAX_LINE_BYTES = 64 * 1024  # the rest of a longer line is passed over
MAX_ERROR_CHARS = 300
_GC_OBJECTS = 100_000
_GONE = 3  # exit status: the other end went away


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What one job may use. ``wall_seconds`` is watched by ``workers.py``, the rest by the kernel."""

    memory_bytes: int = 1024 * 1024 * 1024
    cpu_seconds: int = 120
    wall_seconds: float = 600.0
    findings: int = 200_000


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """What goes down the socket. ``path`` None: the bytes follow as a frame of their own.

    ``knowledge`` is the folder of the user's own tables of facts, which go before those that ship.
    """

    tool: str
    input: InputKind
    name: str
    limits: Limits
    path: str | None = None
    options: dict[str, str] = {}
    knowledge: str | None = None


class Done(msgspec.Struct, frozen=True, tag="done"):
    """The tool has yielded everything."""


class Crashed(msgspec.Struct, frozen=True, kw_only=True, tag="crashed"):
    """The tool raised, or the file could not be read; ``error`` is one line, ``where`` a module and line of ours."""

    error: str
    where: str


Frame = ToolEvent | Done | Crashed
"""What comes up the socket; the other end names the facts that a job's findings hold."""
HEADER_BYTES = 4

_encoder = msgspec.msgpack.Encoder()


_Content = str | Iterator[str] | BinaryIO


class _Tool(Protocol):
    """A tool's public generator."""

    def __call__(
        self, content: str | Iterator[str] | BinaryIO, /, *, source: str, **options: str
    ) -> Iterator[ToolEvent]: ...


def pack(value: Order | Frame | bytes) -> bytes:
    """``value`` as one frame; bytes are framed as they are."""
    body = value if isinstance(value, bytes) else _encoder.encode(value)
    return len(body).to_bytes(HEADER_BYTES, "big") + body


def serve(connection: socket.socket) -> None:
    """The process's main: wait for the one job, do it, end. Called in the child by multiprocessing."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.freeze()  # what was imported stays, and a process of one job need not look for cycles often
    gc.set_threshold(_GC_OBJECTS, 20, 100)
    os.environ.clear()  # a parser of hostile input needs no secret of its parent's
    with connection, connection.makefile("rb") as incoming:
        body = _receive(incoming)
        if body is None:
            return
        order = msgspec.msgpack.decode(body, type=Order)
        content = _receive(incoming) if order.path is None else b""
        if content is None:
            return
        threading.Thread(target=_end_with, args=(connection,), daemon=True).start()
        _cap(order.limits)
        with connection.makefile("wb") as outgoing:
            _answer(order, content, outgoing)


def _receive(incoming: BinaryIO) -> bytes | None:
    """The next frame's body, or None where the other end is gone."""
    header = incoming.read(HEADER_BYTES)
    if len(header) < HEADER_BYTES:
        return None
    length = int.from_bytes(header, "big")
    body = incoming.read(length)
    return body if len(body) == length else None


def _end_with(connection: socket.socket) -> None:
    """End this process when the service closes its end or dies; runs beside the tool."""
    try:
        connection.recv(1)
    finally:
        os._exit(_GONE)


def _cap(limits: Limits) -> None:
    """No more memory, processor time or written files than allowed."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (limits.cpu_seconds, limits.cpu_seconds + 5))
    memory = min(limits.memory_bytes, _hard_limit(resource.RLIMIT_DATA))
    resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))


def _hard_limit(which: int) -> int:
    hard = resource.getrlimit(which)[1]
    return sys.maxsize if hard == resource.RLIM_INFINITY else hard


def _answer(order: Order, content: bytes, outgoing: BinaryIO) -> None:
    last: Done | Crashed = Done()
    try:
        _run(order, content, outgoing)
    except MemoryError:
        last = Crashed(error=f"it needed more than {order.limits.memory_bytes:,} bytes of memory", where=order.tool)
    except BrokenPipeError:
        return
    except Exception as error:  # noqa: BLE001 - whatever a parser raises on hostile input is an answer, not an outage
        last = Crashed(error=_one_line(error), where=_where(error, order.tool))
    try:
        outgoing.write(pack(last))
        outgoing.flush()
    except BrokenPipeError:
        return


def _run(order: Order, content: bytes, outgoing: BinaryIO) -> None:
    """Send each thing that the tool yields; progress goes out at once, findings in buffers."""
    if order.knowledge is not None:
        knowledge.use(Path(order.knowledge))
    tool = _load(order.tool)
    for item in _yields(tool, order, content):
        outgoing.write(pack(item))
        if isinstance(item, Progress):
            outgoing.flush()


def _load(name: str) -> _Tool:
    module, _, function = name.partition(":")
    tool: _Tool = getattr(importlib.import_module(module), function)
    return tool


def _yields(tool: _Tool, order: Order, content: bytes) -> Iterator[ToolEvent]:
    with _opened(order, content) as stream:
        source = _Unpacked(stream)
        yield from tool(source.content(order.input), source=order.name, **order.options)
        yield from source.gaps()


def _opened(order: Order, content: bytes) -> BinaryIO:
    return io.BytesIO(content) if order.path is None else open(order.path, "rb")  # noqa: PTH123


_PACKED = (("gzip_start", gzip.open), ("bzip2", bz2.open), ("xz", lzma.open))
_DAMAGE = (EOFError, OSError, zlib.error, lzma.LZMAError, RuntimeError)
_PIECE_BYTES = 1024 * 1024
_BOMS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))


class _Readable(Protocol):
    """What every opened file, packed or not, can do."""

    def read(self, size: int = -1, /) -> bytes: ...

    def readline(self, size: int = -1, /) -> bytes: ...

    def seek(self, offset: int, /) -> int: ...


class _Unpacked:
    """A file as text, unpacked where it is a rotated log, within bounds; knows afterwards what it passed over."""

    def __init__(self, stream: BinaryIO) -> None:
        self._file = stream
        self._stream: _Readable = stream
        head = stream.read(6)
        stream.seek(0)
        opener = next((opener for label, opener in _PACKED if starts_as(head, label)), None)
        if opener is not None:
            with contextlib.suppress(*_DAMAGE):  # met again by what reads on, and said there
                head = opener(stream, "rb").read(6)
            stream.seek(0)
            self._stream = opener(stream, "rb")  # a new one: libbz2 breaks where it is asked on after damage
        self._is_packed = opener is not None
        self._encoding = next((encoding for bom, encoding in _BOMS if head.startswith(bom)), "utf-8")
        self._long_lines = 0
        self._first_long = 0
        self._notes: list[str] = []

    def content(self, kind: InputKind) -> _Content:
        """Return the content in the form that the tool needs."""
        match kind:
            case InputKind.TEXT:
                return self.text()
            case InputKind.LINES:
                return self.lines()
            case InputKind.BINARY:
                return self.binary()

    def text(self) -> str:
        """The whole, or its first MAX_TEXT_BYTES."""
        data = self._read_all(MAX_TEXT_BYTES)
        if len(data) > MAX_TEXT_BYTES:
            self._notes.append(f"only the first {MAX_TEXT_BYTES:,} bytes were looked at")
        return data[:MAX_TEXT_BYTES].decode(self._encoding, errors="replace")

    def binary(self) -> BinaryIO:
        """The file itself; a packed one unpacked into memory, its first MAX_BINARY_BYTES."""
        if not self._is_packed:
            return self._file
        data = self._read_all(MAX_BINARY_BYTES)
        if len(data) > MAX_BINARY_BYTES:
            self._notes.append(f"only the first {MAX_BINARY_BYTES:,} unpacked bytes were looked at")
        return io.BytesIO(data[:MAX_BINARY_BYTES])

    def _read_all(self, limit: int) -> bytes:
        """Up to one byte more than ``limit``; what a damaged archive still gives."""
        pieces: list[bytes] = []
        total = 0
        try:
            while total <= limit and (piece := self._stream.read(min(_PIECE_BYTES, limit + 1 - total))):
                pieces.append(piece)
                total += len(piece)
        except _DAMAGE as error:
            self._notes.append(
                f"damaged after {total:,} unpacked bytes ({_one_line(error)}); the rest was not looked at"
            )
        return b"".join(pieces)

    def _line(self) -> bytes:
        try:
            return self._stream.readline(MAX_LINE_BYTES)
        except _DAMAGE as error:
            self._notes.append(f"the archive is damaged ({_one_line(error)}); what comes after was not looked at")
            return b""

    def lines(self) -> Iterator[str]:
        """Line by line without their ends; what a line has beyond MAX_LINE_BYTES is passed over."""
        if self._encoding == "utf-16":
            yield from self.text().splitlines()
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
            if self._is_packed and total > MAX_UNPACKED_BYTES:
                self._notes.append(
                    f"only the first {MAX_UNPACKED_BYTES:,} unpacked bytes ({number:,} lines) were looked at"
                )
                return

    def gaps(self) -> Iterator[Gap]:
        """What was passed over."""
        for note in self._notes:
            yield Gap(text=note)
        if self._long_lines:
            yield Gap(
                text=f"{self._long_lines:,} lines are longer than {MAX_LINE_BYTES:,} bytes (the first is line "
                f"{self._first_long:,}); only that much of each was looked at"
            )


def _one_line(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{type(error).__name__}: {error.strerror}"  # without the path, which is the service's own affair
    text = " ".join(f"{type(error).__name__}: {error}".split())
    return text if len(text) <= MAX_ERROR_CHARS else text[:MAX_ERROR_CHARS] + "…"


def _where(error: Exception, tool: str) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    return f"{frames[-1].filename.rsplit('/', 1)[-1]} line {frames[-1].lineno}" if frames else tool
