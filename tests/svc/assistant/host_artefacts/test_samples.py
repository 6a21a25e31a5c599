"""Each host artefact: recognised, counted exactly, the attack found, the quiet day quiet, six questions answered."""

from __future__ import annotations

import io
import re
from functools import cache

import pytest

from svc.assistant.file_types.identify import identify
from svc.assistant.findings import AnyFinding, Coverage, Finding, Gap, Severity, with_facts
from svc.assistant.skills.host_artefacts.answer import SECTION
from svc.assistant.skills.host_artefacts.findings import HostSummary
from svc.assistant.skills.host_artefacts.tool import inspect
from tests.support.inline_analyst import ask
from tests.support.sampling import sampled
from tests.svc.assistant.host_artefacts.samples import samples

NAMES = list(samples())
GRAVE = (Severity.MEDIUM, Severity.HIGH, Severity.CRITICAL)
every_sample = pytest.mark.parametrize("name", NAMES)
QUESTIONS = [
    pytest.param(file, question, says, id=f"{name}: {question}")
    for name, sample in samples().items()
    for file, questions in ((sample.attack, sample.questions), (sample.quiet, sample.quiet_questions))
    for question, says in questions
]


@cache
def run(name: str, content: bytes) -> tuple[object, ...]:
    """What the tool yields."""
    return tuple(inspect(io.BytesIO(content), source=name))


def findings(file: tuple[str, bytes]) -> list[AnyFinding]:
    """The findings about a file."""
    return [one for one in run(*file) if isinstance(one, Finding)]


@every_sample
def test_it_is_recognised_by_content(name: str) -> None:
    for file_name, content in (samples()[name].attack, samples()[name].quiet):
        _, label = identify(content[:65_536], file_name if name == "shell history" else "evidence")
        assert label in SECTION.skill.claims


@every_sample
def test_rows_are_counted_exactly(name: str) -> None:
    sample = samples()[name]
    counts = [with_facts(findings(file), HostSummary)[0].facts.rows for file in (sample.attack, sample.quiet)]
    assert tuple(counts) == sample.rows


@every_sample
def test_the_attack_is_found(name: str) -> None:
    sample = samples()[name]
    found = {technique for one in findings(sample.attack) if one.severity in GRAVE for technique in one.techniques}
    assert found.issuperset(sample.techniques)


@every_sample
def test_a_quiet_day_has_no_finding_that_needs_a_look(name: str) -> None:
    assert [one.title for one in findings(samples()[name].quiet) if one.severity in GRAVE] == []


@every_sample
def test_every_run_has_one_coverage_and_says_what_was_not_read(name: str) -> None:
    for file in (samples()[name].attack, samples()[name].quiet):
        events = run(*file)
        [coverage] = [one for one in events if isinstance(one, Coverage)]
        assert 0 < coverage.understood <= coverage.total
        assert any(isinstance(one, Gap) for one in events) or coverage.understood == coverage.total


def plain(markdown: str) -> str:
    """Markdown without escapes."""
    return re.sub(r"\\([^\w\s])", r"\1", markdown).replace("\\\\", "\\")


def test_there_are_six_questions_for_each() -> None:
    assert {name: len(one.questions) + len(one.quiet_questions) for name, one in samples().items()} == dict.fromkeys(
        NAMES, 6
    )


@pytest.mark.parametrize(("file", "question", "says"), sampled(QUESTIONS, len(QUESTIONS) // 5))
async def test_questions_are_answered(file: tuple[str, bytes], question: str, says: tuple[str, ...]) -> None:
    asked = await ask(question, file)
    answer = plain(asked.markdown)
    assert [one for one in says if one not in answer] == [], answer[:1500]
    assert "Not examined" not in answer.partition("\n")[0]
