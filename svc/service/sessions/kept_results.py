"""What tools found in attached files: on disk beside the files, or in memory for sessions that may not be logged.

A result belongs to one stored file, which belongs to one user: nobody else's question reads it, is answered sooner by
it, or can change it. It is erased with the file. All of it can be lost without harm: the file is then read again.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import os
import shutil
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable
from pathlib import Path

from svc._atomic_file import replace
from svc.errors import InsufficientStorageError
from svc.process_safety.private_files import make_private_folder
from svc.service.sessions.file_folder import FILE_NAME
from svc.service.store.disk_space import DiskSpace

log: logging.Logger = logging.getLogger("svc.files")
_DIGEST_BYTES = 32
_LARGEST_SHARE = 4  # a result takes at most a quarter of the room, so that it does not push out all others
_Key = tuple[str, str]
"""File and name of a result."""


class DiskResults:
    """Results of the files of logged sessions: a folder of mode 0700 with one folder for each file.

    Each result begins with a digest of its place and its content, so that one that is damaged, cut or moved is noticed
    and dropped. If there is no more room, what was used longest ago makes way.

    Args:
        folder: Where results are; `open` creates it.
        limit_bytes: The room for all of them; 0 keeps none.
        exists: Whether a file is stored, by its id.
        space: The free space of the disk.
    """

    def __init__(self, folder: Path, limit_bytes: int, exists: Callable[[str], bool], space: DiskSpace) -> None:
        self._folder = folder
        self._limit_bytes = limit_bytes
        self._exists = exists
        self._space = space
        self._sizes: OrderedDict[_Key, int] = OrderedDict()  # what was used longest ago comes first
        self._used = 0
        self._lock = threading.Lock()  # a result is never written after its file was erased

    @property
    def used_bytes(self) -> int:
        """What all results take."""
        return self._used

    @property
    def file_ids(self) -> set[str]:
        """The files that have results."""
        with self._lock:
            return {file_id for file_id, _ in self._sizes}

    def open(self) -> None:
        """Read what an earlier process left; drop what is unfinished, and results of files that are gone. Blocks."""
        with self._lock:
            try:
                make_private_folder(self._folder)
                self._folder.chmod(0o700)  # fails if it is another user's
                self._read_folder()
            except OSError as error:
                log.warning("results are not cached", extra={"folder": str(self._folder), "reason": error.strerror})
                self._limit_bytes = 0

    def _read_folder(self) -> None:
        found: list[tuple[float, _Key, int]] = []
        for entry in [*os.scandir(self._folder)]:
            if not FILE_NAME.fullmatch(entry.name) or entry.is_symlink() or not entry.is_dir():
                continue  # somebody else's
            if self._limit_bytes and self._exists(entry.name):
                found += self._left(Path(entry.path))
            else:
                shutil.rmtree(entry.path)
        for _, key, size in sorted(found):
            self._sizes[key] = size
            self._used += size
        self._make_room(0)

    @staticmethod
    def _left(folder: Path) -> list[tuple[float, _Key, int]]:
        found = []
        for entry in [*os.scandir(folder)]:
            if entry.name.endswith(".part"):
                Path(entry.path).unlink()
                continue
            status = entry.stat(follow_symlinks=False)
            found.append((status.st_mtime, (folder.name, entry.name), status.st_size))
        return found

    def of(self, file_id: str) -> FileResults | None:
        """The results of one file; None if none are kept."""
        return FileResults(self, file_id) if self._limit_bytes else None

    async def find(self, file_id: str, name: str) -> bytes | None:
        """A kept result as it was; None if there is none, or it was damaged."""
        return await asyncio.to_thread(self._find, (file_id, name))

    def _find(self, key: _Key) -> bytes | None:
        with self._lock:
            path = self._path(key)
            try:
                stored = path.read_bytes()
                os.utime(path)
            except FileNotFoundError:  # never kept, or dropped by another service
                self._drop(key)
                return None
            except OSError:
                stored = b""
            data = stored[_DIGEST_BYTES:]
            if stored[:_DIGEST_BYTES] != _digest(key, data):
                log.warning("damaged cached result deleted", extra={"file": key[0]})
                self._drop(key)
                return None
            self._used += len(stored) - self._sizes.pop(key, 0)
            self._sizes[key] = len(stored)
            return data

    async def keep(self, file_id: str, name: str, data: bytes) -> None:
        """Keep a result, unless it is too large, the disk is nearly full, or the file is gone."""
        with contextlib.suppress(InsufficientStorageError):
            self._space.check()
            await asyncio.to_thread(self._keep, (file_id, name), data)

    def _keep(self, key: _Key, data: bytes) -> None:
        size = len(data) + _DIGEST_BYTES
        with self._lock:
            if size > self._limit_bytes // _LARGEST_SHARE or not self._exists(key[0]):
                return
            self._drop(key)
            self._make_room(size)
            path = self._path(key)
            part = path.with_name(f"{path.name}.part")
            try:
                path.parent.mkdir(mode=0o700, exist_ok=True)
                with open(os.open(part, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600), "wb") as file:  # noqa: PTH123
                    file.write(_digest(key, data))
                    file.write(data)
                replace(part, path)
            except OSError as error:
                log.warning("result not kept", extra={"file": key[0], "reason": error.strerror})
                with contextlib.suppress(OSError):
                    part.unlink()
                return
            self._sizes[key] = size
            self._used += size
            if not self._exists(key[0]):  # another service has erased the file meanwhile
                self._drop(key)

    def _make_room(self, size: int) -> None:
        while self._sizes and self._used + size > self._limit_bytes:
            self._drop(next(iter(self._sizes)))

    def _drop(self, key: _Key) -> None:
        self._used -= self._sizes.pop(key, 0)
        with contextlib.suppress(OSError):
            self._path(key).unlink()
            self._path(key).parent.rmdir()  # if that was its last

    def erase(self, file_ids: Iterable[str]) -> None:
        """Erase the results of files that were erased before. Blocks."""
        with self._lock:
            erased = {file_id for file_id in file_ids if FILE_NAME.fullmatch(file_id)}
            for key in [key for key in self._sizes if key[0] in erased]:
                self._used -= self._sizes.pop(key)
            for file_id in erased:
                shutil.rmtree(self._folder / file_id, ignore_errors=True)

    def _path(self, key: _Key) -> Path:
        return self._folder / key[0] / key[1]


def _digest(key: _Key, data: bytes) -> bytes:
    known = hashlib.sha256("/".join(key).encode())
    known.update(data)
    return known.digest()


class MemoryResults:
    """Results of the files of unlogged sessions, in memory; ``exists`` and the limit are as for ``DiskResults``."""

    def __init__(self, limit_bytes: int, exists: Callable[[str], bool]) -> None:
        self._limit_bytes = limit_bytes
        self._exists = exists
        self._kept: OrderedDict[_Key, bytes] = OrderedDict()
        self._used = 0

    @property
    def used_bytes(self) -> int:
        """What all results take."""
        return self._used

    def of(self, file_id: str) -> FileResults | None:
        """The results of one file; None if none are kept."""
        return FileResults(self, file_id) if self._limit_bytes else None

    async def find(self, file_id: str, name: str) -> bytes | None:
        """A kept result; None if there is none."""
        data = self._kept.get((file_id, name))
        if data is not None:
            self._kept.move_to_end((file_id, name))
        return data

    async def keep(self, file_id: str, name: str, data: bytes) -> None:
        """Keep a result, unless it is too large or the file is gone."""
        if len(data) > self._limit_bytes // _LARGEST_SHARE or not self._exists(file_id):
            return
        self._drop((file_id, name))
        while self._kept and self._used + len(data) > self._limit_bytes:
            self._drop(next(iter(self._kept)))
        self._kept[file_id, name] = data
        self._used += len(data)

    def erase(self, file_ids: Iterable[str]) -> None:
        """Erase the results of these files."""
        erased = set(file_ids)
        for key in [key for key in self._kept if key[0] in erased]:
            self._drop(key)

    def _drop(self, key: _Key) -> None:
        self._used -= len(self._kept.pop(key, b""))


class FileResults:
    """The results of one file (``KeptResults``)."""

    def __init__(self, results: DiskResults | MemoryResults, file_id: str) -> None:
        self._results = results
        self._file_id = file_id

    async def find(self, name: str) -> bytes | None:
        """What was kept under this name, unchanged; None if there is nothing."""
        return await self._results.find(self._file_id, name)

    async def keep(self, name: str, data: bytes) -> None:
        """Keep data under a name of 64 hexadecimal digits, if there is room."""
        await self._results.keep(self._file_id, name, data)
