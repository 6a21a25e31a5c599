"""Which ``%svc`` lines are commands. A line is one only where the whole of it fits a form; else it is a question. Pure.

``%svc session hijacking in this log?`` asks; ``%svc session list`` lists. What options precede, or ``--``, asks always.
``session_commands.py`` carries them out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

_QUOTED = r"\"[^\"\n]+\"|'[^'\n]+'"
_NAME = rf"{_QUOTED}|[\w.:-]+"
_ID = rf"{_QUOTED}|[0-9a-f]{{6,32}}"  # as `session list` shows them; 32 hex digits are a whole one
_DURATION = r"\d{1,7}[smhd]?"
_MODEL = r"stable|experimental|[a-z][\w.]*(?:-[a-z][\w.]*)*-\d[\w.]*(?:-experimental)?"
_UNIT_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}


@dataclass(frozen=True)
class Form:
    """A command's form: its words, then a value. ``value`` is None where it takes none."""

    words: str
    help: str
    value: str | None = None
    look: str = ""
    is_value_needed: bool = False


FORMS = (
    Form("session", "the kernel's session: what answers, how long it lives, what is attached"),
    Form("session show", "the same"),
    Form("session list", "all sessions of your key; * marks the kernel's"),
    Form("session new", "a fresh one, for this kernel", "NAME", _NAME),
    Form(
        "session resume",
        "go on with one of the list: its id, the id's beginning, or its name",
        "ID",
        _ID,
        is_value_needed=True,
    ),
    Form("session rename", "another name; quotes hold several words", "NAME", _NAME, is_value_needed=True),
    Form("session extend", "let it live that long from now (300 s to 30 d), or as long as at first", "2h", _DURATION),
    Form("session delete", "end it: messages and files are erased"),
    Form("files", "what is attached to the session"),
    Form("history", "the session's last questions and how each was answered", "NUMBER", r"\d{1,4}"),
    Form("model", "the models there are, or another one: it answers in a fresh session", "NAME", _MODEL),
    Form("panel", "the chat panel, below this cell: it asks in the same session, also while cells run"),
    Form("key", "type the service's key; it is shown nowhere and kept in the system's key store"),
    Form("key delete", "take it out of the store"),
)


@dataclass(frozen=True)
class Command:
    """A line that is a command: the words of its form, and its value without quotes, or None."""

    words: str
    value: str | None = None


def parse(line: str) -> Command | None:
    """The command that the line is; None where it is a question."""
    for form in FORMS:
        match = _pattern(form).fullmatch(line)
        if match is not None:
            value = match["value"] if form.value else None
            return Command(form.words, value.strip(value[0]) if value and value[0] in "\"'" else value)
    return None


def seconds_of(duration: str) -> int:
    """``90``, ``90s``, ``5m``, ``2h`` or ``1d`` in seconds."""
    number, unit = (duration[:-1], duration[-1]) if duration[-1] in _UNIT_SECONDS else (duration, "s")
    return int(number) * _UNIT_SECONDS[unit]


def help_lines() -> list[str]:
    """A line for each form."""
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
    value = rf"[ \t]+(?P<value>{form.look})"
    return re.compile(rf"\s*{words}(?:{value}){'' if form.is_value_needed else '?'}\s*")
