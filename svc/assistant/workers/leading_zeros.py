"""Skip the zero bytes at the start of a log: its records come after them.

A log begins with zeros if the machine lost power while it was written, or if it was emptied while a program kept
writing at its old position (``copytruncate`` of logrotate): up to that position the file system returns zeros. They
are skipped only if text follows, so that a binary file stays as it is.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, BinaryIO, cast

from svc.assistant.file_types.identify import MIN_ZEROS, decode_text

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_PIECE_BYTES = 1024 * 1024
_SAMPLE_BYTES = 4_096


def after_zeros(stream: BinaryIO) -> tuple[BinaryIO, int]:
    """Return a file without the zeros at its start, and how many there are; the file itself and 0 if it has none."""
    zeros = _count(stream)
    stream.seek(0)
    if not zeros:
        return stream, 0
    return cast("BinaryIO", io.BufferedReader(_AfterZeros(stream, zeros))), zeros


def _count(stream: BinaryIO) -> int:
    """The number of zeros before text; 0 if there are few, or if something else follows."""
    stream.seek(0)
    if stream.read(MIN_ZEROS) != bytes(MIN_ZEROS):
        return 0
    count = MIN_ZEROS
    while piece := stream.read(_PIECE_BYTES):
        rest = piece.lstrip(b"\0")
        count += len(piece) - len(rest)
        if rest:
            sample = (rest + stream.read(_SAMPLE_BYTES))[:_SAMPLE_BYTES]
            return count if decode_text(sample) is not None and b"\0" not in sample[:MIN_ZEROS] else 0
    return 0


class _AfterZeros(io.RawIOBase):
    """A file from an offset on, as if it began there."""

    def __init__(self, stream: BinaryIO, start: int) -> None:
        super().__init__()
        self._stream, self._start = stream, start
        stream.seek(start)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Read into a buffer; returns how many bytes were read, 0 at the end."""
        view = memoryview(buffer)
        data = self._stream.read(len(view))
        view[: len(data)] = data
        return len(data)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move to an offset that counts from behind the zeros."""
        at = self._stream.seek(offset + self._start if whence == io.SEEK_SET else offset, whence)
        return at - self._start

    def tell(self) -> int:
        return self._stream.tell() - self._start
