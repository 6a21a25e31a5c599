"""Read a magic's line: options first, then the question to the letter. Pure.

``--`` ends the options; the first word that is none begins the question. ``%%svc`` takes its question from the cell;
what stands after the options on its first line is the question's first line. Only values of options know quotes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from svc_jupyter.errors import AskError

EXAMPLE = "%%svc --attach auth.log\nWhich accounts were brute-forced, and did anyone get in?"


@dataclass(frozen=True)
class Option:
    """One option of the magic. ``metavar`` is None where it takes no value."""

    name: str
    metavar: str | None
    help: str


OPTIONS = (
    Option(
        "--attach",
        "FILE",
        "a file to look at; again for more. {name}: a variable (DataFrame, list, dict, bytes, str, path), to 100 MB",
    ),
    Option("--into", "NAME", "put the Answer into this variable: .text, .markdown, .findings, .indicators, .messages"),
    Option("--cell", None, "write the answer as a Markdown cell below, where the front end can"),
    Option("--new", None, "ask in a fresh session"),
    Option("--model", "NAME", "stable, experimental or a model's id; another than the session's starts a fresh one"),
    Option("--timeout", "SECONDS", "cancel the turn after that long"),
    Option("--answers", "MODE", "live asks; replay asks what is not stored; pin never asks; refresh asks and stores"),
    Option("--fill", None, "replace {name} in the question by the variable's value, once"),
    Option("--help", None, "show this"),
)
_BY_NAME = {option.name: option for option in OPTIONS}
_WORD = re.compile(r"\s*(-[^\s=]+)(=?)")
_VALUE = re.compile(r"""\s*(?:"([^"]*)"|'([^']*)'|(\{[^{}\n]*\}|[^\s"'][^\s]*))(?=\s|$)""")
_BRACED = re.compile(r"\{([^\W\d]\w*)\}")


@dataclass(frozen=True, kw_only=True)
class CommandLine:
    """What a magic was given. ``attach`` holds the values as written; ``timeout_seconds`` None is no limit."""

    question: str = ""
    attach: tuple[str, ...] = ()
    into: str | None = None
    is_new: bool = False
    model: str | None = None
    timeout_seconds: float | None = None
    answers: str | None = None
    is_filled: bool = False
    is_cell: bool = False
    is_help: bool = False


def parse(line: str, cell: str | None = None) -> CommandLine:
    """The options of the line, and the question. Raises AskError with one line that says what to write."""
    ask, rest = _read_options(line)
    first = rest.strip()
    question = first if cell is None else f"{first}\n{cell}".strip("\r\n") if first else cell.strip("\r\n")
    if ask.is_help:
        return ask
    if not question.strip():
        raise AskError(f"there is no question. Write one after the options, for example: {EXAMPLE.splitlines()[1]}")
    return replace(ask, question=question)


def fill(question: str, names: dict[str, str]) -> str:
    """The question with each ``{name}`` replaced, in a single pass: what a value holds is never looked at again."""
    return _BRACED.sub(lambda match: names[match[1]], question)


def braced_names(question: str) -> list[str]:
    """The names that ``fill`` would replace, each once, in order. Other braces are text."""
    return list(dict.fromkeys(_BRACED.findall(question)))


def _read_options(line: str) -> tuple[CommandLine, str]:
    ask, rest = CommandLine(), line
    while (match := _WORD.match(rest)) is not None:
        if match[1] == "--":
            return ask, rest[match.end() :]
        option = _BY_NAME.get(match[1])
        if option is None:
            raise AskError(_unknown(match[1]))
        rest = rest[match.end() :]
        if option.metavar is None:
            if match[2]:
                raise AskError(f"{option.name} takes no value.")
            ask = _switched(ask, option)
        else:
            value, rest = _read_value(option, rest)
            ask = _set(ask, option, value)
    return ask, rest


def _read_value(option: Option, rest: str) -> tuple[str, str]:
    match = _VALUE.match(rest)
    if match is None:
        shown = rest.strip()[:60]
        problem = f"a quote is not closed: {shown}" if shown[:1] in ("'", '"') else "nothing follows it"
        raise AskError(f"{option.name} needs {option.metavar}: {problem}.")
    value = next(group for group in match.groups() if group is not None)
    if value.startswith("--") and match[3] is not None:
        raise AskError(f"{option.name} needs {option.metavar}, but {value} follows it.")
    if not value:
        raise AskError(f"{option.name} needs {option.metavar}, but it is empty.")
    return value, rest[match.end() :]


def _switched(ask: CommandLine, option: Option) -> CommandLine:
    match option.name:
        case "--new":
            return replace(ask, is_new=True)
        case "--fill":
            return replace(ask, is_filled=True)
        case "--cell":
            return replace(ask, is_cell=True)
        case _:
            return replace(ask, is_help=True)


def _set(ask: CommandLine, option: Option, value: str) -> CommandLine:
    match option.name:
        case "--attach":
            return replace(ask, attach=(*ask.attach, value))
        case "--into":
            return replace(ask, into=_variable_name(value))
        case "--model":
            return replace(ask, model=value)
        case "--answers":
            return replace(ask, answers=value)
        case _:
            return replace(ask, timeout_seconds=_seconds(value))


def _variable_name(value: str) -> str:
    from keyword import iskeyword

    if not value.isidentifier() or iskeyword(value):
        raise AskError(f"--into needs the name of a variable; {value!r} is none. For example: --into answer")
    return value


def _seconds(value: str) -> float:
    try:
        seconds = float(value)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 1_000_000:
        raise AskError(f"--timeout needs seconds, more than 0; {value!r} is not. For example: --timeout 60")
    return seconds


def _unknown(word: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(word, _BY_NAME, n=1, cutoff=0.5)
    hint = f"Did you mean {near[0]}?" if near else f"There are {', '.join(_BY_NAME)}."
    return f"no option {word}. {hint} Write -- before a question that begins with a dash."
