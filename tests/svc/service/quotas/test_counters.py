"""The promises of all counters: in the memory of one service, and in PostgreSQL for several."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from svc.errors import UnavailableError
from svc.service.quotas import shared_counters
from svc.service.quotas.counters import Counters, MemoryCounters
from svc.service.quotas.shared_counters import PostgresCounters
from svc.service.quotas.table import QUOTAS, QuotaName
from svc.service.store.address import PostgresAddress
from svc.service.store.postgres.store import PostgresStore
from tests.support.postgres import PostgresServer, postgres_server

REQUESTS, TOKENS, STREAMS = (QUOTAS[name] for name in (QuotaName.REQUESTS, QuotaName.TOKENS, QuotaName.STREAMS))


@pytest.fixture
async def store(postgres: PostgresServer) -> AsyncIterator[PostgresStore]:
    opened = PostgresStore(PostgresAddress(postgres.new_schema()))
    await opened.open()
    yield opened
    await opened.close()


@pytest.fixture(params=["memory", "postgres"])
async def counters(request: pytest.FixtureRequest, store: PostgresStore) -> AsyncIterator[Counters]:
    made = MemoryCounters() if request.param == "memory" else PostgresCounters(store)
    made.start()
    yield made
    await made.close()


async def test_what_is_spent_is_used_up_to_the_limit(counters: Counters):
    assert (await counters.spend(REQUESTS, "a", 3, 5)).used == 3
    assert await counters.spend(REQUESTS, "a", 3, 5) is None
    assert (await counters.spend(REQUESTS, "a", 2, 5)).used == 5
    assert await counters.spend(REQUESTS, "new", 6, 5) is None
    (reading,) = await counters.read([REQUESTS], "a")
    assert reading.used == 5
    assert 58 <= reading.seconds_until(0) <= 61
    assert [one.used for one in await counters.read([TOKENS, REQUESTS], "b")] == [0, 0]


async def test_what_is_counted_is_used_at_once_and_over_the_limit(counters: Counters):
    counters.count(TOKENS, "a", 7)
    counters.count(TOKENS, "a", 4.5)
    (reading,) = await counters.read([TOKENS], "a")
    assert reading.used == 11.5
    assert await counters.spend(TOKENS, "a", 1, 10) is None


async def test_what_is_held_counts_until_its_release(counters: Counters):
    assert [await counters.hold(STREAMS, "a", 2) for _ in range(3)] == [1, 2, None]
    assert (await counters.held(STREAMS, "a"), await counters.held(STREAMS, "b")) == (2, 0)
    assert counters.release(STREAMS, "a") == 1
    assert await counters.hold(STREAMS, "a", 2) == 2
    assert await counters.hold(STREAMS, "b", 0) == 1
    await counters.sweep()
    assert await counters.held(STREAMS, "a") == 2


async def test_nothing_is_held_once_a_quota_of_time_is_used_up(counters: Counters):
    counters.count(TOKENS, "a", 4)
    await counters.spend(REQUESTS, "a", 3, 9)
    unused, used = [(TOKENS, 5), (REQUESTS, 4)], [(TOKENS, 5), (REQUESTS, 3)]
    assert await counters.hold(STREAMS, "a", 9, unless_used=unused) == 1
    assert await counters.hold(STREAMS, "a", 9, unless_used=used) is None
    counters.count(TOKENS, "a", 1)
    assert await counters.hold(STREAMS, "a", 0, unless_used=unused) is None
    assert await counters.hold(STREAMS, "b", 0, unless_used=unused) == 1
    assert await counters.held(STREAMS, "a") == 1


async def test_many_services_at_once_spend_and_hold_exactly_the_limit(store: PostgresStore):
    services = [PostgresCounters(store) for _ in range(4)]
    spent = await asyncio.gather(*(services[n % 4].spend(REQUESTS, "a", 1, 25) for n in range(60)))
    held = await asyncio.gather(*(services[n % 4].hold(STREAMS, "a", 11) for n in range(40)))
    assert sum(one is not None for one in spent) == 25
    assert sum(one is not None for one in held) == 11
    assert {await one.held(STREAMS, "a") for one in services} == {11}
    for one in services:
        await one.close()
    assert await services[0].held(STREAMS, "a") == 0


async def test_a_window_slides(store: PostgresStore):
    counters = PostgresCounters(store)
    await counters.spend(REQUESTS, "a", 5, 5)
    await store.run(lambda c: c.execute("UPDATE quota_windows SET slots = ARRAY[slots[1] - 59]"))
    assert await counters.spend(REQUESTS, "a", 1, 5) is None
    await store.run(lambda c: c.execute("UPDATE quota_windows SET slots = ARRAY[slots[1] - 1], until = 0"))
    assert (await counters.spend(REQUESTS, "a", 1, 5)).used == 1
    await store.run(lambda c: c.execute("UPDATE quota_windows SET until = 0"))
    await counters.sweep()
    assert await store.run(lambda c: c.fetchval("SELECT count(*) FROM quota_windows")) == 0


async def test_what_a_killed_service_held_ends_and_what_a_living_one_holds_does_not(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(shared_counters, "RENEW_SECONDS", 0.05)
    killed, living, other = (PostgresCounters(store) for _ in range(3))
    living.start()
    assert await killed.hold(STREAMS, "a", 9) == await living.hold(STREAMS, "a", 9) == 1
    await store.run(lambda c: c.execute("UPDATE quota_holds SET untils = ARRAY(SELECT 0 FROM unnest(untils))"))
    async with asyncio.timeout(30):
        while await other.held(STREAMS, "a") != 1:
            await asyncio.sleep(0.05)
    assert [await other.hold(STREAMS, "a", 2) for _ in range(2)] == [1, None]
    await living.close()


async def test_what_could_not_be_written_is_written_later():
    with postgres_server(is_durable=True) as server:
        store = PostgresStore(PostgresAddress(server.new_schema()))
        await store.open()
        counters = PostgresCounters(store)
        counters.start()
        await counters.hold(STREAMS, "a", 5)
        await asyncio.to_thread(server.kill)
        counters.count(TOKENS, "a", 7)
        with pytest.raises(UnavailableError):
            await counters.hold(STREAMS, "a", 5)
        await asyncio.to_thread(server.start)
        (reading,) = await counters.read([TOKENS], "a")
        assert reading.used == 7
        assert await counters.held(STREAMS, "a") == 1
        assert await counters.hold(STREAMS, "a", 2) == 2
        await counters.close()
        await store.close()
