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
_WORDS_OF_OTHER_TOOLS = {
    "files": {"list": "files", "ls": "files", "show": "files", "delete": "files remove", "rm": "files remove"},
    "help": dict.fromkeys(("files", "history", "key", "model", "panel", "session"), "help"),
    "history": {"all": "history", "list": "history", "show": "history", "--show": "history"},
    "key": {"remove": "key delete", "rm": "key delete", "set": "key", "login": "key"},
    "list": {"files": "files", "models": "model", "sessions": "session list"},
    "model": {"list": "model", "ls": "model", "set": "model"},
    "session": {
        "close": "session delete", "del": "session delete", "end": "session delete", "help": "help",
        "ls": "session list", "remove": "session delete", "rm": "session delete", "switch": "session resume",
        "use": "session resume",
    },
}  # fmt: skip
_MOST_WORDS = 4  # of a mistyped command; a line of more words is a question
_RESEMBLES = 0.7  # likeness of each word, from 0 to 1, at which a line is taken for a mistyped command
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
    Form("help", "show this help; so does %svc alone"),
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
        "resume a session by ID, ID prefix or name; without one, this notebook's previous session",
        "ID",
        _ID,
    ),
    Form("session rename", "rename the session (quote names with spaces)", "NAME", _NAME, is_value_needed=True),
    Form(
        "session extend",
        "keep it for this long from now; never shortens it (300 s to 30 d; default: its lifetime)",
        "2h",
        _DURATION,
    ),
    Form("session delete", "delete the session with its messages and files"),
    Form("files", "list the attached files, newest first"),
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


def did_you_mean(line: str) -> str | None:
    """Return the command that a line of at most four words resembles; None if it reads like a question."""
    typed = line.lower().split()
    if not 0 < len(typed) <= _MOST_WORDS or typed[0].startswith("-") or line.rstrip().endswith("?"):
        return None
    other = _WORDS_OF_OTHER_TOOLS.get(typed[0], {}).get(typed[1]) if 1 < len(typed) <= _MOST_WORDS - 1 else None
    meant = next(form for form in FORMS if form.words == other) if other else _most_alike(line, typed)
    return None if meant is None else f"%svc {meant.words}{_usage(meant)}"


def _most_alike(line: str, typed: list[str]) -> Form | None:
    best, meant = _RESEMBLES, None
    for form in FORMS:
        words = form.words.split()
        rest = line.split(maxsplit=len(words))[len(words) :]
        if len(typed) < len(words) or not _can_follow(form, rest):
            continue
        likeness = min(_likeness(one, word) for one, word in zip(typed, words, strict=False))
        if likeness >= best:
            best, meant = likeness, form
    return meant


def _likeness(typed: str, word: str) -> float:
    """From 0 to 1; letters in the wrong order count as one slip."""
    from difflib import SequenceMatcher

    if typed != word and sorted(typed) == sorted(word):
        return 0.9
    return SequenceMatcher(None, typed, word).ratio()


def _can_follow(form: Form, rest: list[str]) -> bool:
    return not rest or bool(form.value and re.fullmatch(form.pattern, rest[0].strip()))


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
