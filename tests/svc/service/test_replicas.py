"""Several services on one database: what begins at one can be read, answered, cancelled and deleted at any other.

What a service does when another one dies or stops is in the second half. Times are never what is waited for.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from websockets.asyncio.client import ClientConnection

from svc.service.close_codes import CLOSED_SESSION
from tests.support.cluster import Cluster, live_cluster
from tests.support.live import ProcessService, wait_until
from tests.support.postgres import PostgresServer
from tests.support.wire_client import Frame, opened, read, read_turn, register, send, seqs, until_closed

SCRIPTED = "scripted_assistants:Scripted"
LEASE_SECONDS = 2
AGAIN = "started again after a service restart"
TOOL = {"name": "look", "description": "Looks.", "input_schema": {"type": "object"}}
UNLOGGED = "unlogged sessions are not available"


@pytest.fixture(scope="module")
def cluster(postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Three services, each with room for one turn."""
    folder = tmp_path_factory.mktemp("cluster")
    options = {"SVC_TURNS_AT_ONCE": "1", "SVC_CHAT_STREAMING": "true"}
    with live_cluster(folder, postgres, SCRIPTED, count=3, **options) as started:
        yield started


@pytest.fixture
def three(cluster: Cluster) -> list[ProcessService]:
    return cluster.services


def stored(service: ProcessService, session_id: str) -> list[Frame]:
    with service.http() as http:
        return http.get("/session/get", params={"session_id": session_id}).json()["messages"]


async def read_until(socket: ClientConnection, *, kind: str = "", content: str = "") -> Frame:
    while True:
        frame = await read(socket)
        if (kind or frame["message_type"]) == frame["message_type"] and content in (frame["content"] or ""):
            return frame


@contextlib.asynccontextmanager
async def running(service: ProcessService, session_id: str, script: str = "wait") -> AsyncIterator[ClientConnection]:
    """A turn that runs at this service, with the stream that asked."""
    async with opened(service, session_id, max_queue=None) as socket:  # it is closed with frames that nobody read
        await send(socket, message_type="query", content=script, id="q1", turn="t1", local_tools=[TOOL])
        await read_until(socket, kind="query")
        await read_until(socket, kind="info")
        yield socket


async def test_what_one_service_stores_is_read_at_the_others_while_it_runs(three: list[ProcessService]):
    session_id = register(three[0])
    async with opened(three[1], session_id) as elsewhere, opened(three[2], session_id, None) as fresh:
        async with running(three[0], session_id, "count 200 2"):
            frames = await read_turn(elsewhere)
        assert seqs(frames) == list(range(1, len(frames) + 1))
        assert frames == stored(three[2], session_id)
        assert frames == await read_turn(fresh)
    async with opened(three[1], session_id, 150) as resumed:
        assert seqs(await read_turn(resumed)) == seqs(frames)[150:]


async def test_a_turn_is_cancelled_at_any_service(three: list[ProcessService]):
    session_id = register(three[0])
    async with running(three[0], session_id) as asked, opened(three[1], session_id, 2) as elsewhere:
        await send(elsewhere, message_type="cancel")
        frames = await read_turn(asked)
        assert frames[-1]["status_message"] == "cancelled"
        assert await read_turn(elsewhere) == frames
        assert stored(three[2], session_id)[-1] == frames[-1]


async def test_a_turn_that_is_cancelled_elsewhere_answers_from_what_it_has_read(three: list[ProcessService]):
    session_id = register(three[0])
    async with running(three[0], session_id, "stop") as asked, opened(three[1], session_id, 2) as elsewhere:
        await send(elsewhere, message_type="cancel", turn="another")
        await send(elsewhere, message_type="cancel", turn="t1")
        partial, error = await read_turn(asked)
        assert "1 failed login" in partial["content"]
        assert error["status_message"] == "cancelled"


