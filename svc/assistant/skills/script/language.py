"""Detect the language of a script or a command, and find the script in a prompt.

If several shells know the words of a one-liner, the weights of the patterns decide; the names of commands and a file
name add to them. A text that nothing tells apart has no language. Facts: ``languages.toml``.
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
    """The supported script languages."""

    POWERSHELL = "PowerShell"
    SHELL = "Unix shell"
    BATCH = "Windows command shell"
    VBA = "Visual Basic"
    JAVASCRIPT = "JavaScript"
    PYTHON = "Python"
    SQL = "SQL"
    PHP = "PHP"
    PERL = "Perl"
    UNKNOWN = "language not clear"
    """Nothing in a text tells its language, or two languages are as likely."""


DETECTION_CHARS = 20_000  # at the start of a script, that show its language
_ENDING_WEIGHT = 12  # of a file name's ending; patterns in languages.toml weigh 2 to 9
_LEAST_WEIGHT = 2  # below it a text is not taken for a script
_COMMAND_WEIGHT = 3  # of the name of a command that only one system has
MAX_COMMANDS = 6  # of a text whose names count
MAX_COUNTED = 3  # matches of one pattern that count


class LanguagePattern(msgspec.Struct, frozen=True):
    """A pattern that suggests a language."""

    language: Language
    weight: int
    pattern: str
    is_caseless: bool


class Handover(msgspec.Struct, frozen=True):
    """A way to pass code to another language; the first group that matches is the code."""

    language: Language
    how: str
    pattern: str
    is_caseless: bool


class ScriptLanguageTable(msgspec.Struct, frozen=True):
    """``languages.toml``."""

    source: str
    version: str
    date: date
    endings: dict[str, Language]
    commands: dict[Language, list[str]]
    patterns: list[LanguagePattern]
    handovers: list[Handover]


@cache
def _table() -> ScriptLanguageTable:
    return load("languages.toml", ScriptLanguageTable, __package__)


@cache
def _patterns() -> list[tuple[LanguagePattern, re.Pattern[str]]]:
    return [
        (one, re.compile(one.pattern, re.MULTILINE | (re.IGNORECASE if one.is_caseless else 0)))
        for one in _table().patterns
    ]


@cache
def handovers() -> list[tuple[Handover, re.Pattern[str]]]:
    """Return the ways in which one language passes code to another."""
    return [(one, re.compile(one.pattern, re.IGNORECASE if one.is_caseless else 0)) for one in _table().handovers]


@cache
def _commands() -> dict[str, Language]:
    return {name: language for language, names in _table().commands.items() for name in names}


_COMMAND_NAME = re.compile(r"(?:^|[;|&(]|\bsudo |@)[^\S\n]{0,20}([A-Za-z0-9][\w.-]{0,30})(?=[\s;|&)]|$)", re.MULTILINE)
_FENCED = re.compile(r"```[^\n`]*\n(.*?)(?:```|\Z)", re.DOTALL)
_INLINE = re.compile(r"(?<!`)`([^`\n]{6,})`(?!`)")
_QUESTION = re.compile(
    r"\A\s*(?:(?:please|can|could|would|you|hey|hi|help|me|to|and|is|i|need|tell|we|found|saw|have|got|hello|,)\b"
    r"[ ,]*){0,8}"
    r"(?:explain|what|analy[sz]e|review|describe|is|does|check|triage|look|investigate|examine|break|walk|deobfuscate|"
    r"decode|summari[sz]e|which|how|map|inspect|assess|classify|understand|interpret|tell)\b",
    re.IGNORECASE,
)
_AFTER_QUESTION = re.compile(r"[:?]\s+(?=\S)|\n")
MAX_QUESTION_CHARS = 300
_NAMED_COMMAND = re.compile(
    r"\A[^\n]{0,200}\b(?:commands?(?: lines?)?|one-?liners?)\b[^\n]{0,100}(?:[:?]\s+|\n\s*)(?=\S)", re.IGNORECASE
)
MAX_CALLED_LINES = 20  # of text that counts as a command only because the question calls it one


def language_of(text: str, *, name: str = "") -> Language:
    """Return the most likely language of ``text``; ``name`` is the file name, or ""."""
    weights = _weights(text[:DETECTION_CHARS])
    for command in islice(_COMMAND_NAME.finditer(text[:DETECTION_CHARS]), MAX_COMMANDS):
        language = _commands().get(command[1].lower().removesuffix(".exe"))
        if language is not None and language is not Language.UNKNOWN:
            weights[language] += _COMMAND_WEIGHT
    ending = ending_language(name)
    if ending is not None:
        weights[ending] += _ENDING_WEIGHT
    best, second, *_ = sorted(weights, key=lambda language: -weights[language])
    return best if weights[best] > weights[second] else Language.UNKNOWN


def ending_language(name: str) -> Language | None:
    """Return the language of a file name's ending, or None if it is not that of a script."""
    return _table().endings.get(name.rsplit(".", 1)[-1].lower()) if "." in name else None


