"""Axes with 5 to 10 times at round steps, from fractions of a second to centuries, and with round values.

Times are read off the wall clock of their own zone, which the caller states; all of one axis have the same zone.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from svc.assistant.skills.charts.drawing import NARROW, WIDE, percent, width_of, words_of

LEAST_TICKS, MOST_TICKS = 5, 10
_BEST_TICKS = 7
_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400
_SECONDS = (
    *(0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30),
    *(minutes * _MINUTE for minutes in (1, 2, 5, 10, 15, 30)),
    *(hours * _HOUR for hours in (1, 2, 3, 6, 12)),
    *(days * _DAY for days in (1, 2, 4, 7, 14)),
)
_MONTHS = (1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1_200, 2_400, 6_000)
_MONDAY = datetime(1, 1, 1)  # noqa: DTZ001 -- the first day of the calendar; weeks begin on Mondays
_LAST_YEAR = 9_999
_NAMES = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_GAP = 6  # pixels between two labels
_SHORTEST = timedelta(milliseconds=10)
YEARLESS = 4
"""The year that stands for "not stated": a leap year that no log has. Years up to 99 are not shown."""


def wall_clock(time: datetime) -> datetime:
    """Return the time as a clock in its zone shows it."""
    return time.replace(tzinfo=None)


def date_words(time: datetime) -> str:
    """``Nov 20``."""
    return f"{_NAMES[time.month - 1]} {time.day}"


def clock_words(time: datetime, *, has_seconds: bool = True) -> str:
    """``Nov 20 03:12:45``."""
    return f"{date_words(time)} {time:%H:%M:%S}" if has_seconds else f"{date_words(time)} {time:%H:%M}"


def range_words(first: datetime, last: datetime) -> str:
    """``Nov 20, 2026`` or ``Nov 20 to Nov 22, 2026``; without the year if the log has none."""
    one, other = date_words(first), date_words(last)
    if first.year < 100:
        return one if first.date() == last.date() else f"{one} to {other}"
    if first.year != last.year:
        return f"{one}, {first.year} to {other}, {last.year}"
    return f"{one}, {last.year}" if first.date() == last.date() else f"{one} to {other}, {last.year}"


class TimeAxis:
    """A span of time across a chart, from the shares ``left`` to ``right`` of its width.

    The span grows to the next round times if fewer than LEAST_TICKS are within it.
    """

    step: float | int
    ticks: list[datetime]

    def __init__(self, first: datetime, last: datetime, *, left: float = 0.02, right: float = 0.98) -> None:
        self._left, self._right = left, right
        last = max(last, first + _SHORTEST)
        candidates = _candidates(first, last)
        for candidate in candidates:
            self._take(candidate, first, last)
            if len(self._kept([self._label(tick) for tick in self.ticks], WIDE)) >= LEAST_TICKS:
                return
        self._take(candidates[0] if candidates else _Ticks(1.0, [first, last], is_grown=False), first, last)

    def _take(self, chosen: _Ticks, first: datetime, last: datetime) -> None:
        self.step, self.ticks = chosen.step, chosen.times
        self.first: datetime = min(first, self.ticks[0]) if chosen.is_grown else first
        self.last: datetime = max(last, self.ticks[-1]) if chosen.is_grown else last

    def share(self, time: datetime) -> float:
        """Return the place of a time as a share of the chart's width."""
        return self._left + (self._right - self._left) * ((time - self.first) / (self.last - self.first))

    def drawn(self, top: float, bottom: float) -> str:
        """Return lines at the ticks from ``top`` to ``bottom``, and below them their labels in two rows of text."""
        places = [percent(self.share(tick)) for tick in self.ticks]
        lines = "".join(f'<line x1="{x}" x2="{x}" y1="{top:g}" y2="{bottom:g}" class="grid"/>' for x in places)
        ends = f'x1="{percent(self._left)}" x2="{percent(self._right)}"'
        lines += f'<line {ends} y1="{bottom:g}" y2="{bottom:g}" class="axis"/>'
        clocks = [self._label(tick) for tick in self.ticks]
        days = [self._second_label(tick, before) for tick, before in zip(self.ticks, (None, *self.ticks), strict=False)]
        return lines + self._row(clocks, bottom + 15, "") + self._row(days, bottom + 30, "dim")

    def _row(self, labels: Sequence[str], y: float, classes: str) -> str:
        """A row of labels; what a wide and a narrow place do not show alike is drawn for each."""
        wide, narrow = self._kept(labels, WIDE), self._kept(labels, NARROW)
        drawn = ""
        for number, label in enumerate(labels):
            forms = [(wide.get(number), "w"), (narrow.get(number), "n")]
            if forms[0][0] == forms[1][0]:
                forms = [(forms[0][0], "")]
            for anchor, only in forms:
                if anchor is None:
                    continue
                names = " ".join(filter(None, (classes, only)))
                place = f'x="{percent(self.share(self.ticks[number]))}" y="{y:g}" text-anchor="{anchor}"'
                drawn += f"<text {place}" + (f' class="{names}"' if names else "") + f">{words_of(label)}</text>"
        return drawn

    def _kept(self, labels: Sequence[str], room: float) -> dict[int, str]:
        """Every first, second or third … label, so that none overlap in ``room`` pixels; with its anchor."""
        filled = [number for number, label in enumerate(labels) if label]
        for stride in range(1, len(filled) + 1):
            kept = filled[::stride]
            extents = [self._extent(number, labels[number], room) for number in kept]
            if all(other[0] - one[1] >= _GAP for one, other in itertools.pairwise(extents)):
                return {number: extent[2] for number, extent in zip(kept, extents, strict=True)}
        return {}

    def _extent(self, number: int, label: str, room: float) -> tuple[float, float, str]:
        """Where a label begins and ends, and its anchor: labels stay within the chart."""
        middle, width = room * self.share(self.ticks[number]), width_of(label)
        if middle < width / 2:
            return middle, middle + width, "start"
        if middle > room - width / 2:
            return middle - width, middle, "end"
        return middle - width / 2, middle + width / 2, "middle"

    def _label(self, time: datetime) -> str:
        if isinstance(self.step, int):
            return _NAMES[time.month - 1] if self.step < 12 else str(time.year)
        if self.step >= _DAY:
            return date_words(time)
        if self.step >= _MINUTE:
            return f"{time:%H:%M}"
        if self.step >= 1:
            return f"{time:%H:%M:%S}"
        digits = -math.floor(math.log10(self.step))
        return f"{time:%S}.{time.microsecond:06d}"[: digits + 3] + " s"

    def _second_label(self, time: datetime, before: datetime | None) -> str:
        """The date where the day changes; below dates, the year where it changes; below fractions, the minute."""
        if self.step < 1:
            is_same = before is not None and before.replace(second=0, microsecond=0) == time.replace(
                second=0, microsecond=0
            )
            return "" if is_same else clock_words(time, has_seconds=False)
        if not isinstance(self.step, int) and self.step < _DAY:
            return date_words(time) if before is None or before.date() != time.date() else ""
        is_change = before is None or before.year != time.year
        is_year = isinstance(self.step, int) and self.step >= 12
        return str(time.year) if is_change and not is_year and time.year >= 100 else ""


