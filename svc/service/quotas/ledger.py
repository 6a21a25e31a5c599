"""Count what each account uses, and refuse what is over a limit, with an error that says what to do.

``counters.py`` says where amounts are counted; what is kept (sessions, disk, memory) is counted by the store, so it
survives a restart.
"""

from __future__ import annotations

import asyncio
import functools
import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from svc.errors import QuotaExceededError, RateLimitedError, ServiceError
from svc.service.observability.metrics import Metrics
from svc.service.quotas.counters import Counters, MemoryCounters, Reading
from svc.service.quotas.table import QUOTAS, Quota, QuotaName
from svc.service.settings import Settings
from svc.service.store.records import KeyRecord

HELD_RETRY_SECONDS = 5.0  # what is open now: requests, streams and turns end soon
HOLD_TRIES = 3  # what is in the way may have ended before it is looked at
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


class SharedHold:
    """One of what is counted over all services, until ``close``, which may be called more than once."""

    def __init__(self, release: Callable[[], None]) -> None:
        self._release: Callable[[], None] | None = release

    def close(self) -> None:
        """Use it no more."""
        release, self._release = self._release, None
        if release is not None:
            release()


class Quotas:
    """What all accounts use.

    Quotas of time and ``hold_shared`` count over all services of a database; ``hold`` is for what a process keeps in
    its own memory, or adds to what the store counts.
    """

    def __init__(self, settings: Settings, metrics: Metrics, counters: Counters | None = None) -> None:
        self._settings = settings
        self._metrics = metrics
        self.counters: Counters = counters or MemoryCounters()
        self._held: Counter[tuple[QuotaName, str]] = Counter()

    async def spend(self, name: QuotaName, key: KeyRecord, amount: float = 1) -> None:
        """Count an amount of a quota of time; raises RateLimitedError, and counts nothing, if it is too much."""
        quota = QUOTAS[name]
        limit = quota.limit(key, self._settings)
        if limit and amount > 0 and await self.counters.spend(quota, quota.account(key), amount, limit) is None:
            (reading,) = await self.counters.read([quota], quota.account(key))
            raise self._refused(quota, key, self._spent_error(quota, key, reading, limit, limit - amount))
        self._metrics.quota_used(name, key.rate_id, amount)

    async def check(self, key: KeyRecord, *names: QuotaName) -> None:
        """Raise RateLimitedError if one of these quotas of time is used up."""
        limits = [(quota, limit) for name in names if (limit := (quota := QUOTAS[name]).limit(key, self._settings))]
        if not limits:
            return
        readings = await self.counters.read([quota for quota, _ in limits], limits[0][0].account(key))
        for (quota, limit), reading in zip(limits, readings, strict=True):
            if reading.used >= limit:
                raise self._refused(quota, key, self._spent_error(quota, key, reading, limit, limit - 1))

    async def left(self, key: KeyRecord, *names: QuotaName) -> dict[QuotaName, Left]:
        """What is left of these quotas of time; one without a limit is left out."""
        limits = {name: limit for name in names if (limit := QUOTAS[name].limit(key, self._settings))}
        if not limits:
            return {}
        quotas = [QUOTAS[name] for name in limits]
        readings = await self.counters.read(quotas, quotas[0].account(key))
        return {
            name: Left(limit, max(0, math.floor(limit - reading.used)), reading.seconds_until(0.0))
            for (name, limit), reading in zip(limits.items(), readings, strict=True)
        }

    def count(self, name: QuotaName, key: KeyRecord, amount: float) -> None:
        """Count what was used, even if it is more than the limit: the cost of a turn is known at its end."""
        if amount <= 0:
            return
        quota = QUOTAS[name]
        if quota.limit(key, self._settings):
            self.counters.count(quota, quota.account(key), amount)
        self._metrics.quota_used(name, key.rate_id, amount)

    async def hold_shared(
        self, name: QuotaName, key: KeyRecord, *, unless_used: Sequence[QuotaName] = ()
    ) -> SharedHold:
        """Use one more of what is counted over all services, until the hold is closed.

        Args:
            name: The quota.
            key: The caller's key.
            unless_used: Quotas of time, with the same account, that must not be used up.

        Raises:
            RateLimitedError: Too much is in use now, or one of the others is used up.
        """
        quota = QUOTAS[name]
        account, limit = quota.account(key), quota.limit(key, self._settings)
        windows = [
            (one, most) for one in map(QUOTAS.__getitem__, unless_used) if (most := one.limit(key, self._settings))
        ]
        for number in range(HOLD_TRIES):
            held = await self.counters.hold(quota, account, limit, unless_used=windows)
            if held is not None:
                return self._hold_of(quota, key, held)
            await self.check(key, *unless_used)
            used = await self.counters.held(quota, account)
            if limit and used >= limit:
                if number or not self.counters.late_seconds:
                    break
                await asyncio.sleep(self.counters.late_seconds)  # who was answered by another service may ask here
        raise self._refused(quota, key, self._held_error(quota, max(used, limit), limit))

    async def hold_again(self, name: QuotaName, key: KeyRecord) -> SharedHold:
        """As ``hold_shared``, for what was admitted before, perhaps by another service: it is never refused."""
        quota = QUOTAS[name]
        return self._hold_of(quota, key, await self.counters.hold(quota, quota.account(key), 0) or 0)

    def _hold_of(self, quota: Quota, key: KeyRecord, held: int) -> SharedHold:
        self._metrics.quota_held(quota.name, key.rate_id, held)
        return SharedHold(functools.partial(self._release, quota, key))

    def _release(self, quota: Quota, key: KeyRecord) -> None:
        self._metrics.quota_held(quota.name, key.rate_id, self.counters.release(quota, quota.account(key)))

    async def check_shared(self, name: QuotaName, key: KeyRecord) -> None:
        """Raise RateLimitedError if one more would be too much."""
        quota = QUOTAS[name]
        limit = quota.limit(key, self._settings)
        if limit and (used := await self.counters.held(quota, quota.account(key))) >= limit:
            raise self._refused(quota, key, self._held_error(quota, used, limit))

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

    def refusal(self, name: QuotaName, key: KeyRecord, *, used: int) -> ServiceError:
        """The error of a request for which the store has no room beside what is ``used``."""
        quota = QUOTAS[name]
        return self._refused(quota, key, self._held_error(quota, used, quota.limit(key, self._settings)))

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

    def _spent_error(self, quota: Quota, key: KeyRecord, reading: Reading, limit: int, room: float) -> ServiceError:
        seconds = max(1, math.ceil(reading.seconds_until(max(0.0, room))))
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
