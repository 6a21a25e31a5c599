"""How far long work is, on the wire: an optional field of an INFO, absent everywhere else, stored like all."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import msgspec
import pytest

from svc import Svc
from svc.assistant.turn import Answer, Assistant, Step, Turn
from svc.messages import Message, TaskProgress
from tests.support.live import StartService, ThreadService
from tests.support.wire_client import register

PROGRESS = TaskProgress(task="auth.log", done=43, total=100, seconds_left=12)
TEXT = "events: 43 % of auth.log, about 12 s left"


class Counting(Assistant):
    async def answer(self, turn: Turn) -> AsyncIterator[Step | Answer]:
        yield Step(content="reading", actor="events")
        yield Step(content=TEXT, actor="events", progress=PROGRESS)
        yield Answer(markdown="x")


@pytest.fixture
def counting(start_service: StartService) -> ThreadService:
    return start_service(Counting)


def test_progress_is_on_its_message_alone_also_when_it_is_read_again(counting: ThreadService):
    session_id = register(counting)
    query = {"message_type": "query", "content": "q"}
    with counting.http() as http:
        http.post("/session/generate", json={"id": session_id, "messages": [query]}).raise_for_status()
        messages = http.get("/session/get", params={"session_id": session_id}).json()["messages"]

    [one] = [message for message in messages if "progress" in message]
    assert one["progress"] == {"task": "auth.log", "done": 43, "total": 100, "unit": "byte", "seconds_left": 12}
    assert (one["message_type"], one["actor"], one["content"]) == ("info", "events", TEXT)
    assert one["seq"] == 3


def test_the_sdk_reads_it_and_a_message_without_it(counting: ThreadService):
    with Svc(counting.key, counting.base_url) as client:
        messages = client.create_session().query("q").messages

    assert [message.progress for message in messages if message.progress] == [PROGRESS]
    assert msgspec.json.decode(b'{"message_type": "info"}', type=Message).progress is msgspec.UNSET
    assert "progress" not in json.loads(msgspec.json.encode(messages[0]))
