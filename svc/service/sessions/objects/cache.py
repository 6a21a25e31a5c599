"""Attached files of an object store on this machine: a private folder of bounded size, for the tools that read them.

A file is fetched whole under another name, compared with its SHA-256, and then renamed, so a half one is never read.
What an earlier process left is compared again before its first use. A file that is being read stays; of the others,
the one that was used longest ago makes way. Each service has a folder of its own, which it locks.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import os
import re
import shutil
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from pathlib import Path
from weakref import WeakValueDictionary

import msgspec
from filelock import FileLock, Timeout

from svc._atomic_file import replace
from svc.errors import ConfigError, InsufficientStorageError
from svc.process_safety.private_files import make_private_folder
from svc.service.store.disk_space import DiskSpace
from svc.service.store.records import FileRecord

log: logging.Logger = logging.getLogger("svc.files")
Fetch = Callable[[FileRecord, Path], Awaitable[None]]
"""Writes the content of a file to a path, and raises unless it is what was attached."""
_NAME = re.compile(r"([0-9a-f]{32})-[0-9a-f]{64}")
_PART = ".part"
_LOCK = "lock"
_FILES, _RESULTS = "files", "results"
_MOST_SLOTS = 64  # services of one user on one machine


class _Entry(msgspec.Struct):
    """A file that is here. ``pins``: how many read it now. ``is_checked``: its content was seen by this process."""

    size: int
    pins: int = 0
    is_checked: bool = False
    is_erased: bool = False


class FileCache:
    """The folder of one service, and the files in it.

    Args:
        root: The folder of all services of this user on this machine; ``open`` creates it.
        limit_bytes: The room for all files.
        space: Measures the folder's disk.
    """

    def __init__(self, root: Path, limit_bytes: int, space: DiskSpace) -> None:
        self._root = root
        self._limit_bytes = limit_bytes
        self._space = space
        self._lock: FileLock | None = None
        self._folder = root
        self._entries: OrderedDict[str, _Entry] = OrderedDict()  # what was used longest ago comes first
        self._used = 0
        self._fetching: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._freed = asyncio.Event()

    @property
    def results_folder(self) -> Path:
        """The folder for what tools found in the files, once the cache is open."""
        return self._folder / _RESULTS

    @property
    def used_bytes(self) -> int:
        """What the files take, those that are being fetched included."""
        return self._used

    @property
    def file_ids(self) -> set[str]:
        """The ids of the files that are here."""
        return {name.partition("-")[0] for name in self._entries}

    def open(self) -> None:
        """Take a folder that no living service uses, and empty the others of them. Blocks.

        Raises:
            ConfigError: The folder cannot be used.
        """
        try:
            make_private_folder(self._root)
            self._root.chmod(0o700)  # fails if it is another user's
            self._lock = self._take_slot()
            self._folder = Path(self._lock.lock_file).parent
            make_private_folder(self._folder / _FILES)
            self._read_folder()
            self._empty_others()
        except OSError as error:
            raise ConfigError(
                f"the folder for fetched files {self._root} cannot be used: {error}. Give the service's user access to "
                "it, or set SVC_STATE_DIR"
            ) from error

    def _take_slot(self) -> FileLock:
        for number in range(_MOST_SLOTS):
            make_private_folder(self._root / str(number))
            lock = FileLock(self._root / str(number) / _LOCK, timeout=0, thread_local=False)
            with contextlib.suppress(Timeout):
                lock.acquire()
                return lock
        raise ConfigError(f"{_MOST_SLOTS} services use {self._root}; give others another SVC_STATE_DIR")

    def _read_folder(self) -> None:
        found = []
        for entry in [*os.scandir(self._folder / _FILES)]:
            if not _NAME.fullmatch(entry.name) or not entry.is_file(follow_symlinks=False):
                Path(entry.path).unlink()  # a half file, or one that is not ours: the folder is
                continue
            status = entry.stat(follow_symlinks=False)
            found.append((status.st_mtime, entry.name, status.st_size))
        for _, name, size in sorted(found):
            self._entries[name] = _Entry(size)
            self._used += size
        self._make_room(0)

    def _empty_others(self) -> None:
        """Erase what services left that run no more, and may never start again."""
        for folder in self._root.iterdir():
            if folder == self._folder or not folder.is_dir():
                continue
            with contextlib.suppress(Timeout, OSError), FileLock(folder / _LOCK, timeout=0):
                for name in (_FILES, _RESULTS):
                    shutil.rmtree(folder / name, ignore_errors=True)

    def close(self) -> None:
        """Let another service have the folder."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def has(self, file: FileRecord) -> bool:
        """Whether the file is here."""
        return _name(file) in self._entries

    @contextlib.asynccontextmanager
    async def pinned(self, file: FileRecord, fetch: Fetch) -> AsyncIterator[Path]:
        """The path of a file, which is fetched unless it is here; it stays until the context ends.

        Raises:
            InsufficientStorageError: The disk is full.
        """
        name = _name(file)
        async with self._fetching.setdefault(name, asyncio.Lock()):
            entry = await self._checked(name, file)
            if entry is None:
                entry = await self._fetch(name, file, fetch)
            entry.pins += 1
        try:
            yield self._path(name)
        finally:
            self._unpin(name, entry)

    def _unpin(self, name: str, entry: _Entry) -> None:
        entry.pins -= 1
        if entry.is_erased and not entry.pins:
            self._unlink(name, entry)
        self._tell_freed()

    async def _checked(self, name: str, file: FileRecord) -> _Entry | None:
        entry = self._entries.get(name)
        if entry is None:
            return None
        if not entry.is_checked:
            entry.pins += 1
            try:
                entry.is_checked = await asyncio.to_thread(_has_digest, self._path(name), file.sha256)
            finally:
                self._unpin(name, entry)
            if not entry.is_checked and not entry.is_erased:
                log.warning("damaged fetched file deleted", extra={"file": file.id})
                self._drop(name)
            if entry.is_erased:
                return None
        self._entries.move_to_end(name)
        with contextlib.suppress(OSError):
            os.utime(self._path(name))  # the order of use, for the next start
        return entry

    async def _fetch(self, name: str, file: FileRecord, fetch: Fetch) -> _Entry:
        while not self._make_room(file.size):
            await self._freed.wait()
        self._used += file.size
        part = self._path(name).with_name(f"{name}{_PART}")
        try:
            self._check_space()
            await fetch(file, part)
            await asyncio.to_thread(replace, part, self._path(name))
        except BaseException:
            self._used -= file.size
            with contextlib.suppress(OSError):
                part.unlink(missing_ok=True)
            self._tell_freed()
            raise
        self._entries[name] = entry = _Entry(file.size, is_checked=True)
        return entry

    def _check_space(self) -> None:
        """Raise InsufficientStorageError if the disk is nearly full, also without the files that nobody reads."""
        try:
            self._space.check()
        except InsufficientStorageError:
            self._make_room(self._limit_bytes)
            self._space.check()

    def _make_room(self, size: int) -> bool:
        """Delete files that nobody reads until there is room; one that is larger than all has it once it is alone."""
        for name in [name for name, entry in self._entries.items() if not entry.pins]:
            if self._used + size <= self._limit_bytes:
                break
            self._drop(name)
        return self._used + size <= self._limit_bytes or not self._used

    def erase(self, file_ids: Iterable[str]) -> None:
        """Delete files that no session has; one that is being read, after that."""
        erased = set(file_ids)
        for name in [name for name in self._entries if name.partition("-")[0] in erased]:
            self._drop(name)
        self._tell_freed()

    def _drop(self, name: str) -> None:
        entry = self._entries.pop(name)
        entry.is_erased = True
        if not entry.pins:
            self._unlink(name, entry)

    def _unlink(self, name: str, entry: _Entry) -> None:
        self._used -= entry.size
        if name not in self._entries:  # it may have been fetched again meanwhile
            with contextlib.suppress(OSError):
                self._path(name).unlink(missing_ok=True)

    def _tell_freed(self) -> None:
        self._freed.set()
        self._freed = asyncio.Event()

    def _path(self, name: str) -> Path:
        return self._folder / _FILES / name


def _name(file: FileRecord) -> str:
    return f"{file.id}-{file.sha256}"


def _has_digest(path: Path, sha256: str) -> bool:
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest() == sha256
    except OSError:
        return False
