"""The store on PostgreSQL: its schema, commits whose answer is lost or late, and take-overs behind a waiting append."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import random
import re
import sqlite3
from collections.abc import AsyncIterator
from importlib import resources
from typing import Any

import asyncpg
import pytest

from svc.errors import ConfigError, UnavailableError
from svc.messages import MessageType
from svc.service.store.address import PostgresAddress
from svc.service.store.postgres import appends, links, schema, statements
from svc.service.store.postgres.links import Links
from svc.service.store.postgres.single_service import PostgresLock
from svc.service.store.postgres.store import PostgresStore
from svc.service.store.records import LeaseLostError
from svc.service.store.sqlite import SqliteStore
from tests.support.postgres import PostgresServer
from tests.support.store_records import END, begun, info, query, result, session

# What PostgreSQL's schema has in another place, or does without: its session's row is the lock of its turns, and what
# a user keeps is added up when it is asked for. Codes and counts are in the memory of the one service on SQLite.
ONLY_SQLITE = {"users": {"id", "bytes"}, "turns": {"owner", "fence"}}
ONLY_POSTGRES = {
    "sessions": {"running_turn", "fence", "owner"}, "schema_state": {"only_row", "version", "oldest_program"},
    "replicas": {"id", "lease_until", "answers_by"}, "unlogged_homes": {"digest", "user_digest", "replica", "address"},
    "replica_requests": {"id", "owner", "session_id", "turn_number", "kind", "body", "reply", "created"},
    "once_codes": {"number", "kind", "digest", "user_id", "content", "expires"},
    "quota_windows": {"quota", "account", "slots", "amounts", "until"},
    "quota_holds": {"quota", "account", "services", "amounts", "untils"},
}  # fmt: skip


@pytest.fixture
def address(postgres: PostgresServer) -> PostgresAddress:
    return PostgresAddress(postgres.new_schema())


@pytest.fixture
async def store(address: PostgresAddress) -> AsyncIterator[PostgresStore]:
    opened = PostgresStore(address)
    await opened.open()
    yield opened
    await opened.close()


def without(tables: dict[str, set[str]], left_out: dict[str, set[str]]) -> dict[str, set[str]]:
    found = {name: columns - left_out.get(name, set()) for name, columns in tables.items()}
    return {name: columns for name, columns in found.items() if columns}


async def test_both_schemas_have_the_same_tables_and_columns(store: PostgresStore):
    sql = "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = current_schema()"
    here: dict[str, set[str]] = {}
    for table, column in await store._read(lambda c: c.fetch(sql)):
        here.setdefault(table, set()).add(column)
    other = SqliteStore(None)
    await other.open()

    def columns(connection: sqlite3.Connection) -> dict[str, set[str]]:
        names = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {name: {row[1] for row in connection.execute(f"PRAGMA table_info({name})")} for name in names}

    there = await other._write(columns)
    await other.close()
    assert without(here, ONLY_POSTGRES) == without(there, ONLY_SQLITE)


def test_both_folders_of_migrations_have_the_same_numbers():
    folder = resources.files("svc.service.store") / "migrations"

    def numbers_of(kind: str) -> list[int]:
        names = [one.name for one in (folder / kind).iterdir()]
        return sorted(int(name[:4]) for name in names if re.fullmatch(r"\d{4}_\w+\.sql", name))

    numbers = {kind: numbers_of(kind) for kind in ("sqlite", "postgres")}
    first = numbers["postgres"][0]
    assert [number for number in numbers["sqlite"] if number >= first] == numbers["postgres"]


async def test_several_programs_may_open_a_new_database_at_once(address: PostgresAddress):
    stores = [PostgresStore(address) for _ in range(4)]
    await asyncio.gather(*(one.open() for one in stores))
    for number, one in enumerate(stores):
        await one.add_session(session(f"s{number}"))
    assert len(await stores[0].list_sessions("u", now=0)) == 4
    for one in stores:
        await one.close()


async def test_a_list_has_the_order_of_registration_although_a_clock_ran_ahead(store: PostgresStore):
    await store.add_session(session("ahead", create_time=101))
    await store.add_session(session("later", create_time=100))
    assert [one.id for one in await store.list_sessions("u", now=0)] == ["ahead", "later"]


async def test_only_a_schema_that_says_so_is_refused(store: PostgresStore, address: PostgresAddress):
    await store._write(lambda c: c.execute("UPDATE schema_state SET version = 99"))
    beside = PostgresStore(address)
    await beside.open()
    await beside.close()
    await store._write(lambda c: c.execute("UPDATE schema_state SET oldest_program = 98"))
    with pytest.raises(ConfigError, match=r"version 99, which needs a program that supports 98.*newer svc"):
        await PostgresStore(address).open()
    assert schema.oldest_program(12, "-- works with: 10\nSELECT 1;") == 10
    assert schema.oldest_program(12, "SELECT 1;") == 12


async def test_a_wrong_user_is_an_error_and_a_server_that_is_away_is_waited_for(
    postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
):
    with pytest.raises(ConfigError, match="cannot be used as the database"):
        await PostgresStore(PostgresAddress(postgres.url().replace("svc@", "nobody_here@"))).open()
    monkeypatch.setattr("svc.service.store.postgres.store.WAIT_SECONDS", 0.05)
    away = PostgresStore(PostgresAddress("postgresql://svc@127.0.0.1:9/svc"))
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(away.open(), 0.5)


class BadLink(Links):
    """A link on which answers are lost, or on which statements are lost or arrive late."""

    def __init__(self, good: Links, chance: random.Random) -> None:
        self._good = good
        self._chance = chance
        self.faults = 0
        self.late: list[asyncio.Task[Any]] = []

    async def run(self, operation: Any, *, is_repeatable: bool = False) -> Any:
        kind = self._chance.choice(["well", "answer", "statement", "late"])
        if is_repeatable or kind == "well":
            return await self._good.run(operation, is_repeatable=is_repeatable)
        self.faults += 1
        if kind == "answer":
            await self._good.run(operation)
        elif kind == "late":
            self.late.append(asyncio.create_task(self._later(operation)))
        raise asyncpg.ConnectionDoesNotExistError("cut")

    async def _later(self, operation: Any) -> None:
        await asyncio.sleep(self._chance.uniform(0, 0.02))
        await self._good.run(operation)

    async def close(self) -> None:
        await asyncio.gather(*self.late, return_exceptions=True)
        await self._good.close()


def break_link(store: PostgresStore, address: PostgresAddress, seed: int) -> BadLink:
    bad = BadLink(Links(address, 4), random.Random(seed))
    store._appends._links = bad
    return bad


@pytest.mark.parametrize("seed", range(4))
async def test_commits_in_doubt_count_once(
    store: PostgresStore, address: PostgresAddress, monkeypatch: pytest.MonkeyPatch, seed: int
):
    monkeypatch.setattr(appends, "RETRY_SECONDS", 0.01)
    await store._appends._links.close()
    bad = break_link(store, address, seed)
    turns = []
    for number in range(3):
        await store.add_session(session(f"s{number}"))
        turns.append((await store.begin_turn(f"s{number}", query(), owner="me")).turn)
    said = {turn.session_id: [info(f"{turn.session_id} {number}") for number in range(30)] for turn in turns}
    batches = await asyncio.gather(
        *(store.append(turn, [message]) for turn in turns for message in said[turn.session_id])
    )
    for turn in turns:
        await store.append(turn, [result(), info("end")], END)
    await asyncio.gather(*bad.late, return_exceptions=True)

    assert bad.faults > 3
    for turn in turns:
        stored = await store.messages_after(turn.session_id, 0)
        ids = [message.id for message in await store.turn_messages(turn)]
        assert [one.seq for one in stored] == list(range(1, 34))
        assert ids[1:31] == [message.id for message in said[turn.session_id]]
        assert (await store.session(turn.session_id)).usage.total_tokens == END.usage.total_tokens
    assert all(len(batch) == 1 for batch in batches)


class DeafConnection:
    """A connection that breaks before the answer comes."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    async def fetch(self, *statement: object) -> None:
        await self._connection.fetch(*statement)
        raise asyncpg.ConnectionDoesNotExistError("cut")


