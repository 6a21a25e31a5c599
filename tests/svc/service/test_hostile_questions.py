"""While questions that take too long are read, the service answers everybody else."""

import asyncio
import json
import re
import time
from collections.abc import Callable
from pathlib import Path

import httpx2
import pytest
from websockets.asyncio.client import ClientConnection

from svc.assistant import analyst
from svc.assistant.analyst import Analyst
from svc.assistant.analyst.answer_format import RequestedFormat, requested_format
from svc.assistant.workers.functions import PROCESSES
from tests.support.live import ThreadService
from tests.support.wire_client import opened, register, send

HOSTILE = "HOSTILE"
HEALTH_CHECKS = 10
WAIT_SECONDS = 200  # for processes to start on a busy machine; nothing here is decided by the clock


def slow_requested_format(prompt: str, instructions: str = "") -> RequestedFormat:
    """As if a pattern of the planner still were exponential."""
    if prompt.startswith(HOSTILE):
        re.fullmatch(r"(?:a|aa)+b", "a" * 60)
    return requested_format(prompt, instructions)


async def ask(socket: ClientConnection, content: str) -> list[dict[str, object]]:
    await send(socket, message_type="query", content=content)
    frames: list[dict[str, object]] = []
    async with asyncio.timeout(WAIT_SECONDS):
        while not frames or frames[-1]["state"] != "end":
            frames.append(json.loads(await socket.recv()))
    return frames


@pytest.mark.timeout(600)
async def test_hostile_questions_hold_nobody_else(
    start_service: Callable[..., ThreadService], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.syspath_prepend(Path(__file__).parents[3])  # the processes import this module for its function
    monkeypatch.setattr(analyst, "requested_format", slow_requested_format)
    service = start_service(Analyst)
    _, hostile_key = service.make_key("hostile")
    hostile_sessions = [register(service, hostile_key) for _ in range(PROCESSES - 1)]
    mine = register(service)
    ended: list[str] = []

    async def ask_hostile(session_id: str) -> list[dict[str, object]]:
        async with opened(service, session_id, key=hostile_key) as socket:
            frames = await ask(socket, f"{HOSTILE} " + "a" * 1_990)
        ended.append("hostile")
        return frames

    async with opened(service, mine) as socket, httpx2.AsyncClient(base_url=service.base_url, trust_env=False) as http:
        await ask(socket, "Decode aGVsbG8gd29ybGQ=")  # the first question starts the processes
        running = [asyncio.create_task(ask_hostile(session_id)) for session_id in hostile_sessions]
        await asyncio.sleep(0.5)
        held: list[float] = []
        for _ in range(HEALTH_CHECKS):
            before = time.process_time()
            assert (await http.get("/health", timeout=60)).status_code == 200
            held.append(time.process_time() - before)
        answers = await ask(socket, "Decode aGVsbG8gd29ybGQ=")
        ended.append("mine")
        replies = await asyncio.gather(*running)
    assert ended[0] == "mine"  # before any of those that were asked earlier
    assert "hello world" in str([frame["content"] for frame in answers])
    assert min(held) < 0.5  # processor time of the whole service for one check: nothing of the search runs here
    for frames in replies:
        error = frames[-1]
        assert (error["message_type"], error["status_code"]) == ("error", 413)
        assert str(error["content"]).startswith("the question took too long to read")
        assert not any(frame["message_type"] == "result" for frame in frames)
