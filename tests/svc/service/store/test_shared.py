"""A store of several services: leases, take-over, turns that are taken to be ended, requests, hints."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable

import pytest

from svc.errors import ConfigError
from svc.messages import MessageType
from svc.service.store.address import PostgresAddress
from svc.service.store.opening import shared_store_of
from svc.service.store.postgres import hints, links
from svc.service.store.postgres.hints import PostgresHints
from svc.service.store.postgres.shared import SharedPostgresStore
from svc.service.store.postgres.single_service import PostgresLock
from svc.service.store.records import FileRecord, LeaseLostError, NoRoomError, TurnRecord
from svc.service.store.shared import Hint, OwnerRequest, Work
from tests.support.postgres import PostgresServer
from tests.support.store_records import END, info, query, session


@pytest.fixture
def address(postgres: PostgresServer) -> PostgresAddress:
    return PostgresAddress(postgres.new_schema())


@pytest.fixture
async def stores(address: PostgresAddress) -> AsyncIterator[list[SharedPostgresStore]]:
    """Those of three services, ``0`` to ``2``, of which only ``0`` has a lease."""
    opened = [SharedPostgresStore(address) for _ in range(3)]
    for store in opened:
        await store.open()
    await opened[0].renew("0", 60)
    yield opened
    for store in opened:
        await store.close()


async def begin(store: SharedPostgresStore, name: str, owner: str) -> TurnRecord:
    await store.add_session(session(name))
    return (await store.begin_turn(name, query(f"q-{name}", f"t-{name}"), owner=owner)).turn


async def test_only_turns_without_a_living_owner_are_taken_the_oldest_first(stores: list[SharedPostgresStore]):
    await begin(stores[0], "living", "0")
    await begin(stores[1], "dead", "1")
    await begin(stores[1], "waiting", "")
    await stores[2].renew("2", 60)
    (first,) = await stores[2].take_over(owner="2", limit=1)
    (second,) = await stores[2].take_over(owner="2", limit=9)
    assert (first.session_id, first.attempts, second.session_id, second.attempts) == ("dead", 2, "waiting", 1)
    assert await stores[2].take_over(owner="2", limit=9) == []
    assert [turn.session_id for turn in await stores[0].held("2")] == ["dead", "waiting"]


async def test_a_service_learns_in_one_look_whether_there_is_work(stores: list[SharedPostgresStore]):
    assert await stores[0].work_for("0") == Work(has_requests=False, has_turns=False, has_free=False, heads={})
    turn = await begin(stores[0], "living", "0")
    asked = OwnerRequest(id="r", session_id="living", turn_number=turn.number, kind="stop", body=b"")
    assert await stores[1].ask_owner(asked)
    assert await stores[0].work_for("0") == Work(has_requests=True, has_turns=True, has_free=False, heads={})
    assert await stores[1].work_for("1") == Work(has_requests=False, has_turns=False, has_free=False, heads={})
    await begin(stores[1], "dead", "1")
    assert (await stores[0].work_for("0")).has_free


async def test_a_lease_ends_by_itself_and_with_its_service(stores: list[SharedPostgresStore]):
    await begin(stores[0], "s", "0")
    await stores[1].renew("1", 60)
    assert await stores[1].take_over(owner="1", limit=9) == []
    await stores[0].renew("0", 0)
    assert [turn.session_id for turn in await stores[1].take_over(owner="1", limit=9)] == ["s"]
    await stores[1].leave("1")
    assert [turn.session_id for turn in await stores[2].take_over(owner="2", limit=9)] == ["s"]


async def test_a_turn_that_was_taken_is_closed_to_its_former_owner(stores: list[SharedPostgresStore]):
    old = await begin(stores[1], "s", "1")
    await stores[1].append(old, [info()])
    (new,) = await stores[0].take_over(owner="0", limit=9)
    with pytest.raises(LeaseLostError):
        await stores[1].append(old, [info()])
    await stores[1].release(old)
    assert [one.seq for one in await stores[0].append(new, [info()], END)] == [3]
    assert await stores[2].take_over(owner="2", limit=9) == []


async def test_an_append_that_waits_behind_a_take_over_is_refused(stores: list[SharedPostgresStore], address):
    """The row's lock is held while both are on their way, so the append looks at it again."""
    old = await begin(stores[1], "s", "1")
    await stores[1].append(old, [info()])
    blocker = await links.connect(address)
    transaction = blocker.transaction()
    await transaction.start()
    await blocker.execute("UPDATE sessions SET fence = fence + 1, owner = '0' WHERE id = 's'")
    late = asyncio.create_task(stores[1].append(old, [info()]))
    await waiting_for_a_lock(stores[0])
    await transaction.commit()
    await blocker.close()
    with pytest.raises(LeaseLostError):
        await late
    assert len(await stores[0].messages_after("s", 0)) == 2


