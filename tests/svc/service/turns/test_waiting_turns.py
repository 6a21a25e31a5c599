"""``turns_at_once``: a query beyond it waits in the store and is run when a place is free, in order."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from svc.assistant.turn import Answer, Assistant, Step, Turn
from svc.service.settings import Settings
from tests.support.live import ThreadService, wait_until
from tests.support.wire_client import Frame, kinds, opened, read, read_turn, register, send

pytestmark = pytest.mark.one_service("the queue of one service; test_replicas.py has that of several")


class Held(Assistant):
    """Answers a question once it is let go; notes the order in which questions begin."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.most = 0
        self._running = 0
        self._let_go: set[str] = set()
        self._lock = threading.Lock()

    def let_go(self, *prompts: str) -> None:
        self._let_go.update(prompts)

    async def answer(self, turn: Turn) -> AsyncIterator[Step | Answer]:
        with self._lock:
            self.begun.append(turn.prompt)
            self._running += 1
            self.most = max(self.most, self._running)
        try:
            yield Step(content="begun")
            while turn.prompt not in self._let_go and "all" not in self._let_go:
                await asyncio.sleep(0.005)
            yield Answer(markdown=f"{turn.prompt}: {len(turn.files)} files")
        finally:
            self._running -= 1


def held(start_service, **settings: object) -> tuple[ThreadService, Held]:
    assistant = Held()
    return start_service(lambda: assistant, **settings), assistant


async def ask(service: ThreadService, stack: contextlib.AsyncExitStack, prompt: str) -> tuple[str, object]:
    """Ask in a session of its own; returns its id and its stream, whose query was stored."""
    session_id = register(service)
    socket = await stack.enter_async_context(opened(service, session_id))
    await send(socket, message_type="query", content=prompt, id=f"q{prompt}", turn=f"t{prompt}")
    assert (await read(socket))["message_type"] == "query"
    return session_id, socket


async def test_a_query_beyond_the_limit_waits_says_so_and_is_run_in_order(start_service):
    service, assistant = held(start_service, turns_at_once=2)
    async with contextlib.AsyncExitStack() as stack:
        sockets = [(await ask(service, stack, str(n)))[1] for n in range(6)]
        first = [await read(socket) for socket in sockets]
        await asyncio.to_thread(wait_until, lambda: len(assistant.begun) == 2, "two begin")
        for n in range(6):
            assistant.let_go(str(n))
            await asyncio.to_thread(wait_until, lambda n=n: len(assistant.begun) >= min(n + 3, 6), "the next begins")
        turns = [await read_turn(socket) for socket in sockets]

    assert assistant.begun == [str(n) for n in range(6)]
    assert assistant.most == 2
    assert [frame["content"] for frame in first] == [
        "begun",
        "begun",
        "waiting for a free place: 2 answers are being worked on",
        "waiting for a free place: 2 answers are being worked on; 1 question waits before this one",
        "waiting for a free place: 2 answers are being worked on; 2 questions wait before this one",
        "waiting for a free place: 2 answers are being worked on; 3 questions wait before this one",
    ]
    assert [frames[-2]["content"] for frames in turns] == [f"{n}: 0 files" for n in range(6)]


async def test_without_a_limit_nothing_waits(start_service):
    service, assistant = held(start_service)
    async with contextlib.AsyncExitStack() as stack:
        sockets = [(await ask(service, stack, str(n)))[1] for n in range(5)]
        await asyncio.to_thread(wait_until, lambda: len(assistant.begun) == 5, "all begin")
        assistant.let_go("all")
        turns = [await read_turn(socket) for socket in sockets]

    assert all(kinds(frames) == ["info", "result", "info"] for frames in turns)


async def test_a_waiting_turn_is_cancelled_at_once_and_never_run(start_service):
    service, assistant = held(start_service, turns_at_once=1)
    async with contextlib.AsyncExitStack() as stack:
        _, first = await ask(service, stack, "first")
        _, second = await ask(service, stack, "second")
        _, third = await ask(service, stack, "third")
        await send(second, message_type="cancel")
        ended = await read_turn(second)
        assistant.let_go("all")
        await read_turn(first)
        await read_turn(third)

    assert (ended[-1]["message_type"], ended[-1]["status_message"]) == ("error", "cancelled")
    assert assistant.begun == ["first", "third"]


async def test_a_deleted_session_frees_its_place_in_the_queue(start_service):
    service, assistant = held(start_service, turns_at_once=1)
    async with contextlib.AsyncExitStack() as stack:
        _, first = await ask(service, stack, "first")
        gone, _ = await ask(service, stack, "gone")
        _, third = await ask(service, stack, "third")
        with service.http() as http:
            assert http.post("/session/delete", json={"id": gone}).status_code == 200
        assistant.let_go("all")
        await read_turn(first)
        await read_turn(third)

    assert assistant.begun == ["first", "third"]


