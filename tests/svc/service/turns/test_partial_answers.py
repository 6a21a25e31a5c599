"""A cancelled turn answers from what it has read, and says how much of the evidence that is."""

import asyncio

import pytest

from svc import AsyncSvc
from svc.assistant.analyst import Analyst
from svc.errors import TurnCancelledError
from svc.messages import PARTIAL_ANSWER_TITLE, MessageType, MimeType, State
from tests.support.assistants.stopping import PARTIAL, Stopping

LINE = "Nov 20 {:02}:{:02}:{:02} web sshd[{}]: Failed password for root from 203.0.113.7 port 4242 ssh2\n"


def heedless():
    return Stopping(is_heeding=False)


def slow():
    return Stopping(seconds=60)


async def follow(session, prompt, wait_for, times, messages):
    """Collect the turn's messages, and cancel it after one with this text."""
    cancels = []
    try:
        async for message in session.stream(prompt):
            messages.append(message)
            if wait_for in (message.content or "") and not cancels:
                cancels = [asyncio.create_task(session.cancel()) for _ in range(times)]
    finally:
        await asyncio.gather(*cancels)


async def cancelled_turn(service, wait_for, *, times=1, prompt="q", attach=None):
    """The messages of a turn that is cancelled after one with this text, and its error."""
    messages = []
    async with AsyncSvc(service.key, service.base_url) as client:
        session = await client.create_session()
        if attach is not None:
            await session.attach_file(*attach)
        with pytest.raises(TurnCancelledError) as raised:
            await follow(session, prompt, wait_for, times, messages)
    return messages, raised.value


async def test_what_was_found_precedes_the_error(start_service):
    messages, error = await cancelled_turn(start_service(Stopping), "reading")
    step, partial = messages[-2:]
    assert step.content == "the last step"
    assert (partial.message_type, partial.title, partial.mime_type, partial.state) == (
        MessageType.INFO,
        PARTIAL_ANSWER_TITLE,
        MimeType.MARKDOWN,
        State.AGENT_DONE,
    )
    assert partial.content == PARTIAL
    assert error.partial_answer == partial.content


async def test_an_assistant_that_does_not_promise_ends_at_once(start_service):
    messages, error = await cancelled_turn(start_service(heedless), "reading")
    assert [message.content for message in messages] == ["reading"]
    assert error.partial_answer == ""


async def test_a_second_cancel_ends_the_turn_at_once(start_service):
    messages, _ = await cancelled_turn(start_service(slow), "reading", times=2)
    assert [message.content for message in messages] == ["reading"]


async def test_the_time_for_a_partial_answer_is_limited(start_service):
    messages, _ = await cancelled_turn(start_service(slow, partial_seconds=0.2), "reading")
    assert [message.content for message in messages] == ["reading"]


async def test_without_that_time_a_turn_ends_at_once(start_service):
    messages, _ = await cancelled_turn(start_service(Stopping, partial_seconds=0), "reading")
    assert [message.content for message in messages] == ["reading"]


async def test_a_log_is_answered_from_the_part_that_was_read(start_service):
    lines = [LINE.format(at // 3600 % 24, at // 60 % 60, at % 60, at) for at in range(200_000)]
    attach = ("auth.log", "".join(lines).encode())
    messages, error = await cancelled_turn(
        start_service(Analyst), "failed logins from", prompt="Which accounts were brute-forced?", attach=attach
    )
    answer = error.partial_answer
    assert "was read: the question was cancelled" in answer
    assert "203[.]0[.]113[.]7" in answer
    assert [message.title for message in messages if message.title == "findings"]


async def test_a_turn_at_its_time_limit_says_what_it_found(start_service):
    messages, error = await cancelled_turn(start_service(Stopping, turn_seconds=0.3), "never said")
    assert messages[-1].title == PARTIAL_ANSWER_TITLE
    assert "reached the time limit" in str(error)
    assert error.partial_answer == PARTIAL
