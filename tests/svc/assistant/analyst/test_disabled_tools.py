"""Toolsets that a session's client disabled: their tools do not run, and the answer says what was left out."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from svc.assistant.skills.catalogue import SKILLS
from svc.assistant.turn import Exchange, Step
from svc.messages import AnswerStatus, MimeType
from tests.support.inline_analyst import ask

ALL = tuple(skill.name for skill in SKILLS)
LOG = b"".join(
    b"Nov 20 02:1%d:07 web-3 sshd[%d]: Failed password for root from 203.0.113.7 port 4242 ssh2\n" % (n, 100 + n)
    for n in range(10)
)
CASES = {  # question, files, the tool that would answer it
    "a log": ("Which accounts were brute-forced?", [("auth.log", LOG)], "auth_log"),
    "an open question": ("Is anything suspicious here?", [("auth.log", LOG)], "auth_log"),
    "a value": ("What is d41d8cd98f00b204e9800998ecf8427e?", [], "hash_kind"),
    "a score": ("Score CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H", [], "cvss"),
    "a subject": ("What is T1110.003?", [], "attack"),
    "a payload": ("Decode this: cG93ZXJzaGVsbCAtZW5jIGFhYWFhYWFhYWFhYWFh", [], "decode"),
    "an indicator list": (
        "List the indicators",
        [("report.txt", b"c2: evil.example.org\n198.51.100.7\n")],
        "indicators",
    ),
    "a weakness": ("Explain CWE-79", [], "weakness"),
}


@pytest.mark.parametrize(("question", "files", "tool"), CASES.values(), ids=CASES)
async def test_a_disabled_tool_does_not_run_and_the_answer_says_so(
    question: str, files: list[tuple[str, bytes]], tool: str
):
    usual = await ask(question, *files)
    asked = await ask(question, *files, disabled_tools=[tool])

    assert any(step.actor == tool for step in usual.steps), [step.actor for step in usual.steps]
    assert not any(step.actor == tool for step in asked.steps)
    assert "disabled in this session" in asked.answer.markdown
    assert f"`{tool}`" in asked.answer.markdown.splitlines()[0]
    assert asked.answer.status is not AnswerStatus.ANSWERED
    assert "nothing found" not in asked.answer.markdown.splitlines()[0].lower()


@pytest.mark.parametrize(("question", "files", "tool"), CASES.values(), ids=CASES)
async def test_without_any_tool_nothing_is_claimed(question: str, files: list[tuple[str, bytes]], tool: str):
    asked = await ask(question, *files, disabled_tools=ALL)

    assert not any(step.actor in ALL for step in asked.steps)
    assert asked.answer.status in (AnswerStatus.NOT_ANSWERED, AnswerStatus.NOT_EXAMINED)
    assert f"`{tool}`" in asked.answer.markdown.splitlines()[0]
    if files:
        assert "its tool is disabled in this session" in _coverage(asked.steps)


@pytest.mark.parametrize(("question", "files", "tool"), CASES.values(), ids=CASES)
async def test_a_tool_that_would_not_run_is_not_mentioned(question: str, files: list[tuple[str, bytes]], tool: str):
    usual = await ask(question, *files)
    asked = await ask(question, *files, disabled_tools=["pcap", "certificate", "no such tool"])

    assert asked.answer.markdown == usual.answer.markdown
    assert asked.answer.status is usual.answer.status


FURTHER = {
    "open": ["Which accounts were brute-forced?", "Did anyone get in?", "Who logged in?"],
    "held": ["Was there a successful login?", "How many failed logins were there?", "Were passwords sprayed?"],
}


@pytest.mark.parametrize("half", FURTHER)
@pytest.mark.parametrize("left", [[], ["events"], ["events", "indicators"]])
async def test_a_further_question_is_not_answered_from_what_other_tools_found(half: str, left: list[str]):
    disabled = [name for name in ("auth_log", "events", "indicators") if name not in left]
    first = await ask("Is anything suspicious here?", ("auth.log", LOG), disabled_tools=disabled)
    sources = tuple(step.content for step in first.steps if step.mime_type == MimeType.JSON)
    earlier = Exchange(prompt="Is anything suspicious here?", answer=first.markdown, sources=sources)
    wrong = []
    for question in FURTHER[half]:
        asked = await ask(question, ("auth.log", LOG, True), history=[earlier], disabled_tools=disabled)
        if "`auth_log`" not in asked.markdown.splitlines()[0] or asked.answer.status is AnswerStatus.ANSWERED:
            wrong.append((question, asked.markdown[:200]))

    assert wrong == []


async def test_data_has_no_note_but_its_status_says_that_it_is_not_whole():
    asked = await ask("Indicators as JSON", ("auth.log", LOG), disabled_tools=["auth_log", "indicators"])

    json.loads(asked.answer.markdown.removeprefix("```json").rstrip().removesuffix("```"))
    assert asked.answer.status is not AnswerStatus.ANSWERED


def _coverage(steps: Sequence[Step]) -> str:
    return next(step.content for step in steps if step.title == "coverage")
