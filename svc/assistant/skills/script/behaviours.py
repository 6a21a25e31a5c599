"""What a script does that a reader wants to be told, and how bad that is. Pure.

Facts: ``skills/script/behaviours.toml``. A behaviour is told once a script, where it is first seen; the verdict
weighs them: one of a kind that hardly anybody needs for ordinary work is enough, two that are bad are as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date
from enum import StrEnum
from functools import cache

import msgspec

from svc.assistant.findings import Severity
from svc.assistant.knowledge import load
from svc.assistant.knowledge.prefilter import needed_words
from svc.assistant.skills.script.techniques import plain_command

MAX_EXCERPT_CHARS = 300
_COMMENT = re.compile(r"\s*(?:#(?!!)|::|rem\s|//\s|'\s)", re.IGNORECASE)
_CONTINUED = re.compile(r"(?:\^|\\|(?<=\s)`|(?<=\s)_|\|)[ \t]*$")


class Verdict(StrEnum):
    """What the words of a script come to; nothing was run."""

    MALICIOUS = "malicious"
    SUSPICIOUS = "suspicious"
    UNUSUAL = "unusual"
    ORDINARY = "ordinary"


class Behaviour(msgspec.Struct, frozen=True):
    """One behaviour: all of ``all``, or any of ``any``; ``within`` a line, or anywhere in the script."""

    name: str
    does: str
    severity: Severity
    techniques: list[str]
    why: str
    within: str = "line"
    all: list[str] = []
    any: list[str] = []


class ScriptBehaviours(msgspec.Struct, frozen=True):
    """``skills/script/behaviours.toml``."""

    source: str
    version: str
    date: date
    behaviours: list[Behaviour]


class Seen(msgspec.Struct, frozen=True):
    """A behaviour, where it was seen and the line as it stands there."""

    behaviour: Behaviour
    line: int
    excerpt: str


class _Sign(msgspec.Struct, frozen=True):
    needed: tuple[str, ...]
    pattern: re.Pattern[str]

    def first(self, text: str) -> re.Match[str] | None:
        """The first match; None at once where a needed word is missing."""
        if self.needed and not any(word in text for word in self.needed):
            return None
        return self.pattern.search(text)


@cache
def _table() -> list[tuple[Behaviour, list[_Sign], list[_Sign]]]:
    behaviours = load("behaviours.toml", ScriptBehaviours, __package__).behaviours
    return [(one, [_sign(text) for text in one.all], [_sign(text) for text in one.any]) for one in behaviours]


def _sign(pattern: str) -> _Sign:
    return _Sign(needed_words(pattern), re.compile(pattern, re.MULTILINE))


def behaviours_in(text: str) -> Iterator[Seen]:
    """The behaviours in ``text``, each where it is first seen."""
    lines = list(_logical_lines(text))
    plain = "\n".join(line for _, line, _ in lines)
    starts = [0]
    for _, line, _ in lines:
        starts.append(starts[-1] + len(line) + 1)
    for behaviour, every, some in _table():
        match = _found(every, some, plain)
        if match is not None:
            index = max(0, sum(1 for start in starts if start <= match.start()) - 1)
            number, _, raw = lines[min(index, len(lines) - 1)]
            yield Seen(behaviour, number, raw.strip()[:MAX_EXCERPT_CHARS])


def _found(every: list[_Sign], some: list[_Sign], plain: str) -> re.Match[str] | None:
    if every:
        matches = [sign.first(plain) for sign in every]
        return matches[0] if all(matches) else None
    return next((match for sign in some if (match := sign.first(plain)) is not None), None)


def _logical_lines(text: str) -> Iterator[tuple[int, str, str]]:
    """``(number, plain, raw)``; lines that go on in the next one are one, under the first one's number."""
    held: list[str] = []
    first = 1
    for number, line in enumerate(text.split("\n"), start=1):
        if _COMMENT.match(line):
            continue
        if not held:
            first = number
        held.append(line)
        if _CONTINUED.search(line) and len(held) < 200:
            continue
        yield (
            first,
            plain_command(
                " ".join(_CONTINUED.sub(lambda end: "|" if "|" in end[0] else "", one) for one in held)
            ).replace("\n", " "),
            held[0],
        )
        held = []
    if held:
        yield first, plain_command(" ".join(held)).replace("\n", " "), held[0]


def verdict_on(severities: Sequence[Severity], *, is_hidden: bool) -> Verdict:
    """The verdict on behaviours of these severities; ``is_hidden``: some of them only show after decoding."""
    bad = sum(1 for one in severities if one is Severity.HIGH)
    odd = sum(1 for one in severities if one is Severity.MEDIUM)
    if Severity.CRITICAL in severities or bad >= 2 or (bad and is_hidden) or (bad and odd >= 2):
        return Verdict.MALICIOUS
    if bad or odd >= 2 or (odd and is_hidden):
        return Verdict.SUSPICIOUS
    return Verdict.UNUSUAL if odd or is_hidden else Verdict.ORDINARY
