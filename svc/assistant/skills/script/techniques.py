"""Which ATT&CK techniques a command shows, likeliest first, and the words that say so. Pure; no tool of its own.

Commands are first made plain: what shells ignore (carets, backticks, quotes inside words) is taken out, registry roots
and case are made alike. Then every pattern of ``skills/script/techniques.toml`` is looked for. What a command
declares to be encoded is read along. An identifier is one of the table's version of ATT&CK.
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

MAX_COMMAND_CHARS = 20_000  # of one command; a longer one is a script, whose commands come one by one
_STRONG, _MEDIUM, _WEAK = 6.0, 3.0, 1.0
_FURTHER = 0.3  # of the weight of a second pattern of the same technique
_LONG_WORD = 20  # characters of a fixed word from which on it is as telling as can be

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


class Behaviour(msgspec.Struct, frozen=True):
    """One technique as commands show it: ``does`` is the kind of behaviour, ``what`` ends "it …"."""

    id: str
    does: str
    what: str
    strong: list[str] = []
    medium: list[str] = []
    weak: list[str] = []


class CommandBehaviours(msgspec.Struct, frozen=True):
    """``skills/script/techniques.toml``; ``severities`` by kind of behaviour."""

    source: str
    version: str
    date: date
    severities: dict[str, str]
    behaviours: list[Behaviour]


class Shown(msgspec.Struct, frozen=True):
    """A technique that a command shows, how surely (from 0 up), and the words of the command made plain."""

    behaviour: Behaviour
    score: float
    words: str
    is_strong: bool


class _Sign(msgspec.Struct, frozen=True):
    behaviour: int
    weight: float
    needed: tuple[str, ...]
    pattern: str


@cache
def table() -> CommandBehaviours:
    """The table of behaviours as it is shipped."""
    return load("techniques.toml", CommandBehaviours, __package__)


@cache
def _signs() -> list[_Sign]:
    return [
        _Sign(index, weight, needed_words(pattern), pattern)
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
    """Compiled when its words are first seen: all of them take half a second."""
    return re.compile(pattern, re.MULTILINE)


def plain_command(command: str) -> str:
    """``command`` as the table's patterns expect it: lower case, nothing that a shell would ignore, short roots."""
    text = _CONTINUED.sub(" ", command[:MAX_COMMAND_CHARS].strip())
    text = _CONCATENATED.sub("", text)
    text = _QUOTES.sub("", _CARET.sub("", text)).lower()
    text = text.replace("\u2013", "-").replace("\u2014", "-").replace("\\\\.", "\0").replace("\r", "")
    text = _EXE.sub("", _SPACES.sub(" ", text)).replace("\0", "\\\\.")
    text = _ROOT.sub(lambda match: _ROOTS.get(match[1], match[1]), text)
    return _CONTROL_SET.sub("currentcontrolset", text)


def shown_by(command: str) -> list[Shown]:
    """The techniques that ``command`` and what it holds encoded show, the likeliest first."""
    text = "\n".join(plain_command(layer) for layer in (command, *_decoded(command)))
    found: dict[int, list[tuple[float, str]]] = {}
    for sign in _signs():
        if sign.needed and not any(word in text for word in sign.needed):
            continue
        match = _compiled(sign.pattern).search(text)
        if match is not None and match[0].strip():
            found.setdefault(sign.behaviour, []).append((_weight(sign, match), match[0].strip()))
    shown = [_shown(table().behaviours[index], hits) for index, hits in found.items()]
    return sorted(shown, key=lambda one: -one.score)


def rank_techniques(command: str) -> list[tuple[str, float, str]]:
    """``(technique id, score, words that show it)`` of ``command``, the likeliest first; ``[]`` where nothing tells."""
    return [(one.behaviour.id, one.score, one.words) for one in shown_by(command)]


def _decoded(command: str) -> Iterator[str]:
    for part in declared_parts(command[:MAX_COMMAND_CHARS]):
        found = text_of(part.reading.data)
        if found:
            yield found[0]


def _weight(sign: _Sign, match: re.Match[str]) -> float:
    """A pattern's weight, and up to one more for the length of the fixed word that stands in the match."""
    longest = max((len(word) for word in sign.needed if word in match[0]), default=0)
    return sign.weight + min(longest, _LONG_WORD) / _LONG_WORD


def _shown(behaviour: Behaviour, hits: list[tuple[float, str]]) -> Shown:
    hits.sort(key=lambda hit: -hit[0])
    score = hits[0][0] + _FURTHER * sum(weight for weight, _ in hits[1:4])
    return Shown(behaviour, round(score, 2), hits[0][1], hits[0][0] >= _STRONG)
