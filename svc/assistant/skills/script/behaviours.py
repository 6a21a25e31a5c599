"""Find the behaviours of a script that an analyst needs to know, and judge how bad they are together.

A behaviour counts once in a script, at its first line. One that has hardly any legitimate use makes a script malicious,
and so do two bad ones. What administrators and installers do, too (``is_dual_use``), is bad only with others or if it
is hidden. Facts: ``behaviours.toml``.
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
from svc.assistant.skills.script.known_values import with_values
from svc.assistant.skills.script.language import Language
from svc.assistant.skills.script.techniques import plain_command

MAX_EXCERPT_CHARS = 300
_COMMENT = re.compile(r"\s*(?:#(?!!)|::|rem\s|//\s|'\s)", re.IGNORECASE)
_CONTINUED = re.compile(r"(?:\^|\\|(?<=\s)`|(?<=\s)_|\|)[ \t]*$")


_MANY_DUAL_USES = 3  # of behaviours that are ordinary one by one
_MANY_ODD = 5  # behaviours of any kind in a long script


class ScriptVerdict(StrEnum):
    """The judgement on a script, by its text alone."""

    MALICIOUS = "malicious"
    SUSPICIOUS = "suspicious"
    UNUSUAL = "unusual"
    ORDINARY = "ordinary"


class BehaviourRule(msgspec.Struct, frozen=True):
    """A behaviour and its patterns: all of ``all``, or any of ``any``, ``within`` a line or the whole script."""

    name: str
    does: str
    severity: Severity
    techniques: list[str]
    why: str
    within: str = "line"
    is_dual_use: bool = False
    """Whether administrators and installers do it, too."""
    is_settled_by_values: bool = False
    """Whether its patterns assume the worst of a variable: known values are put in first."""
    languages: list[Language] = []
    """Only in these; in all if there are none."""
    all: list[str] = []
    any: list[str] = []
    none: list[str] = []
    """Patterns of what makes it ordinary, anywhere in the script."""

    @property
    def own_severity(self) -> Severity:
        """How much it matters if a script does nothing else: of dual use, it is suspicious."""
        return Severity.MEDIUM if self.is_dual_use and self.severity is Severity.HIGH else self.severity


class BehaviourTable(msgspec.Struct, frozen=True):
    """``behaviours.toml``."""

    source: str
    version: str
    date: date
    behaviours: list[BehaviourRule]


class BehaviourMatch(msgspec.Struct, frozen=True):
    """A behaviour and the first line that has it."""

    behaviour: BehaviourRule
    line: int
    excerpt: str


class _BehaviourPattern(msgspec.Struct, frozen=True):
    needed: tuple[str, ...]
    pattern: re.Pattern[str]

    def first(self, text: str) -> re.Match[str] | None:
        """Return the first match, or None; without a needed word the pattern is not tried at all."""
        if self.needed and not any(word in text for word in self.needed):
            return None
        return self.pattern.search(text)


class _CompiledBehaviour(msgspec.Struct, frozen=True):
    rule: BehaviourRule
    every: list[_BehaviourPattern]
    some: list[_BehaviourPattern]
    none: list[_BehaviourPattern]

    def first(self, text: str) -> re.Match[str] | None:
        """Return the first match of the behaviour in normalised text, or None."""
        match = _first_match(self.every, self.some, text)
        is_ordinary = match is not None and any(pattern.first(text) for pattern in self.none)
        return None if is_ordinary else match


@cache
def _table() -> list[_CompiledBehaviour]:
    behaviours = load("behaviours.toml", BehaviourTable, __package__).behaviours
    return [
        _CompiledBehaviour(one, *([_compiled(text) for text in texts] for texts in (one.all, one.any, one.none)))
        for one in behaviours
    ]


def behaviour_count() -> int:
    """How many behaviours are known."""
    return len(_table())


def _compiled(pattern: str) -> _BehaviourPattern:
    return _BehaviourPattern(needed_words(pattern), re.compile(pattern, re.MULTILINE))


def behaviours_in(text: str, language: Language) -> Iterator[BehaviourMatch]:
    """Yield the behaviours in ``text``, each at its first line."""
    lines = list(_logical_lines(text))
    plain = "\n".join(line for _, line, _ in lines)
    starts = [0]
    for _, line, _ in lines:
        starts.append(starts[-1] + len(line) + 1)
    settled = _settled(text) if language is Language.POWERSHELL else plain
    for compiled in _table():
        behaviour = compiled.rule
        if behaviour.languages and language not in behaviour.languages:
            continue
        match = compiled.first(plain)
        if match is not None and behaviour.is_settled_by_values and settled != plain:
            match = match if compiled.first(settled) is not None else None
        if match is not None:
            index = max(0, sum(1 for start in starts if start <= match.start()) - 1)
            number, _, raw = lines[min(index, len(lines) - 1)]
            yield BehaviourMatch(behaviour, number, raw.strip()[:MAX_EXCERPT_CHARS])


def _settled(text: str) -> str:
    """Return normalised text with the known values of variables."""
    return "\n".join(line for _, line, _ in _logical_lines(with_values(text)))


def _first_match(every: list[_BehaviourPattern], some: list[_BehaviourPattern], plain: str) -> re.Match[str] | None:
    if every:
        matches = [pattern.first(plain) for pattern in every]
        return matches[0] if all(matches) else None
    return next((match for pattern in some if (match := pattern.first(plain)) is not None), None)


def _logical_lines(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield ``(number, normalised, raw)``; a line with its continuations has the number of the first."""
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


def verdict_on(rules: Sequence[BehaviourRule], *, is_hidden: bool, is_short: bool) -> ScriptVerdict:
    """Judge behaviours together.

    ``is_hidden`` if some of them are visible only after decoding. ``is_short`` if the script does little else: a long
    script for administration does several things that are ordinary one by one.
    """
    grave = sum(1 for one in rules if one.severity is Severity.HIGH and not one.is_dual_use)
    dual = sum(1 for one in rules if one.severity is Severity.HIGH and one.is_dual_use)
    odd = sum(1 for one in rules if one.severity is Severity.MEDIUM)
    is_joined = grave and (grave + dual >= 2 or odd >= 2)
    is_much = is_short and dual >= _MANY_DUAL_USES
    if (
        is_joined
        or is_much
        or ((grave or dual) and is_hidden)
        or any(one.severity is Severity.CRITICAL for one in rules)
    ):
        return ScriptVerdict.MALICIOUS
    is_doubtful = dual >= 1 or odd >= 2 if is_short else dual >= _MANY_DUAL_USES or dual + odd >= _MANY_ODD
    if grave or is_doubtful or (odd and is_hidden):
        return ScriptVerdict.SUSPICIOUS
    return ScriptVerdict.UNUSUAL if dual or odd or is_hidden else ScriptVerdict.ORDINARY
