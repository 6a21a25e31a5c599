"""The next questions of an analyst: each answered from what is known, never with the first report again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest

from svc.assistant.turn import Exchange
from svc.messages import MessageType
from tests.support.follow_up_cases import HELD, OPEN, RIGHT, Question, filled, is_repeated, judged
from tests.support.follow_up_evidence import EVIDENCE, Planted
from tests.support.inline_analyst import Asked, ask

MIN_RIGHT = 0.9


def exchange_of(prompt: str, asked: Asked) -> Exchange:
    sources = tuple(step.content for step in asked.steps if step.message_type is MessageType.SOURCE)
    return Exchange(prompt=prompt, answer=asked.markdown, sources=sources)


async def asked_in_session(
    prompts: Sequence[str], planted: Planted, history: Sequence[Exchange], language: str = "en"
) -> tuple[Asked, list[Exchange]]:
    """Ask one question after the other; the file is attached, but not with any of these."""
    exchanges = list(history)
    for prompt in prompts:
        asked = await ask(prompt, (*planted.file, False), history=exchanges, language=language)
        exchanges.append(exchange_of(prompt, asked))
    return asked, exchanges


_SESSIONS: dict[str, list[Exchange]] = {}


async def session_of(name: str) -> list[Exchange]:
    """The first question about a kind of evidence, and its answer."""
    if name not in _SESSIONS:
        planted = EVIDENCE[name]
        _SESSIONS[name] = [exchange_of(planted.first, await ask(planted.first, planted.file))]
    return _SESSIONS[name]


async def marked(question: Question, name: str) -> tuple[str, str, str, bool]:
    planted, session = EVIDENCE[name], await session_of(name)
    prompts = [filled(text, planted) for text in (*question.before, question.text)]
    asked, _ = await asked_in_session(prompts, planted, session, question.language)
    mark, missing = judged(asked.markdown, question.judge(planted))
    return mark, f"{name} · {prompts[-1]}: {missing}", asked.markdown, is_repeated(asked.markdown, session[0].answer)


@pytest.mark.parametrize("half", [pytest.param(OPEN, id="open"), pytest.param(HELD, id="held")])
async def test_most_further_questions_are_answered_right(half: tuple[Question, ...]):
    marks: Counter[str] = Counter()
    failures, repeated = [], []
    for question in half:
        for name in EVIDENCE:
            mark, missing, _, is_old = await marked(question, name)
            marks[mark] += 1
            failures += [f"{mark}: {missing}"] if mark != RIGHT else []
            repeated += [missing] if is_old else []
    summary = f"{dict(marks)}\n" + "\n".join(failures)
    print(summary)
    assert not repeated, "\n".join(repeated)
    assert marks[RIGHT] >= MIN_RIGHT * marks.total(), summary


def test_forty_questions_and_eight_kinds_of_evidence():
    assert (len(OPEN), len(HELD), len(EVIDENCE)) == (20, 20, 8)
    assert len({question.text for question in (*OPEN, *HELD)}) == 40
