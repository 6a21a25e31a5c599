"""Count what each account uses, and refuse what is over a limit, with an error that says what to do.

Counters are in memory and start at 0 with the service; what is kept (sessions, disk, memory) is counted by the store,
so it survives a restart. ``clock`` is monotonic: a jump of the system's time gives or takes nothing.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from svc.errors import QuotaExceededError, RateLimitedError, ServiceError
from svc.service.observability.metrics import Metrics
from svc.service.quotas.table import QUOTAS, Quota, QuotaName
from svc.service.quotas.windows import Window
from svc.service.settings import Settings
from svc.service.store.records import KeyRecord

HELD_RETRY_SECONDS = 5.0  # what is open now: requests, streams and turns end soon
KEPT_RETRY_SECONDS = 60.0  # the interval at which expired sessions are deleted


class Left(NamedTuple):
    """What is left of a quota of time; ``seconds`` pass until nothing of it is used, if nothing more is."""

    limit: int
    remaining: int
    seconds: float


class Hold:
    """An amount that is in use until ``close``, which may be called more than once."""

    def __init__(self, quotas: Quotas, quota: Quota, key: KeyRecord) -> None:
        self._quotas = quotas
        self._quota = quota
        self._key = key
        self._amount = 0

    def grow(self, amount: int, *, kept: int = 0) -> None:
        """Use more; raises as ``Quotas.hold``. ``kept`` is what the store holds already."""
        self._quotas.change_held(self._quota, self._key, amount, kept=kept)
        self._amount += amount

    def close(self) -> None:
        """Use nothing any more."""
        amount, self._amount = self._amount, 0
        self._quotas.give_back(self._quota, self._key, amount)


class Quotas:
    """The counters of all accounts."""

    def __init__(self, settings: Settings, metrics: Metrics, clock: Callable[[], float] = time.monotonic) -> None:
        self._settings = settings
        self._metrics = metrics
        self._clock = clock
        self._windows: dict[tuple[QuotaName, str], Window] = {}
        self._held: Counter[tuple[QuotaName, str]] = Counter()

    def spend(self, name: QuotaName, key: KeyRecord, amount: float = 1) -> None:
        """Count an amount of a quota of time; raises RateLimitedError, and counts nothing, if it is too much."""
        quota = QUOTAS[name]
        limit, now = quota.limit(key, self._settings), self._clock()
        if limit and self._window(quota, key).used(now) + amount > limit:
            raise self._refused(quota, key, self._spent_error(quota, key, limit, limit - amount))
        self.count(name, key, amount)

    def check(self, name: QuotaName, key: KeyRecord) -> None:
        """Raise RateLimitedError if a quota of time is used up."""
        quota = QUOTAS[name]
        limit = quota.limit(key, self._settings)
        if limit and self._window(quota, key).used(self._clock()) >= limit:
            raise self._refused(quota, key, self._spent_error(quota, key, limit, limit - 1))

    def left(self, name: QuotaName, key: KeyRecord) -> Left | None:
        """What is left of a quota of time; None if it has no limit."""
        quota = QUOTAS[name]
        if not (limit := quota.limit(key, self._settings)):
            return None
        window, now = self._window(quota, key), self._clock()
        used = window.used(now)
        return Left(limit=limit, remaining=max(0, math.floor(limit - used)), seconds=window.seconds_until(now, 0.0))

    def count(self, name: QuotaName, key: KeyRecord, amount: float) -> None:
        """Count what was used, even if it is more than the limit: the cost of a turn is known at its end."""
        if amount > 0:
            self._window(QUOTAS[name], key).add(self._clock(), amount)
            self._metrics.quota_used(name, key.rate_id, amount)

    def hold(self, name: QuotaName, key: KeyRecord, amount: int = 1, *, kept: int = 0) -> Hold:
        """Use an amount of a quota of things held, until the hold is closed.

        Args:
            name: The quota.
            key: The caller's key.
            amount: How much.
            kept: What the store counts already.

        Raises:
            RateLimitedError: Too much is in use now.
            QuotaExceededError: Too much is kept.
        """
        hold = Hold(self, QUOTAS[name], key)
        hold.grow(amount, kept=kept)
        return hold

    def change_held(self, quota: Quota, key: KeyRecord, amount: int, *, kept: int) -> None:
        """Count ``amount`` as held if it fits; for ``Hold``."""
        place = quota.name, quota.account(key)
        limit = quota.limit(key, self._settings)
        used = self._held[place] + kept
        if limit and used + amount > limit:
            raise self._refused(quota, key, self._held_error(quota, used, limit))
        self._held[place] += amount
        self._metrics.quota_held(quota.name, key.rate_id, used + amount)

    def give_back(self, quota: Quota, key: KeyRecord, amount: int) -> None:
        """Count ``amount`` as held no more; for ``Hold``."""
        place = quota.name, quota.account(key)
        self._held[place] -= amount
        self._metrics.quota_held(quota.name, key.rate_id, self._held[place])
        if not self._held[place]:
            del self._held[place]

    def _window(self, quota: Quota, key: KeyRecord) -> Window:
        place = quota.name, quota.account(key)
        window = self._windows.get(place)
        if window is None:
            window = self._windows[place] = Window(quota.window_seconds)
        return window

    def _spent_error(self, quota: Quota, key: KeyRecord, limit: int, room: float) -> ServiceError:
        window = self._window(quota, key)
        seconds = max(1, math.ceil(window.seconds_until(self._clock(), max(0.0, room))))
        return RateLimitedError(
            f"this key has used its limit of {limit:,} {quota.unit}; try again in {seconds:,} s"
            + ("" if quota.has_own_limit(key) else f", or ask for a higher {_variable(quota)}"),
            retry_after=seconds,
        )

    def _held_error(self, quota: Quota, used: int, limit: int) -> ServiceError:
        if quota.is_kept:
            return QuotaExceededError(
                f"this user has {used:,} {quota.unit}; the limit is {limit:,} ({_variable(quota)}). {quota.advice}",
                retry_after=KEPT_RETRY_SECONDS,
            )
        return RateLimitedError(
            f"this key has {used:,} {quota.unit}; the limit is {limit:,} ({_variable(quota)}). {quota.advice}",
            retry_after=HELD_RETRY_SECONDS,
        )

    def _refused(self, quota: Quota, key: KeyRecord, error: ServiceError) -> ServiceError:
        self._metrics.quota_refused(quota.name, key.rate_id)
        return error


def _variable(quota: Quota) -> str:
    return f"SVC_{quota.setting.upper()}"
