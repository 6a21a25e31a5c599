"""Free space on the service's disks: requests are refused before the last of it is used, so that running turns can end.

The reserve is ``min_free_bytes``, but on a small disk no more than a twentieth of it.
"""

from __future__ import annotations

import errno
import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from svc.errors import InsufficientStorageError
from svc.service.store.store_errors import storage_full

FULL_ERRNOS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS})
"""A full disk, an exceeded quota, a file size limit, a disk that is mounted read-only."""
_LARGEST_SHARE = 20  # the reserve is at most 1/20 of a disk
_FRESH_SECONDS = 0.2  # how long a measurement is used, unless it was bad


class DiskSpace:
    """Measures the disks of some folders."""

    def __init__(
        self, folders: Sequence[Path], min_free_bytes: int, elapsed: Callable[[], float] = time.monotonic
    ) -> None:
        self._folders = folders
        self._min_free_bytes = min_free_bytes
        self._elapsed = elapsed
        self._measured = -_FRESH_SECONDS
        self._found: InsufficientStorageError | None = None

    def check(self) -> None:
        """Raise InsufficientStorageError if less than the reserve is free."""
        now = self._elapsed()
        if self._found is not None or now - self._measured >= _FRESH_SECONDS:
            self._measured, self._found = now, self._measure()
        if self._found is not None:
            raise self._found.with_traceback(None)

    def _measure(self) -> InsufficientStorageError | None:
        for folder in self._folders:
            try:
                usage = shutil.disk_usage(folder)
            except OSError:  # the folder is gone; whoever uses it reports that
                continue
            reserve = min(self._min_free_bytes, usage.total // _LARGEST_SHARE)
            if usage.free < reserve:
                return storage_full(f"{usage.free:,} bytes are free, and {reserve:,} are kept for running turns")
        return None
