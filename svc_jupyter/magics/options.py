"""Parse a magic's line: options first, then the question verbatim.

``--``, or the first word that is not an option, ends the options. The question of ``%%svc`` is the cell; text after the
options on its first line becomes the first line of the question. Only option values may be quoted.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from svc_jupyter.errors import AskError

EXAMPLE = "%%svc --attach auth.log\nWhich accounts were brute-forced, and did anyone get in?"


@dataclass(frozen=True)
class Option:
    """An option of the magic. ``metavar`` is None if it takes no value."""

    name: str
    metavar: str | None
    help: str


OPTIONS = (
    Option(
        "--attach",
        "FILE",
        "file, archive or folder to attach, or {name} for a variable up to 100 MB "
        "(DataFrame, list, dict, bytes, str, path); repeatable",
    ),
    Option("--all", None, "ask about all files of the session, not only those of --attach"),
    Option("--into", "NAME", "assign the Answer to this variable: .text, .markdown, .findings, .indicators, .messages"),
    Option("--cell", None, "insert the answer as a Markdown cell below, if the front end supports it"),
    Option("--new", None, "start a new session"),
    Option(
        "--model",
        "NAME",
        "stable, experimental or a model's ID; starts a new session if it differs from the current model",
    ),
    Option("--timeout", "SECONDS", "cancel the question after this time"),
    Option(
        "--answers",
        "MODE",
        "live: always ask; replay: ask what is not stored; pin: only stored answers; refresh: ask and store",
    ),
    Option("--fill", None, "replace {name} in the question by the variable's value"),
    Option("--help", None, "show this help"),
)
_BY_NAME = {option.name: option for option in OPTIONS}
_WORD = re.compile(r"\s*(-[^\s=]+)(=?)")
_VALUE = re.compile(r"""\s*(?:"([^"]*)"|'([^']*)'|(\{[^{}\n]*\}|[^\s"'][^\s]*))(?=\s|$)""")
_BRACED = re.compile(r"\{([^\W\d]\w*)\}")


@dataclass(frozen=True, kw_only=True)
class CommandLine:
    """A parsed line. ``attach`` has the values as written; ``timeout_seconds`` None means no limit."""

    question: str = ""
    attach: tuple[str, ...] = ()
    into: str | None = None
    is_about_all: bool = False
    is_new: bool = False
    model: str | None = None
    timeout_seconds: float | None = None
    answers: str | None = None
    is_filled: bool = False
    is_cell: bool = False
    is_help: bool = False


def parse(line: str, cell: str | None = None) -> CommandLine:
    """Parse the line, and the cell if there is one. Raises AskError if an option or the question is wrong."""
    command_line, rest = _read_options(line)
    first = rest.strip()
    question = first if cell is None else f"{first}\n{cell}".strip("\r\n") if first else cell.strip("\r\n")
    if command_line.is_help:
        return command_line
    if not question.strip():
        raise AskError(f"the question is missing. Write it after the options, for example: {EXAMPLE.splitlines()[1]}")
    return replace(command_line, question=question)


def fill(question: str, names: dict[str, str]) -> str:
    """Replace each ``{name}`` in a single pass, so that names in braces inside a value are not replaced."""
    return _BRACED.sub(lambda match: names[match[1]], question)


def braced_names(question: str) -> list[str]:
    """Return the names that ``fill`` would replace, each once, in order. Other braces are text."""
    return list(dict.fromkeys(_BRACED.findall(question)))


def _read_options(line: str) -> tuple[CommandLine, str]:
    command_line, rest = CommandLine(), line
    while (match := _WORD.match(rest)) is not None:
        if match[1] == "--":
            return command_line, rest[match.end() :]
        option = _BY_NAME.get(match[1])
        if option is None:
            raise AskError(_unknown(match[1]))
        rest = rest[match.end() :]
        if option.metavar is None:
            if match[2]:
                raise AskError(f"{option.name} takes no value.")
            command_line = _with_flag(command_line, option)
        else:
            value, rest = _read_value(option, rest)
            command_line = _with_value(command_line, option, value)
    return command_line, rest


def _read_value(option: Option, rest: str) -> tuple[str, str]:
    match = _VALUE.match(rest)
    if match is None:
        shown = rest.strip()[:60]
        problem = f"unclosed quote: {shown}" if shown[:1] in ("'", '"') else "the value is missing"
        raise AskError(f"{option.name} needs {option.metavar}: {problem}.")
    value = next(group for group in match.groups() if group is not None)
    if value.startswith("--") and match[3] is not None:
        raise AskError(f"{option.name} needs {option.metavar}, but is followed by {value}.")
    if not value:
        raise AskError(f"{option.name} needs {option.metavar}, but it is empty.")
    return value, rest[match.end() :]


def _with_flag(command_line: CommandLine, option: Option) -> CommandLine:
    match option.name:
        case "--all":
            return replace(command_line, is_about_all=True)
        case "--new":
            return replace(command_line, is_new=True)
        case "--fill":
            return replace(command_line, is_filled=True)
        case "--cell":
            return replace(command_line, is_cell=True)
        case _:
            return replace(command_line, is_help=True)


def _with_value(command_line: CommandLine, option: Option, value: str) -> CommandLine:
    match option.name:
        case "--attach":
            return replace(command_line, attach=(*command_line.attach, value))
        case "--into":
            return replace(command_line, into=_variable_name(value))
        case "--model":
            return replace(command_line, model=value)
        case "--answers":
            return replace(command_line, answers=value)
        case _:
            return replace(command_line, timeout_seconds=_parse_seconds(value))


def _variable_name(value: str) -> str:
    from keyword import iskeyword

    if not value.isidentifier() or iskeyword(value):
        raise AskError(f"--into needs a variable name; {value!r} is not one. For example: --into answer")
    return value


def _parse_seconds(value: str) -> float:
    try:
        seconds = float(value)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 1_000_000:
        raise AskError(f"--timeout needs a number of seconds above 0, not {value!r}. For example: --timeout 60")
    return seconds


def _unknown(word: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(word, _BY_NAME, n=1, cutoff=0.5)
    hint = f"Did you mean {near[0]}?" if near else f"Options: {', '.join(_BY_NAME)}."
    return f"unknown option {word}. {hint} Put -- before a question that begins with a dash."
