"""Count moments by source in equal periods of a round length, in bounded memory.

The periods grow while the log is read: from a second to as many hours or days as it takes for at most MAX_BINS.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from datetime import datetime, timedelta

import msgspec

from svc.assistant.log_readers.timestamps import Stamp

MAX_BINS = 60
MAX_CELLS = 50_000  # pairs of period and source
MAX_SOURCES = 5_000  # told apart; later ones are counted together
_SOURCE_BITS = 13  # of a cell, for the number of its source
_SOURCE_MASK = (1 << _SOURCE_BITS) - 1
MAX_SERIES = 3  # sources in a result; the others are in the total
_LENGTHS = (1, 5, 10, 30, 60, 300, 600, 1_800, 3_600, 10_800, 21_600, 43_200, 86_400)  # each divides the next


class ActivitySeries(msgspec.Struct, frozen=True):
    """What one source did in each period."""

    source: str
    counts: list[int]


class Histogram(msgspec.Struct, frozen=True, kw_only=True):
    """Counts in equal periods. ``start`` is when the first begins, as the log writes times; "" without any."""

    start: str = ""
    seconds: int = 0
    total: list[int] = []
    by_source: list[ActivitySeries] = []


class Activity:
    """Counts moments by source."""

    def __init__(self) -> None:
        self._cells: dict[int, int] = {}
        """Counts by period and source: ``period << _SOURCE_BITS | number of the source``."""
        self._sources: dict[str, int] = {"": 0}
        self._seconds = _LENGTHS[0]
        self._first: Stamp | None = None
        self._midnight = 0.0  # of the first stamp's day, on the log's clock

    def add(self, stamp: Stamp, source: str, count: int = 1) -> None:
        """Count ``count`` moments of a source."""
        if self._first is None:
            self._first = stamp
            self._midnight = stamp.seconds - stamp.of_day
        number = self._sources.get(source)
        if number is None:
            number = len(self._sources) if len(self._sources) <= MAX_SOURCES else 0
            if number:
                self._sources[source] = number
        cell = int((stamp[0] - self._midnight) // self._seconds) << _SOURCE_BITS | number
        cells = self._cells
        cells[cell] = cells.get(cell, 0) + count
        if len(cells) > MAX_CELLS:
            self._coarsen(MAX_CELLS // 2)

    def _coarsen(self, most: int) -> None:
        """Lengthen the periods until at most ``most`` cells are left, or only one period."""
        while len(self._cells) > most and self._span() > 1:
            self._lengthen()

    def _lengthen(self) -> None:
        longer = next((length for length in _LENGTHS if length > self._seconds), self._seconds * 2)
        self._cells = self._joined(longer // self._seconds)
        self._seconds = longer

    def _span(self) -> int:
        return (max(self._cells) >> _SOURCE_BITS) - (min(self._cells) >> _SOURCE_BITS) + 1

    def _joined(self, factor: int) -> dict[int, int]:
        joined: dict[int, int] = {}
        for cell, count in self._cells.items():
            longer = (cell >> _SOURCE_BITS) // factor << _SOURCE_BITS | cell & _SOURCE_MASK
            joined[longer] = joined.get(longer, 0) + count
        return joined

    def histogram(self) -> Histogram:
        """Return the counts of at most MAX_BINS periods, and those of the sources with the most."""
        if self._first is None:
            return Histogram()
        while self._span() > MAX_BINS:
            self._lengthen()
        first = min(self._cells) >> _SOURCE_BITS
        names = list(self._sources)
        totals: Counter[str] = Counter()
        for cell, count in self._cells.items():
            totals[names[cell & _SOURCE_MASK]] += count
        named = [source for source, _ in totals.most_common(MAX_SERIES + 1) if source][:MAX_SERIES]
        counts = self._counts(first, names)
        return Histogram(
            start=self._as_written(first * self._seconds),
            seconds=self._seconds,
            total=[sum(column) for column in zip(*counts.values(), strict=True)],
            by_source=[ActivitySeries(source, counts[source]) for source in named],
        )

    def _counts(self, first: int, names: list[str]) -> dict[str, list[int]]:
        span = self._span()
        counts: defaultdict[str, list[int]] = defaultdict(lambda: [0] * span)
        for cell, count in self._cells.items():
            counts[names[cell & _SOURCE_MASK]][(cell >> _SOURCE_BITS) - first] += count
        return counts

    def _as_written(self, after_midnight: int) -> str:
        """The time so many seconds after the first day's midnight, in the notation of the log's times."""
        text = self._first.text if self._first else ""
        is_yearless = text.startswith("--")
        day = datetime.fromisoformat(f"0004{text[1:7]}" if is_yearless else text[:10])
        written = (day + timedelta(seconds=after_midnight)).isoformat()
        return f"-{written[4:]}" if is_yearless else written