async def test_an_append_whose_answer_is_lost_is_stored_once_and_counted(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
):
    turn = await begun(store)
    good = store._appends._links.run
    losses = iter([True])

    async def lose_once(operation: Any, *, is_repeatable: bool = False) -> Any:
        if not is_repeatable and next(losses, False):
            return await good(lambda connection: operation(DeafConnection(connection)))
        return await good(operation, is_repeatable=is_repeatable)

    monkeypatch.setattr(store._appends._links, "run", lose_once)
    assert [one.seq for one in await store.append(turn, [info("1")])] == [2]
    assert store.appends_in_doubt == 1
    assert [one.seq for one in await store.append(turn, [info("2")])] == [3]
    assert store.appends_in_doubt == 1


async def test_a_batch_in_doubt_that_is_tried_again_with_more_counts_once(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
):
    store._appends.patience_seconds = 0.0
    turn = await begun(store)
    good = store._appends._links
    commit = good.run

    async def lose_answer(operation: Any, *, is_repeatable: bool = False) -> Any:
        await commit(operation)
        raise asyncpg.ConnectionDoesNotExistError("cut")

    first, second, third = info("1"), info("2"), info("3")
    monkeypatch.setattr(good, "run", lose_answer)
    with pytest.raises(UnavailableError):
        await store.append(turn, [first])
    monkeypatch.setattr(good, "run", commit)
    stored = await store.append(turn, [first, second])
    monkeypatch.setattr(good, "run", lose_answer)
    with pytest.raises(UnavailableError):
        await store.append(turn, [third])
    monkeypatch.setattr(good, "run", commit)
    instead = await store.append(turn, [info("the turn failed")], END)

    contents = [message.content for message in await store.turn_messages(turn)]
    assert contents == ["who?", "1", "2", "3", "the turn failed"]
    assert [one.seq for one in [*stored, *instead]] == [2, 3, 5]


