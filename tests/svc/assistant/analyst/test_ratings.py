"""The first line of a verdict states how severe and how sure it is, for every skill that rates what it finds."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from svc.assistant.analyst.render import rated
from svc.assistant.findings import AnyFinding, Confidence, Finding, Severity, with_facts
from svc.assistant.skills.catalogue import SECTIONS
from svc.assistant.skills.mail.findings import MailVerdict
from svc.assistant.skills.skill import Section
from tests.support.captures import SERVER, capture, conversation
from tests.support.sample_inputs import held_set, open_set
from tests.svc.assistant.skills.test_coverage import EITHER, UNDERSTOOD, run

RATING = re.compile(rf"\((?:({'|'.join(Severity)}), )?(?:{'|'.join(Confidence)}) confidence\b")
UNRATED = {"attack", "behaviours", "indicator_search", "indicators", "threat_intel", "weakness", "yara"}
"""Skills whose findings are answers, not dangers: their severity is info."""
SHELL = [(">", b"Microsoft Windows [Version 10.0.1]\r\nC:\\>"), ("<", b"whoami\r\n")]
CAPTURE = capture(conversation(SHELL, server=SERVER, ports=(50_000, 4444)))


def worst(findings: Sequence[AnyFinding]) -> Severity:
    """The severity of a mail is that of its verdict, which weighs the other findings."""
    rating = with_facts(findings, MailVerdict) or findings
    return min((finding.severity for finding in rating), key=list(Severity).index, default=Severity.INFO)


def samples(skill: str) -> list[list[AnyFinding]]:
    """The findings of a skill in each sample of its kinds, if one of them is rated."""
    kinds = UNDERSTOOD[skill] | EITHER.get(skill, frozenset())
    contents = [evidence()[kind] for evidence in (open_set, held_set) for kind in sorted(kinds)]
    runs = [run(skill, content) for content in ([*contents, CAPTURE] if skill == "pcap" else contents)]
    findings = [[event for event in events if isinstance(event, Finding)] for events in runs]
    return [found for found in findings if worst(found) is not Severity.INFO]


def is_rated(line: str, severity: Severity) -> bool:
    """The severity stands before the confidence, or is a word of the bold text that both follow."""
    rating = RATING.search(line)
    bold = line[: rating.start()].casefold() if rating else ""
    return rating is not None and (rating[1] == severity.value or (not rating[1] and severity.value in bold))


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.skill.name)
def test_every_skill_states_severity_and_confidence_first(section: Section):
    found = samples(section.skill.name)
    verdicts = [(rated(section.verdict(findings), findings).partition("\n")[0], worst(findings)) for findings in found]

    assert [(line, severity.value) for line, severity in verdicts if not is_rated(line, severity)] == []
    assert bool(found) == (section.skill.name not in UNRATED)


@pytest.mark.parametrize(
    "verdict",
    [
        pytest.param("**Compromised account: `high`.** It logged on.", id="an account's name is no rating"),
        pytest.param("**Compromised account: `a (low, low confidence)`.** It logged on.", id="nor is a quoted one"),
        pytest.param("**Logons.** A subject says (low, low confidence).", id="nor is text after the first words"),
        pytest.param("**2 alerts rated high or higher**: two.", id="nor is a threshold"),
    ],
)
def test_words_of_the_evidence_rate_nothing(verdict: str):
    findings = samples("auth_log")[0]
    line = rated(verdict, findings)

    assert f"({worst(findings).value}, " in line.replace("(low, low confidence)", "")


def test_a_rating_is_not_stated_twice():
    findings = samples("auth_log")[0]
    severity = worst(findings).value

    assert severity not in rated(f"**{severity.capitalize()}:** unsigned.", findings)
    for stated in (f"**Phishing** ({severity}, high confidence; score 9): x.", "**Done** (low, low confidence): x."):
        assert rated(stated, findings) == stated
    assert rated("**Nothing found.**", []) == "**Nothing found.**"
