"""The body of an upload that reports how much of it was sent."""

from __future__ import annotations

from collections.abc import Callable
from typing import BinaryIO, cast

OnProgress = Callable[[int, int], None]
"""Called with the bytes sent and the bytes of the whole, in the thread that sends."""


class _CountedBody:
    def __init__(self, body: BinaryIO, total: int, on_progress: OnProgress) -> None:
        self._body = body
        self._total = total
        self._on_progress = on_progress
        self._sent = 0

    def read(self, size: int = -1, /) -> bytes:
        """Read the next bytes; those before were sent."""
        self._on_progress(min(self._sent, self._total), self._total)
        piece = self._body.read(size)
        self._sent += len(piece)
        if not piece:
            self._on_progress(self._total, self._total)
        return piece

    def close(self) -> None:
        """Close the body."""
        self._body.close()


def counted(open_body: Callable[[], BinaryIO], size: Callable[[], int], on_progress: OnProgress) -> BinaryIO:
    """Open a body whose reads are reported. Raises what opening it raises, OSError for example."""
    body = open_body()
    try:
        return cast(BinaryIO, _CountedBody(body, size(), on_progress))
    except OSError:
        body.close()
        raise
