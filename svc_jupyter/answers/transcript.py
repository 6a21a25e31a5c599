"""The transcript of a conversation for a notebook: questions and answers, safe to render, bounded, without keys."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from svc import Message, MessageType, State
from svc.untrusted.characters import printable
from svc.untrusted.markdown import plain_text, safe_markdown
from svc_jupyter.answers.redaction import redact

MAX_TURNS = 50
MAX_CHARACTERS = 100_000  # of questions and answers together; the oldest turns are left out
_KINDS = (MessageType.QUERY, MessageType.RESULT, MessageType.ERROR)


def is_shown(message: Message) -> bool:
    """Whether a transcript shows the message."""
    return message.message_type in _KINDS or (message.message_type == MessageType.INFO and message.state == State.END)


def bundle(messages: Sequence[Message], *, css_class: str) -> dict[str, str]:
    """Build the transcript as Markdown and text. The live panel hides the Markdown by ``css_class``, if not empty."""
    turns = _turns(messages)
    title = f"Chat panel: {len(turns):,} question{'' if len(turns) == 1 else 's'}"
    kept = _last(turns)
    left_out = f"The first {len(turns) - len(kept):,} are omitted." if len(kept) < len(turns) else ""
    first = len(turns) - len(kept) + 1
    heads = [f"Question {number:,}" for number in range(first, len(turns) + 1)]
    parts = [f"**{head}**\n\n{_fenced(question)}\n\n{_safe(answer)}"
             for head, (question, answer) in zip(heads, kept, strict=True)]  # fmt: skip
    texts = [f"{head}:\n{printable(question)}\n\n{plain_text(answer)}"
             for head, (question, answer) in zip(heads, kept, strict=True)]  # fmt: skip
    mark = f'<span class="{css_class}"></span>' if css_class else ""
    return {
        "text/markdown": redact("\n\n".join(filter(None, [f"{mark}*{title}*", left_out, *parts]))),
        "text/plain": redact("\n\n".join(filter(None, [title, left_out, *texts]))),
    }


def _turns(messages: Sequence[Message]) -> list[tuple[str, str]]:
    """Return each question with its answer, or with the reason why there is none."""
    questions: dict[str, str] = {}
    answers: dict[str, str] = {}
    ends: dict[str, str] = {}
    for message in messages:
        match message.message_type:
            case MessageType.QUERY:
                questions[message.turn] = str(message.get_content())
            case MessageType.RESULT:
                answers[message.turn] = answers.get(message.turn, "") + str(message.get_content())
            case MessageType.ERROR:
                ends[message.turn] = f"No answer: {message.get_content()!s}"
            case _:
                ends.setdefault(message.turn, "")
    return [
        (question, answers.get(turn) or ends.get(turn, "Not answered yet.")) for turn, question in questions.items()
    ]


def _last(turns: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the last turns within the limits; at least one, which is cut if it is too long."""
    kept: list[tuple[str, str]] = []
    room = MAX_CHARACTERS
    for question, answer in reversed(turns[-MAX_TURNS:]):
        if kept and len(question) + len(answer) > room:
            break
        question, answer = _cut(question, room // 2), _cut(answer, room)  # noqa: PLW2901
        room -= len(question) + len(answer)
        kept.insert(0, (question, answer))
    return kept


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}\n\n… {len(text) - limit:,} more characters omitted."


@lru_cache(MAX_TURNS)
def _safe(answer: str) -> str:
    """Cached, because the transcript is rebuilt after each turn."""
    return safe_markdown(answer)


def _fenced(text: str) -> str:
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{printable(text)}\n{fence}"