async def waiting_for_a_lock(store: SharedPostgresStore) -> None:
    sql = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%job%'"
    async with asyncio.timeout(20):
        while not await store._read(lambda c: c.fetchval(sql)):
            await asyncio.sleep(0.01)


async def test_nobody_waits_for_a_turn_that_another_one_takes(stores: list[SharedPostgresStore], address):
    await begin(stores[1], "first", "1")
    await begin(stores[1], "second", "1")
    blocker = await links.connect(address)
    async with blocker.transaction():
        await blocker.execute("SELECT 1 FROM sessions WHERE id = 'first' FOR UPDATE")
        taken = await asyncio.wait_for(stores[0].take_over(owner="0", limit=9), 10)
        assert [turn.session_id for turn in taken] == ["second"]
    await blocker.close()


async def test_many_turns_are_taken_once_by_several_services(stores: list[SharedPostgresStore]):
    await asyncio.gather(*(begin(stores[0], f"s{number}", "dead") for number in range(60)))
    await asyncio.gather(*(store.renew(str(number), 60) for number, store in enumerate(stores)))

    async def take(number: int) -> list[TurnRecord]:
        found = []
        while more := await stores[number].take_over(owner=str(number), limit=5):
            found += more
        return found

    everything = [turn for found in await asyncio.gather(*map(take, range(3))) for turn in found]
    assert sorted(turn.session_id for turn in everything) == sorted(f"s{number}" for number in range(60))
    assert {turn.attempts for turn in everything} == {2}


async def test_a_turn_is_seized_from_a_living_owner_unless_it_has_ended(stores: list[SharedPostgresStore]):
    turn = await begin(stores[0], "s", "0")
    seized = await stores[1].seize(turn, owner="1")
    assert seized is not None
    assert await stores[2].seize(turn, owner="2") is None
    with pytest.raises(LeaseLostError):
        await stores[0].append(turn, [info()])
    await stores[1].append(seized, [info()], END)
    assert await stores[2].seize(seized, owner="2") is None


async def test_a_request_reaches_the_owner_and_its_reply_the_one_that_asked(stores: list[SharedPostgresStore]):
    turn = await begin(stores[0], "s", "0")
    asked = OwnerRequest(id="r", session_id="s", turn_number=turn.number, kind="stop", body=b"t")
    assert await stores[1].ask_owner(asked)
    assert await stores[2].requests_for("2") == []
    assert await stores[0].requests_for("0") == [asked]
    assert await stores[1].take_reply("r") is None
    await stores[0].reply("r", b"{}")
    assert await stores[0].requests_for("0") == []
    assert await stores[1].take_reply("r") == b"{}"
    assert await stores[1].take_reply("r") is None
    await stores[0].append(turn, [info()], END)
    assert not await stores[1].ask_owner(asked)


async def test_heads_are_the_last_seqs(stores: list[SharedPostgresStore]):
    turn = await begin(stores[0], "s", "0")
    await stores[0].append(turn, [info(), info()])
    await stores[0].add_session(session("empty"))
    assert (await stores[1].work_for("1", ["s", "empty", "nowhere"])).heads == {"s": 3, "empty": 0}