async def test_a_session_that_is_deleted_elsewhere_ends_its_turn_and_its_streams(three: list[ProcessService]):
    session_id = register(three[0])
    async with running(three[0], session_id) as asked, opened(three[2], session_id) as third:
        with three[1].http() as http:
            assert http.post("/session/delete", json={"id": session_id}).status_code == 200
        await asyncio.gather(until_closed(asked), until_closed(third))
        assert (asked.close_code, third.close_code) == (CLOSED_SESSION, CLOSED_SESSION)
    async with running(three[0], register(three[0]), "count 1"):  # its place is free again
        pass


async def test_a_local_tool_is_allowed_and_answered_at_another_service(three: list[ProcessService]):
    session_id = register(three[0])
    asking = opened(three[0], session_id)
    async with asking as asked, opened(three[1], session_id) as elsewhere:
        await send(asked, message_type="query", content='call look {"at": 1}', local_tools=[TOOL])
        request = await read_until(elsewhere, kind="confirmation_request")
        wrong = {"message_type": "local_tool_result", "mime_type": "application/json", "parent_id": request["id"]}
        await send(elsewhere, id="a0", content='{"ok": true}', **wrong)
        refusal = await read_until(elsewhere, kind="error")
        assert (refusal["seq"], refusal["status_code"]) == (0, 400)
        assert "needs a confirmation_response" in refusal["content"]
        yes = {"message_type": "confirmation_response", "mime_type": "application/json", "parent_id": request["id"]}
        await send(elsewhere, id="a1", content='{"is_allowed": true}', **yes)
        call = await read_until(elsewhere, kind="local_tool_call")
        result = wrong | {"parent_id": call["id"]}
        await send(elsewhere, id="a2", content='{"ok": true, "value": "seen"}', **result)
        await send(elsewhere, id="a2", content='{"ok": true, "value": "seen"}', **result)  # after a lost connection
        frames = await read_turn(asked)
    assert [frame["content"] for frame in frames if frame["message_type"] == "result"] == ['"seen"']
    kinds = [frame["message_type"] for frame in stored(three[2], session_id)]
    assert kinds.count("local_tool_result") == 1


async def test_a_query_is_waited_for_where_it_does_not_run(three: list[ProcessService]):
    session_id = register(three[0])

    def generate() -> list[Frame]:
        with three[1].http() as http:
            message = {"message_type": "query", "id": "q1", "content": "count 300 2"}
            body = {"id": session_id, "messages": [message]}
            return http.post("/session/generate", json=body).json()["messages"]

    with ThreadPoolExecutor(1) as pool:
        async with running(three[0], session_id, "count 300 2") as asked:
            answer = asyncio.get_running_loop().run_in_executor(pool, generate)
            frames = await read_turn(asked)
            assert (await answer)[-len(frames) :] == frames


async def test_a_query_without_room_runs_where_there_is_some(three: list[ProcessService]):
    async with running(three[0], register(three[0])) as busy:
        session_id = register(three[0])
        async with opened(three[0], session_id) as socket:
            await send(socket, message_type="query", content="count 20 5")
            frames = await read_turn(socket)
        assert frames[1]["content"].startswith("waiting for a free place")
        assert [frame["content"] for frame in frames[2:22]] == [str(number) for number in range(1, 21)]
        await send(busy, message_type="cancel")
        await read_turn(busy)


async def test_a_streamed_completion_shows_a_turn_that_runs_elsewhere(three: list[ProcessService]):
    def complete() -> str:
        with three[0].http() as http:
            said = [("user", "echo"), ("assistant", "echoed"), ("user", "count 30 5")]
            messages = [{"role": role, "content": content} for role, content in said]
            return http.post("/chat/completions", json={"model": "stable", "stream": True, "messages": messages}).text

    async with running(three[0], register(three[0])) as busy:
        lines = [json.loads(line[6:]) for line in (await asyncio.to_thread(complete)).split("\n\n") if "{" in line]
        deltas = [choice["delta"] for line in lines for choice in line["choices"]]
        thoughts = [delta["reasoning_content"].strip() for delta in deltas if "reasoning_content" in delta]
        assert thoughts[0].startswith("waiting for a free place")
        assert thoughts[1:31] == [str(number) for number in range(1, 31)]
        assert "".join(delta.get("content") or "" for delta in deltas) == "count 30 5 (after 1)"
        await send(busy, message_type="cancel")
        await read_turn(busy)


