"""The last answer of a session, for a front end that writes it into a notebook. Pure.

It is the Markdown that ``%%svc`` writes: safe to render anywhere. What the service sent is not.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from svc import Message, MessageType
from svc_jupyter.answers.answer import Answer


@dataclass(frozen=True)
class LastAnswer:
    """An answer and the turn that it ended; both "" where nothing was answered."""

    turn: str = ""
    markdown: str = ""


def last_answer(messages: Iterable[Message]) -> LastAnswer:
    """Of the last turn in the history that was answered to its end."""
    turns: dict[str, list[Message]] = {}
    answered = ""
    for message in messages:
        turns.setdefault(message.turn, []).append(message)
        is_whole = message.ends_turn and message.message_type != MessageType.ERROR
        if is_whole and any(one.message_type == MessageType.RESULT for one in turns[message.turn]):
            answered = message.turn
    if not answered:
        return LastAnswer()
    return LastAnswer(answered, Answer(tuple(turns[answered]), "", "").markdown)
