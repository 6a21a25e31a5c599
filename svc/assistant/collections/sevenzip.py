"""The members of a 7z archive, as py7zr pushes them from a thread, turned into content that is read. Pure.

7z packs many files into one block, so the members come in the archive's order and each must be read, or skipped, before
the next one.
"""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Iterator
from typing import BinaryIO, TypeAlias

import py7zr
from py7zr.exceptions import PasswordRequired
from py7zr.io import Py7zIO, WriterFactory

from svc.assistant.collections.request import USUAL_PASSWORD

_QUEUED_PIECES = 8
_ENCRYPTED = "the 7z archive is encrypted, and the usual password `infected` does not open it"
_ESCAPES = "its name leads out of the folder, and 7z archives are read by name"


_Item: TypeAlias = bytes | str | Exception | None
"""A piece, the name of the member that begins, None at a member's end, and what ended the archive."""


class SevenZipProblem(Exception):
    """Why the rest of the archive cannot be read, as a phrase."""


class _Stopped(Exception):
    """Nobody reads any more: ends the extracting thread."""


class SevenZipMember:
    """One member; ``read`` gives its content until it is exhausted, and the next member ends it."""

    def __init__(
        self, name: str, size: int, pieces: queue.Queue[_Item], *, is_encrypted: bool, reason: str = ""
    ) -> None:
        self.name = name
        self.size = size
        self.is_encrypted = is_encrypted
        self.reason = reason
        self._pieces = pieces
        self._rest = b""
        self._is_over = False

    def read(self, size: int) -> bytes:
        """The next bytes, at most ``size``; b"" at the end."""
        while not self._rest and not self._is_over:
            match self._pieces.get():
                case bytes() as piece:
                    self._rest = piece
                case Exception() as error:
                    self._is_over = True
                    self._pieces.put(error)  # the loop over the members needs it, too
                    if self.is_encrypted:
                        raise PermissionError from error
                    raise SevenZipProblem(_damaged(error)) from error
                case _:
                    self._is_over = True
        piece, self._rest = self._rest[:size], self._rest[size:]
        return piece

    def skip(self) -> None:
        """Drop what was not read; damage is left to the loop over the members."""
        with contextlib.suppress(PermissionError, SevenZipProblem):
            while self.read(1 << 20):
                pass


class _Writer(Py7zIO):
    """Takes one member's content from py7zr."""

    def __init__(self, out: _Pipe, name: str) -> None:
        self._out = out
        self._size = 0
        out.put(name)

    def write(self, s: bytes | bytearray) -> int:
        if s:
            self._out.put(bytes(s))
        self._size += len(s)
        return len(s)

    def read(self, size: int | None = None) -> bytes:
        return b""

    def seek(self, offset: int, whence: int = 0) -> int:
        return offset

    def flush(self) -> None:
        pass

    def size(self) -> int:
        return self._size

    def close(self) -> None:
        self._out.put(None)


class _Pipe:
    """The queue between the threads; ``put`` raises once the reader is gone."""

    def __init__(self) -> None:
        self.items: queue.Queue[_Item] = queue.Queue(maxsize=_QUEUED_PIECES)
        self.is_closed = threading.Event()

    def put(self, item: _Item) -> None:
        while not self.is_closed.is_set():
            try:
                self.items.put(item, timeout=0.2)
            except queue.Full:
                continue
            return
        raise _Stopped


class _Factory(WriterFactory):
    def __init__(self, out: _Pipe) -> None:
        self._out = out

    def create(self, filename: str) -> Py7zIO:
        return _Writer(self._out, filename)


def read_sevenzip(content: BinaryIO) -> Iterator[SevenZipMember]:
    """Yield the members that are files, in the archive's order.

    Raises:
        SevenZipProblem: The archive cannot be opened, or not to its end.
    """
    archive, is_encrypted = _opened(content)
    entries = [entry for entry in archive.list() if not entry.is_directory]
    sizes = {entry.filename: int(entry.uncompressed or 0) for entry in entries}
    pipe = _Pipe()
    for name in [name for name in sizes if _leads_out(name)]:
        yield SevenZipMember(name, sizes.pop(name), pipe.items, is_encrypted=is_encrypted, reason=_ESCAPES)
    threading.Thread(target=_extract, args=(archive, set(sizes), pipe), daemon=True).start()
    try:
        while True:
            match pipe.items.get():
                case str() as name:
                    member = SevenZipMember(name, sizes.pop(name, 0), pipe.items, is_encrypted=is_encrypted)
                    yield member
                    member.skip()
                case Exception() as error:
                    problem = _ENCRYPTED if is_encrypted else _damaged(error)
                    break
                case _:
                    return
        for name, size in sizes.items():
            yield SevenZipMember(name, size, pipe.items, is_encrypted=is_encrypted, reason=problem)
        raise SevenZipProblem(problem)
    finally:
        pipe.is_closed.set()


def _opened(content: BinaryIO) -> tuple[py7zr.SevenZipFile, bool]:
    """The archive, and whether it needs a password, which is then the usual one."""
    try:
        archive = py7zr.SevenZipFile(content)
        if not archive.needs_password():
            return archive, False
    except PasswordRequired:
        pass
    except Exception as error:
        raise SevenZipProblem(_damaged(error)) from error
    content.seek(0)
    try:
        return py7zr.SevenZipFile(content, password=USUAL_PASSWORD), True
    except Exception as error:
        raise SevenZipProblem(_ENCRYPTED) from error


def _extract(archive: py7zr.SevenZipFile, names: set[str], pipe: _Pipe) -> None:
    """The thread's function: push all members, then None, or what was raised."""
    try:
        archive.extract(targets=names, factory=_Factory(pipe))
        pipe.put(None)
    except _Stopped:
        pass
    except Exception as error:  # noqa: BLE001 - hostile input can make the library raise anything
        with contextlib.suppress(_Stopped):
            pipe.put(error)


def _leads_out(name: str) -> bool:
    return name.startswith(("/", "\\")) or ".." in name.replace("\\", "/").split("/") or name[1:2] == ":"


def _damaged(error: Exception) -> str:
    return f"the 7z archive is damaged or packed by an unknown method ({type(error).__name__})"