def test_files_and_lists_are_the_same_at_every_service(three: list[ProcessService]):
    session_id = register(three[0], name="everywhere")
    with three[1].http() as http:
        body = {"session_id": session_id, "filename": "a.txt"}
        sha256 = http.post("/session/upload_file", params=body, content=b"evidence").json()["data"]["sha256"]
    for service in three:
        with service.http() as http:
            params = {"session_id": session_id, "sha256": sha256}
            assert http.get("/session/file", params=params).content == b"evidence"
            assert "everywhere" in [one["name"] for one in http.get("/session/list").json()]


def test_unlogged_sessions_are_refused(three: list[ProcessService]):
    with three[0].http() as http:
        refusal = http.post("/session/register", json={"can_log": False})
        assert (refusal.status_code, refusal.json()["error"]["param"]) == (400, "can_log")
        assert UNLOGGED in refusal.json()["error"]["message"]
    _, key = three[0].make_key("discreet", logging="never")
    with three[1].http(key) as http:
        body = {"model": "stable", "messages": [{"role": "user", "content": "echo"}]}
        for refusal in (http.post("/session/register", json={}), http.post("/chat/completions", json=body)):
            assert refusal.status_code == 400
            assert "This key may not log sessions" in refusal.json()["error"]["message"]


@pytest.fixture
def mortal(postgres: PostgresServer, tmp_path: Path) -> Iterator[Cluster]:
    """Two services with short leases."""
    options = {"SVC_LEASE_SECONDS": str(LEASE_SECONDS), "SVC_MAX_TURN_ATTEMPTS": "9"}
    with live_cluster(tmp_path, postgres, SCRIPTED, count=2, **options) as started:
        yield started


async def check_goes_on(reader: ClientConnection, session_id: str, service: ProcessService) -> None:
    """The turn begins again and comes to its end; the reader sees what is stored."""
    frames = await read_turn(reader)
    contents = [frame["content"] for frame in frames]
    again = len(contents) - 1 - contents[::-1].index(AGAIN)
    assert contents[again + 1 : again + 201] == [str(number) for number in range(1, 201)]
    assert frames == stored(service, session_id)


@pytest.mark.slow
async def test_turns_of_a_service_that_dies_or_stops_or_pauses_go_on_elsewhere(mortal: Cluster):
    first, second = mortal.services
    session_id = register(first)
    async with opened(second, session_id) as reader, contextlib.AsyncExitStack() as stack:
        await stack.enter_async_context(running(first, session_id, "count 200 10"))
        first.kill()
        await check_goes_on(reader, session_id, second)
    mortal.start(0)
    first = mortal.services[0]

    session_id = register(second)
    async with opened(first, session_id) as reader, contextlib.AsyncExitStack() as stack:
        await stack.enter_async_context(running(second, session_id, "count 200 10"))
        assert await asyncio.to_thread(second.terminate) == 0
        await check_goes_on(reader, session_id, first)
    mortal.start(1)
    second = mortal.services[1]

    session_id = register(first)
    async with opened(second, session_id) as reader, contextlib.AsyncExitStack() as stack:
        await stack.enter_async_context(running(first, session_id, "count 200 10"))
        first.process.send_signal(signal.SIGSTOP)
        try:
            await check_goes_on(reader, session_id, second)
            ended = stored(second, session_id)
        finally:
            first.process.send_signal(signal.SIGCONT)
        log = first.log_file
        wait_until(lambda: "turn ended in another process" in log.read_text(), "the first to notice")
        assert stored(first, session_id) == ended


async def test_a_turn_of_a_paused_service_can_be_cancelled(mortal: Cluster):
    first, second = mortal.services
    session_id = register(first)
    async with running(first, session_id) as _, opened(second, session_id) as reader:
        first.process.send_signal(signal.SIGSTOP)
        try:
            await send(reader, message_type="cancel")
            frames = await read_turn(reader)
        finally:
            first.process.send_signal(signal.SIGCONT)
        assert frames[-1]["status_message"] == "cancelled"
        assert stored(first, session_id) == frames
