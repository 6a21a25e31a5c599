"""The service's time: the wall clock, checked against the seconds that really passed.

A wall clock jumps: it is set by hand or by NTP, or the machine is restored from a snapshot. Believed at once, a jump by
years would end every session, erase what is stored and refuse every key, or revive expired ones. So a jump is logged,
and the time before it goes on until the clock has kept to the new time for ``grace_seconds``. Facts: docs/wire.md,
"Time".
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

import msgspec

log: logging.Logger = logging.getLogger("svc.clock")
TOLERANCE_SECONDS = 60.0  # smaller steps are corrections, and are followed
MAX_DOWN_SECONDS = 1_209_600.0  # 14 days: after a longer time without a run, the clock is not believed at once


class SavedClock(msgspec.Struct, frozen=True):
    """What the next run needs to notice a jump: the wall clock, the steady time, what is left of the grace period."""

    wall: float
    steady: float
    grace_left: float


def elapsed_seconds() -> float:
    """Seconds since the machine started, those of a suspended machine included where the system counts them."""
    boot_time = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if boot_time is None else time.clock_gettime(boot_time)


class SteadyClock:
    """The time for expiry, keys and stamps; all in seconds since the epoch.

    Args:
        wall: The wall clock.
        elapsed: Seconds that passed, from any start.
        grace_seconds: How long the wall clock must keep to a new time until that is believed.
    """

    def __init__(
        self, wall: Callable[[], float], elapsed: Callable[[], float] = elapsed_seconds, *, grace_seconds: float
    ) -> None:
        self._wall = wall
        self._elapsed = elapsed
        self._grace_seconds = grace_seconds
        self._grace_left = 0.0
        self._steady = wall()
        self._offset = 0.0  # of the wall clock, while it is not believed
        self._last_elapsed = elapsed()

    def steady(self) -> float:
        """The time without jumps: whether a key is valid depends on it."""
        return self._observe()[1]

    def stamp(self) -> float:
        """The time for what is stored: the later of the two, so that nothing expires early."""
        return max(self._observe())

    def expiry(self) -> float:
        """The time for the end of sessions: the earlier of wall clock and steady time, so that no jump ends one."""
        return min(self._observe())

    @property
    def is_settled(self) -> bool:
        """Whether no jump happened during the grace period; nothing may be erased otherwise."""
        self._observe()
        return self._grace_left <= 0.0

    def begin(self) -> None:
        """Believe the wall clock as it is now: a service starts, and knows no earlier time."""
        self._steady, self._offset, self._last_elapsed = self._wall(), 0.0, self._elapsed()

    def save(self) -> SavedClock:
        """The state for the next run."""
        wall, steady = self._observe()
        return SavedClock(wall, steady, self._grace_left)

    def resume(self, saved: SavedClock) -> None:
        """Continue from the state of the last run: a clock that is far off was set while the service was down."""
        wall = self._wall()
        self._last_elapsed = self._elapsed()
        if _is_plausible(wall - saved.steady):
            self._steady, self._offset = wall, 0.0
            self._grace_left = max(0.0, saved.grace_left - max(0.0, wall - saved.steady))
        elif saved.grace_left > 0.0 and _is_plausible(wall - saved.wall):  # still at the time it jumped to
            passed = max(0.0, wall - saved.wall)
            self._steady = saved.steady + passed
            self._offset = wall - self._steady
            self._grace_left = max(0.0, saved.grace_left - passed)
        else:
            self._steady = saved.steady
            self._note_jump(wall - self._steady)

    def _observe(self) -> tuple[float, float]:
        """The wall clock and the steady time now."""
        wall, elapsed = self._wall(), self._elapsed()
        passed = max(0.0, elapsed - self._last_elapsed)
        self._last_elapsed = elapsed
        self._steady += passed
        self._grace_left = max(0.0, self._grace_left - passed)
        offset = wall - self._steady
        if abs(offset - self._offset) > TOLERANCE_SECONDS:
            self._note_jump(offset)
        elif not self._offset:
            self._steady = wall
        elif self._grace_left <= 0.0:
            log.warning("the system clock is trusted again", extra={"seconds": round(offset)})
            self._steady, self._offset = wall, 0.0
        else:
            self._offset = offset
        return wall, self._steady

    def _note_jump(self, offset: float) -> None:
        is_back = abs(offset) <= TOLERANCE_SECONDS
        if is_back:
            self._steady += offset
        self._offset = 0.0 if is_back else offset
        self._grace_left = self._grace_seconds
        log.error(
            "the system clock jumped",
            extra={
                "seconds_off": round(self._offset),
                "grace_seconds": self._grace_seconds,
                "effect": "nothing is deleted during the grace period; sessions and keys keep their remaining time",
            },
        )


def _is_plausible(gap: float) -> bool:
    return -TOLERANCE_SECONDS <= gap <= MAX_DOWN_SECONDS
