"""The last answer of a session, or that of a turn, for a front end that inserts it into a notebook.

It is the same Markdown that ``%%svc`` displays and safe to render anywhere, unlike the RESULT of the service.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from svc import Message, MessageType
from svc_jupyter.answers.answer import Answer


@dataclass(frozen=True)
class LastAnswer:
    """An answer and its turn; both are empty if there is none."""

    turn: str = ""
    markdown: str = ""


def last_answer(messages: Iterable[Message], turn: str = "") -> LastAnswer:
    """Return the answer of the last turn that was answered completely, or of this turn if it was."""
    turns: dict[str, list[Message]] = {}
    answered = ""
    for message in messages:
        turns.setdefault(message.turn, []).append(message)
        is_whole = message.ends_turn and message.message_type != MessageType.ERROR
        is_meant = turn in ("", message.turn)
        if is_meant and is_whole and any(one.message_type == MessageType.RESULT for one in turns[message.turn]):
            answered = message.turn
    if not answered:
        return LastAnswer()
    return LastAnswer(answered, Answer(tuple(turns[answered]), "", "").markdown)
