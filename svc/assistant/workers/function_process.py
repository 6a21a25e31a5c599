"""Calls of functions in their own process: receive one, run it within its processor time, send what it returns.

The other end is ``functions.py``. Frames are four bytes of length (big-endian) and a pickle: both ends are this
product, the socket is a pair that nobody else can open, and what runs here is Python over text. Files are passed by
number, because their content may be large and planning does not read it.
"""

from __future__ import annotations

import gc
import io
import os
import pickle
import socket
from collections.abc import Callable, Mapping, Sequence
from typing import BinaryIO

import msgspec

from svc.assistant.turn import TurnFile
from svc.assistant.workers import own_limits

HEADER_BYTES = 4
MEMORY_BYTES = 1024 * 1024 * 1024


class Raised(msgspec.Struct, frozen=True):
    """The function raised."""

    error: Exception


class _Pickler(pickle.Pickler):
    """Names files by their number in ``files``, which grows if ``is_growing``."""

    def __init__(self, out: BinaryIO, files: list[TurnFile], *, is_growing: bool) -> None:
        super().__init__(out, protocol=pickle.HIGHEST_PROTOCOL)
        self._files = files
        self._numbers = {id(file): number for number, file in enumerate(files)}
        self._is_growing = is_growing

    def persistent_id(self, value: object) -> int | None:
        if not isinstance(value, TurnFile):
            return None
        number = self._numbers.get(id(value))
        if number is None:
            if not self._is_growing:
                raise TypeError(f"{value.name!r} is not one of the files of the call")
            number = self._numbers[id(value)] = len(self._files)
            self._files.append(value)
        return number


class _Unpickler(pickle.Unpickler):
    def __init__(self, data: bytes, files: Sequence[TurnFile]) -> None:
        super().__init__(io.BytesIO(data))
        self._files = files

    def persistent_load(self, number: int) -> TurnFile:
        return self._files[number]


def _pickled(value: object, files: list[TurnFile], *, is_growing: bool) -> bytes:
    out = io.BytesIO()
    _Pickler(out, files, is_growing=is_growing).dump(value)
    return out.getvalue()


def pack_call(
    function: Callable[..., object], args: Sequence[object], kwargs: Mapping[str, object]
) -> tuple[bytes, list[TurnFile]]:
    """Encode a call; returns the files that it names, too."""
    files: list[TurnFile] = []
    call = _pickled((function, tuple(args), dict(kwargs)), files, is_growing=True)
    empty = [(file.name, file.size, file.sha256, file.mime_type, file.label, file.is_new) for file in files]
    return pickle.dumps((empty, call), protocol=pickle.HIGHEST_PROTOCOL), files


def unpack_reply(body: bytes, files: Sequence[TurnFile]) -> object:
    """Decode what the process sent; files are those of the call."""
    return _Unpickler(body, files).load()


def serve(connection: socket.socket, cpu_seconds: float) -> None:
    """The main function of the process: answer calls until the other end is closed."""
    own_limits.ignore_interrupts()
    own_limits.prepare_call_limit()
    gc.freeze()  # imported modules are never garbage
    os.environ.clear()  # readers of hostile text must not see the parent's secrets
    own_limits.apply(MEMORY_BYTES)
    with connection, connection.makefile("rwb") as stream:
        while len(header := stream.read(HEADER_BYTES)) == HEADER_BYTES:
            body = stream.read(int.from_bytes(header, "big"))
            own_limits.limit_call(cpu_seconds)
            reply = _reply(body)
            own_limits.limit_call(0)
            try:
                stream.write(len(reply).to_bytes(HEADER_BYTES, "big") + reply)
                stream.flush()
            except ConnectionError:
                return


def _reply(body: bytes) -> bytes:
    described, call = pickle.loads(body)  # noqa: S301 - from our own process
    files = [
        TurnFile(name=name, size=size, sha256=sha256, mime_type=mime_type, label=label, source=b"", is_new=is_new)
        for name, size, sha256, mime_type, label, is_new in described
    ]
    function, args, kwargs = _Unpickler(call, files).load()
    try:
        return _pickled(function(*args, **kwargs), files, is_growing=False)
    except Exception as error:  # noqa: BLE001 - raised again by the caller
        return _pickled(Raised(_sendable(error)), files, is_growing=False)


def _sendable(error: Exception) -> Exception:
    """The error, or one with its text if it cannot be made again from a pickle."""
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
    except Exception:  # noqa: BLE001 - whatever its class does
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error
