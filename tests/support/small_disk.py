"""A small disk that tests fill up: a tmpfs, which needs the right to mount one."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

MIB = 1_048_576


class SmallDisk:
    """A mounted disk; ``fill`` leaves no free byte, ``free`` takes that back."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._filler = folder / "filler"

    def fill(self) -> None:
        """Write until nothing more fits."""
        descriptor = os.open(self._filler, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        with contextlib.suppress(OSError):
            for size in (65_536, 4_096, 1):
                with contextlib.suppress(OSError):
                    while os.write(descriptor, bytes(size)) == size:
                        pass
        os.close(descriptor)

    def free(self) -> None:
        """Make room again."""
        self._filler.unlink(missing_ok=True)


@contextlib.contextmanager
def small_disk(folder: Path, size: int = 12 * MIB) -> Iterator[SmallDisk]:
    """Mount a disk on a new folder; skips the test if that is not allowed."""
    folder.mkdir()
    if reason := _mount(folder, size):
        pytest.skip(f"a tmpfs cannot be mounted here: {reason}")
    try:
        yield SmallDisk(folder)
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


@contextlib.contextmanager
def small_disk_or_folder(folder: Path, size: int) -> Iterator[SmallDisk | Path]:
    """The same, or only the folder if a disk cannot be mounted."""
    folder.mkdir()
    is_mounted = not _mount(folder, size)
    try:
        yield SmallDisk(folder) if is_mounted else folder
    finally:
        if is_mounted:
            subprocess.run(["umount", "--lazy", str(folder)], check=True)


def _mount(folder: Path, size: int) -> str:
    """Mount a tmpfs; why it is impossible, or an empty text."""
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    try:
        done = subprocess.run(mount, capture_output=True, check=False)
    except FileNotFoundError as error:
        return str(error)
    return done.stderr.decode(errors="replace").strip() if done.returncode else ""
