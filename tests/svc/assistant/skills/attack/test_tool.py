"""Looking ATT&CK up."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from svc.assistant.findings import Confidence, Facts, Finding, Gap, with_facts
from svc.assistant.skills.attack.findings import AttackTechnique
from svc.assistant.skills.attack.tool import MAX_IDS, inspect


def asked(question: str) -> list[Finding[Facts]]:
    return [one for one in inspect(question, source="prompt") if isinstance(one, Finding)]


def technique(question: str) -> Finding[AttackTechnique]:
    return with_facts(asked(question), AttackTechnique)[0]


@pytest.mark.parametrize(
    ("question", "titles"),
    [
        pytest.param(
            "what is T1059.001", ["T1059.001 Command and Scripting Interpreter: PowerShell"], id="a sub-technique"
        ),
        pytest.param("t1003?", ["T1003 OS Credential Dumping"], id="in small letters"),
        pytest.param(
            "compare T1003 and T1005", ["T1003 OS Credential Dumping", "T1005 Data from Local System"], id="two"
        ),
        pytest.param("what is T9999", ["T9999 is not in ATT&CK"], id="not known"),
        pytest.param("which techniques are in lateral movement?", ["TA0008 Lateral Movement"], id="a tactic by name"),
        pytest.param("list the command-and-control techniques", ["TA0011 Command and Control"], id="by its short name"),
        pytest.param(
            "list the defense-evasion techniques",
            ["TA0005 Stealth", "TA0112 Defense Impairment"],
            id="by the name before it was split",
        ),
        pytest.param("techniques for stealth", ["TA0005 Stealth"], id="by its newer name"),
        pytest.param("what is exploitation for defense evasion", ["T1211 Exploitation for Stealth"], id="renamed"),
        pytest.param("what is TA0040", ["TA0040 Impact"], id="by its id"),
        pytest.param(
            "explain process hollowing", ["T1055.012 Process Injection: Process Hollowing"], id="by a technique's name"
        ),
        pytest.param(
            "what is DLL side-loading", ["T1574.002 Hijack Execution Flow: DLL Side-Loading"], id="by an old name"
        ),
        pytest.param("the weather", [], id="nothing"),
        pytest.param("", [], id="empty"),
    ],
)
def test_named_techniques_and_tactics_are_found(question: str, titles: list[str]) -> None:
    assert [one.title for one in asked(question)] == titles


def test_a_technique_has_tactics_parent_and_description() -> None:
    facts = technique("T1003.001").facts
    assert facts.tactics == ["Credential Access"]
    assert facts.parent == "T1003 OS Credential Dumping"
    assert facts.what.startswith("Reads passwords")
    assert facts.version.startswith("ATT&CK ")


def test_a_technique_lists_its_sub_techniques() -> None:
    assert "T1003.006 DCSync" in technique("T1003").facts.subs


def test_a_withdrawn_id_names_its_successor() -> None:
    facts = technique("T1086").facts
    assert (facts.successor, facts.tactics) == ("T1059.001", ["Execution"])
    assert (facts.is_withdrawn, facts.withdrawn_in) == (True, "7")
    assert facts.successor_name == "Command and Scripting Interpreter: PowerShell"


@pytest.mark.parametrize(
    ("old", "new"),
    [("T1562.001", "T1685"), ("T1070.001", "T1685.005"), ("T1656", "T1684.001"), ("T1574.002", "T1574.001")],
)
def test_ids_of_earlier_versions_have_a_successor(old: str, new: str) -> None:
    facts = technique(f"what is {old}").facts
    assert (facts.is_known, facts.is_withdrawn, facts.successor) == (True, True, new)


def test_an_id_that_was_withdrawn_without_a_successor_is_known() -> None:
    facts = technique("what is T1043").facts
    assert (facts.is_known, facts.is_withdrawn, facts.name, facts.successor) == (True, True, "Commonly Used Port", None)


@pytest.mark.parametrize(
    ("unknown", "near"), [("T1059.099", "T1059 Command and Scripting Interpreter"), ("T1955", "T1595 ")]
)
def test_an_unknown_id_suggests_similar_ids_without_a_technique(unknown: str, near: str) -> None:
    finding = technique(unknown)
    assert any(name.startswith(near) for name in finding.facts.near)
    assert finding.techniques == ()


def test_words_without_id_or_name_are_matched_by_the_lexicon() -> None:
    finding = technique("what do they call it when somebody records each keystroke?")
    assert (finding.facts.id, finding.confidence) == ("T1056.001", Confidence.MEDIUM)


def test_the_question_takes_precedence_over_the_text() -> None:
    found = [one for one in inspect("T1003", source="prompt", question="T1005") if isinstance(one, Finding)]
    assert [one.facts.id for one in with_facts(found, AttackTechnique)] == ["T1005"]


def test_very_many_ids_are_limited() -> None:
    steps = list(inspect(" ".join(f"T{number}" for number in range(1000, 1200)), source="prompt"))
    assert sum(isinstance(one, Finding) for one in steps) == MAX_IDS
    assert any(isinstance(one, Gap) for one in steps)


@settings(max_examples=50, deadline=None)
@given(st.text(max_size=200))
def test_any_question_has_an_answer(question: str) -> None:
    assert list(inspect(question, source="prompt"))
