"""Session state after its messages: counted once and in order, as the service does."""

from __future__ import annotations

import pytest

from svc._session_state import with_message, without_messages
from svc.messages import Message, MessageType, State, Usage
from tests.support.session_facts import session

QUERY = Message(message_type=MessageType.QUERY, turn="t", seq=3, created_at=50.0)
INFO = Message(message_type=MessageType.INFO, turn="t", seq=3, created_at=51.0)
RESULT = Message(message_type=MessageType.RESULT, turn="t", seq=3, created_at=52.0, usage=Usage(total_tokens=5))
END = Message(message_type=MessageType.INFO, turn="t", seq=3, created_at=53.0, state=State.END)
ERROR = Message(message_type=MessageType.ERROR, turn="t", seq=3, created_at=54.0, state=State.END)


@pytest.mark.parametrize(
    ("before", "message", "turns", "tokens", "state", "updated"),
    [
        pytest.param({}, QUERY, 2, 10, State.RUNNING_AGENT, 50, id="query"),
        pytest.param({"state": State.RUNNING_AGENT}, INFO, 1, 10, State.RUNNING_AGENT, 51, id="info"),
        pytest.param({"state": State.RUNNING_AGENT}, RESULT, 1, 15, State.RUNNING_AGENT, 52, id="result"),
        pytest.param({"state": State.RUNNING_AGENT}, END, 1, 10, State.AGENT_DONE, 53, id="end"),
        pytest.param({"state": State.RUNNING_AGENT}, ERROR, 1, 10, State.AGENT_DONE, 54, id="error"),
        pytest.param({"update_time": 99}, QUERY, 2, 10, State.RUNNING_AGENT, 99, id="clock-behind"),
    ],
)
def test_a_message_updates_the_state(
    before: dict[str, object], message: Message, turns: int, tokens: int, state: State, updated: int
):
    after = with_message(session(**before), message)

    assert (after.num_messages, after.turns, after.usage.total_tokens) == (3, turns, tokens)
    assert (after.state, after.update_time) == (state, updated)


@pytest.mark.parametrize("known", [3, 4, 1], ids=["known-already", "known-long", "gap-before-it"])
def test_an_out_of_order_message_changes_nothing(known: int):
    before = session(num_messages=known)

    assert with_message(before, QUERY) is before


def test_the_first_question_is_the_title():
    first = Message(message_type=MessageType.QUERY, turn="t", seq=3, content=f"\n who\n\x1b[31mdid it? {'a' * 80}")
    second = Message(message_type=MessageType.QUERY, turn="t", seq=4, content="and then?")

    before = with_message(session(), INFO)
    asked = with_message(session(), first)

    assert before.title == ""
    assert asked.title == f"who did it? {'a' * 67}…"
    assert with_message(asked, second).title == asked.title


def test_the_original_session_is_unchanged():
    before = session(messages=[INFO])
    with_message(before, QUERY)

    assert without_messages(before).messages == []
    assert (before.num_messages, before.turns, before.messages) == (2, 1, [INFO])
