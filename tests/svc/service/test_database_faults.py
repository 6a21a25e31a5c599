"""A service on PostgreSQL: kills of the service and of the server in the middle of turns lose and double nothing."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from svc.errors import UnavailableError
from svc.messages import Message, MessageType
from svc.service.app import build
from svc.service.settings import Settings
from svc.service.store.address import PostgresAddress
from svc.service.store.postgres.single_service import PostgresLock
from svc.service.store.postgres.store import PostgresStore
from svc.service.store.records import TurnRecord, TurnState
from tests.support.assistants.scripted import Steady
from tests.support.live import ProcessService
from tests.support.postgres import PostgresServer, postgres_server
from tests.support.store_records import session
from tests.support.tcp_link import database_link
from tests.support.wire_client import register
from tests.svc.service.test_kills import Client, ProcessFaults, finish_and_check


class DatabaseFaults(ProcessFaults):
    """What is done to the service and its database."""

    def __init__(self, server: PostgresServer, service: ProcessService, chance: random.Random) -> None:
        super().__init__(service, chance)
        self._server = server

    async def crash_server(self) -> None:
        """The server and its children die at once, and come back."""
        await asyncio.to_thread(self._server.kill)
        await asyncio.sleep(self._chance.choice([0.1, 1.5]))
        await asyncio.to_thread(self._server.start)

    async def crash_both(self) -> None:
        await asyncio.to_thread(self._server.kill)
        self._service.kill()
        await asyncio.to_thread(self._server.start)


FAULTS = ("crash_server", "kill", "crash_server", "terminate", "pause", "crash_both")


async def go_through_faults(folder: Path, faults: int, clients: int, seed: int) -> None:
    chance = random.Random(seed)
    order = [FAULTS[number % len(FAULTS)] for number in range(faults)]
    chance.shuffle(order)
    figures = Counter(order)
    environment = {"SVC_PING_SECONDS": "1", "SVC_STOP_SECONDS": "2"}
    with postgres_server(is_durable=True) as server:
        database = PostgresAddress(server.new_schema())
        service = ProcessService(folder, "Steady", database=database, **environment)
        try:
            everyone = [Client(register(service)) for _ in range(clients)]
            tasks: dict[str, asyncio.Task[None]] = {}
            for fault in order:
                for client in everyone:
                    if client.session_id not in tasks or tasks[client.session_id].done():
                        tasks[client.session_id] = asyncio.create_task(client.run(service))
                await asyncio.sleep(chance.uniform(0.02, 0.6))
                await getattr(DatabaseFaults(server, service, chance), fault)()
                if service.process.poll() is not None:
                    await asyncio.gather(*tasks.values())
                    service.__init__(folder, "Steady", database=database, **environment)
            for client in everyone:
                client.is_leaving = True
            await asyncio.gather(*tasks.values())
            with service.http() as http:
                for client in everyone:
                    figures.update(await asyncio.to_thread(finish_and_check, http, client, order.count("terminate")))
        finally:
            service.kill()
    print(dict(figures))  # the long form's result: pytest -s, or -rP
    assert figures["taken_up"] > 0, "no fault hit a turn"


async def test_a_few_faults_lose_nothing(tmp_path: Path):
    await go_through_faults(tmp_path, faults=len(FAULTS), clients=4, seed=1)


@pytest.mark.long
@pytest.mark.timeout(3_600)
async def test_two_hundred_faults_lose_nothing(tmp_path: Path):
    await go_through_faults(tmp_path, faults=200, clients=12, seed=2)


async def test_a_service_waits_for_a_database_that_goes_away_while_it_starts(
    postgres: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    with database_link(PostgresAddress(postgres.new_schema())) as link:
        settings = Settings(shared_database=True)
        running = build(Steady(), database=link.address, files=tmp_path / "files", settings=settings)
        take = PostgresLock.take

        async def take_and_lose(lock: PostgresLock, on_lost: Callable[[], None]) -> None:
            await take(lock, on_lost)
            await asyncio.to_thread(link.cut)

        monkeypatch.setattr(PostgresLock, "take", take_and_lose)
        starting = asyncio.create_task(running.start())
        try:
            while "the start waits for the database" not in caplog.text:
                await asyncio.sleep(0.01)
            assert not starting.done()
            await asyncio.to_thread(link.mend)
            await starting
            assert running.service.is_ready
        finally:
            starting.cancel()
            await running.close()


async def test_a_service_that_loses_the_database_while_it_takes_up_turns_takes_up_all_of_them(
    postgres: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Once the answer is lost after the turns were taken, once the connection breaks between two turns."""
    address = PostgresAddress(postgres.new_schema())
    dead = PostgresStore(address)
    await dead.open()
    for name in ("a", "b", "c"):
        await dead.add_session(session(name, expire_time=2**40))
        asked = Message(message_type=MessageType.QUERY, turn=f"t-{name}", content="3")
        await dead.begin_turn(name, asked, owner="dead")
    failures = ["claim", "b"]
    claim, read = PostgresStore.claim_orphans, PostgresStore.turn_messages

    async def claim_and_lose(store: PostgresStore, *, owner: str) -> list[TurnRecord]:
        found = await claim(store, owner=owner)
        lose("claim")
        return found

    async def read_or_lose(store: PostgresStore, turn: TurnRecord) -> list[Message]:
        lose(turn.session_id)
        return await read(store, turn)

    def lose(what: str) -> None:
        if what in failures:
            failures.remove(what)
            raise UnavailableError("lost", retry_after=1)

    monkeypatch.setattr(PostgresStore, "claim_orphans", claim_and_lose)
    monkeypatch.setattr(PostgresStore, "turn_messages", read_or_lose)
    monkeypatch.setattr("svc.service.app.START_RETRY_SECONDS", 0.01)
    running = build(Steady(), database=address, files=tmp_path / "files", settings=Settings())
    try:
        await running.start()
        assert failures == []
        for name in ("a", "b", "c"):
            while (turn := await dead.turn(name, f"t-{name}")).state == TurnState.RUNNING:
                await asyncio.sleep(0.01)
            assert (turn.state, turn.attempts) == (TurnState.ANSWERED, 2)
    finally:
        await running.close()
        await dead.close()