def looks_like_script(text: str) -> bool:
    """Whether ``text`` has enough words of any language to be examined as a script."""
    first = _COMMAND_NAME.match(text.lstrip()[:MAX_QUESTION_CHARS])
    is_command = first is not None and first[1].removesuffix(".exe") in _commands()
    return is_command or max(_weights(text[:DETECTION_CHARS]).values()) >= _LEAST_WEIGHT


def _weights(text: str) -> dict[Language, int]:
    weights = dict.fromkeys(Language, 0)
    for one, pattern in _patterns():
        weights[one.language] += one.weight * sum(1 for _ in islice(pattern.finditer(text), MAX_COUNTED))
    start = text.lstrip(" \t\r\n&@\"'(")[:40].lower().replace("^", "")
    if start.startswith(("powershell", "pwsh", "cmd", "c:\\")):
        weights[Language.BATCH] += 4
    return weights


def script_in(prompt: str) -> tuple[str, int]:
    """Return the script in a prompt and its first line, from 1: the fenced block, or else what follows the question."""
    fenced = [match for match in _FENCED.finditer(prompt) if match[1].strip()]
    if fenced:
        longest = max(fenced, key=lambda match: len(match[1]))
        return longest[1].rstrip("\n"), 1 + prompt.count("\n", 0, longest.start(1))
    if not _QUESTION.match(prompt):
        return prompt, 1
    inline = _INLINE.search(prompt)
    if inline is not None and looks_like_script(inline[1]):
        return inline[1], 1 + prompt.count("\n", 0, inline.start(1))
    for end in _AFTER_QUESTION.finditer(prompt[:MAX_QUESTION_CHARS]):
        rest = prompt[end.end() :]
        if rest.strip() and looks_like_script(rest):
            start = len(prompt) - len(rest.lstrip())
            return prompt[start:].rstrip(), 1 + prompt.count("\n", 0, start)
    if (called := called_command(prompt)) is not None:
        return prompt[called:].rstrip(), 1 + prompt.count("\n", 0, called)
    return prompt, 1


def called_command(prompt: str) -> int | None:
    """Return the start of the text that the question calls a command, whatever it looks like; None if there is none."""
    match = _NAMED_COMMAND.match(prompt) if _QUESTION.match(prompt) else None
    if match is None or prompt.rstrip().count("\n", match.end()) >= MAX_CALLED_LINES:
        return None
    return match.end()


_HELP = re.compile(
    r"<#\s{0,20}\.(?:synopsis|description|notes)\b|^\s{0,20}#requires\b|\[cmdletbinding\s{0,5}\(|^\s{0,20}param\s{0,10}\(",
    re.IGNORECASE | re.MULTILINE,
)
_REMARK = re.compile(
    r"^[ \t]{0,40}(?:#|//|'|::|rem )[ \t]{0,5}(?!region)(?:[A-Za-z][\w'-]{0,30}[ ,.:]{1,3}){3}", re.MULTILINE
)
MIN_REMARKS = 3


def is_documented(script: str) -> bool:
    """Whether a script is written for others: with its own help or parameters, or with remarks in sentences."""
    return _HELP.search(script) is not None or len(_REMARK.findall(script)) >= MIN_REMARKS
