"""Read the compound questions, ask them, and judge what the answers say of each clause."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from svc.assistant.turn import Exchange
from svc.messages import MessageType
from tests.support.inline_analyst import ask
from tests.svc.assistant.analyst.as_analysts_ask.pairs import plain
from tests.svc.assistant.analyst.compound.evidence import HELD, MADE, OPEN

_CASES = {"open": OPEN, "held": HELD}
_UNKNOWN = "cannot"
_SAYS_UNKNOWN = re.compile(r"\*\*(?:Cannot tell|Question not understood|Not answered|No sign found of|Not looked for)")


class Outcome(StrEnum):
    """What an answer does with a clause."""

    ANSWERED = "answered"
    SAID = "says that it cannot tell"
    SILENT = "says nothing about it"


@dataclass(frozen=True)
class Asked:
    """The questions of a session about one file, and of the last one what to say about each clause."""

    name: str
    content: bytes
    questions: tuple[str, ...]
    clauses: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        return f"{self.name}: {' > '.join(self.questions)}"


def asked_of(half: str) -> Iterator[Asked]:
    """The questions of ``open`` or ``held``."""
    listed = tomllib.loads((Path(__file__).parent / f"{half}.toml").read_text(encoding="utf-8"))
    for one in listed["evidence"]:
        content = MADE[one["name"]](_CASES[half]).encode()
        for questions, *clauses in one["questions"]:
            pairs = [clause.partition(" :: ") for clause in clauses]
            told = tuple((words, says) for words, _, says in pairs)
            yield Asked(one["name"], content, tuple(questions.split(" > ")), told)


async def answer_of(asked: Asked) -> tuple[str, dict[str, str]]:
    """The last answer of a session, and the state of each of its question's clauses; the first brings the file."""
    history: list[Exchange] = []
    text, states = "", {}
    for number, question in enumerate(asked.questions):
        given = await ask(question, (asked.name, asked.content, number > 0), history=history)
        sources = tuple(step.content for step in given.steps if step.message_type is MessageType.SOURCE)
        history.append(Exchange(prompt=question, answer=given.markdown, sources=sources))
        has_coverage = any(step.title == "coverage" for step in given.steps)
        text = given.markdown
        states = {one["text"]: one["state"] for one in given.coverage["clauses"]} if has_coverage else {}
    return text, states


def judged(asked: Asked, markdown: str, states: dict[str, str]) -> list[tuple[str, Outcome, bool]]:
    """For each clause what the visible answer does with it, and whether it is counted as answered for nothing."""
    lines = plain(markdown.partition("<details>")[0]).splitlines()
    lines = [line for line in lines if not line.startswith("**Do now")]
    found = []
    for words, says in asked.clauses:
        state = next((state for text, state in states.items() if words.lower() in text.lower()), "")
        outcome = _outcome(words, says, lines)
        is_counted = state == "answered" and outcome is Outcome.SILENT
        found.append((words, outcome, is_counted))
    return found


def _outcome(words: str, says: str, lines: list[str]) -> Outcome:
    unknown = [line for line in lines if _SAYS_UNKNOWN.search(line) and words.lower() in line.lower()]
    if says == _UNKNOWN:
        return Outcome.ANSWERED if unknown else Outcome.SILENT
    if any(re.search(says, line, re.IGNORECASE) for line in lines):
        return Outcome.ANSWERED
    return Outcome.SAID if unknown else Outcome.SILENT
