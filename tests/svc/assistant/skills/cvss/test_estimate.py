"""The estimate of a CVSS vector from a description: against published vectors, its reasons, and when there is none.

``descriptions.txt``: odd entries are the open half, even ones the held half, which was scored once the words were done
(first sight: mean deviation 0.06). Both were written by the authors of the words, so records by others fit less well.
"""

from __future__ import annotations

from importlib import resources

import pytest
from cvss import CVSS3

from svc.assistant.findings import Confidence, Coverage, Finding, Gap
from svc.assistant.skills.cvss import answer
from svc.assistant.skills.cvss import tool as cvss
from svc.assistant.skills.cvss.estimate import BASE_METRICS, estimate
from svc.assistant.skills.cvss.findings import CvssEstimate, CvssScore

EXAMPLE = (
    "Determine the base metrics of this CVE. Valid options:\n- Attack Vector (AV): Network (N), Adjacent (A), "
    "Local (L), Physical (P)\n- Privileges Required (PR): None (N), Low (L), High (H)\n"
)
STORED_XSS = (
    "CVE Description: A stored cross-site scripting vulnerability in the Gallery plugin for WordPress allows "
    "authenticated attackers with contributor-level access to inject web scripts."
)


def entries(name: str = "descriptions.txt") -> list[tuple[list[str], str]]:
    lines = resources.files(__package__).joinpath(name).read_text().splitlines()
    rows = [line.split(" | ", 1) for line in lines if line and not line.startswith("#")]
    return [(values.split("/"), text) for values, text in rows]


def score_of(values: list[str]) -> float:
    vector = "/".join(f"{name}:{value}" for name, value in zip(BASE_METRICS, values, strict=True))
    return float(CVSS3(f"CVSS:3.1/{vector}").scores()[0])


def estimated(text: str, question: str = "") -> list[Finding[CvssEstimate]]:
    items = list(cvss.inspect(text, source="prompt", question=question))
    return [item for item in items if isinstance(item, Finding) and isinstance(item.facts, CvssEstimate)]


@pytest.mark.parametrize("half", [0, 1], ids=["open", "held"])
def test_estimates_are_close_to_the_published_scores(half: int):
    mine = entries()[half::2]
    assert len(mine) >= 60
    deviation = constant = 0.0
    for values, text in mine:
        (found,) = estimated(text)
        deviation += abs(found.facts.score - score_of(values)) / len(mine)
        constant += abs(7.5 - score_of(values)) / len(mine)  # the best guess that never reads the text
    assert deviation <= 0.3
    assert constant > 1.2


@pytest.mark.parametrize("half", [0, 1], ids=["open", "held"])
def test_estimates_of_varied_weaknesses_are_nearer_than_the_worst_case(half: int):
    """At first sight the open half scored .87 and the held half .81, because nine of forty had no estimate."""
    mine = entries("further_descriptions.txt")[half::2]
    deviation = constant = 0.0
    for values, text in mine:
        found = estimated(f"Score this CVE: {text}", question="Score this CVE:")
        score = found[0].facts.score if found else 0.0
        deviation += abs(score - score_of(values)) / len(mine)
        constant += abs(9.8 - score_of(values)) / len(mine)
    assert deviation <= 1.1
    assert constant > 2 * deviation


def test_each_metric_has_its_words_or_is_called_usual():
    (found,) = estimated(STORED_XSS)
    assert found.facts.vector == "CVSS:3.1/AV:N/AC:L/PR:L/UI:R/S:C/C:L/I:L/A:N"
    reasons = {row.metric: (row.words, row.reason) for row in found.facts.metrics}
    assert reasons["PR:L"] == ("authenticated", "a login without special rights, as the text states")
    assert reasons["S:C"] == ("", "usual for stored cross-site scripting")
    assert found.facts.lowest_score <= found.facts.score <= found.facts.highest_score
    assert found.confidence in (Confidence.LOW, Confidence.MEDIUM)


def test_the_options_of_the_instruction_do_not_count_as_words():
    (found,) = estimated(f"{EXAMPLE}\n{STORED_XSS}", question=EXAMPLE.strip())
    assert found.facts.vector == estimated(STORED_XSS)[0].facts.vector
    (found,) = estimated(f"{EXAMPLE}\n{STORED_XSS}")
    assert found.facts.vector == estimated(STORED_XSS)[0].facts.vector


def test_a_vector_that_is_given_is_scored_and_not_estimated():
    items = list(cvss.inspect(f"{STORED_XSS} CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H"))
    assert [type(item.facts) for item in items if isinstance(item, Finding)] == [CvssScore]


def test_several_records_get_an_estimate_each():
    text = (
        "CVE-2030-1001: SQL injection in the id parameter lets unauthenticated remote attackers read the database.\n"
        "CVE-2030-1002: a local user can gain root through a race condition in the mount helper.\n"
    )
    found = estimated(text)
    assert [one.facts.subject for one in found] == ["CVE-2030-1001", "CVE-2030-1002"]
    assert [one.evidence[0].line for one in found] == [1, 2]
    assert "AC:H" in found[1].facts.vector


@pytest.mark.parametrize("text", ["", "score this", "The weather is fine today, and the vector of the wind is north."])
def test_a_text_without_a_vulnerability_gets_no_estimate(text: str):
    items = list(cvss.inspect(text))
    assert not [item for item in items if isinstance(item, Finding)]
    assert any(isinstance(item, Gap) for item in items)
    (coverage,) = [item for item in items if isinstance(item, Coverage)]
    assert coverage.understood == 0


def test_the_answer_calls_it_an_estimate():
    verdict = answer.verdict(estimated(STORED_XSS))
    assert verdict.startswith("**Estimated base score: 5.4 medium** (CVSS 3.1, stored cross-site scripting")
    assert "not the published score" in verdict


@pytest.mark.parametrize(
    ("text", "metric"),
    [
        ("A buffer overflow lets an attacker with physical access run code on the reader.", "AV:P"),
        ("A flaw lets an attacker on an adjacent network crash the service.", "AV:A"),
        ("Use after free lets a local user with low privileges escalate privileges.", "AV:L"),
        ("A remote attacker with administrator privileges can run SQL commands.", "PR:H"),
        ("The vulnerability can be exploited only by winning the race; a remote attacker may execute code.", "AC:H"),
        ("A remote attacker could execute arbitrary code if the victim opens a crafted web page.", "UI:R"),
    ],
)  # fmt: skip
def test_words_that_state_a_condition_decide(text: str, metric: str):
    found = estimate(text)
    assert found is not None
    assert metric in {f"{one.metric}:{one.value}" for one in found.metrics}