async def test_a_waiting_turn_uses_the_files_that_are_attached_when_it_starts(start_service):
    service, assistant = held(start_service, turns_at_once=1)
    async with contextlib.AsyncExitStack() as stack:
        await ask(service, stack, "first")
        session_id, second = await ask(service, stack, "second")
        with service.http() as http:
            http.post("/session/upload_file", params={"session_id": session_id, "filename": "a.log"}, content=b"a")
        assistant.let_go("all")
        assert (await read_turn(second))[-2]["content"] == "second: 1 files"


async def test_a_repeated_query_that_waits_is_the_same_turn(start_service):
    service, assistant = held(start_service, turns_at_once=1)
    async with contextlib.AsyncExitStack() as stack:
        await ask(service, stack, "first")
        session_id, second = await ask(service, stack, "second")
        await send(second, message_type="query", content="second", id="qsecond", turn="tsecond")
        async with opened(service, session_id) as other:
            await send(other, message_type="query", content="another")
            frames = [await read(other) for _ in range(3)]
            refused = next(frame for frame in frames if frame["seq"] == 0)
        assistant.let_go("all")
        await read_turn(second)

    assert (refused["seq"], refused["status_message"]) == (0, "turn_in_progress")
    assert assistant.begun == ["first", "second"]


async def test_generate_and_chat_wait_too(start_service):
    service, assistant = held(start_service, turns_at_once=1)

    def post(path: str, body: dict[str, object]) -> dict[str, object]:
        with service.http() as http:
            return http.post(path, json=body).json()

    async with contextlib.AsyncExitStack() as stack:
        await ask(service, stack, "first")
        query = {"message_type": "query", "content": "generated"}
        generated = asyncio.create_task(
            asyncio.to_thread(post, "/session/generate", {"id": register(service), "messages": [query]})
        )
        chat = {"model": "stable", "messages": [{"role": "user", "content": "chatted"}]}
        await asyncio.to_thread(wait_until, lambda: len(service.running.service.turns.waiting) == 1, "it waits")
        chatted = asyncio.create_task(asyncio.to_thread(post, "/chat/completions", chat))
        await asyncio.to_thread(wait_until, lambda: len(service.running.service.turns.waiting) == 2, "both wait")
        assistant.let_go("all")
        messages = (await generated)["messages"]
        answer = (await chatted)["choices"][0]["message"]["content"]

    assert [m["content"] for m in messages if m["message_type"] == "result"] == ["generated: 0 files"]
    assert answer == "chatted: 0 files"


@pytest.mark.parametrize("can_log", [True, False])
async def test_unlogged_sessions_wait_in_the_same_queue(start_service, can_log: bool):
    service, assistant = held(start_service, turns_at_once=1)
    async with contextlib.AsyncExitStack() as stack:
        await ask(service, stack, "first")
        session_id = register(service, can_log=can_log)
        socket = await stack.enter_async_context(opened(service, session_id))
        await send(socket, message_type="query", content="second")
        await read(socket)
        await ask(service, stack, "third")
        assistant.let_go("all")
        await read_turn(socket)
        await asyncio.to_thread(wait_until, lambda: len(assistant.begun) == 3, "all begin")

    assert assistant.begun == ["first", "second", "third"]


async def test_the_queue_survives_restarts_in_its_order(tmp_path: Path):
    settings = Settings(turns_at_once=1, stop_seconds=0.1)
    first = ThreadService(tmp_path, Held(), settings)
    sessions: list[str] = []
    async with contextlib.AsyncExitStack() as stack:
        for n in range(4):
            session_id, _ = await ask(first, stack, str(n))
            sessions.append(session_id)
        await asyncio.to_thread(first.stop)
    for _ in range(4):  # waiting is not an attempt
        between = ThreadService(tmp_path, Held(), settings)
        await asyncio.to_thread(between.stop)
    assistant = Held()
    assistant.let_go("all")
    last = ThreadService(tmp_path, assistant, settings)
    try:
        seen: list[list[Frame]] = []
        for session_id in sessions:
            async with opened(last, session_id) as socket:
                seen.append(await read_turn(socket))
    finally:
        await asyncio.to_thread(last.stop)

    assert assistant.begun == ["0", "1", "2", "3"]
    assert [frames[-2]["content"] for frames in seen] == [f"{n}: 0 files" for n in range(4)]
    assert [[f["seq"] for f in frames] for frames in seen] == [list(range(1, len(frames) + 1)) for frames in seen]


async def test_the_metrics_show_how_many_wait_and_for_how_long(start_service):
    service, assistant = held(start_service, turns_at_once=1, metrics=True)
    async with contextlib.AsyncExitStack() as stack:
        for n in range(3):
            await ask(service, stack, str(n))
        await asyncio.sleep(0.05)
        with service.http() as http:
            lines = dict(line.rsplit(" ", 1) for line in http.get("/metrics").text.splitlines() if line[0] != "#")
        assistant.let_go("all")

    assert lines["svc_turns_waiting"] == "2.0"
    assert lines["svc_running_turns"] == "1.0"
    assert 0 < float(lines["svc_oldest_waiting_turn_seconds"]) < 60
