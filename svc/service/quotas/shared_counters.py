"""Counts of quotas over all services of a database: one row of an account's quota, which its changes wait for in turn.

A change reads, checks and writes the row in one UPSERT, so a limit is exact however many services count at once. Times
are the database's. What is counted afterwards (``count``, ``release``) is gathered for ``GATHER_SECONDS`` before it is
written, and this service adds it to what it reads until then. What a service holds counts for ``HOLD_SECONDS`` after it
was last heard of, so that nothing is held for ever by one that was killed.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import Counter
from collections.abc import Sequence
from weakref import WeakValueDictionary

from svc.errors import ServiceError
from svc.messages import new_id
from svc.service.quotas.counters import Reading
from svc.service.quotas.table import Quota, QuotaName
from svc.service.quotas.windows import SLOTS, Window
from svc.service.store.postgres.statements import NOW
from svc.service.store.postgres.store import PostgresStore

log: logging.Logger = logging.getLogger("svc.quotas")
HOLD_SECONDS = 30.0
RENEW_SECONDS = 10.0
GATHER_SECONDS = 0.02
LATE_SECONDS = 10 * GATHER_SECONDS  # to write what was gathered on a busy machine
READ_TRIES = 3  # while something is being written, nobody knows whether a reading has it
_Place = tuple[QuotaName, str]

_ADDED = f"""
ON CONFLICT (quota, account) DO UPDATE SET until = excluded.until, (slots, amounts) = (
  SELECT array_agg(slot ORDER BY slot), array_agg(amount ORDER BY slot) FROM (
    SELECT slot, sum(amount) AS amount FROM (
      SELECT slot, amount FROM unnest(w.slots, w.amounts) AS kept(slot, amount) WHERE slot > excluded.slots[1] - {SLOTS}
      UNION ALL SELECT excluded.slots[1], excluded.amounts[1]
    ) AS every GROUP BY slot
  ) AS added
)
"""  # noqa: S608
_ADD = f"""
INSERT INTO quota_windows AS w (quota, account, slots, amounts, until)
SELECT $1, $2, ARRAY[floor(n.now / ($4::float8 / {SLOTS}))::bigint], ARRAY[$3::float8], n.now + $4
FROM (SELECT {NOW} AS now) n WHERE $3::float8 <= $5::float8
{_ADDED} WHERE excluded.amounts[1] + (
  SELECT coalesce(sum(amount), 0) FROM unnest(w.slots, w.amounts) AS kept(slot, amount)
  WHERE slot > excluded.slots[1] - {SLOTS}
) <= $5::float8
RETURNING slots, amounts, until - $4
"""  # noqa: S608
# All services take the rows in the same order, so that they do not wait for each other in a circle.
_COUNT = f"""
INSERT INTO quota_windows AS w (quota, account, slots, amounts, until)
SELECT c.quota, c.account, ARRAY[floor(n.now / (c.seconds / {SLOTS}))::bigint], ARRAY[c.amount], n.now + c.seconds
FROM unnest($1::text[], $2::text[], $3::float8[], $4::float8[]) AS c(quota, account, amount, seconds)
CROSS JOIN (SELECT {NOW} AS now) n ORDER BY c.quota, c.account
{_ADDED}
"""  # noqa: S608
_READ = f"""
SELECT n.quota, w.slots, w.amounts, t.now FROM unnest($1::text[]) AS n(quota)
CROSS JOIN (SELECT {NOW} AS now) t LEFT JOIN quota_windows w ON w.quota = n.quota AND w.account = $2
"""  # noqa: S608
# Whether an amount that is known here ($9) and what is stored reach the limit ($8) of a quota of time.
_USED_UP = f"""
EXISTS (
  SELECT 1 FROM unnest($6::text[], $7::float8[], $8::float8[], $9::float8[]) AS q(quota, seconds, most, more)
  LEFT JOIN quota_windows w ON w.quota = q.quota AND w.account = $2
  WHERE q.more + coalesce((
    SELECT sum(amount) FROM unnest(w.slots, w.amounts) AS kept(slot, amount)
    WHERE slot > floor({NOW} / (q.seconds / {SLOTS}))::bigint - {SLOTS}
  ), 0) >= q.most
)
"""  # noqa: S608
# What one service holds ($3) becomes $4, if all services together then hold at most $5.
_HOLD = f"""
INSERT INTO quota_holds AS h (quota, account, services, amounts, untils)
SELECT $1, $2, ARRAY[$3::text], ARRAY[$4::bigint], ARRAY[{NOW} + {HOLD_SECONDS}]
WHERE $4::bigint <= $5::bigint AND NOT {_USED_UP}
ON CONFLICT (quota, account) DO UPDATE SET (services, amounts, untils) = (
  SELECT array_agg(service), array_agg(amount), array_agg(until) FROM (
    SELECT service, amount, until FROM unnest(h.services, h.amounts, h.untils) AS kept(service, amount, until)
    WHERE service <> $3 AND until > excluded.untils[1] - {HOLD_SECONDS}
    UNION ALL SELECT $3, $4, excluded.untils[1]
  ) AS every
) WHERE $4 + (
  SELECT coalesce(sum(amount), 0) FROM unnest(h.services, h.amounts, h.untils) AS kept(service, amount, until)
  WHERE service <> $3 AND until > excluded.untils[1] - {HOLD_SECONDS}
) <= $5
RETURNING 1
"""  # noqa: S608
_HELD = f"""
SELECT coalesce(sum(amount), 0)::bigint FROM quota_holds h, unnest(h.services, h.amounts, h.untils) AS k(service, amount, until)
WHERE h.quota = $1 AND h.account = $2 AND service <> $3 AND until > {NOW}
"""  # noqa: S608, E501
_SWEEP = f"""
DELETE FROM quota_windows WHERE until <= {NOW};
DELETE FROM quota_holds WHERE (SELECT max(until) FROM unnest(untils) AS until) <= {NOW};
"""  # noqa: S608
_NO_LIMIT = 2**62


class PostgresCounters:
    """A ``Counters``."""

    late_seconds: float = LATE_SECONDS

    def __init__(self, store: PostgresStore) -> None:
        self._store = store
        self._service = new_id()
        self._uncounted: dict[_Place, tuple[Quota, float]] = {}
        self._being_counted: dict[_Place, tuple[Quota, float]] = {}
        self._written = 0  # how often
        self._held: Counter[_Place] = Counter()  # by this service
        self._changed: dict[_Place, None] = {}  # what it holds less of than the database knows
        self._locks: WeakValueDictionary[_Place, asyncio.Lock] = WeakValueDictionary()
        self._writing = asyncio.Lock()
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def spend(self, quota: Quota, account: str, amount: float, limit: float) -> Reading | None:
        """Count an amount, unless it is over the limit."""
        if (quota.name, account) in self._uncounted or self._writing.locked():
            await self._write()
        values = (quota.name.value, account, float(amount), quota.window_seconds, float(limit))
        row = await self._store.run(lambda c: c.fetchrow(_ADD, *values))
        return None if row is None else _reading(quota, row)

    async def read(self, quotas: Sequence[Quota], account: str) -> Sequence[Reading]:
        """What the account used of each quota."""
        names = [quota.name.value for quota in quotas]
        for _ in range(READ_TRIES):
            if self._writing.locked():
                await self._write()
            written, here = self._written, [self._amount_here(quota, account) for quota in quotas]
            rows = {row[0]: row for row in await self._store.run(lambda c: c.fetch(_READ, names, account))}
            if self._written == written and not self._writing.locked():
                break
        return [_reading(quota, rows[quota.name.value][1:], more) for quota, more in zip(quotas, here, strict=True)]

    def count(self, quota: Quota, account: str, amount: float) -> None:
        """Count an amount within moments, whatever the limit."""
        _, before = self._uncounted.get((quota.name, account), (quota, 0.0))
        self._uncounted[quota.name, account] = quota, before + amount
        self._wake.set()

    async def hold(
        self, quota: Quota, account: str, limit: int, *, unless_used: Sequence[tuple[Quota, float]] = ()
    ) -> int | None:
        """Hold one more, unless that is over the limit, or a quota of time is used up, in one statement.

        For moments, an amount that is being written may count twice: read what is used before refusing somebody.
        """
        place = (quota.name, account)
        async with self._lock(place):
            held = self._held[place] = self._held[place] + 1
            if not limit and not unless_used:
                return held
            is_held = False
            try:
                is_held = await self._set(place, held, limit or _NO_LIMIT, unless_used)
            finally:
                if not is_held:  # refused, cancelled or failed
                    self.release(quota, account)
            return held if is_held else None

    async def _set(
        self,
        place: _Place,
        amount: int,
        limit: int = _NO_LIMIT,
        unless_used: Sequence[tuple[Quota, float]] = (),
    ) -> bool:
        account = place[1]
        windows = [
            (quota.name.value, quota.window_seconds, float(most), self._amount_here(quota, account))
            for quota, most in unless_used
        ]
        columns = [list(column) for column in zip(*windows, strict=True)] or [[], [], [], []]
        values = (place[0].value, account, self._service, amount, limit, *columns)
        return await self._store.run(lambda c: c.fetchval(_HOLD, *values)) is not None

    def _amount_here(self, quota: Quota, account: str) -> float:
        """What was counted and may not be in the database yet."""
        place = (quota.name, account)
        return sum(amounts.get(place, (quota, 0.0))[1] for amounts in (self._uncounted, self._being_counted))

    async def held(self, quota: Quota, account: str) -> int:
        """How many are held."""
        values = (quota.name.value, account, self._service)
        others = await self._store.run(lambda c: c.fetchval(_HELD, *values))
        return int(others) + self._held[quota.name, account]

    def release(self, quota: Quota, account: str) -> int:
        """Hold one less."""
        self._held[quota.name, account] -= 1
        self._changed[quota.name, account] = None
        self._wake.set()
        return self._held[quota.name, account]

    def start(self) -> None:
        """Begin to write what was counted and released, and to renew what is held."""
        self._task = asyncio.create_task(self._keep())

    async def _keep(self) -> None:
        has_failed = False
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(RENEW_SECONDS):
                    await self._wake.wait()
            if not (is_renewal := not self._wake.is_set()):
                await asyncio.sleep(GATHER_SECONDS)
            self._wake.clear()
            if is_renewal:
                self._changed |= dict.fromkeys(place for place, held in self._held.items() if held)
            try:
                await self._write()
                has_failed = False
            except ServiceError as error:
                if not has_failed:
                    log.warning("counts of quotas not written", extra={"reason": error.message})
                has_failed = True
                await asyncio.sleep(1.0)
                self._wake.set()

    async def _write(self) -> None:
        """Write what was counted and released until now; what cannot be written stays."""
        async with self._writing:
            if self._uncounted:
                await self._write_counted()
            for place in [*self._changed]:
                await self._write_held(place)

    async def _write_counted(self) -> None:
        taken, self._uncounted = self._uncounted, {}
        self._being_counted = taken
        rows = [
            (name.value, account, amount, quota.window_seconds) for (name, account), (quota, amount) in taken.items()
        ]
        columns = [list(column) for column in zip(*rows, strict=True)]
        try:
            await self._store.run(lambda c: c.execute(_COUNT, *columns))
        except BaseException:
            for (_, account), (quota, amount) in taken.items():
                self.count(quota, account, amount)
            raise
        finally:
            self._being_counted = {}
            self._written += 1

    async def _write_held(self, place: _Place) -> None:
        async with self._lock(place):
            self._changed.pop(place, None)
            try:
                await self._set(place, self._held[place])
            except BaseException:
                self._changed[place] = None
                raise
            if not self._held[place]:
                del self._held[place]

    def _lock(self, place: _Place) -> asyncio.Lock:
        return self._locks.setdefault(place, asyncio.Lock())

    async def sweep(self) -> None:
        """Drop what no longer counts."""
        await self._store.run(lambda c: c.execute(_SWEEP))

    async def close(self) -> None:
        """Write what was counted, and give back what is held."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        self._changed |= dict.fromkeys(self._held)
        self._held.clear()
        with contextlib.suppress(ServiceError):  # the database is away: what is held ends by its time
            await self._write()


def _reading(quota: Quota, row: Sequence[object], more: float = 0.0) -> Reading:
    """What a row says, and ``more`` that was used now."""
    slots, amounts, now = row
    kept = zip(slots or (), amounts or (), strict=True)  # type: ignore[call-overload]  # asyncpg has no types
    reading = Reading(Window(quota.window_seconds, kept), float(now))  # type: ignore[arg-type]  # the same
    if more:
        reading.window.add(reading.now, more)
    return reading
