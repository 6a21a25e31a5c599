"""The status of an answer: stored, replayed, and told to every kind of client."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing

import openai
import pytest

from svc import AsyncSvc, Svc
from svc.assistant.turn import Answer, Assistant, Step, Turn
from svc.messages import AnswerStatus, Message, MessageType, MimeType, SessionResponse
from tests.support.live import StartService, ThreadService
from tests.support.wire_client import register

COVERAGE = {
    "status": "not_examined",
    "inputs": [{"name": "conn.log", "state": "not examined", "total": 9, "unit": "line", "from_a_newer_service": 1}],
    "clauses": [{"text": "was there a scan?", "state": "cannot tell", "reason": "conn.log was not examined"}],
}


class Rated(Assistant):
    """Answers with the status that the prompt names, or with none, after the coverage of two runs."""

    async def answer(self, turn: Turn) -> AsyncIterator[Step | Answer]:
        source = {"message_type": MessageType.SOURCE, "mime_type": MimeType.JSON}
        yield Step(content="[]", **source)
        yield Step(content=json.dumps(COVERAGE), title="coverage", **source)
        yield Answer(markdown="x", status=None if turn.prompt == "unknown" else AnswerStatus(turn.prompt))


@pytest.fixture
def rated(start_service: StartService) -> ThreadService:
    return start_service(Rated, allowed_origins=("https://soc.example",))


@pytest.mark.parametrize("status", [*AnswerStatus, "unknown"])
def test_the_status_is_on_the_result_alone_also_when_it_is_read_again(rated: ThreadService, status: str):
    session_id = register(rated)
    with rated.http() as http:
        query = {"message_type": "query", "content": status, "answer_status": "answered"}
        asked = http.post("/session/generate", json={"id": session_id, "messages": [query]}).json()["messages"]
        read = http.get("/session/get", params={"session_id": session_id}).json()["messages"]

    known = None if status == "unknown" else status
    for messages in (asked, read):
        assert {m["answer_status"] for m in messages if m["message_type"] != "result"} == {None}
        assert [m["answer_status"] for m in messages if m["message_type"] == "result"] == [known]


@pytest.mark.sqlite  # such messages are older than the store on PostgreSQL
def test_messages_stored_before_the_status_existed_are_read_as_unknown(rated: ThreadService):
    with Svc(rated.key, rated.base_url) as client:
        session = client.create_session()
        session.query("not_examined")
        with closing(sqlite3.connect(rated.database)) as database, database:
            without = "CAST(json_remove(CAST(body AS TEXT), '$.answer_status') AS BLOB)"
            database.execute(f"UPDATE messages SET body = {without}")
        again = client.resume_session(session.session_id).history()
        after = session.query("partly_answered")

    assert {m.answer_status for m in again} == {None}
    assert after.status == AnswerStatus.PARTLY_ANSWERED


async def test_both_sdks_tell_status_and_coverage(rated: ThreadService):
    async with AsyncSvc(rated.key, rated.base_url) as client:
        response = await (await client.create_session()).query("not_examined")
    with Svc(rated.key, rated.base_url) as blocking:
        same = await asyncio.to_thread(blocking.create_session().query, "not_examined")

    assert response.status == same.status == AnswerStatus.NOT_EXAMINED
    coverage = response.coverage
    assert coverage is not None
    assert coverage == same.coverage
    [conn] = coverage.inputs
    assert (conn.name, conn.state, conn.understood, conn.total) == ("conn.log", "not examined", 0, 9)
    assert coverage.clauses[0].reason == "conn.log was not examined"


def source(content: str, group: str) -> Message:
    return Message(
        message_type=MessageType.SOURCE, title="coverage", mime_type=MimeType.JSON, content=content, group=group
    )


@pytest.mark.parametrize(
    "content",
    [
        pytest.param("[]", id="a list"),
        pytest.param('{"inputs": [{"name": "a"}]}', id="no state"),
        pytest.param("{", id="no JSON"),
    ],
)
def test_coverage_in_another_form_is_unknown_not_an_error(content: str):
    answer = Message(message_type=MessageType.RESULT, group="g")

    assert SessionResponse(id="s", messages=[source(content, "g"), answer]).coverage is None


def test_coverage_and_status_are_those_of_the_run_that_answered():
    lost = source('{"inputs": [{"name": "lost", "state": "read"}]}', "first run")
    kept = source('{"inputs": [{"name": "kept", "state": "read"}]}', "second run")
    answer = Message(message_type=MessageType.RESULT, group="second run", answer_status=AnswerStatus.ANSWERED)

    response = SessionResponse(id="s", messages=[lost, kept, answer, lost])

    assert response.coverage is not None
    assert [one.name for one in response.coverage.inputs] == ["kept"]
    assert response.status == AnswerStatus.ANSWERED
    assert SessionResponse(id="s", messages=[kept]).coverage is None
    assert SessionResponse(id="s", messages=[kept]).status is None


@pytest.mark.parametrize("status", [*AnswerStatus, "unknown"])
def test_openai_clients_get_it_as_a_field_and_a_header(rated: ThreadService, status: str):
    with openai.OpenAI(api_key=rated.key, base_url=rated.base_url, max_retries=0) as client:
        raw = client.chat.completions.with_raw_response.create(
            model="stable",
            messages=[{"role": "user", "content": status}],
            extra_headers={"Origin": "https://soc.example"},
        )

    known = None if status == "unknown" else status
    completion = raw.parse()
    assert raw.headers.get("x-answer-status") == known
    assert completion.model_extra == {"answer_status": known}
    assert "x-answer-status" in raw.headers["access-control-expose-headers"]
    assert set(completion.choices[0].message.to_dict()) <= {"content", "refusal", "role"}
