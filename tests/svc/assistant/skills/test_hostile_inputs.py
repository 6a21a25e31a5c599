"""Every skill reads hostile texts of its own kind in linear time: near misses of what it looks for, repeated."""

import importlib
import io
import time
from collections.abc import Callable, Iterator

import pytest

from svc.assistant.findings import InputKind, ToolEvent
from svc.assistant.skills.catalogue import SKILLS, skill_named
from svc.assistant.skills.skill import Skill
from tests.support.sampling import sampled

SMALL, LARGE = 64_000, 256_000
MOST_SECONDS = 60.0  # of processor time for 256,000 characters: a job has 240
GROWTH = 9.0  # linear time grows 4 times between the sizes, quadratic time 16
FLOOR_SECONDS = 0.5
_COMMON = ("a", " ", "\n", "<", "a.a", "1.", '="', "\\", "a,", "(")
_NEAR = {
    "events": ("<Event >", "<Event ><System>", '{"EventID": ', "type=SYSCALL msg=audit(1:1", "Jan  1 00:00:00 h a: "),
    "auth_log": (
        "Jan  1 00:00:00 h sshd[1]: Failed password for ",
        "message repeated 9 times: [ ",
        "a : TTY=a ; PWD=a ; ",
    ),
    "script": (
        "powershell -enc ",
        "$a='b'+",
        "`printf '\\0723",
        'if a | b && c "',
        "[char]65+",
        "''+''+",
        "eval(unescape('",
    ),
    "decode": ("\\x41", "313 203 ", "%41", "&#65;", "YWJj\n", "[char]65,", '"{0}" -f ', "01000001 ", "=41=\n"),
    "versions": ("1.0 and ", ">=1.0, ", "0a0a", "[1.0,", "a@1.0", "version of the package ", "between 1.0 and "),
    "indicators": ("a.example", "a@", "C:\\a b\\", "hxxp://", "HKLM\\a", "::", "1.2.3.", "/etc/a ", "a[.]"),
    "code_review": ("eval(", "x = ", "password = '", "SELECT * FROM a", "server {", "<?php ", "return f'<a "),
    "mail": (
        "Received: from a by b\n",
        "Subject: =?utf-8?b?",
        "<a href='",
        "From: a <a@",
        "Authentication-Results: a; spf=",
    ),
    "weakness": ("buffer overflow in ", "page contains ", "(", "via crafted "),
    "behaviours": ("T1059 ", "powershell.exe -nop ", "The actor used ", ". A"),
    "cvss": ("CVSS:3.1/AV:N/", "AV:N/", "CVSS "),
    "hash_kind": ("d41d8cd9", "a::b:", "$2a$10$", "user:1:"),
    "token": ("eyJhbGciOiJub25lIn0.", "eyJ", "a.b.c "),
    "certificate": ("-----BEGIN CERTIFICATE-----\n", "MIIB", "-----BEGIN "),
    "attack": ("T1059, ", "what is ", "APT"),
    "cve": ("CVE-2024-", "CVE-2024-3400 "),
}


def cases() -> Iterator[tuple[str, str]]:
    for skill in SKILLS:
        if skill.input in (InputKind.TEXT, InputKind.LINES, InputKind.BINARY) and skill.name in _NEAR:
            yield from ((skill.name, unit) for unit in _NEAR[skill.name])
        if skill.input in (InputKind.TEXT, InputKind.LINES):
            yield from ((skill.name, unit) for unit in _COMMON)


def seconds(skill: Skill, unit: str, size: int) -> float:
    """The processor time of a skill's tool over a text of that size."""
    module, _, function = skill.tool.partition(":")
    tool: Callable[..., Iterator[ToolEvent]] = getattr(importlib.import_module(module), function)
    text = unit * (size // len(unit))
    content = {InputKind.TEXT: text, InputKind.LINES: iter(text.split("\n"))}.get(skill.input) or io.BytesIO(
        text.encode()
    )
    started = time.thread_time()
    for _ in tool(content, source="a.txt"):
        pass
    return time.thread_time() - started


def assert_is_linear(name: str, unit: str) -> None:
    skill = skill_named(name)
    large = seconds(skill, unit, LARGE)
    assert large < MOST_SECONDS, (name, unit)
    if large > FLOOR_SECONDS:
        assert large / seconds(skill, unit, SMALL) < GROWTH, (name, unit)


def test_the_near_misses_are_of_skills():
    assert _NEAR.keys() <= {skill.name for skill in SKILLS}


@pytest.mark.parametrize(("name", "unit"), sampled(list(cases())[::12], 9))
def test_a_skill_reads_hostile_text_in_linear_time(name: str, unit: str):
    assert_is_linear(name, unit)


@pytest.mark.long
@pytest.mark.parametrize(("name", "unit"), list(cases()))
def test_a_skill_reads_every_hostile_text_in_linear_time(name: str, unit: str):
    assert_is_linear(name, unit)
