"""Every tool on damaged and hostile input: an error is a finding or a gap, never an exception, and time is bounded.

Each skill of the catalogue is fuzzed as it is listed there: its tool on its feed, unpacked as a worker unpacks it, then
its section over what was found. The long form (``-m long``) does the same with thousands of inputs.
"""

from __future__ import annotations

import importlib
import io
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

import msgspec
import psutil
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from svc.assistant.analyst import Analyst, render
from svc.assistant.analyst.contract import SkillResult
from svc.assistant.analyst.findings_messages import FINDINGS_TITLE, findings_steps
from svc.assistant.analyst.plan import Call, Plan, PlannedSkill
from svc.assistant.findings import (
    AnyFinding,
    Coverage,
    Finding,
    Gap,
    NamesSeen,
    Progress,
    ToolEvent,
    ToolFailure,
    finding_type,
    kind_of,
)
from svc.assistant.skills.catalogue import SECTIONS, decode_findings
from svc.assistant.skills.skill import Section
from svc.assistant.turn import Answer, Turn, TurnFile
from svc.assistant.workers import process as worker_process
from svc.assistant.workers.pool import Workers
from svc.messages import MessageType, State
from tests.support.damage import HOSTILE, Change, changes, damaged, seeds_for
from tests.support.sampling import sampled

LIMIT_SECONDS = 20.0  # of processor time for an input of 2 MB at most, while other tests run; a worker has 120
EXAMPLES = 8
LONG_EXAMPLES = 3_000
NAME = "evidence.bin"
GIVEN = {
    "indicator_search": {
        "wanted": '{"values": [["ipv4", "203.0.113.9"], ["domain", "x.example"], ["text", "sh"], ["url", "http://a/b"]]}'
    },
    "yara": {"rules": '{"texts": ["rule a { strings: $a = \\"example\\" condition: $a or filesize > 9 }"]}'},
}
"""What a plan gives to skills that search for what another file names."""
OPTIONS = {
    "after": "03:00:00",
    "before": "",
    "days": "",
    "outside": "",
    "now": "2026-11-20T03:12:45+00:00",
    "question": "what is T1059.001?",
    "records": '[{"clause": "who downloaded it?", "words": ["downloaded"], "columns": {"user": ["user", "actor"]}}]',
    "following": '[{"clause": "what did they do after the login?", "names": []}]',
    "conditions": '[{"clause": "who, except root?", "conditions": {"words": ["log"], "logins": "failed"}}]',
}

every_skill = pytest.mark.parametrize("section", SECTIONS, ids=[section.skill.name for section in SECTIONS])


def run(section: Section, content: bytes) -> list[ToolEvent]:
    """What the tool yields, read and packed as its worker would."""
    skill = section.skill
    module, _, function = skill.tool.partition(":")
    tool: Callable[..., Iterator[ToolEvent]] = getattr(importlib.import_module(module), function)
    unpacked = worker_process._InputFile(io.BytesIO(content))
    options = {name: OPTIONS[name] for name in skill.takes if OPTIONS[name]} | GIVEN.get(skill.name, {})
    frames = [
        worker_process.pack(item)
        for item in (*tool(unpacked.content(skill.input), source=NAME, **options), *unpacked.gaps())
    ]
    decoder = msgspec.msgpack.Decoder(Progress | Gap | Coverage | NamesSeen | finding_type(skill.facts))
    return [decoder.decode(frame[worker_process.HEADER_BYTES :]) for frame in frames]


def show(section: Section, items: list[ToolEvent]) -> str:
    """The answer to a question for this skill, with its pictures and its data."""
    skill = section.skill
    findings = tuple(item for item in items if isinstance(item, Finding))
    gaps = tuple((NAME, item.text) for item in items if isinstance(item, Gap))
    coverage = tuple((NAME, item) for item in items if isinstance(item, Coverage))
    part = SkillResult(skill=skill, findings=findings, inputs=(NAME,), gaps=gaps, coverage=coverage)
    planned = PlannedSkill(skill=skill, calls=(Call(skill=skill, input="", text_name=NAME),), reason="requested")
    section.pictures(findings)
    findings_steps(list(findings))
    return render.answer([part], Plan(skills=(planned,)))


def check(section: Section, content: bytes) -> None:
    """It ends in time, with an answer of some words, and says once how much it understood."""
    started = time.process_time()
    items = run(section, content)
    answer = show(section, items)
    assert time.process_time() - started < LIMIT_SECONDS
    assert answer.strip()
    [read] = [item for item in items if isinstance(item, Coverage)]
    assert 0 <= read.understood <= read.total
    assert read.understood or any(isinstance(item, Gap) or "damage" in str(item).lower() for item in items)


@every_skill
@pytest.mark.parametrize("content", sampled(HOSTILE.values(), 6), ids=HOSTILE)
def test_hostile_input_is_answered(section: Section, content: bytes):
    check(section, content)


@every_skill
def test_whole_input_is_answered_with_findings(section: Section):
    seeds = seeds_for(section.skill.name)
    answers = [run(section, seed) for seed in seeds]
    for items in answers:
        show(section, items)
    assert any(isinstance(item, Finding) for items in answers for item in items)


@every_skill
@given(data=st.data(), done=changes)
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=True,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_damaged_input_is_answered(section: Section, data: st.DataObject, done: list[Change]):
    check(section, damaged(data.draw(st.sampled_from(seeds_for(section.skill.name))), done))


@pytest.mark.long
@pytest.mark.timeout(7_200)
@every_skill
@given(data=st.data(), done=changes)
@settings(max_examples=LONG_EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
def test_much_damaged_input_is_answered(section: Section, data: st.DataObject, done: list[Change]):
    check(section, damaged(data.draw(st.sampled_from(seeds_for(section.skill.name))), done))


QUESTION = "which accounts were brute-forced?"
LOGINS = seeds_for("auth_log")[0]


def file(content: bytes) -> TurnFile:
    return TurnFile(
        name="auth.log", size=len(content), sha256="", mime_type="text/plain", label="authlog", source=content
    )


async def ask(analyst: Analyst, *, content: bytes, is_killed: bool = False) -> tuple[list[AnyFinding], str]:
    """The findings and the answer; with ``is_killed``, every worker is killed as soon as the tool tells something."""
    findings: list[AnyFinding] = []
    markdown = ""
    async for step in analyst.answer(Turn(session_id="s", prompt=QUESTION, files=(file(content),))):
        if isinstance(step, Answer):
            markdown = step.markdown
        elif step.state == State.RUNNING_AGENT and is_killed:
            is_killed = False
            for server in psutil.Process().children():
                for worker in server.children():
                    with suppress(psutil.NoSuchProcess):  # it ended by itself meanwhile
                        worker.kill()
        elif step.message_type == MessageType.SOURCE and step.title == FINDINGS_TITLE:
            findings = decode_findings(step.content)
    return findings, markdown


async def test_a_worker_that_dies_is_a_finding_and_the_next_question_works():
    analyst = Analyst(Workers())
    await analyst.start()
    try:
        findings, markdown = await ask(analyst, content=LOGINS * 15_000, is_killed=True)
        following = (await ask(analyst, content=LOGINS))[1]
    finally:
        await analyst.close()
    assert kind_of(ToolFailure) in {finding.kind for finding in findings}
    assert "did not finish" in markdown
    assert "12 failed logins" in following
