"""Every skill on every kind of evidence: it says once how much it understood, and understands only its own kinds.

The expectations are written by hand. A skill that understands nothing of its input yields no finding that matters.
"""

from __future__ import annotations

import importlib
import io
from collections.abc import Callable, Iterator
from functools import cache

import pytest

from svc.assistant.findings import Coverage, Finding, Gap, Severity, ToolEvent
from svc.assistant.skills.catalogue import SECTIONS, section_of, skill_named
from svc.assistant.skills.indicators.findings import IndicatorFacts
from svc.assistant.workers import process as worker_process
from tests.support.sample_inputs import held_set, open_set

"""Skills whose tools do not report their coverage yet."""
SKILLS = [section.skill.name for section in SECTIONS]
OPTIONS = {"now": "2026-11-20T03:12:45+00:00"}
SETS = {"open": open_set, "held": held_set}

TEXTS = frozenset(
    [
        "prose", "foreign prose", "csv", "json", "auth.log", "syslog", "web log", "windows xml", "mail", "half a mail",
        "powershell", "shell script", "python", "dockerfile", "headers", "pem", "half a pem", "jwt", "half a jwt",
        "base64", "cvss", "hash", "report", "weakness", "cve", "version question", "attack question",
    ]
)  # fmt: skip
WORDINGS = {"behaviours", "weakness"}
"""Skills that look for wordings: a text has sentences without any."""
UNDERSTOOD: dict[str, frozenset[str]] = {
    "auth_log": frozenset({"auth.log"}),
    "events": frozenset({"auth.log", "syslog", "web log", "windows xml", "evtx"}),
    "host_artefacts": frozenset({"registry hive", "login records"}),
    "archive": frozenset({"zip"}),
    "pcap": frozenset({"pcap"}),
    "mail": frozenset({"mail", "half a mail"}),
    "threat_intel": frozenset(),  # none of these is threat intelligence
    "indicator_search": frozenset(),  # without a list nothing is searched
    "yara": frozenset(),  # without rules nothing is scanned
    "indicators": TEXTS,
    "decode": frozenset({"base64"}),
    "cvss": frozenset({"cvss"}),
    "program": frozenset({"elf", "pe", "half a elf", "half a pe"}),
    "script": frozenset({"powershell", "shell script"}),
    "code_review": frozenset({"python", "dockerfile", "headers"}),
    "pdf": frozenset({"pdf"}),
    "office": frozenset({"docx", "ole", "rtf", "half a rtf"}),
    "shortcut": frozenset({"shortcut"}),
    "token": frozenset({"jwt"}),
    "certificate": frozenset({"pem"}),
    "versions": frozenset({"version question"}),
    "attack": frozenset({"attack question"}),
    "behaviours": frozenset({"report"}),
    "weakness": frozenset({"weakness"}),
    "cve": frozenset({"cve"}),
    "hash_kind": frozenset({"hash"}),
}
"""What each skill understands."""
EITHER: dict[str, frozenset[str]] = {
    "auth_log": frozenset({"syslog"}),
    "events": frozenset({"json", "csv", "half a evtx"}),
    "archive": frozenset({"docx", "half a zip", "half a docx"}),
    "pcap": frozenset({"half a pcap"}),
    "indicators": frozenset({"pdf", "half a pdf", "rtf", "half a rtf"}),  # these files consist of text
    "decode": frozenset(
        {"pem", "half a pem", "jwt", "half a jwt", "powershell", "hash", "mail", "half a mail", "pdf", "half a pdf"}
    ),
    "script": frozenset(
        {"base64", "dockerfile", "python", "hash"}
    ),  # commands within; "$6$…" begins as a variable does
    "cvss": frozenset({"weakness"}),  # describes a vulnerability, whose score is estimated
    "code_review": frozenset({"powershell", "shell script"}),  # shell is recognised by its first line
    "pdf": frozenset({"half a pdf"}),
    "office": frozenset({"half a ole", "half a docx"}),
    "shortcut": frozenset({"half a shortcut"}),
    "token": frozenset({"half a jwt"}),
    "attack": frozenset({"report", "weakness"}),  # the wording of a technique
    "behaviours": frozenset(  # other texts in sentences
        ["weakness", "attack question", "version question", "mail", "half a mail", "prose", "foreign prose"]
    )
    | {"powershell", "shell script", "dockerfile", "python"},  # commands that show a technique
    "weakness": frozenset({"report", "mail", "half a mail", "python", "shell script", "powershell"}),
    "hash_kind": frozenset({"cvss", "half a pem", "pem"}),
}
"""Kinds that hold something for the skill by their content, or damaged ones of its own kind."""


