"""Tools that a client runs itself: offered with a query, allowed by the user, called and answered over the wire."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator

import pytest
from websockets.asyncio.client import ClientConnection

from svc.errors import InvalidRequestError
from svc.messages import Message, MessageType
from svc.service.settings import Settings
from tests.support.assistants.scripted import Calling
from tests.support.live import ThreadService, live_process
from tests.support.wire_client import Frame, ask, kinds, opened, read, read_turn, register, send, seqs

TOOLS = [
    {
        "name": name,
        "description": f"Looks {name} up.",
        "parameters": {"type": "object", "properties": {"text": {"type": "string"}}},
    }
    for name in ("lookup", "other")
]


@pytest.fixture(scope="module")
def calling(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ThreadService]:
    """One service for all tests that ask it in sessions of their own."""
    service = ThreadService(tmp_path_factory.mktemp("calling"), Calling(), Settings(stop_seconds=0.1))
    yield service
    service.stop()


async def read_until(socket: ClientConnection, kind: str) -> Frame:
    while (frame := await read(socket))["message_type"] != kind:
        assert frame["message_type"] not in ("result", "error"), frame
    return frame


async def answer(socket: ClientConnection, asked: Frame, *, message_id: str = "a1", **content: object) -> None:
    kind = {"confirmation_request": "confirmation_response", "local_tool_call": "local_tool_result"}
    await send(
        socket,
        message_type=kind[asked["message_type"]],
        id=message_id,
        parent_id=asked["id"],
        content=json.dumps(content),
        mime_type="application/json",
    )


async def offer(socket: ClientConnection, content: str, **fields: object) -> None:
    await send(socket, message_type="query", content=content, local_tools=TOOLS, **fields)


async def allow(socket: ClientConnection, *, message_id: str = "yes", **more: object) -> Frame:
    """Allow what is asked for; the call."""
    request = await read_until(socket, "confirmation_request")
    await answer(socket, request, is_allowed=True, message_id=message_id, **more)
    return await read_until(socket, "local_tool_call")


async def refused(socket: ClientConnection) -> Frame:
    while (frame := await read(socket))["message_type"] != "error":
        pass
    return frame


async def test_a_call_is_confirmed_made_and_answered_in_seq_order(calling):
    session_id = register(calling)
    async with opened(calling, session_id) as socket:
        await offer(socket, "lookup=x", id="q1", turn="t1")
        frames = [await read(socket) for _ in range(3)]
        await answer(socket, frames[-1], is_allowed=True, message_id="yes")
        frames += [await read(socket) for _ in range(2)]
        await answer(socket, frames[-1], ok=True, value={"seen": [1, None]}, message_id="value")
        frames += await read_turn(socket)

    assert kinds(frames) == [
        "query", "info", "confirmation_request", "confirmation_response", "local_tool_call", "local_tool_result",
        "result", "info",
    ]  # fmt: skip
    assert seqs(frames) == list(range(1, 9))
    _, _, request, response, call, value, result, _ = frames
    assert json.loads(request["content"]) == {
        "tool": "lookup", "description": "Looks lookup up.", "arguments": {"text": "x"},
    }  # fmt: skip
    assert json.loads(call["content"]) == {"name": "lookup", "arguments": {"text": "x"}}
    assert [(f["id"], f["parent_id"], f["role"], f["turn"]) for f in (response, value)] == [
        ("yes", request["id"], "user", "t1"),
        ("value", call["id"], "user", "t1"),
    ]
    assert {f["mime_type"] for f in (request, response, call, value)} == {"application/json"}
    assert result["content"] == '{"seen": [1, null]}'
    with calling.http() as http:
        session = http.get("/session/get", params={"session_id": session_id}).json()
    assert session["messages"] == frames
    assert session["local_tools"] == TOOLS


async def test_a_tool_allowed_for_the_session_is_confirmed_once(calling):
    async with opened(calling, register(calling)) as socket:
        await offer(socket, "lookup=x")
        await answer(socket, await allow(socket), ok=True, value=1)
        await read_turn(socket)
        await offer(socket, "lookup=y")
        *_, call = [await read(socket) for _ in range(3)]
        assert json.loads(call["content"]) == {"name": "lookup", "arguments": {"text": "y"}}


async def test_a_tool_allowed_once_is_confirmed_again(calling):
    async with opened(calling, register(calling)) as socket:
        await offer(socket, "lookup=x lookup=y")
        await answer(socket, await allow(socket, is_once=True), ok=True, value=1, message_id="a2")
        request = await read_until(socket, "confirmation_request")
        assert json.loads(request["content"])["arguments"] == {"text": "y"}


async def test_a_changed_tool_must_be_confirmed_again(calling):
    async with opened(calling, register(calling)) as socket:
        await offer(socket, "lookup=x")
        await answer(socket, await allow(socket), ok=True, value=1)
        await read_turn(socket)
        changed = [TOOLS[0] | {"description": "Deletes it."}]
        await send(socket, message_type="query", content="lookup=x", local_tools=changed)
        assert json.loads((await read_until(socket, "confirmation_request"))["content"])["description"] == "Deletes it."


async def test_a_refusal_applies_to_the_turn_and_reaches_the_assistant(calling):
    async with opened(calling, register(calling)) as socket:
        await offer(socket, "lookup=x lookup=y")
        await answer(socket, await read_until(socket, "confirmation_request"), is_allowed=False)
        frames = await read_turn(socket)
        assert kinds(frames) == ["confirmation_response", "result", "info"]
        assert frames[1]["content"].split("\n") == [
            "error: the user denied the call; do not repeat it in this turn"
        ] * 2  # fmt: skip
        await offer(socket, "lookup=x")
        assert await read_until(socket, "confirmation_request")


async def test_an_error_of_the_tool_reaches_the_assistant(calling):
    async with opened(calling, register(calling)) as socket:
        await offer(socket, "lookup=x")
        await answer(socket, await allow(socket), ok=False, error="KeyError: x")
        assert (await read_turn(socket))[-2]["content"] == "error: KeyError: x"


async def test_simultaneous_calls_are_confirmed_one_at_a_time(calling):
    async with opened(calling, register(calling)) as socket:
        await offer(socket, "both lookup=x other=y")
        await answer(socket, await allow(socket), ok=True, value=1, message_id="a2")
        await answer(socket, await allow(socket, message_id="a3"), ok=True, value=2, message_id="a4")
        assert (await read_turn(socket))[-2]["content"] == "1\n2"


async def test_the_assistant_continues_without_a_confirmation_after_the_timeout(start_service):
    service = start_service(Calling, confirmation_seconds=0.05)
    async with opened(service, register(service)) as socket:
        await offer(socket, "lookup=x")
        frames = await read_turn(socket)
        assert frames[-2]["content"] == "error: the user did not answer within 0.05 s to the confirmation request"
        late = next(frame for frame in frames if frame["message_type"] == "confirmation_request")
        await answer(socket, late, is_allowed=True)
        assert "is pending: it was answered, timed out or never existed" in (await refused(socket))["content"]


async def test_the_assistant_continues_without_a_result_after_the_timeout(start_service):
    service = start_service(Calling, local_call_seconds=0.05)
    async with opened(service, register(service)) as socket:
        await offer(socket, "other=x")
        await allow(socket)
        assert (await read_turn(socket))[-2]["content"] == "error: no result within 0.05 s"


@pytest.mark.one_service("ends the time of a request in the memory of its service")
async def test_an_answer_at_the_moment_at_which_the_time_ends_is_refused(start_service):
    service = start_service(Calling)
    session_id = register(service)
    turns = service.running.service.turns

    async def end_and_answer() -> None:
        turns._local_calls[session_id]._pending_call.answer.cancel()  # the turn has not run since
        turns.answer_here(session_id, response)

    async with opened(service, session_id) as socket:
        await offer(socket, "lookup=x")
        asked = await read_until(socket, "confirmation_request")
        response = Message(
            message_type=MessageType.CONFIRMATION_RESPONSE,
            id="late",
            parent_id=asked["id"],
            content=json.dumps({"is_allowed": True}),
        )
        with pytest.raises(InvalidRequestError, match="timed out"):
            await asyncio.to_thread(service.run, end_and_answer())


async def test_the_first_answer_wins_and_repeating_it_is_not_an_error(calling):
    session_id = register(calling)
    async with opened(calling, session_id) as first, opened(calling, session_id) as second:
        await offer(first, "lookup=x")
        request = await read_until(second, "confirmation_request")
        for _ in range(2):
            await answer(second, request, is_allowed=True, message_id="a1")
        await answer(second, request, is_allowed=False, message_id="a2")
        refusal = await refused(second)
        assert (refusal["seq"], refusal["status_code"], refusal["status_message"]) == (0, 400, "invalid_request")
        assert refusal["parent_id"] == "a2"
        call = await read_until(first, "local_tool_call")
        await answer(first, call, ok=True, value="x", message_id="a3")
        assert kinds(await read_turn(first)) == ["local_tool_result", "result", "info"]


BAD_ANSWERS = [
    pytest.param({"content": "no"}, "malformed JSON", id="no JSON"),
    pytest.param({"content": "{}"}, "content.is_allowed", id="a field is missing"),
    pytest.param({"content": '{"is_allowed": "yes"}'}, "content.is_allowed", id="a field of another type"),
    pytest.param(
        {"message_type": "local_tool_result"}, "the request needs a confirmation_response", id="of another type"
    ),
    pytest.param({"id": "ä"}, "id is 'ä'", id="no id"),
    pytest.param({"id": "q1"}, "another message of the turn has the id q1", id="the id of the query"),
    pytest.param({"parent_id": "zork"}, "no request 'zork' is pending", id="to nothing"),
]


@pytest.mark.parametrize(("changes", "text"), BAD_ANSWERS)
async def test_an_invalid_answer_is_rejected_and_the_question_stays_open(calling, changes, text):
    async with opened(calling, register(calling)) as socket:
        await offer(socket, "lookup=x", id="q1")
        request = await read_until(socket, "confirmation_request")
        frame = {
            "message_type": "confirmation_response", "id": "a1", "parent_id": request["id"],
            "content": '{"is_allowed": true}',
        }  # fmt: skip
        await send(socket, **(frame | changes))
        refusal = await refused(socket)
        assert (refusal["status_message"], refusal["seq"]) == ("invalid_request", 0)
        assert text in refusal["content"]
        await send(socket, **(frame | {"id": "a2"}))
        assert await read_until(socket, "local_tool_call")


async def test_only_the_user_of_the_session_may_answer(calling):
    session_id = register(calling)
    _, other_key = calling.make_key("other")
    others = register(calling, other_key)
    async with opened(calling, session_id) as socket, opened(calling, others, key=other_key) as stranger:
        await offer(socket, "lookup=x")
        request = await read_until(socket, "confirmation_request")
        await answer(stranger, request, is_allowed=True)
        assert "is pending: it was answered, timed out or never existed" in (await refused(stranger))["content"]
        await answer(socket, request, is_allowed=False)
        assert await read_turn(socket)


async def test_an_answer_without_a_running_turn_is_rejected(calling):
    async with opened(calling, register(calling)) as socket:
        await answer(socket, {"message_type": "local_tool_call", "id": "m1"}, ok=True)
        assert (await refused(socket))["status_message"] == "invalid_request"


BAD_OFFERS = [
    pytest.param([{"name": "a b"}], "local_tools[0].name", id="no name"),
    pytest.param([{"name": "a" * 65}], "local_tools[0].name", id="a long name"),
    pytest.param([{"description": "x"}], "local_tools[0].name", id="without a name"),
    pytest.param([{"name": "a"}, {"name": "a"}], "local_tools[1].name", id="twice the same"),
    pytest.param([{"name": "a", "parameters": {"type": "array"}}], "local_tools[0].parameters", id="no object"),
    pytest.param(
        [{"name": f"a{n}"} for n in range(33)], "local_tools has 33 tools; a query may offer 32", id="too many"
    ),
    pytest.param([{"name": "a", "description": "x" * 66_000}], "the limit is 65,536", id="too large"),
]


@pytest.mark.parametrize(("tools", "text"), BAD_OFFERS)
async def test_an_invalid_tool_offer_is_rejected_with_the_field_name(calling, tools, text):
    async with opened(calling, register(calling)) as socket:
        await send(socket, message_type="query", content="hello", local_tools=tools)
        refusal = await refused(socket)
        assert refusal["status_message"] == "invalid_request"
        assert text in refusal["content"]


async def test_an_assistant_without_tools_answers_as_usual(service: ThreadService):
    async with opened(service, register(service)) as socket:
        frames = await ask(socket, "hello", local_tools=TOOLS)
    assert kinds(frames) == ["query", "info", "source", "info", "result", "info"]


async def test_tools_belong_to_one_turn_and_the_next_query_has_none(calling):
    session_id = register(calling)
    async with opened(calling, session_id) as socket:
        await offer(socket, "nothing")
        await read_turn(socket)
        assert (await ask(socket, "lookup=x"))[-2]["content"] == "no tools"
    with calling.http() as http:
        assert http.get("/session/get", params={"session_id": session_id}).json()["local_tools"] == []


async def test_a_cancel_ends_a_turn_that_is_waiting_for_its_client(calling):
    async with opened(calling, register(calling)) as socket:
        await offer(socket, "lookup=x", turn="t1")
        request = await read_until(socket, "confirmation_request")
        await send(socket, message_type="cancel", turn="t1")
        assert (await refused(socket))["status_message"] == "cancelled"
        await answer(socket, request, is_allowed=True)
        assert "is pending: it was answered, timed out or never existed" in (await refused(socket))["content"]


async def test_a_result_over_the_limit_is_rejected_and_a_smaller_one_may_follow(start_service):
    async with opened(service := start_service(Calling, max_content_bytes=1_000), register(service)) as socket:
        await offer(socket, "lookup=x")
        call = await allow(socket)
        await answer(socket, call, ok=True, value="x" * 1_000, message_id="a2")
        refusal = await refused(socket)
        assert (refusal["status_message"], refusal["status_code"]) == ("too_large", 413)
        await answer(socket, call, ok=True, value="x", message_id="a3")
        assert (await read_turn(socket))[-2]["content"] == '"x"'


async def test_oversized_arguments_are_not_sent_for_confirmation(calling):
    async with opened(calling, register(calling)) as socket:
        await offer(socket, f"lookup={'x' * 100_001}")
        assert (await read_turn(socket))[-2]["content"].startswith("error: the arguments are 100,")


async def test_a_turn_resumed_after_a_kill_has_the_tools_and_permissions_of_its_session(tmp_path):
    with live_process(tmp_path, "Calling") as service:
        session_id = register(service)
        async with opened(service, session_id) as socket:
            await offer(socket, "lookup=x")
            await allow(socket)
            service.kill()
    with live_process(tmp_path, "Calling") as service:
        async with opened(service, session_id, 0) as socket:
            before = await read_until(socket, "local_tool_call")
            while (call := await read(socket))["message_type"] != "local_tool_call":
                assert call["message_type"] != "confirmation_request"  # the user has allowed it for the session
                assert call["seq"] > before["seq"]
            await answer(socket, call, ok=True, value=3, message_id="b2")
            assert (await read_turn(socket))[-2]["content"] == "3"


async def test_an_unlogged_sessions_tools_and_results_are_not_on_disk(calling):
    session_id = register(calling, can_log=False)
    async with opened(calling, session_id) as socket:
        hidden = [TOOLS[0] | {"description": "mr-hidden"}]
        await send(socket, message_type="query", content="lookup=x", local_tools=hidden)
        await answer(socket, await allow(socket), ok=True, value="mr-secret")
        await read_turn(socket)
    kept = [file.read_bytes() for file in calling.folder.rglob("*") if file.is_file()]
    assert kept
    assert not [data for data in kept if b"mr-secret" in data or b"mr-hidden" in data]
