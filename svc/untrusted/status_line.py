"""A line of a terminal that changes in place, for progress; elsewhere, a line now and then."""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable
from typing import TextIO

from svc.untrusted.characters import one_line

QUIET_SECONDS = 10.0  # between two lines if they cannot change in place
_ERASE = "\r\x1b[2K"
_MIN_COLUMNS = 20


class StatusLine:
    """Shows one text at a time on a stream. Anything else that is printed there comes after ``clear``.

    Args:
        stream: Standard output or standard error.
        clock: Seconds. Given if the stream may be no terminal, such as a log: a line is printed all ten seconds.
    """

    def __init__(self, stream: TextIO, clock: Callable[[], float] | None = None) -> None:
        self._stream = stream
        self._clock = clock
        self._is_shown = False
        self._printed_at = -math.inf

    def show(self, text: str) -> None:
        """Replace the text."""
        line = one_line(text)
        if self._stream.isatty():
            columns = max(_MIN_COLUMNS, shutil.get_terminal_size().columns) - 1  # a full line would wrap
            self._stream.write(_ERASE + line[:columns])
            self._stream.flush()
            self._is_shown = True
        elif self._clock is not None and self._clock() - self._printed_at >= QUIET_SECONDS:
            self._printed_at = self._clock()
            print(line, file=self._stream, flush=True)

    def clear(self) -> None:
        """Remove the text."""
        if self._is_shown:
            self._stream.write(_ERASE)
            self._stream.flush()
            self._is_shown = False
