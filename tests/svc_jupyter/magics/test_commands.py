"""A line is a command only where the whole of it fits; anything else is a question."""

from __future__ import annotations

import re

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from svc_jupyter.magics.commands import FORMS, Command, did_you_mean, help_lines, parse, seconds_of

VALUES = {
    "session new": ("Ticket-4711", '"Ticket 4711"'),
    "session resume": ("0a1b2c", "0123456789abcdef0123456789abcdef", '"Ticket 4711"', "'my-own-id'"),
    "session rename": ("Ticket-4711", "'Ticket 4711'", '"what is this?"'),
    "session extend": ("300", "90s", "5m", "2h", "30d"),
    "history": ("1", "250"),
    "model": ("stable", "experimental", "svc-1.1", "svc-1.2-experimental", "big-model-3"),
}
LINES = [
    (f"{form.words} {value}".rstrip(), Command(form.words, value.strip("\"'") or None))
    for form in FORMS
    for value in ([] if form.is_value_needed else [""]) + list(VALUES.get(form.words, ()))
]


@pytest.mark.parametrize(("line", "command"), LINES, ids=[line for line, _ in LINES])
def test_a_line_that_fits_is_a_command(line: str, command: Command):
    assert parse(line) == command
    assert parse(f"  {line.replace(' ', '  ', 1)} \n") == command


@pytest.mark.parametrize(
    "line",
    [
        "session hijacking in this log?",
        "files with macros",
        "files?",
        "key exchange",
        "key delete attempts in this trace",
        "history of this account",
        "history 5 times",
        "model poisoning",
        "model CVE-2021-44228",
        "session list of attackers",
        "session resume attack",
        "session resume what?",
        "session rename two words",
        "session rename what?",
        "session rename",
        "session extend soon",
        "session delete all",
        "Session list",
        "--new session list",
        "-- session list",
        "sessions",
        "session\nlist",
    ],
)
def test_anything_else_is_a_question(line: str):
    assert parse(line) is None


WORDS = st.sampled_from(sorted({word for form in FORMS for word in form.words.split()} | set("?.,'\"-0a")))


@given(st.sampled_from([line for line, _ in LINES]), st.text(min_size=1, max_size=20))
@settings(max_examples=100, deadline=None)
def test_more_words_make_a_question_of_a_command(line: str, more: str):
    assume(more.strip())

    assert says_all(f"{line} {more}")


@given(st.lists(WORDS | st.text(max_size=6), max_size=5).map(" ".join))
@settings(max_examples=200, deadline=None)
def test_a_command_says_all_of_its_line(line: str):
    assert says_all(line)


def says_all(line: str) -> bool:
    """Whether the line is a question, or a command that can be written again from what was understood."""
    found = parse(line)
    if found is None:
        return True
    quotes = ("", "'", '"') if found.value else ("",)
    return " ".join(line.split()) in {
        f"{found.words} {q}{' '.join((found.value or '').split())}{q}".strip() for q in quotes
    }


@pytest.mark.parametrize(
    ("text", "seconds"), [("300", 300), ("90s", 90), ("5m", 300), ("2h", 7_200), ("30d", 2_592_000)]
)
def test_durations_are_seconds(text: str, seconds: int):
    assert seconds_of(text) == seconds


def test_every_form_has_its_line_of_help():
    lines = help_lines()

    assert len(lines) == len(FORMS)
    assert "%svc session resume [ID]   " in "\n".join(lines)
    assert "%svc session new [NAME]  " in "\n".join(lines)


TYPOS = {
    "sesion": "session", "sesion list": "session list", "session lst": "session list", "sessions": "session",
    "session ls": "session list", "histroy": "history", "hisotry 3": "history", "pannel": "panel", "file": "files",
    "fles remove a.log": "files remove", "models": "model", "modle svc-1.1": "model", "model list": "model",
    "key delte": "key delete", "session resme 1a2b3c": "session resume", "session renme case7": "session rename",
    "session extned 2h": "session extend", "session remove": "session delete", "hlep": "help", "help session": "help",
}  # fmt: skip
HELD_TYPOS = {
    "seesion": "session", "session lsit": "session list", "session delet": "session delete", "histry": "history",
    "hsitory 12": "history", "flies": "files", "files remov x.csv": "files remove", "panels": "panel",
    "mdoel": "model", "keey": "key", "session nwe": "session new", "sesssion resume 0a1b2c3d": "session resume",
    "session raname 'my case'": "session rename", "session extent 90m": "session extend", "list models": "model",
    "session use 0a1b2c": "session resume", "key rm": "key delete", "halp": "help", "session shwo": "session show",
    "files delete b.log": "files remove",
}  # fmt: skip
QUESTIONS = (
    "session hijacking", "session cookies stolen", "who got in", "files encrypted", "key logging", "keylogger",
    "model theft", "panel login", "history cleared", "T1059.001", "mimikatz", "8.8.8.8", "what is new", "key exchange",
    "file hash", "model inversion attack", "session fixation", "phishing", "summary", "timeline", "why", "session key",
    "kernel panic", "delete files", "models?", "session hijacking in this log", "help me with this log",
)  # fmt: skip
HELD_QUESTIONS = (
    "beacon", "session tokens leaked", "key material", "file upload", "files with macros", "model poisoning",
    "history of logins", "panel", "lateral movement", "help desk scam", "failed logins", "session replay attack",
    "keys rotated", "new accounts", "hash", "mail", "and bob?", "DCSync", "decode SGVsbG8=", "ransomware", "modem dial",
    "list accounts", "files deleted", "sessions by user", "historical logins", "passwords",
)  # fmt: skip


@pytest.mark.parametrize(("line", "words"), [*TYPOS.items(), *HELD_TYPOS.items()])
def test_a_mistyped_command_has_a_hint(line: str, words: str):
    assert parse(line) is None
    assert re.match(rf"%svc {words}(?: [A-Z\[].*)?$", did_you_mean(line) or "")


@pytest.mark.parametrize("line", [*QUESTIONS, *HELD_QUESTIONS])
def test_a_short_question_is_not_taken_for_a_mistyped_command(line: str):
    assert parse(line) is not None or did_you_mean(line) is None
