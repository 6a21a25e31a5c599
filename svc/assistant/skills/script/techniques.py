"""Find the ATT&CK techniques that a command shows, the most likely first, and the words that show them.

Commands are normalised first: characters that shells ignore (carets, backticks, quotes inside words) are removed, case
and registry roots are unified, and parts with a stated encoding are decoded too. Then every pattern of
``techniques.toml`` is tried. IDs are those of the table's version of ATT&CK.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from functools import cache

import msgspec

from svc.assistant.knowledge import load
from svc.assistant.knowledge.prefilter import needed_words
from svc.assistant.skills.decode.declared import declared_parts
from svc.assistant.skills.decode.plausibility import text_of

MAX_COMMAND_CHARS = 20_000  # of one command; scripts are passed command by command
_STRONG, _MEDIUM, _WEAK = 6.0, 3.0, 1.0  # weights of the patterns
_FURTHER_SHARE = 0.3  # of its weight, that each further pattern of a technique adds
_LONG_WORD = 20  # characters; a fixed word of this length adds the most to a pattern's weight

_CARET = re.compile(r"\^(?=\S)|`(?=\w)(?<=\w`)")
_CONTINUED = re.compile(r"[\^`\\][ \t]*\r?\n[ \t]*")
_CONCATENATED = re.compile(r"(['\"])\s{0,8}\+\s{0,8}\1")
_QUOTES = re.compile(r"[\"'\u2018\u2019\u201c\u201d]")
_SPACES = re.compile(r"[^\S\n]+")
_EXE = re.compile(r"(?<=[\w)])\.exe\b(?!\w)")
_ROOT = re.compile(
    r"(?:registry::|microsoft\.powershell\.core\\registry::)?\b(hkey_local_machine|hkey_current_user|hkey_classes_root|hkey_users|hklm64|hklm|hkcu|hkcr|hku):?(?=\\)"
)
_ROOTS = {
    "hkey_local_machine": "hklm",
    "hklm64": "hklm",
    "hkey_current_user": "hkcu",
    "hkey_classes_root": "hkcr",
    "hkey_users": "hku",
}
_CONTROL_SET = re.compile(r"\bcontrolset00\d\b")


class TechniqueRule(msgspec.Struct, frozen=True):
    """A technique and its patterns; ``does`` is the category, ``what`` the end of a sentence that begins with "it"."""

    id: str
    does: str
    what: str
    strong: list[str] = []
    medium: list[str] = []
    weak: list[str] = []


class TechniqueTable(msgspec.Struct, frozen=True):
    """``techniques.toml``; ``severities`` by category."""

    source: str
    version: str
    date: date
    severities: dict[str, str]
    behaviours: list[TechniqueRule]


class TechniqueMatch(msgspec.Struct, frozen=True):
    """A technique that a command shows, its score (from 0), and the words of the normalised command that show it."""

    behaviour: TechniqueRule
    score: float
    words: str
    is_strong: bool


class _TechniquePattern(msgspec.Struct, frozen=True):
    behaviour: int
    weight: float
    needed: tuple[str, ...]
    pattern: str


@cache
def table() -> TechniqueTable:
    """Return the table of techniques."""
    return load("techniques.toml", TechniqueTable, __package__)


@cache
def _patterns() -> list[_TechniquePattern]:
    return [
        _TechniquePattern(index, weight, needed_words(pattern), pattern)
        for index, behaviour in enumerate(table().behaviours)
        for weight, patterns in (
            (_STRONG, behaviour.strong),
            (_MEDIUM, behaviour.medium),
            (_WEAK, behaviour.weak),
        )
        for pattern in patterns
    ]


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Compile a pattern when its words are first seen, because compiling all of them takes half a second."""
    return re.compile(pattern, re.MULTILINE)


def plain_command(command: str) -> str:
    """Normalise ``command`` for the table's patterns: lower case, no ignored characters, short registry roots."""
    text = _CONTINUED.sub(" ", command[:MAX_COMMAND_CHARS].strip())
    text = _CONCATENATED.sub("", text)
    text = _QUOTES.sub("", _CARET.sub("", text)).lower()
    text = text.replace("\u2013", "-").replace("\u2014", "-").replace("\\\\.", "\0").replace("\r", "")
    text = _EXE.sub("", _SPACES.sub(" ", text)).replace("\0", "\\\\.")
    text = _ROOT.sub(lambda match: _ROOTS.get(match[1], match[1]), text)
    return _CONTROL_SET.sub("currentcontrolset", text)


def shown_by(command: str) -> list[TechniqueMatch]:
    """Return the techniques that ``command`` and its encoded parts show, the most likely first."""
    text = "\n".join(plain_command(layer) for layer in (command, *_decoded(command)))
    found: dict[int, list[tuple[float, str]]] = {}
    for one in _patterns():
        if one.needed and not any(word in text for word in one.needed):
            continue
        match = _compiled(one.pattern).search(text)
        if match is not None and match[0].strip():
            found.setdefault(one.behaviour, []).append((_weight(one, match), match[0].strip()))
    matches = [_scored(table().behaviours[index], hits) for index, hits in found.items()]
    return sorted(matches, key=lambda one: -one.score)


def rank_techniques(command: str) -> list[tuple[str, float, str]]:
    """Return ``(technique ID, score, words that show it)`` for ``command``, the most likely first."""
    return [(one.behaviour.id, one.score, one.words) for one in shown_by(command)]


def _decoded(command: str) -> Iterator[str]:
    for part in declared_parts(command[:MAX_COMMAND_CHARS]):
        found = text_of(part.reading.data)
        if found:
            yield found[0]


def _weight(pattern: _TechniquePattern, match: re.Match[str]) -> float:
    """Return a pattern's weight, plus up to 1 for the length of the fixed word in the match."""
    longest = max((len(word) for word in pattern.needed if word in match[0]), default=0)
    return pattern.weight + min(longest, _LONG_WORD) / _LONG_WORD


def _scored(behaviour: TechniqueRule, hits: list[tuple[float, str]]) -> TechniqueMatch:
    hits.sort(key=lambda hit: -hit[0])
    score = hits[0][0] + _FURTHER_SHARE * sum(weight for weight, _ in hits[1:4])
    return TechniqueMatch(behaviour, round(score, 2), hits[0][1], hits[0][0] >= _STRONG)
