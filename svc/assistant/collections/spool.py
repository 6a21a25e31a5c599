"""Where a turn's unpacked members are kept: files in a private folder, or memory if they may not be on disk.

A folder is locked by the process that uses it, so that another start removes what a killed process left behind.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

import platformdirs
from filelock import FileLock, Timeout

from svc.process_safety.private_files import make_private_folder

_FOLDER = "unpacked"
_LOCK = "lock"


def spool_root() -> Path:
    """The folder for all turns' unpacked members: in SVC_STATE_DIR, else the platform's folder for state."""
    state = os.environ.get("SVC_STATE_DIR") or platformdirs.user_state_dir("svc", appauthor=False)
    return Path(state) / _FOLDER


async def remove_stale(root: Path) -> None:
    """Delete the folders of processes that are gone."""
    await asyncio.to_thread(_remove_unlocked, root)


def _remove_unlocked(root: Path) -> None:
    if not root.is_dir():
        return
    for folder in root.iterdir():
        lock = FileLock(folder / _LOCK, timeout=0)
        with contextlib.suppress(Timeout, OSError):
            with lock:
                _empty(folder)
            shutil.rmtree(folder, ignore_errors=True)  # Windows keeps the lock's file while it is held


def _empty(folder: Path) -> None:
    """Delete the members, as far as that is possible."""
    for entry in folder.iterdir():
        if entry.name != _LOCK:
            with contextlib.suppress(OSError):
                entry.unlink()


class DiskSpool:
    """Keeps members as files with generated names, in a folder of mode 0700."""

    def __init__(self, root: Path) -> None:
        make_private_folder(root)
        self._folder = Path(tempfile.mkdtemp(dir=root))  # mode 0700
        self._lock = FileLock(self._folder / _LOCK, timeout=0, thread_local=False)  # released in another thread
        self._lock.acquire()
        self._count = 0

    async def write(self, pending: Sequence[tuple[Path, Sequence[bytes]]]) -> None:
        """Append pieces to the files of members."""
        await asyncio.to_thread(_write, list(pending))

    def new_path(self) -> Path:
        """A path for the next member; its number, not its name."""
        self._count += 1
        return self._folder / f"{self._count:06}"

    async def remove(self, path: Path) -> None:
        """Delete a member's file, if it was begun."""
        await asyncio.to_thread(path.unlink, missing_ok=True)

    async def close(self) -> None:
        """Delete everything. A cancellation does not interrupt it."""
        await asyncio.shield(asyncio.to_thread(self._remove_folder))

    def _remove_folder(self) -> None:
        self._lock.release()
        shutil.rmtree(self._folder, ignore_errors=True)


def _write(pending: Sequence[tuple[Path, Sequence[bytes]]]) -> None:
    for path, pieces in pending:
        descriptor = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
        with open(descriptor, "wb") as file:  # noqa: PTH123  # a descriptor, not a path
            file.writelines(pieces)
