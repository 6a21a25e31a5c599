"""A file that counts the bytes that are read from it, so that every tool's progress is known without its doing.

Counted are the bytes of the file itself: of a compressed one, the compressed bytes. Reading again from its beginning
counts from 0, because some tools look at a file before they read it.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, cast

BUFFER_BYTES = 256 * 1024  # between two counts
Count = Callable[[int, int], None]


class _CountedBytes(io.RawIOBase):
    """The raw stream below a buffer."""

    def __init__(self, raw: io.RawIOBase | io.BytesIO, size: int, on_read: Count, start: int) -> None:
        self._raw = raw
        self._size = size
        self._on_read = on_read
        self._done = 0
        self._start = start

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int | None:  # type: ignore[override]
        count = self._raw.readinto(buffer)
        self._done = min(self._done + (count or 0), self._size)
        self._on_read(self._done, self._size)
        return count

    def seek(self, offset: int, whence: int = 0, /) -> int:
        position = self._raw.seek(offset, whence)
        if position in (0, self._start):
            self._done = position
        return position

    def tell(self) -> int:
        return self._raw.tell()

    def fileno(self) -> int:
        return self._raw.fileno()

    def close(self) -> None:
        self._raw.close()
        super().close()


def open_counted(path: str | None, content: bytes, on_read: Count, start: int = 0) -> BinaryIO:
    """Open a file, or the content if there is no path; ``on_read`` gets the bytes read and the size after each read.

    What comes before ``start`` counts as read once the file is read from there.
    """
    if path is None:
        raw: io.RawIOBase | io.BytesIO = io.BytesIO(content)
        size = len(content)
    else:
        raw = io.FileIO(path)
        size = Path(path).stat().st_size
    return cast(BinaryIO, io.BufferedReader(_CountedBytes(raw, size, on_read, start), BUFFER_BYTES))
