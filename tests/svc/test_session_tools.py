"""Tools of the SDK's user: offered with a question, allowed and answered while the turn runs."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import aclosing

import pytest

from svc import (
    ConfirmationRequest,
    InteractiveSession,
    InvalidRequestError,
    LocalTool,
    LocalToolCall,
    Message,
    MessageType,
    ProtocolError,
    Svc,
)
from svc.config import Config
from tests.support.fault_proxy import FaultProxy

LOOKUP = LocalTool(name="lookup", description="Looks a host up.")
Answer = Callable[[Message], object]


async def asked(session: InteractiveSession, prompt: str, answer: Answer) -> list[Message]:
    """The turn, its call allowed and answered."""
    messages = []
    async with aclosing(session.stream(prompt, local_tools=[LOOKUP])) as turn:
        async for message in turn:
            messages.append(message)
            if message.message_type == MessageType.CONFIRMATION_REQUEST:
                assert session.confirm(message, is_allowed=True)
            elif message.message_type == MessageType.LOCAL_TOOL_CALL:
                answer(message)
    return messages


def result_of(messages: list[Message]) -> str | None:
    return messages[-2].content


async def test_a_call_is_allowed_and_answered_among_the_messages_of_the_turn(client: Svc):
    session = client.create_session()

    def look(message: Message) -> None:
        call = LocalToolCall.of(message)
        session.answer(message, {"name": call.name, "host": call.arguments["host"]})

    messages = await asked(session, 'call lookup {"host": "web1"}', look)

    assert [message.message_type for message in messages] == [
        "confirmation_request", "confirmation_response", "local_tool_call", "local_tool_result", "result", "info",
    ]  # fmt: skip
    assert ConfirmationRequest.of(messages[0]) == ConfirmationRequest(
        tool="lookup", arguments={"host": "web1"}, description="Looks a host up."
    )
    assert result_of(messages) == '{"name":"lookup","host":"web1"}'
    assert session.info.num_messages == 7


async def test_an_answer_may_come_from_another_thread(client: Svc):
    session = client.create_session()

    def answer(message: Message) -> None:
        threading.Thread(target=session.answer, args=(message, 5)).start()

    assert result_of(await asked(session, "call lookup", answer)) == "5"


async def test_an_error_is_an_answer(client: Svc):
    session = client.create_session()
    messages = await asked(session, "call lookup", lambda call: session.answer(call, error="no such host"))
    assert result_of(messages) == "error: no such host"


VALUES = [
    pytest.param({1, 2, object()}, "error: the value is not JSON: ", id="no JSON"),
    pytest.param("x" * 600_000, "error: the value is 600,002 bytes of JSON; the limit is 500,000", id="too large"),
    pytest.param('"' * 249_000, '"', id="as large as may be"),
    pytest.param("a \ud800 half", "error: the value is not JSON", id="half a character"),
]


@pytest.mark.parametrize(("value", "told"), VALUES)
async def test_a_value_that_cannot_be_serialised_is_an_error(client: Svc, value: object, told: str):
    session = client.create_session()
    messages = await asked(session, "call lookup", lambda call: session.answer(call, value))
    assert str(result_of(messages)).startswith(told)


async def test_a_refused_tool_is_not_called(client: Svc):
    session = client.create_session()
    async for message in session.stream("call lookup", local_tools=[LOOKUP]):
        assert message.message_type != MessageType.LOCAL_TOOL_CALL
        if message.message_type == MessageType.CONFIRMATION_REQUEST:
            session.confirm(message, is_allowed=False)
        if message.message_type == MessageType.RESULT:
            assert str(message.content).startswith("error: the user denied the call")


async def test_an_answer_lost_with_the_connection_is_sent_again(scripted_service: Config, proxy: FaultProxy):
    with Svc(scripted_service.api_key, proxy.base_url) as through_proxy:
        session = await asyncio.to_thread(through_proxy.create_session)  # the proxy lives in this loop

    def answer(message: Message) -> None:
        proxy.cut_all()
        session.answer(message, "got through")

    async with asyncio.timeout(20):
        assert result_of(await asked(session, "call lookup", answer)) == '"got through"'


async def test_nothing_is_answered_after_the_turn(client: Svc):
    session = client.create_session()
    messages = await asked(session, "call lookup", lambda call: session.answer(call, 1))
    assert not session.answer(messages[2], 2)
    assert not client.create_session().confirm(messages[0], is_allowed=True)


async def test_a_message_without_a_request_cannot_be_answered(client: Svc):
    session = client.create_session()
    request = Message(message_type=MessageType.CONFIRMATION_REQUEST, content="{}")
    with pytest.raises(InvalidRequestError, match="cannot be answered this way"):
        session.answer(request, 1)
    with pytest.raises(InvalidRequestError, match="cannot be answered this way"):
        session.confirm(Message(message_type=MessageType.INFO), is_allowed=True)
    with pytest.raises(ProtocolError, match="is not a valid confirmation_request"):
        ConfirmationRequest.of(request)


async def test_a_question_without_tools_offers_none(client: Svc):
    assert client.create_session().query("call lookup").text() == "no tools"