@cache
def run(name: str, content: bytes) -> tuple[ToolEvent, ...]:
    """What the tool yields for a file with this content, in the form that it needs."""
    skill = skill_named(name)
    module, _, function = skill.tool.partition(":")
    tool: Callable[..., Iterator[ToolEvent]] = getattr(importlib.import_module(module), function)
    opened = worker_process._InputFile(io.BytesIO(content))
    options = {option: OPTIONS[option] for option in skill.takes if option in OPTIONS}
    return tuple(tool(opened.content(skill.input), source="evidence.bin", **options))


def coverage_of(events: tuple[ToolEvent, ...]) -> Coverage:
    """The one coverage of a run."""
    [coverage] = [event for event in events if isinstance(event, Coverage)]
    return coverage


every_skill = pytest.mark.parametrize("name", SKILLS)
every_set = pytest.mark.parametrize("evidence", SETS.values(), ids=SETS)


def test_only_known_skills_are_expected() -> None:
    assert set(UNDERSTOOD) == {section.skill.name for section in SECTIONS}
    kinds = set(open_set())
    assert kinds == set(held_set())
    assert kinds.issuperset(frozenset().union(*UNDERSTOOD.values(), *EITHER.values()))


@every_skill
@every_set
def test_a_run_has_one_coverage_within_its_bounds(name: str, evidence: Callable[[], dict[str, bytes]]) -> None:
    for kind, content in evidence().items():
        coverage = coverage_of(run(name, content))
        assert 0 <= coverage.understood <= coverage.total, kind
        assert coverage.read_as, kind
        assert coverage.unit, kind
        assert coverage.looked_for, kind


@every_skill
@every_set
def test_a_skill_understands_its_own_kinds_only(name: str, evidence: Callable[[], dict[str, bytes]]) -> None:
    understood = {kind for kind, content in evidence().items() if coverage_of(run(name, content)).understood}
    unclear = EITHER.get(name, frozenset())
    assert understood - unclear == UNDERSTOOD[name] - unclear


@every_skill
@every_set
def test_what_was_not_understood_gives_no_finding_that_matters(
    name: str, evidence: Callable[[], dict[str, bytes]]
) -> None:
    for kind, content in evidence().items():
        events = run(name, content)
        if coverage_of(events).understood:
            continue
        for finding in (event for event in events if isinstance(event, Finding)):
            is_damage = finding.severity is Severity.LOW and "damage" in f"{finding.kind} {finding.facts}"
            assert isinstance(finding.facts, IndicatorFacts) or finding.severity is Severity.INFO or is_damage, kind


@every_skill
@every_set
def test_what_was_not_read_whole_has_a_reason(name: str, evidence: Callable[[], dict[str, bytes]]) -> None:
    for kind, content in evidence().items():
        events = run(name, content)
        coverage = coverage_of(events)
        is_whole = 0 < coverage.understood == coverage.total or (coverage.understood and name in WORDINGS)
        assert is_whole or any(isinstance(event, Gap) or "damage" in str(event).lower() for event in events), kind


@every_skill
def test_a_verdict_without_findings_does_not_reassure(name: str) -> None:
    verdict = section_of(skill_named(name)).verdict([])
    assert verdict.startswith(
        ("**Not examined", "**Not answered", "**Nothing could be decoded", "**No address, domain")
    )