async def test_an_append_that_waits_for_the_row_behind_a_take_over_is_refused(
    store: PostgresStore, address: PostgresAddress
):
    turn = await begun(store)
    connection = await links.connect(address)
    taking = connection.transaction()
    await taking.start()
    await connection.execute("UPDATE sessions SET owner = 'other', fence = fence + 1 WHERE id = 's'")
    append = asyncio.create_task(store.append(turn, [info("late")]))
    await asyncio.sleep(0.2)
    assert not append.done()
    await taking.commit()
    await connection.close()
    with pytest.raises(LeaseLostError):
        await append
    assert len(await store.messages_after("s", 0)) == 1


async def test_two_stores_on_one_database_keep_every_promise(address: PostgresAddress):
    """Two processes fight for the turns of a few sessions: every append is by the owner of its time, without a gap."""
    stores = [PostgresStore(address) for _ in range(2)]
    for one in stores:
        await one.open()
    for number in range(4):
        await stores[0].add_session(session(f"s{number}"))
        await stores[0].begin_turn(f"s{number}", query(), owner="0")
    before = [await stores[0].running_turn(f"s{number}") for number in range(4)]
    await stores[1].claim_orphans(owner="1")
    late = await asyncio.gather(*(stores[0].append(turn, [info("0")]) for turn in before), return_exceptions=True)
    assert [type(error) for error in late] == [LeaseLostError] * 4

    async def work(number: int) -> None:
        for _ in range(12):
            mine = await stores[number].claim_orphans(owner=str(number))
            for turn, _again in itertools.product(mine, range(2)):
                with contextlib.suppress(LeaseLostError):
                    await stores[number].append(turn, [info(f"{turn.fence}")])
                await asyncio.sleep(0)

    await asyncio.gather(work(0), work(1))
    for number in range(4):
        session_id = f"s{number}"
        turn = await stores[0].running_turn(session_id)
        messages = await stores[0].turn_messages(turn)
        assert [one.seq for one in messages] == list(range(1, len(messages) + 1))
        fences = [int(one.content) for one in messages if one.message_type == MessageType.INFO]
        assert fences == sorted(fences)
        assert (await stores[0].session(session_id)).last_seq == len(messages)
    for one in stores:
        await one.close()


_MANY_SESSIONS = """
    INSERT INTO sessions (id, user_id, org_id, model, ttl, language, name, description, create_time, update_time,
      expire_time, can_log, instructions, usage, running_turn)
    SELECT 'many' || n, 'u' || n % 500, '', '{}', 1, 'en', '', '', n, n, n, 1, '', '{}',
      CASE n % 400 WHEN 0 THEN n ELSE 0 END
    FROM generate_series(1, 20000) AS n
"""
_MANY_TURNS = """
    INSERT INTO turns (number, session_number, id, query_id, query_seq, state, attempts, started)
    SELECT n, n, 't' || n, 'q', 1, 'running', 1, 0 FROM generate_series(1, 20000) AS n
"""
_NO_ROWS = "'{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}'"


async def test_appends_and_take_overs_read_no_whole_table(store: PostgresStore):
    async def plans(connection: Any) -> list[str]:
        await connection.execute(_MANY_SESSIONS)
        await connection.execute(_MANY_TURNS)
        await connection.execute("ANALYZE")
        await connection.execute("SET plan_cache_mode = force_generic_plan")
        await connection.execute(f"PREPARE append AS {appends._APPEND}")
        await connection.execute(f"PREPARE claim AS {statements.CLAIM}")
        questions = (f"EXPLAIN EXECUTE append ({_NO_ROWS})", "EXPLAIN EXECUTE claim ('me')")
        return ["\n".join(row[0] for row in await connection.fetch(sql)) for sql in questions]

    append, claim = await store._write(plans)
    assert "Seq Scan" not in append
    assert "sessions_running" in claim
    assert "Seq Scan on sessions" not in claim


async def test_one_service_at_a_time_has_the_database(address: PostgresAddress, monkeypatch: pytest.MonkeyPatch):
    module = "svc.service.store.postgres.single_service"
    monkeypatch.setattr(f"{module}.WAIT_SECONDS", 0.4)
    monkeypatch.setattr(f"{module}.LOOK_SECONDS", 0.05)
    lost = asyncio.Event()
    first, second = PostgresLock(address), PostgresLock(address)
    await first.take(lost.set)
    with pytest.raises(ConfigError, match="another service is using this database"):
        await second.take(lost.set)
    before = first._last
    first._connection.terminate()
    await wait_for(lambda: first._last != before)  # it takes the lock again
    assert not lost.is_set()
    first._task.cancel()  # it does not look before another one has the lock
    await end_connection(address, first._last[0])
    thief = PostgresLock(address)
    assert await thief._try()
    first._task = asyncio.create_task(first._keep(lost.set))
    await asyncio.wait_for(lost.wait(), 10)
    await first.close()
    await thief.close()


async def end_connection(address: PostgresAddress, pid: int) -> None:
    connection = await links.connect(address)
    await connection.fetchval("SELECT pg_terminate_backend($1, 5000)", pid)
    await connection.close()


async def wait_for(condition: Any) -> None:
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.01)
