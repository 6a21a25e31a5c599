"""A folder as one file to attach: a TAR that is produced while it is sent, so that it takes no space on disk.

Links and devices are left out, and folders on the way are not followed by links. A file that cannot be read is listed
with the reason, so that the answer can name it.
"""

from __future__ import annotations

import io
import os
import stat
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

from svc.errors import InvalidRequestError

UNREADABLE_FIELD = "SVC.unreadable"
"""PAX field of a member that could not be read: why. The service reads it (docs/collections.md, "Folders")."""
_PIECE_BYTES = 256 * 1024


def archive_name(folder: Path) -> str:
    """The name under which a folder is attached: ``case.tar``."""
    return f"{folder.resolve().name or 'folder'}.tar"


def open_path(path: Path) -> BinaryIO:
    """Open a file, or a folder as a TAR.

    Raises:
        OSError: It cannot be read.
        InvalidRequestError: The folder contains no file.
    """
    if not path.is_dir():
        return path.open("rb")
    files = list(_files(path))
    if not files:
        raise InvalidRequestError(f"{path} contains no file. Attach a folder with files in it.")
    return cast(BinaryIO, io.BufferedReader(_TarStream(path, files), _PIECE_BYTES))


def size_of_path(path: Path) -> int:
    """The bytes that ``open_path`` gives; of a folder, about: a file may change, and long names take more.

    Raises OSError if it cannot be read.
    """
    if not path.is_dir():
        return path.stat().st_size
    sizes = (file.lstat().st_size for file, problem in _files(path) if not problem)
    block = tarfile.BLOCKSIZE
    return sum(block + -(-size // block) * block for size in sizes) + 2 * block


def _files(folder: Path) -> Iterator[tuple[Path, str]]:
    """The regular files below a folder in the order of their names, each with "" or why it cannot be listed."""
    problems: list[OSError] = []
    for root, folders, names in os.walk(folder, onerror=problems.append):
        folders.sort()
        for name in sorted(names):
            path = Path(root, name)
            if stat.S_ISREG(path.lstat().st_mode):
                yield path, ""
        while problems:
            problem = problems.pop()
            yield Path(problem.filename or root), problem.strerror or "it cannot be listed"


class _TarStream(io.RawIOBase):
    """The TAR's bytes, as they are read."""

    def __init__(self, folder: Path, files: list[tuple[Path, str]]) -> None:
        self._pieces = _tar(folder, files)
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        while not self._rest:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._rest = memoryview(piece)
        count = min(len(buffer), len(self._rest))
        buffer[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count


def _tar(folder: Path, files: list[tuple[Path, str]]) -> Iterator[bytes]:
    for path, problem in files:
        yield from _member(path, path.relative_to(folder).as_posix(), problem)
    yield bytes(2 * tarfile.BLOCKSIZE)


def _member(path: Path, name: str, problem: str) -> Iterator[bytes]:
    info = tarfile.TarInfo(name.encode(errors="replace").decode())
    try:
        if problem:
            raise PermissionError(0, problem)
        with path.open("rb") as file:
            state = os.fstat(file.fileno())
            info.size, info.mtime, info.mode = state.st_size, int(state.st_mtime), state.st_mode & 0o777
            yield info.tobuf(tarfile.PAX_FORMAT)
            yield from _content(file, info.size)
    except OSError as error:
        info.pax_headers = {UNREADABLE_FIELD: error.strerror or type(error).__name__}
        info.size = 0
        yield info.tobuf(tarfile.PAX_FORMAT)


def _content(file: io.BufferedReader, size: int) -> Iterator[bytes]:
    """Exactly ``size`` bytes and the padding: a log may grow or shrink while it is read."""
    left = size
    while left and (piece := _read(file, min(left, _PIECE_BYTES))):
        left -= len(piece)
        yield piece
    while left:
        piece = bytes(min(left, _PIECE_BYTES))
        left -= len(piece)
        yield piece
    yield bytes(-size % tarfile.BLOCKSIZE)


def _read(file: io.BufferedReader, size: int) -> bytes:
    """The next bytes, or b"" if the file can no longer be read; its header has been sent by then."""
    try:
        return file.read(size)
    except OSError:
        return b""
