"""Count moments by the minute and return the counts of a few equal spans of time, in bounded memory."""

from __future__ import annotations

BINS = 60
MAX_MINUTES = 200_000  # more than 138 days of events in every minute; later minutes of such a log are not counted
_MINUTE = 60


class Activity:
    """Counts moments, given in seconds from any origin and as the text that the log has for them."""

    def __init__(self) -> None:
        self._minutes: dict[int, int] = {}
        self._first: tuple[float, str] | None = None
        self._last: tuple[float, str] | None = None

    def add(self, seconds: float, text: str, count: int = 1) -> None:
        """Count ``count`` events at a moment; ``text`` is the moment as the log states it."""
        minute = int(seconds // _MINUTE)
        if minute not in self._minutes and len(self._minutes) >= MAX_MINUTES:
            return
        self._minutes[minute] = self._minutes.get(minute, 0) + count
        if self._first is None or seconds < self._first[0]:
            self._first = (seconds, text)
        if self._last is None or seconds > self._last[0]:
            self._last = (seconds, text)

    @property
    def ends(self) -> tuple[str, str]:
        """The first and the last moment as the log states them; "" if nothing was counted."""
        return (self._first[1] if self._first else "", self._last[1] if self._last else "")

    def spans(self) -> list[int]:
        """Return the counts of at most BINS equal spans from the first to the last minute; empty without any."""
        if not self._minutes:
            return []
        first, last = min(self._minutes), max(self._minutes)
        width = (last - first) // BINS + 1
        counts = [0] * ((last - first) // width + 1)
        for minute, count in self._minutes.items():
            counts[(minute - first) // width] += count
        return counts
