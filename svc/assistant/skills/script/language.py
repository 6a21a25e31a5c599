"""Which language a script or a command is in, and which part of a prompt is the script. Pure, by words alone.

A one-liner of words that several shells know is taken for the shell whose words weigh most; the name of a file decides
where its content is unsure. Facts: ``skills/script/languages.toml``.
"""

from __future__ import annotations

import re
from datetime import date
from enum import StrEnum
from functools import cache
from itertools import islice

import msgspec

from svc.assistant.knowledge import load


class Language(StrEnum):
    """The languages that scripts are read in."""

    POWERSHELL = "PowerShell"
    SHELL = "Unix shell"
    BATCH = "Windows command shell"
    VBA = "Visual Basic"
    JAVASCRIPT = "JavaScript"


LOOK_CHARS = 20_000  # of a script by which its language is known
_ENDING_WEIGHT = 6
MAX_COUNTED = 3  # times that one look counts


class Sign(msgspec.Struct, frozen=True):
    """A look that speaks for a language, with its weight."""

    language: Language
    weight: int
    pattern: str
    is_caseless: bool


class Handed(msgspec.Struct, frozen=True):
    """How a command is handed to another language: the first group that matched is the command."""

    language: Language
    how: str
    pattern: str
    is_caseless: bool


class ScriptLanguages(msgspec.Struct, frozen=True):
    """``skills/script/languages.toml``."""

    source: str
    version: str
    date: date
    endings: dict[str, Language]
    signs: list[Sign]
    handed: list[Handed]


@cache
def _table() -> ScriptLanguages:
    return load("languages.toml", ScriptLanguages, __package__)


@cache
def _signs() -> list[tuple[Sign, re.Pattern[str]]]:
    return [(sign, re.compile(sign.pattern, re.IGNORECASE if sign.is_caseless else 0)) for sign in _table().signs]


@cache
def handed() -> list[tuple[Handed, re.Pattern[str]]]:
    """The ways in which one language hands a command to another."""
    return [(way, re.compile(way.pattern, re.IGNORECASE if way.is_caseless else 0)) for way in _table().handed]


_FENCED = re.compile(r"```[^\n`]*\n(.*?)(?:```|\Z)", re.DOTALL)
_INLINE = re.compile(r"(?<!`)`([^`\n]{6,})`(?!`)")
_ASKING = re.compile(
    r"\A\s*(?:(?:please|can|could|would|you|hey|hi|help|me|to|and|is|i|need|tell|we|found|saw|have|got|hello|,)\b"
    r"[ ,]*){0,8}"
    r"(?:explain|what|analy[sz]e|review|describe|is|does|check|triage|look|investigate|examine|break|walk|deobfuscate|"
    r"decode|summari[sz]e|which|how|map|inspect|assess|classify|understand|interpret|tell)\b",
    re.IGNORECASE,
)
_AFTER_QUESTION = re.compile(r"[:?]\s+(?=\S)|\n")
MAX_ASKING_CHARS = 300
_CALLED_COMMAND = re.compile(
    r"\A[^\n]{0,200}\b(?:commands?(?: lines?)?|one-?liners?)\b[^\n]{0,100}(?:[:?]\s+|\n\s*)(?=\S)", re.IGNORECASE
)
MAX_CALLED_LINES = 20  # of what is believed to be a command because the question says so


def language_of(text: str, *, name: str = "") -> Language:
    """The likeliest language of ``text``; ``name`` is what its file is called, "" for none."""
    weights = _weights(text[:LOOK_CHARS])
    ending = _table().endings.get(name.rsplit(".", 1)[-1].lower()) if "." in name else None
    if ending is not None:
        weights[ending] += _ENDING_WEIGHT
    return max(weights, key=lambda language: weights[language])


def looks_like_script(text: str) -> bool:
    """Whether any language's words stand in ``text``, so that reading it as a script makes sense."""
    return max(_weights(text[:LOOK_CHARS]).values()) >= 2


def _weights(text: str) -> dict[Language, int]:
    weights = dict.fromkeys(Language, 0)
    for sign, pattern in _signs():
        weights[sign.language] += sign.weight * sum(1 for _ in islice(pattern.finditer(text), MAX_COUNTED))
    start = text.lstrip(" \t\r\n&@\"'(")[:40].lower().replace("^", "")
    if start.startswith(("powershell", "pwsh", "cmd", "c:\\")):
        weights[Language.BATCH] += 4
    return weights


def script_in(prompt: str) -> tuple[str, int]:
    """The script in a prompt and the line where it starts, from 1: what is fenced, else what follows the question."""
    fenced = [match for match in _FENCED.finditer(prompt) if match[1].strip()]
    if fenced:
        longest = max(fenced, key=lambda match: len(match[1]))
        return longest[1].rstrip("\n"), 1 + prompt.count("\n", 0, longest.start(1))
    if not _ASKING.match(prompt):
        return prompt, 1
    inline = _INLINE.search(prompt)
    if inline is not None and looks_like_script(inline[1]):
        return inline[1], 1 + prompt.count("\n", 0, inline.start(1))
    for end in _AFTER_QUESTION.finditer(prompt[:MAX_ASKING_CHARS]):
        rest = prompt[end.end() :]
        if rest.strip() and looks_like_script(rest):
            start = len(prompt) - len(rest.lstrip())
            return prompt[start:].rstrip(), 1 + prompt.count("\n", 0, start)
    if (called := called_command(prompt)) is not None:
        return prompt[called:].rstrip(), 1 + prompt.count("\n", 0, called)
    return prompt, 1


def called_command(prompt: str) -> int | None:
    """Where that starts which the question calls a command, whatever it looks like; None where it calls nothing so."""
    match = _CALLED_COMMAND.match(prompt) if _ASKING.match(prompt) else None
    if match is None or prompt.rstrip().count("\n", match.end()) >= MAX_CALLED_LINES:
        return None
    return match.end()
