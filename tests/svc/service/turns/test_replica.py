"""Two services of one database in one process: without any hint, and what they look after."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from svc.messages import Message, MessageType
from svc.service.settings import Settings
from svc.service.store.address import PostgresAddress
from svc.service.store.postgres.hints import PostgresHints
from svc.service.turns import replica
from tests.support.assistants.scripted import Calling, Echo, Slow
from tests.support.live import ThreadService, wait_until
from tests.support.postgres import PostgresServer
from tests.support.wire_client import ask, opened, read, read_turn, register, send, seqs
from tests.svc.service.turns.test_local_tool_calls import allow, answer, offer

StartTwo = Callable[[type], list[ThreadService]]


@pytest.fixture
def start_two(postgres: PostgresServer, tmp_path: Path) -> Iterator[StartTwo]:
    started: list[ThreadService] = []

    def start(assistant: type, **settings: object) -> list[ThreadService]:
        database = PostgresAddress(postgres.new_schema())
        chosen = Settings(shared_database=True, stop_seconds=0.1, drain_seconds=0, **settings)
        for _ in range(2):
            started.append(ThreadService(tmp_path, assistant(), chosen, database=database))
        return started

    yield start
    for service in started:
        service.stop()


@pytest.fixture
def deaf(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every hint is lost."""
    monkeypatch.setattr(PostgresHints, "_receive", lambda *_: None)


@pytest.mark.usefixtures("deaf")
async def test_without_hints_a_reader_elsewhere_gets_every_message(start_two: StartTwo):
    first, second = start_two(Echo)
    session_id = register(first)
    async with opened(first, session_id) as asked, opened(second, session_id) as elsewhere:
        for question in ("one", "two"):
            frames = await ask(asked, question)
            assert await read_turn(elsewhere) == frames


@pytest.mark.usefixtures("deaf")
async def test_without_hints_a_turn_elsewhere_is_answered_and_cancelled(start_two: StartTwo):
    first, second = start_two(Calling)
    session_id = register(first)
    async with opened(first, session_id) as asked, opened(second, session_id) as elsewhere:
        await offer(asked, "lookup=x lookup=y")
        call = await allow(elsewhere)
        await answer(elsewhere, call, ok=True, value=1, message_id="value")
        while (frame := await read(elsewhere))["message_type"] != "local_tool_call":
            pass
        await send(elsewhere, message_type="cancel")
        frames = await read_turn(asked)
        assert frames[-1]["status_message"] == "cancelled"
        assert seqs(frames) == list(range(1, len(frames) + 1))
        assert frame in frames


@pytest.mark.usefixtures("deaf")
async def test_without_hints_a_session_that_was_deleted_elsewhere_ends(start_two: StartTwo):
    first, second = start_two(Slow)
    session_id = register(first)
    async with opened(first, session_id) as asked:
        await send(asked, message_type="query", content="q")
        await read(asked)
        with second.http() as http:
            assert http.post("/session/delete", json={"id": session_id}).status_code == 200
        await asyncio.wait_for(asked.wait_closed(), 20)
        wait_until(lambda: not first.running.service.turns.running, "the run to end")


async def test_a_turn_whose_beginning_was_in_doubt_is_run(start_two: StartTwo, monkeypatch: pytest.MonkeyPatch):
    """Its commit succeeded and the answer was lost, so it is stored as this service's and does not run."""
    monkeypatch.setattr(replica, "STRAY_SECONDS", 0.3)
    first, second = start_two(Echo)
    session_id = register(first)
    service = first.running.service
    query = Message(message_type=MessageType.QUERY, id="q1", content="hello", created_at=service.clock())
    begun = service.session_stores.logged.begin_turn(session_id, query, owner=service.turns.owner)
    await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(begun, first.loop))
    async with opened(second, session_id) as socket:
        frames = await read_turn(socket)
    assert [frame["content"] for frame in frames if frame["message_type"] == "result"] == [
        "hello\n\n0 files, 0 earlier"
    ]
