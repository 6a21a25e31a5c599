"""Histories in memory: what the store would give, of the sessions used last, and nothing of one that is gone."""

from __future__ import annotations

import msgspec
import pytest

from svc.assistant.turn import Exchange
from svc.service.sessions.models import STABLE
from svc.service.store.records import SessionRecord
from svc.service.turns.history_cache import History, HistoryCache, history_of
from tests.support.assistants.scripted import Crash, Echo, Slow
from tests.support.live import ThreadService, wait_until
from tests.support.wire_client import ask, opened, read, register, send

pytestmark = pytest.mark.one_service("the cache is in the memory of the service that ran the turn")


def session(name: str = "s", last_seq: int = 6) -> SessionRecord:
    return SessionRecord(
        id=name, user_id="u", org_id="o", model=STABLE, ttl=300, language="en", name="n", description="",
        create_time=100, update_time=100, expire_time=400, can_log=True, last_seq=last_seq, turns=1,
    )  # fmt: skip


def told(answer: str, asked: float = 1.0) -> History:
    return History().with_exchange(Exchange(prompt="?", answer=answer), asked)


ROOM = told("x" * 1_000).size_bytes


def test_a_history_is_a_snapshot_of_a_session_at_one_seq():
    kept = HistoryCache(limit_bytes=10 * ROOM, history_bytes=10 * ROOM)
    kept.put(session("s"), 6, told("one"))
    assert kept.find(session(last_seq=6)) == told("one")
    assert kept.find(session(last_seq=7)) is None
    assert kept.find(session("other")) is None
    assert kept.find(msgspec.structs.replace(session(last_seq=6), number=2)) is None  # registered again


def test_the_least_recently_used_sessions_are_evicted():
    kept = HistoryCache(limit_bytes=3 * ROOM, history_bytes=3 * ROOM)
    for name in "abc":
        kept.put(session(name), 6, told("x" * 1_000))
    assert kept.find(session("a")) is not None
    kept.put(session("d"), 6, told("x" * 1_000))
    assert kept.session_ids == {"a", "c", "d"}


def test_a_growing_history_is_counted_once():
    kept = HistoryCache(limit_bytes=3 * ROOM, history_bytes=3 * ROOM)
    kept.put(session("other"), 6, told("x" * 1_000))
    for seq in range(20):
        kept.put(session("s"), seq, told("x" * 1_000))
    assert kept.session_ids == {"other", "s"}


@pytest.mark.parametrize("limit", ["history_bytes", "limit_bytes"])
def test_a_history_over_a_limit_is_not_cached(limit: str):
    kept = HistoryCache(**{"history_bytes": 10 * ROOM, "limit_bytes": 10 * ROOM, limit: ROOM - 1})
    kept.put(session("s"), 5, told("short"))
    kept.put(session("s"), 6, told("x" * 1_000))
    assert kept.session_ids == set()


def in_memory(service: ThreadService, session_id: str) -> History | None:
    """What is kept of the session as it is now, once its turn is forgotten."""
    turns = service.running.service.turns
    wait_until(lambda: not turns.running, "the turn to end")
    handle = service.run(service.running.service.session_stores.find(session_id))
    assert handle is not None
    return turns.histories.find(handle.session)


def in_store(service: ThreadService, session_id: str) -> History:
    handle = service.run(service.running.service.session_stores.find(session_id))
    assert handle is not None
    limit = service.running.service.settings.max_history_bytes
    return history_of(service.run(handle.store.exchanges(session_id, limit)))


@pytest.mark.parametrize("can_log", [True, False], ids=["logged", "unlogged"])
async def test_the_cached_history_matches_the_store(service: ThreadService, can_log: bool):
    session_id = register(service, can_log=can_log)
    async with opened(service, session_id) as socket:
        for number in range(3):
            frames = await ask(socket, f"{number}?")
            kept = in_memory(service, session_id)
            assert kept == in_store(service, session_id)
            assert frames[-2]["content"] == f"{number}?\n\n0 files, {number} earlier"
    assert kept is not None
    assert [len(exchange.sources) for exchange in kept.exchanges] == [1, 1, 1]


async def test_a_failed_turn_is_not_added_to_the_history(start_service):
    service = start_service(Crash)
    session_id = register(service)
    async with opened(service, session_id) as socket:
        for prompt in ("end", "upstream", "end", "raise"):
            await ask(socket, prompt)
    kept = in_memory(service, session_id)
    assert kept == in_store(service, session_id)
    assert [exchange.prompt for exchange in kept.exchanges] == ["end", "end"]


async def test_a_cancelled_turn_is_not_added_to_the_history(start_service):
    service = start_service(Slow)
    session_id = register(service)
    async with opened(service, session_id) as socket:
        await send(socket, message_type="query", content="one", turn="t1")
        await read(socket), await read(socket)
        await send(socket, message_type="cancel", turn="t1")
        await read(socket)
    assert in_memory(service, session_id) == History()


async def test_a_deleted_session_has_no_cached_history(service: ThreadService):
    session_id = register(service)
    async with opened(service, session_id) as socket:
        await ask(socket, "one")
    assert in_memory(service, session_id) is not None
    with service.http() as http:
        http.post("/session/delete", json={"id": session_id}).raise_for_status()
    assert service.running.service.turns.histories.session_ids == set()


@pytest.mark.parametrize("can_log", [True, False], ids=["logged", "unlogged"])
async def test_purging_an_expired_session_removes_its_history(start_service, can_log: bool):
    now = [1_000_000.0]
    service = start_service(Echo, clock=lambda: now[0], purge_interval_seconds=0.05)
    session_id = register(service, can_log=can_log)
    async with opened(service, session_id) as socket:
        await ask(socket, "one")
    assert in_memory(service, session_id) is not None
    now[0] += 1_000_000
    wait_until(lambda: not service.running.service.turns.histories.session_ids, "the purge")


async def test_conversations_of_openai_clients_are_not_cached(service: ThreadService):
    asked = {"model": "svc-1.1", "messages": [{"role": "user", "content": "one"}]}
    with service.http() as http:
        http.post("/chat/completions", json=asked).raise_for_status()
    assert service.running.service.turns.histories.session_ids == set()
