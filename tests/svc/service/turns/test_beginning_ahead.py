"""If the history is cached, the assistant starts before its query is stored; nothing is published until it is."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from svc.assistant.turn import Answer, Assistant, Step, Turn
from svc.service.store.writer import Writer
from tests.support.assistants.scripted import Echo, Long
from tests.support.live import ThreadService, live_process, process_that_dies, wait_until
from tests.support.wire_client import ask, kinds, opened, read, read_turn, register, send, seqs


class Counting(Assistant):
    """Answers at once; notes each prompt as it begins and as it is let go."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.ended: list[str] = []

    async def answer(self, turn: Turn) -> AsyncIterator[Step | Answer]:
        self.begun.append(turn.prompt[:10])
        try:
            yield Step(content="thinking")
            if turn.prompt.startswith("wait"):
                await asyncio.sleep(600)
            yield Answer(markdown="done")
        finally:
            self.ended.append(turn.prompt[:10])


@pytest.mark.sqlite  # it counts the commits of its writer
async def test_a_later_turn_that_is_answered_at_once_is_one_commit(start_service, monkeypatch):
    service = start_service(Counting)
    groups = []
    commit = Writer._commit
    async with opened(service, register(service)) as socket:
        await ask(socket, "one")
        monkeypatch.setattr(Writer, "_commit", lambda self, group: (groups.append(len(group)), commit(self, group)))
        frames = await ask(socket, "two")

    assert groups == [1]
    assert kinds(frames) == ["query", "info", "result", "info"]
    assert seqs(frames) == [5, 6, 7, 8]
    assert len({frame["turn"] for frame in frames}) == 1
    assert {frame["parent_id"] for frame in frames[1:]} == {frames[0]["id"]}


@pytest.mark.one_service("the assistant begins ahead where the history is cached")
async def test_a_query_repeated_after_its_turn_does_not_start_again(start_service):
    service = start_service(Counting)
    async with opened(service, register(service)) as socket:
        await ask(socket, "one", id="q1")
        await ask(socket, "two", id="q2")
        await send(socket, message_type="query", content="one", id="q1")
        await ask(socket, "three", id="q3")

    assert service.assistant.begun == ["one", "two", "three"]


async def test_of_two_simultaneous_queries_one_runs_and_the_other_assistant_is_released(start_service):
    service = start_service(Counting)
    session_id = register(service)
    async with opened(service, session_id) as first, opened(service, session_id) as second:
        await ask(first, "one"), await read_turn(second)
        await asyncio.gather(
            send(first, message_type="query", content="wait 1"), send(second, message_type="query", content="wait 2")
        )
        seen = [[await read(socket) for _ in range(2)] for socket in (first, second)]
        refusals = [frame for frames in seen for frame in frames if frame["seq"] == 0]
        await send(first, message_type="cancel")

    assert [frame["status_message"] for frame in refusals] in ([], ["turn_in_progress"])
    wait_until(lambda: sorted(service.assistant.begun) == sorted(service.assistant.ended), "all to be let go")


@pytest.mark.sqlite  # it fills a file
async def test_nothing_of_a_turn_is_published_if_its_query_cannot_be_stored(start_service):
    service: ThreadService = start_service(Counting)
    session_id = register(service)
    async with opened(service, session_id) as socket:
        await ask(socket, "one")
        await service.limit_pages(1)
        await send(socket, message_type="query", content="wait" + "x" * 900_000)
        refusal = await read(socket)
        await service.limit_pages(1_000_000)
        frames = await ask(socket, "two")

    assert (refusal["status_message"], refusal["seq"]) == ("insufficient_storage", 0)
    assert seqs(frames) == [5, 6, 7, 8]
    assert service.assistant.begun == service.assistant.ended == ["one", "waitxxxxxx", "two"]


async def test_a_turn_started_early_can_be_cancelled(start_service):
    service = start_service(Counting)
    async with opened(service, register(service)) as socket:
        await ask(socket, "one")
        await send(socket, message_type="query", content="wait")
        await send(socket, message_type="cancel")
        frames = await read_turn(socket)

    assert kinds(frames) == ["query", "info", "error"]
    assert frames[-1]["status_message"] == "cancelled"


async def test_a_query_that_kills_the_process_is_ended_after_its_second_attempt(tmp_path: Path):
    asked = {"message_type": "query", "content": "exit", "id": "bad"}
    with live_process(tmp_path, "Crash") as service:
        session_id = register(service)
        async with opened(service, session_id) as socket:
            first = await ask(socket, "end")
            await send(socket, **asked)
            await asyncio.to_thread(service.process.wait, 20)
    with live_process(tmp_path, "Crash") as service:
        async with opened(service, session_id) as socket:
            await send(socket, **asked)  # now it is stored first
            await asyncio.to_thread(service.process.wait, 20)
    with process_that_dies(tmp_path, "Crash") as taking_up:
        await asyncio.to_thread(taking_up.wait, 20)
    with live_process(tmp_path, "Crash") as service:
        async with opened(service, session_id, len(first)) as socket:
            frames = await read_turn(socket)

    assert frames[0]["id"] == "bad"
    assert frames[-1]["status_message"] == "internal_error"


async def test_a_long_answer_of_a_stored_session_is_attached_as_a_file(start_service):
    service = start_service(Long)
    asked = {"model": "svc-1.1", "messages": [{"role": "user", "content": "1200000"}]}
    with service.http() as http:
        reply = http.post("/chat/completions", json=asked).raise_for_status()
        session = http.get("/session/get", params={"session_id": reply.headers["x-session-id"]}).json()

    assert reply.json()["choices"][0]["finish_reason"] == "length"
    assert [file["size"] for file in session["files"]] == [len(("€" * (1_200_000 // 3 - 1) + "\nEND").encode())]


async def test_the_second_question_has_the_first_and_the_files_attached_since(service: ThreadService):
    session_id = register(service)
    async with opened(service, session_id) as socket:
        await ask(socket, "one")
        with service.http() as http:
            http.post(
                "/session/upload_file", params={"session_id": session_id, "filename": "a.txt"}, content=b"a"
            ).raise_for_status()
        frames = await ask(socket, "two")

    assert frames[-2]["content"] == "two\n\n1 files, 1 earlier"
    assert isinstance(service.assistant, Echo)
