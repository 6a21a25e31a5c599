"""A service whose link to the database is cut, or held: its streams go elsewhere, its turns wait."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest
from websockets.exceptions import InvalidStatus

from svc.assistant.turn import Answer, Assistant, Step, Turn
from svc.service.close_codes import STOPPING
from svc.service.settings import Settings
from svc.service.store.address import PostgresAddress
from tests.support.live import ThreadService, wait_until
from tests.support.postgres import PostgresServer
from tests.support.tcp_link import DatabaseLink, database_link
from tests.support.wire_client import Frame, opened, read, read_turn, register, send, seqs, until_closed
from tests.svc.service.observability.test_metrics import figures

LEASE_SECONDS = 2.0
AGAIN = "started again after a service restart"


class Counting(Assistant):
    """As many INFOs as the prompt says, ten milliseconds each; then an answer that is too long for a message."""

    async def answer(self, turn: Turn) -> AsyncIterator[Step | Answer]:
        for number in range(int(turn.prompt)):
            yield Step(content=str(number))
            await asyncio.sleep(0.01)
        yield Answer(markdown="x" * 1_200_000)


Start = Callable[..., ThreadService]


@pytest.fixture
def database(postgres: PostgresServer) -> PostgresAddress:
    return PostgresAddress(postgres.new_schema())


@pytest.fixture
def link(database: PostgresAddress) -> Iterator[DatabaseLink]:
    with database_link(database) as made:
        yield made


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start a service with short leases on this address of the database."""
    started: list[ThreadService] = []

    def start_one(address: PostgresAddress, **settings: object) -> ThreadService:
        chosen = {"lease_seconds": LEASE_SECONDS, "stop_seconds": 0.1, "drain_seconds": 0.0, "metrics": True} | settings
        service = ThreadService(tmp_path, Counting(), Settings(shared_database=True, **chosen), database=address)
        started.append(service)
        return service

    yield start_one
    for service in started:
        service.stop()


def status(service: ThreadService, path: str) -> int:
    with service.http() as http:
        return http.get(path).status_code


def stored(service: ThreadService, session_id: str) -> list[Frame]:
    with service.http() as http:
        return http.get("/session/get", params={"session_id": session_id}).json()["messages"]


async def ask(socket, steps: int) -> list[Frame]:
    """The first messages of a turn that runs."""
    await send(socket, message_type="query", content=str(steps), id="q1", turn="t1")
    return [await read(socket) for _ in range(3)]


async def refusal_of(service: ThreadService, session_id: str) -> tuple[int, float]:
    """The status of a stream that is refused, and how long that took."""
    began = time.monotonic()
    with pytest.raises(InvalidStatus) as refused:
        async with opened(service, session_id):
            pass
    return refused.value.response.status_code, time.monotonic() - began


@pytest.mark.parametrize("fault", ["cut", "hold"])
async def test_the_turns_and_streams_of_a_service_without_its_database_go_on_elsewhere(
    start: Start, database: PostgresAddress, link: DatabaseLink, fault: str
):
    lone, other = start(link.address), start(database)
    session_id = register(lone)
    async with opened(lone, session_id, max_queue=None) as asked, opened(other, session_id, max_queue=None) as reader:
        seen = await ask(asked, 300)
        getattr(link, fault)()
        seen += await until_closed(asked)
        assert asked.close_code == STOPPING
        assert [status(lone, path) for path in ("/live", "/ready", "/session/list")] == [200, 200, 503]
        assert status(other, "/session/list") == 200
        code, seconds = await refusal_of(lone, session_id)
        assert code == 503
        assert seconds < 1, "a client that comes back is refused at once"
        frames = await read_turn(reader)
    assert [frame["content"] for frame in frames].count(AGAIN) == 1
    assert frames == stored(other, session_id)
    assert frames[: len(seen)] == seen

    link.mend()
    await asyncio.to_thread(wait_until, lambda: status(lone, "/session/list") == 200, "its lease")
    await asyncio.to_thread(wait_until, lambda: not lone.running.service.turns.running, "the run to end")
    assert stored(lone, session_id) == frames, "what the cut-off service had is not added"
    assert figures(lone)["svc_leases_lost_total[]"] >= 1
    assert figures(other)["svc_turns_taken_over_total[]"] >= 1


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["cut", "hold"])
async def test_a_turn_waits_for_the_database_and_goes_on(start: Start, link: DatabaseLink, fault: str):
    service = start(link.address)
    session_id = register(service)
    async with opened(service, session_id, max_queue=None) as asked:
        seen = await ask(asked, 60)
        getattr(link, fault)()
        seen += await until_closed(asked)  # by now the assistant waits with its answer, which is a file
        assert asked.close_code == STOPPING
    await asyncio.sleep(LEASE_SECONDS)
    link.mend()
    await asyncio.to_thread(
        wait_until, lambda: status(service, "/session/list") == 200, "the service to have its lease"
    )
    async with opened(service, session_id, len(seen), max_queue=None) as back:
        seen += await read_turn(back)
    assert seqs(seen) == list(range(1, len(seen) + 1))
    assert [frame["content"] for frame in seen[1:61]] == [str(number) for number in range(60)]
    assert seen[-1]["message_type"] == "info"
    with service.http() as http:
        session = http.get("/session/get", params={"session_id": session_id}).json()
        (file,) = session["files"]
        content = http.get("/session/file", params={"session_id": session_id, "sha256": file["sha256"]}).content
    assert session["messages"] == seen
    assert content == b"x" * 1_200_000
    assert figures(service)["svc_turns_taken_over_total[]"] == 0


@pytest.mark.slow
async def test_a_turn_ends_with_an_error_after_the_chosen_patience(start: Start, link: DatabaseLink):
    service = start(link.address, store_patience_seconds=0.5)
    session_id = register(service)
    async with opened(service, session_id, max_queue=None) as asked:
        seen = await ask(asked, 3_000)
        link.cut()
        seen += await until_closed(asked)
    run = service.running.service.turns._runs[session_id]
    await asyncio.to_thread(wait_until, lambda: run.step_buffer.has_end, "the turn to be given up")
    link.mend()
    await asyncio.to_thread(
        wait_until, lambda: status(service, "/session/list") == 200, "the service to have its lease"
    )
    after = max([0, *(frame["seq"] for frame in seen)])
    async with opened(service, session_id, after) as back:
        frames = await read_turn(back)
    assert (frames[-1]["message_type"], frames[-1]["status_code"]) == ("error", 503)