async def test_files_of_one_user_that_services_add_at_once_do_not_exceed_the_room(stores: list[SharedPostgresStore]):
    for number in range(3):
        await stores[0].add_session(session(f"s{number}"))

    def add(number: int, name: str, content: str) -> Awaitable[FileRecord | None]:
        file = FileRecord(id=name, name=name, size=40, sha256=content, mime_type="text/plain", label="txt")
        return stores[number].add_file(f"s{number}", file, limit=9, room=100)

    contents = {f"f{number}{n}": number for number in range(3) for n in range(3)}
    outcomes = await asyncio.gather(*(add(n, name, name) for name, n in contents.items()), return_exceptions=True)
    stored = [one for one in outcomes if isinstance(one, FileRecord)]
    assert (len(stored), {type(one) for one in outcomes}) == (2, {FileRecord, NoRoomError})
    assert await stores[0].bytes_of("u") == 80
    again = [add(n, f"again{n}", stored[0].sha256) for n in range(3)]  # a content that is there takes no room
    assert [one.id for one in await asyncio.gather(*again)] == [stored[0].id] * 3


async def test_hints_reach_the_others_gathered_and_after_a_broken_connection(address, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(hints, "LOOK_SECONDS", 0.05)
    monkeypatch.setattr(hints, "RETRY_SECONDS", 0.05)
    heard: list[Hint] = []
    own: list[Hint] = []
    teller, listener = PostgresHints(address, "teller"), PostgresHints(address, "listener")
    await teller.start(own.append)
    await listener.start(heard.append)
    await until(lambda: heard and own)  # each looks once it listens
    for seq in range(1, 200):
        teller.tell_stored("s", seq)
        teller.tell_stored(f"long-{seq:059}", 10**14)
    teller.tell_ended("s", 4410, "gone")
    await until(lambda: any(hint.ended for hint in heard))
    seqs = [hint.stored["s"] for hint in heard if "s" in hint.stored]
    assert (seqs[-1], len(seqs) < 20, heard[-1].ended) == (199, True, {"s": (4410, "gone")})
    assert len({name for hint in heard for name in hint.stored}) == 200
    assert all(hint == Hint(wake=True) for hint in own)
    heard.clear()
    connection = await links.connect(address)
    others = "application_name = 'svc' AND pid <> pg_backend_pid()"
    await connection.fetch(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {others}")
    await connection.close()
    await until(lambda: heard)  # it says that hints were lost
    heard.clear()

    def is_told() -> bool:
        teller.tell_stored("s", 300)
        return any(hint.stored.get("s") == 300 for hint in heard)

    await until(is_told)
    await teller.close()
    await listener.close()


async def until(condition) -> None:
    async with asyncio.timeout(20):
        while not condition():
            await asyncio.sleep(0.01)


async def test_those_that_share_the_database_exclude_those_that_do_not(address, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("svc.service.store.postgres.single_service.WAIT_SECONDS", 0.3)
    first, second = PostgresLock(address, is_shared=True), PostgresLock(address, is_shared=True)
    alone = PostgresLock(address)
    await first.take(lambda: None)
    await second.take(lambda: None)
    with pytest.raises(ConfigError, match="each has --shared-database true"):
        await alone.take(lambda: None)
    await first.close()
    await second.close()
    await alone.take(lambda: None)
    with pytest.raises(ConfigError, match="another service is using this database"):
        await first.take(lambda: None)
    await alone.close()


def test_a_sqlite_file_cannot_be_shared(tmp_path):
    with pytest.raises(ConfigError, match="--shared-database needs PostgreSQL"):
        shared_store_of(tmp_path / "a.db")


async def test_a_result_is_stored_once_whoever_runs_the_turn(stores: list[SharedPostgresStore]):
    turn = await begin(stores[1], "s", "1")
    (taken,) = await stores[0].take_over(owner="0", limit=9)
    outcomes = await asyncio.gather(
        stores[1].append(turn, [info()], END), stores[0].append(taken, [info()], END), return_exceptions=True
    )
    assert [type(outcome) for outcome in outcomes] == [LeaseLostError, list]
    kinds = [message.message_type for message in await stores[2].turn_messages(taken)]
    assert kinds == [MessageType.QUERY, MessageType.INFO]
