"""Where amounts are counted: in the memory of one service, or for several ones in their database.

A service on SQLite counts in its memory (``MemoryCounters``); services on one PostgreSQL count there, so that a limit
is exact over all of them (``shared_counters.py``). Limits are the ledger's matter.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from svc.service.quotas.table import Quota, QuotaName
from svc.service.quotas.windows import Window

_Place = tuple[QuotaName, str]


class Reading(NamedTuple):
    """What an account used within a quota's window, at a time of the counters' clock."""

    window: Window
    now: float

    @property
    def used(self) -> float:
        """The sum of the amounts that still count."""
        return self.window.used(self.now)

    def seconds_until(self, room: float) -> float:
        """How long it takes until at most ``room`` still counts, if nothing is added."""
        return self.window.seconds_until(self.now, room)


class Counters(Protocol):
    """The amounts of all accounts.

    ``late_seconds``: how long after a ``release`` what was held may still count for others.
    """

    late_seconds: float

    async def spend(self, quota: Quota, account: str, amount: float, limit: float) -> Reading | None:
        """Count an amount and return what is used then; None, and nothing is counted, if it is over the limit."""
        ...

    async def read(self, quotas: Sequence[Quota], account: str) -> Sequence[Reading]:
        """What the account used of each quota."""
        ...

    def count(self, quota: Quota, account: str, amount: float) -> None:
        """Count an amount, whatever the limit; what is read or spent afterwards includes it."""

    async def hold(
        self, quota: Quota, account: str, limit: int, *, unless_used: Sequence[tuple[Quota, float]] = ()
    ) -> int | None:
        """Hold one more until ``release`` and return how many this service holds; None if all are over the limit.

        0 is no limit.

        Args:
            quota: The quota.
            account: Who holds it.
            limit: Of all that are held.
            unless_used: Quotas of time with their limits: nothing is held, and None returned, if one is used up.
        """
        ...

    async def held(self, quota: Quota, account: str) -> int:
        """How many are held."""
        ...

    def release(self, quota: Quota, account: str) -> int:
        """Hold one less; returns how many this service holds."""
        ...

    def start(self) -> None:
        """Begin to work in the background, if it is needed."""

    async def sweep(self) -> None:
        """Drop what no longer counts."""

    async def close(self) -> None:
        """Give back what is held, and stop."""


class MemoryCounters:
    """The counters of one service. ``clock`` is monotonic: a jump of the system's time gives or takes nothing."""

    late_seconds: float = 0.0

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._windows: dict[_Place, Window] = {}
        self._held: Counter[_Place] = Counter()

    async def spend(self, quota: Quota, account: str, amount: float, limit: float) -> Reading | None:
        """Count an amount, unless it is over the limit."""
        window, now = self._window(quota, account), self._clock()
        if window.used(now) + amount > limit:
            return None
        window.add(now, amount)
        return Reading(window, now)

    async def read(self, quotas: Sequence[Quota], account: str) -> Sequence[Reading]:
        """What the account used of each quota."""
        now = self._clock()
        return [Reading(self._window(quota, account), now) for quota in quotas]

    def count(self, quota: Quota, account: str, amount: float) -> None:
        """Count an amount, whatever the limit."""
        self._window(quota, account).add(self._clock(), amount)

    def _window(self, quota: Quota, account: str) -> Window:
        window = self._windows.get((quota.name, account))
        if window is None:
            window = self._windows[quota.name, account] = Window(quota.window_seconds)
        return window

    async def hold(
        self, quota: Quota, account: str, limit: int, *, unless_used: Sequence[tuple[Quota, float]] = ()
    ) -> int | None:
        """Hold one more, unless that is over the limit."""
        now = self._clock()
        if any(self._window(one, account).used(now) >= most for one, most in unless_used):
            return None
        held = self._held[quota.name, account] + 1
        if limit and held > limit:
            return None
        self._held[quota.name, account] = held
        return held

    async def held(self, quota: Quota, account: str) -> int:
        """How many are held."""
        return self._held[quota.name, account]

    def release(self, quota: Quota, account: str) -> int:
        """Hold one less."""
        self._held[quota.name, account] -= 1
        if not (left := self._held[quota.name, account]):
            del self._held[quota.name, account]
        return left

    def start(self) -> None:
        """Memory needs no work in the background."""

    async def sweep(self) -> None:
        """Drop the windows in which nothing counts any more."""
        now = self._clock()
        self._windows = {place: window for place, window in self._windows.items() if window.used(now)}

    async def close(self) -> None:
        """Nothing is left when the process ends."""
