"""Describe what a command does: its program, its options, and the locations that it names.

A program that the table does not have is not guessed at. Facts: ``explain.toml``.
"""

from __future__ import annotations

import re
from datetime import date
from functools import cache

import msgspec

from svc.assistant.knowledge import load
from svc.assistant.skills.script.commands import Command

MAX_VALUE_CHARS = 80  # of an option's value
MAX_OPTIONS = 8
_PLACE = re.compile(r"%\w+%|\$env:\w+|\$(?:home|pshome)\b|/dev/(?:shm|null|tcp)\b", re.IGNORECASE)


class CommandHelp(msgspec.Struct, frozen=True):
    """What a program or a call does, and what its options mean; ``{}`` is an option's value.

    ``is_prefix`` if the program accepts abbreviated options.
    """

    names: list[str]
    says: str
    is_prefix: bool = False
    options: dict[str, str] = {}


class CommandHelpTable(msgspec.Struct, frozen=True):
    """``explain.toml``; ``places`` are meanings of variables and special paths."""

    source: str
    version: str
    date: date
    places: dict[str, str]
    words: list[CommandHelp]


@cache
def _table() -> CommandHelpTable:
    return load("explain.toml", CommandHelpTable, __package__)


@cache
def _by_name() -> dict[str, CommandHelp]:
    return {name: words for words in _table().words for name in words.names}


def program_of(part: Command) -> str:
    """Return the name of the program or call in the form of the table: no directory, no ``.exe``, lower case."""
    name = part.name.strip("&@(\"' ").lower()
    return re.sub(r"\.exe$", "", name if name.startswith(".") else name[max(map(name.rfind, "/\\")) + 1 :] or name)


def words_for(part: Command) -> str:
    """Describe a command as the end of a sentence that begins with "it"; "" if the table does not have it."""
    known = _by_name().get(program_of(part))
    if known is None:
        return ""
    options = _options(part.arguments, known)
    places = _places(part.text)
    return ", ".join([known.says, *options]) + (f" ({'; '.join(places)})" if places else "")


def _options(arguments: tuple[str, ...], known: CommandHelp) -> list[str]:
    meanings: list[str] = []
    index = 0
    while index < len(arguments) and len(meanings) < MAX_OPTIONS:
        name, given = _split(arguments[index], known)
        meaning = _meaning(name, known)
        index += 1
        if meaning is None:
            continue
        if "{}" in meaning:
            value = given or (arguments[index] if index < len(arguments) else "")
            index += not given
            meaning = meaning.replace("{}", value[:MAX_VALUE_CHARS])
        meanings.append(meaning)
    return meanings


def _split(argument: str, known: CommandHelp) -> tuple[str, str]:
    """Split an option into its name and the value after ``:`` or ``=``, "" without one."""
    if argument in known.options or argument.lower() in known.options:
        return argument, ""
    match = re.match(r"([-/]{1,2}[\w-]+)[:=](.+)", argument, re.DOTALL)
    return (match[1], match[2]) if match else (argument, "")


def _meaning(argument: str, known: CommandHelp) -> str | None:
    if not known.options:
        return None
    if (exact := known.options.get(argument) or known.options.get(argument.lower())) is not None:
        return exact
    lower = argument.lower().replace("\u2013", "-")
    if known.is_prefix and len(lower) > 1 and lower[0] in "-/":
        return next((meaning for name, meaning in known.options.items() if name[1:].startswith(lower[1:])), None)
    return None


def _places(text: str) -> list[str]:
    found = dict.fromkeys(match[0].lower() for match in _PLACE.finditer(text))
    return [f"{name} is {_table().places[name]}" for name in found if name in _table().places]
