"""How far a piece of work is, in percent, and how long it will take: for the service, cells and ``svc ask``.

``Meter`` decides when a report is due and estimates the time; ``progress_line`` says it in words. Facts: docs/wire.md,
"Progress".
"""

from __future__ import annotations

import math
from collections.abc import Callable

import msgspec

from svc.messages import TaskProgress

FIRST_SECONDS = 1.0  # shorter work is not reported
QUIET_SECONDS = 10.0  # after that a report is due even if the percentage is the same
SMOOTHING_SECONDS = 6.0  # how fast the estimate follows a change of pace
_MEGABYTES_FROM = 950_000  # bytes per second
LONGEST_SECONDS = 86_400.0  # a longer estimate says nothing


class RemainingTime:
    """Estimates the seconds that are left of one piece of work: smoothed, never negative.

    ``done``: so much was done before, in time that does not count.
    """

    def __init__(self, clock: Callable[[], float], done: float = 0.0) -> None:
        self._clock = clock
        self._started = self._seen = clock()
        self._done = done
        self._pace = 0.0  # units per second
        self._left: float | None = None

    @property
    def per_second(self) -> float:
        """The pace in units; 0 if it is not known yet."""
        return self._pace if self._seen - self._started >= FIRST_SECONDS else 0.0

    def update(self, done: float, total: float) -> float | None:
        """Return the estimate after ``done`` of ``total``; None if there is no estimate yet."""
        now = self._clock()
        if done < self._done:  # the work began again
            self._started, self._pace, self._left = self._seen, 0.0, None
            self._done = done
        elapsed, step = now - self._started, now - self._seen
        if step > 0 and elapsed > 0:
            weight = max(1 - math.exp(-step / SMOOTHING_SECONDS), step / elapsed)  # at first, the average
            self._pace += weight * ((done - self._done) / step - self._pace)
            self._seen, self._done = now, done
        if done >= total:
            self._left = 0.0
            return self._left
        if elapsed < FIRST_SECONDS or self._pace <= 0:
            return self._left
        left = min(max(0.0, total - done) / self._pace, LONGEST_SECONDS)
        self._left = left if self._left is None else self._smoothed(left, step)
        return self._left

    def _smoothed(self, left: float, step: float) -> float:
        """Between the estimate before, less the time that passed, and the new one."""
        expected = max(0.0, (self._left or 0.0) - step)
        return expected + (1 - math.exp(-step / SMOOTHING_SECONDS)) * (left - expected)


class Meter:
    """Reports on one piece of work: seldom, and with its estimate.

    Args:
        task: What is worked on, for example a file's name.
        unit: What is counted, in the singular.
        clock: Returns the time in seconds, ``time.monotonic``.
        every_seconds: Between two reports.
        first_seconds: Before the first one, so that short work is not reported.
        done: What was done before, in time that does not count.
    """

    def __init__(
        self,
        task: str,
        unit: str,
        *,
        clock: Callable[[], float],
        every_seconds: float = 1.0,
        first_seconds: float = FIRST_SECONDS,
        done: int = 0,
    ) -> None:
        self._task = task
        self._unit = unit
        self._every_seconds = every_seconds
        self._first_seconds = first_seconds
        self._clock = clock
        self._left = RemainingTime(clock, done)
        self._started = clock()
        self._reported_at = -math.inf
        self._last: TaskProgress | None = None
        self._total = 0

    def report(self, done: int, total: int) -> TaskProgress | None:
        """Count; return what to report, or None if no report is due. After the first one, the end is always due."""
        self._total = max(total, 0)
        done = min(max(done, 0), self._total)
        left = self._left.update(done, total)
        now = self._clock()
        if self._total == 0 or now - self._started < self._first_seconds:
            return None
        pace = round(self._left.per_second)
        current = TaskProgress(
            task=self._task,
            done=done,
            total=self._total,
            unit=self._unit,
            seconds_left=_whole(left),
            per_second=pace if pace > 0 else msgspec.UNSET,
        )
        if not self._is_due(current, now):
            return None
        self._reported_at, self._last = now, current
        return current

    def _is_due(self, current: TaskProgress, now: float) -> bool:
        if self._last is None:
            return current.done < current.total
        if self._last.done == current.done:
            return False
        if current.done == current.total:
            return True
        silent = now - self._reported_at
        is_different = percent_of(current) != percent_of(self._last)
        return silent >= (self._every_seconds if is_different else QUIET_SECONDS)


def percent_of(progress: TaskProgress) -> int:
    """The percentage, rounded down: 100 only if all is done."""
    return min(100, max(0, progress.done * 100 // progress.total)) if progress.total > 0 else 0


def progress_line(who: str, progress: TaskProgress, *, is_running: bool = True) -> str:
    """Say how far it is: "events: 43 % of auth.log (5.2 MB/s), about 12 s left". Stopped work has neither time."""
    line = f"{who}: {percent_of(progress)} % of {progress.task}"
    left = progress.seconds_left
    if not is_running or left is None or progress.done >= progress.total:
        return line
    return f"{line}{_pace(progress)}, about {_duration(left)} left"


def _pace(progress: TaskProgress) -> str:
    """Say how fast the work is: " (5.2 MB/s)"; "" if that is not known."""
    pace = progress.per_second
    if not isinstance(pace, int) or pace <= 0:
        return ""
    if progress.unit != "byte":
        return f" ({pace:,} {progress.unit}{'' if pace == 1 else 's'}/s)"
    return f" ({pace / 1e6:.1f} MB/s)" if pace >= _MEGABYTES_FROM else f" ({pace / 1e3:.0f} kB/s)"


def _whole(seconds: float | None) -> int | None:
    return None if seconds is None else math.ceil(seconds)


def _duration(seconds: float) -> str:
    seconds = min(max(1.0, seconds), LONGEST_SECONDS)
    if seconds < 10:
        return f"{math.ceil(seconds)} s"
    if seconds <= 55:
        return f"{math.ceil(seconds / 5) * 5} s"
    if seconds <= 3_540:
        return f"{math.ceil(seconds / 60)} min"
    return f"{math.ceil(seconds / 3_600)} h"