class _Ticks(NamedTuple):
    """Times at a step (seconds, or months as an int); ``is_grown``: the first and the last may be outside the span."""

    step: float | int
    times: list[datetime]
    is_grown: bool


def _candidates(first: datetime, last: datetime) -> list[_Ticks]:
    """Return the steps with 5 to 10 times, the best first; none next to the calendar's ends."""
    found = []
    for is_grown in (False, True):
        fitting = [
            _Ticks(step, times, is_grown)
            for step in (*map(float, _SECONDS), *_MONTHS)
            if LEAST_TICKS <= len(times := _ticks(first, last, step, is_grown=is_grown)) <= MOST_TICKS
        ]
        found += sorted(fitting, key=lambda one: abs(len(one.times) - _BEST_TICKS))
    return found


def _ticks(first: datetime, last: datetime, step: float | int, *, is_grown: bool) -> list[datetime]:
    """Return the round times within the span, or from the one before it to the one after it; [] if far too many."""
    if isinstance(step, int):
        return _month_ticks(first, last, step, is_grown=is_grown)
    unit = round(step * 1_000_000)
    start, end = _microseconds(first), _microseconds(last)
    if (end - start) // unit > MOST_TICKS:
        return []
    begin = start // unit if is_grown else -(-start // unit)
    stop = -(-end // unit) if is_grown else end // unit
    return [_moment(number * unit) for number in range(begin, stop + 1) if number * unit <= _MAX_MICROSECONDS]


def _month_ticks(first: datetime, last: datetime, step: int, *, is_grown: bool) -> list[datetime]:
    start, end = first.year * 12 + first.month - 1, last.year * 12 + last.month - 1
    if (end - start) // step > MOST_TICKS:
        return []
    stop = end // step + (1 if is_grown and last > _month(end // step * step) else 0)
    ticks = [_month(number * step) for number in range(start // step, stop + 1) if 12 <= number * step < 120_000]
    return ticks if is_grown else [tick for tick in ticks if first <= tick <= last]


def _month(number: int) -> datetime:
    year = min(max(number // 12, 1), _LAST_YEAR)
    return datetime(year, number % 12 + 1, 1)  # noqa: DTZ001 -- wall-clock times have no zone here


def _microseconds(time: datetime) -> int:
    return (time - _MONDAY) // timedelta(microseconds=1)


def _moment(microseconds: int) -> datetime:
    return _MONDAY + timedelta(microseconds=microseconds)


_MAX_MICROSECONDS = (datetime(_LAST_YEAR, 12, 31) - _MONDAY) // timedelta(microseconds=1)  # noqa: DTZ001


def value_ticks(most: float) -> list[float]:
    """Return 0 and two to five round whole values; the last is at least ``most``."""
    power = 10 ** max(0, math.floor(math.log10(max(most, 1))) - 1)
    for step in (power * factor for factor in (1, 2, 5, 10, 20, 50, 100)):
        count = math.ceil(most / step)
        if count <= 4:
            return [number * step for number in range(max(count, 1) + 1)]
    return [0, most]


def value_words(value: float) -> str:
    """``950``, ``1,200``, ``15k``, ``2.5M``: short enough for an axis."""
    for limit, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e4, "k")):
        if value >= limit:
            scale = 1e3 if letter == "k" else limit
            return f"{value / scale:.3g}{letter}"
    return f"{value:,.0f}"


def moment(text: str | None) -> datetime | None:
    """Return an ISO 8601 time, or one without a year (``--11-20T03:12:45``), as its clock shows it; None if unclear."""
    written = text or ""
    if written.startswith("--"):
        written = f"{YEARLESS:04d}{written[1:]}"
    try:
        return wall_clock(datetime.fromisoformat(written))
    except ValueError:
        return None
