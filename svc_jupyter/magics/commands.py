"""Parse ``%svc`` commands. A line is a command only if all of it matches one; otherwise it is a question.

``%svc session hijacking in this log?`` asks; ``%svc session list`` lists. A line that begins with an option or ``--``
always asks. ``session_commands.py`` runs the commands.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

_QUOTED = r"\"[^\"\n]+\"|'[^'\n]+'"
_NAME = rf"{_QUOTED}|[\w.:-]+"
_ID = rf"{_QUOTED}|[0-9a-f]{{6,32}}"  # a full ID has 32 hex digits
_FILE = rf"{_QUOTED}|[^\s\"']+"
_DURATION = r"\d{1,7}[smhd]?"
_MODEL = r"stable|experimental|[a-z][\w.]*(?:-[a-z][\w.]*)*-\d[\w.]*(?:-experimental)?"
_UNIT_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}


@dataclass(frozen=True)
class Form:
    """A command: its words, then a value, whose ``value`` is its name in the help, or None. ``pattern`` matches it."""

    words: str
    help: str
    value: str | None = None
    pattern: str = ""
    is_value_needed: bool = False


FORMS = (
    Form("session", "show this kernel's session: model, expiry, files"),
    Form("session show", "same as session"),
    Form(
        "session list",
        "list your sessions, the last used first (* = this kernel's), or those about TEXT",
        "TEXT",
        _NAME,
    ),
    Form("session new", "start a new session in this kernel", "NAME", _NAME),
    Form(
        "session resume",
        "resume a session by ID, ID prefix or name; without one, the session that this notebook had before",
        "ID",
        _ID,
    ),
    Form("session rename", "rename the session (quote names with spaces)", "NAME", _NAME, is_value_needed=True),
    Form(
        "session extend",
        "let it expire that much later than now, never earlier (300 s to 30 d; default: its lifetime)",
        "2h",
        _DURATION,
    ),
    Form("session delete", "delete the session with its messages and files"),
    Form("files", "list the attached files, the latest first"),
    Form("files remove", "remove an attached file from the session", "NAME", _FILE, is_value_needed=True),
    Form(
        "history",
        "list the last questions; with --show, show the answer of question NUMBER again",
        "NUMBER [--show]",
        r"\d{1,4}(?:[ \t]+--show)?",
    ),
    Form("model", "list the models, or start a new session with another model", "NAME", _MODEL),
    Form("panel", "show the chat panel below this cell; it uses the same session"),
    Form("key", "prompt for the API key (hidden) and save it in the keyring"),
    Form("key delete", "delete the saved API key"),
)


@dataclass(frozen=True)
class Command:
    """A parsed command: its words, and its value without quotes, or None."""

    words: str
    value: str | None = None


def parse(line: str) -> Command | None:
    """Return the command, or None if the line is a question."""
    for form in FORMS:
        match = _pattern(form).fullmatch(line)
        if match is not None:
            value = match["value"] if form.value else None
            return Command(form.words, value.strip(value[0]) if value and value[0] in "\"'" else value)
    return None


def seconds_of(duration: str) -> int:
    """Convert ``90``, ``90s``, ``5m``, ``2h`` or ``1d`` to seconds."""
    number, unit = (duration[:-1], duration[-1]) if duration[-1] in _UNIT_SECONDS else (duration, "s")
    return int(number) * _UNIT_SECONDS[unit]


def help_lines() -> list[str]:
    """Return a line of help for each command."""
    usages = [f"%svc {form.words}{_usage(form)}" for form in FORMS]
    width = max(map(len, usages))
    return [f"{usage:{width}}  {form.help}" for usage, form in zip(usages, FORMS, strict=True)]


def _usage(form: Form) -> str:
    if form.value is None:
        return ""
    return f" {form.value}" if form.is_value_needed else f" [{form.value}]"


@cache
def _pattern(form: Form) -> re.Pattern[str]:
    words = r"[ \t]+".join(form.words.split())
    if form.value is None:
        return re.compile(rf"\s*{words}\s*")
    value = rf"[ \t]+(?P<value>{form.pattern})"
    return re.compile(rf"\s*{words}(?:{value}){'' if form.is_value_needed else '?'}\s*")
