"""Check on a machine of the cluster that a file is the one that the service means, before a tool reads it.

The file is named by its place in the folder that both machines have. Its digest is computed once for each file of this
machine, so that the parts of a large log do not read it again and again. Blocks, so it belongs into a thread.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections import OrderedDict
from collections.abc import Callable
from io import FileIO
from pathlib import Path
from typing import BinaryIO

from svc.assistant.workers.cluster.messages import RemoteJob

PART_SUFFIX = ".part"  # of a file that the service had received, but not renamed yet
TRIES = 4
TRY_SECONDS = 0.5  # a new file may take a moment to be seen through a network
_PIECE_BYTES = 1024 * 1024
_KEPT = 10_000


class OtherFileError(Exception):
    """The file is not here, or is another one; the text says what to do."""


class CheckStoppedError(Exception):
    """The check was stopped."""


class CheckedFiles:
    """The files whose digest is known."""

    def __init__(self) -> None:
        self._digests: OrderedDict[tuple[str, int, int, int, int], str] = OrderedDict()

    def check(self, job: RemoteJob, on_read: Callable[[int, int], None], is_stopped: Callable[[], bool]) -> Path:
        """The path of the job's input.

        Args:
            job: The job.
            on_read: Told how many bytes of how many are read.
            is_stopped: Whether nobody waits any more.

        Raises:
            OtherFileError: The input is not here, or not the one that the job means.
            CheckStoppedError: ``is_stopped`` says so.
        """
        path = _find(Path(job.folder), job.file)
        try:
            with path.open("rb", buffering=0) as file:
                status = os.fstat(file.fileno())
                if status.st_size != job.size:
                    raise OtherFileError(f"{path} has {status.st_size:,} bytes there instead of {job.size:,}")
                key = (str(path), status.st_size, status.st_mtime_ns, status.st_ino, status.st_dev)
                if key not in self._digests:
                    self._digests[key] = _digest(file, status.st_size, on_read, is_stopped)
                if len(self._digests) > _KEPT:
                    self._digests.popitem(last=False)
        except OSError as error:
            raise OtherFileError(f"{path} cannot be read there: {error.strerror}") from error
        if self._digests[key] != job.sha256:
            raise OtherFileError(f"{path} has another content there: its SHA-256 is not that of the attached file")
        return path


def _find(folder: Path, name: str) -> Path:
    relative = Path(name)
    if relative.is_absolute() or ".." in relative.parts:
        raise OtherFileError(f"{name} is not a name in a folder")
    for attempt in range(TRIES):
        if attempt:
            time.sleep(TRY_SECONDS)
        for path in (folder / relative, folder / name.removesuffix(PART_SUFFIX)):
            if path.is_file():
                return path
    what = f"has no file {name}" if folder.is_dir() else "is not there"
    raise OtherFileError(
        f"the folder of attached files {folder} {what}; mount the service's folder at the same path on each worker"
    )


def _digest(
    file: BinaryIO | FileIO, size: int, on_read: Callable[[int, int], None], is_stopped: Callable[[], bool]
) -> str:
    known, done = hashlib.sha256(), 0
    while piece := file.read(_PIECE_BYTES):
        if is_stopped():
            raise CheckStoppedError
        known.update(piece)
        done += len(piece)
        on_read(done, size)
    return known.hexdigest()
