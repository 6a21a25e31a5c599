"""The transcript of a conversation for a notebook: questions and answers, safe to render, bounded, without keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from svc import AnswerStatus, Message, MessageType, State
from svc.untrusted.characters import printable
from svc.untrusted.markdown import plain_text, safe_code, safe_markdown
from svc_jupyter.answers.redaction import redact
from svc_jupyter.answers.status_mark import marked_markdown, marked_text, partial_markdown, partial_text

MAX_TURNS = 50
MAX_CHARACTERS = 100_000  # of questions and answers together; the oldest turns are left out
UNLOGGED = "Chat panel: this session is not logged, so the notebook keeps no transcript."
_KINDS = (MessageType.QUERY, MessageType.RESULT, MessageType.ERROR)


@dataclass(frozen=True)
class _Exchange:
    """A question with its answer, or with the reason why there is none."""

    question: str
    answer: str
    status: AnswerStatus | None
    is_partial: bool = False

    @property
    def length(self) -> int:
        return len(self.question) + len(self.answer)


def is_shown(message: Message) -> bool:
    """Whether a transcript shows the message."""
    return (
        message.message_type in _KINDS
        or message.is_partial_answer
        or (message.message_type == MessageType.INFO and message.state == State.END)
    )


def bundle(messages: Sequence[Message], *, css_class: str) -> dict[str, str]:
    """Build the transcript as Markdown and text. The live panel hides the Markdown by ``css_class``, if not empty."""
    turns = _turns(messages)
    title = f"Chat panel: {len(turns):,} question{'' if len(turns) == 1 else 's'}"
    kept = _last(turns)
    left_out = f"The first {len(turns) - len(kept):,} are omitted." if len(kept) < len(turns) else ""
    first = len(turns) - len(kept) + 1
    heads = [f"Question {number:,}" for number in range(first, len(turns) + 1)]
    parts = [f"**{head}**\n\n{safe_code(turn.question)}\n\n{_markdown(turn)}"
             for head, turn in zip(heads, kept, strict=True)]  # fmt: skip
    texts = [f"{head}:\n{printable(turn.question)}\n\n{_text(turn)}"
             for head, turn in zip(heads, kept, strict=True)]  # fmt: skip
    mark = _mark(css_class)
    return {
        "text/markdown": redact("\n\n".join(filter(None, [f"{mark}*{title}*", left_out, *parts]))),
        "text/plain": redact("\n\n".join(filter(None, [title, left_out, *texts]))),
    }


def unlogged_bundle(*, css_class: str) -> dict[str, str]:
    """Build what takes the transcript's place if the session is not logged."""
    return {"text/markdown": f"{_mark(css_class)}*{UNLOGGED}*", "text/plain": UNLOGGED}


def _markdown(turn: _Exchange) -> str:
    shown = marked_markdown(_safe(turn.answer), turn.status)
    return partial_markdown(shown) if turn.is_partial else shown


def _text(turn: _Exchange) -> str:
    shown = marked_text(plain_text(turn.answer), turn.status)
    return partial_text(shown) if turn.is_partial else shown


def _mark(css_class: str) -> str:
    return f'<span class="{css_class}"></span>' if css_class else ""


def _turns(messages: Sequence[Message]) -> list[_Exchange]:
    questions: dict[str, str] = {}
    answers: dict[str, str] = {}
    statuses: dict[str, AnswerStatus | None] = {}
    ends: dict[str, str] = {}
    partial: set[str] = set()
    for message in messages:
        match message.message_type:
            case MessageType.QUERY:
                questions[message.turn] = str(message.get_content())
            case MessageType.RESULT:
                answers[message.turn] = answers.get(message.turn, "") + str(message.get_content())
                statuses[message.turn] = message.answer_status
            case MessageType.INFO if message.is_partial_answer:
                partial.add(message.turn)
                answers[message.turn] = str(message.get_content())
                statuses[message.turn] = message.answer_status
            case MessageType.ERROR:
                ends[message.turn] = f"No answer: {message.get_content()!s}"
            case _:
                ends.setdefault(message.turn, "")
    return [
        _Exchange(
            question, answers.get(turn) or ends.get(turn, "Not answered yet."), statuses.get(turn), turn in partial
        )
        for turn, question in questions.items()
    ]


def _last(turns: list[_Exchange]) -> list[_Exchange]:
    """Return the last turns within the limits; at least one, which is cut if it is too long."""
    kept: list[_Exchange] = []
    room = MAX_CHARACTERS
    for turn in reversed(turns[-MAX_TURNS:]):
        if kept and turn.length > room:
            break
        fitting = replace(turn, question=_cut(turn.question, room // 2), answer=_cut(turn.answer, room))
        room -= fitting.length
        kept.insert(0, fitting)
    return kept


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}\n\n… {len(text) - limit:,} more characters omitted."


@lru_cache(MAX_TURNS)
def _safe(answer: str) -> str:
    """Cached, because the transcript is rebuilt after each turn."""
    return safe_markdown(answer)
