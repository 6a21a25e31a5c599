"""Read a large log in parts: where a part ends, and what a reader carries from one part to the next.

A part is read by a process of its own. The next one goes on with the same counts, so that what is found does not depend
on where a part ends. A reader takes part by keeping its state with ``Part.carry`` and by pausing before a record that
begins at or after the part's end; any other reader reads on to the end of the file, and says why with ``Part.refuse``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")


class Part:
    """One part of a log, for a tool that calls ``begin``; for any other tool it has no end.

    ``whole_because`` says why a log is read to its end at once.

    Args:
        end: The offset at which it ends: the next record belongs to the next part. By default it has no end.
        carried: What the readers of the part before kept; None for the first part.
        state: What the tool of the part before kept.
    """

    def __init__(
        self, end: float = math.inf, carried: dict[str, object] | None = None, state: object | None = None
    ) -> None:
        self._planned_end = self._own_end = end
        self._is_begun = False
        self.end: float = math.inf
        self.paused_at: int | None = None
        self.is_first: bool = carried is None
        self.carried: dict[str, object] = carried or {}
        self.state = state
        self.whole_because: str = ""

    @property
    def is_paused(self) -> bool:
        """Whether the reader has stopped at the end of the part, and the log goes on."""
        return self.paused_at is not None

    def begin(self) -> object | None:
        """Let the readers pause at the end, because the tool can go on; return the state that it kept."""
        self._is_begun, self.end = True, self._planned_end
        return self.state

    def carry(self, kind: type[T]) -> T:
        """Return the state of this type from the part before; a new one in the first part."""
        found = self.carried.setdefault(kind.__name__, None)
        if not isinstance(found, kind):
            found = self.carried[kind.__name__] = kind()
        return found

    def is_over(self, offset: int) -> bool:
        """Whether a record that begins here belongs to the next part, so that the reader must pause."""
        if offset < self.end:
            return False
        self.paused_at = offset
        return True

    def refuse(self, reason: str) -> None:
        """Read the log to its end in this part: what it holds cannot go on in another process."""
        self.end = self._planned_end = math.inf
        self.whole_because = reason

    def begin_again(self) -> None:
        """Forget what was carried, for another attempt at the beginning of the log."""
        self.carried.clear()
        self._planned_end, self.whole_because = self._own_end, ""

    @contextmanager
    def unbroken(self) -> Iterator[None]:
        """Read beyond the part's end: the sample that decides how the log is read is the same for all parts."""
        self.end = math.inf
        try:
            yield
        finally:
            self.end = self._planned_end if self._is_begun else math.inf


class LinesSoFar:
    """How far a log was read as lines."""

    def __init__(self) -> None:
        self.bytes = self.lines = self.long_lines = self.first_long = 0


class PartLines:
    """The lines of one part of a log."""

    def __init__(self, lines: Iterator[str], part: Part) -> None:
        self.part = part
        self._lines = lines

    def __iter__(self) -> Iterator[str]:
        return self._lines

    def __next__(self) -> str:
        return next(self._lines)


def part_of(content: object) -> Part:
    """Return the part that a stream stands for; of a stream that is read at once, one without an end."""
    found = getattr(content, "part", None)
    return found if isinstance(found, Part) else Part()
