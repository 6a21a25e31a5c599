"""Looking ATT&CK up."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from svc.assistant.findings import Confidence, Gap
from svc.assistant.findings import LooseFinding as Finding
from svc.assistant.skills.attack.tool import MAX_IDS, look_up


def asked(question: str) -> list[Finding]:
    return [one for one in look_up(question, source="prompt") if isinstance(one, Finding)]


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
        pytest.param("list the defense-evasion techniques", ["TA0005 Defense Evasion"], id="by its short name"),
        pytest.param("techniques for stealth", ["TA0005 Defense Evasion"], id="by its newer name"),
        pytest.param("what is TA0040", ["TA0040 Impact"], id="by its id"),
        pytest.param(
            "explain process hollowing", ["T1055.012 Process Injection: Process Hollowing"], id="by a technique's name"
        ),
        pytest.param("what is DLL side-loading", ["T1574.002 DLL Side-Loading"], id="by an old name, the younger id"),
        pytest.param("the weather", [], id="nothing"),
        pytest.param("", [], id="empty"),
    ],
)
def test_what_is_named_is_found(question: str, titles: list[str]) -> None:
    assert [one.title for one in asked(question)] == titles


def test_a_technique_comes_with_tactics_parent_and_our_line() -> None:
    attributes = asked("T1003.001")[0].attributes
    assert attributes["tactics"] == ["Credential Access"]
    assert attributes["parent"] == "T1003 OS Credential Dumping"
    assert str(attributes["what"]).startswith("Reads passwords")
    assert str(attributes["version"]).startswith("ATT&CK ")


def test_a_technique_lists_its_sub_techniques() -> None:
    subs = asked("T1003")[0].attributes["subs"]
    assert isinstance(subs, list)
    assert "T1003.006 DCSync" in subs


def test_a_withdrawn_id_names_its_successor() -> None:
    attributes = asked("T1086")[0].attributes
    assert (attributes["successor"], attributes["tactics"]) == ("T1059.001", ["Execution"])


@pytest.mark.parametrize(
    ("unknown", "near"), [("T1059.099", "T1059 Command and Scripting Interpreter"), ("T1955", "T1595 ")]
)
def test_an_unknown_id_comes_with_near_ones_and_no_technique(unknown: str, near: str) -> None:
    finding = asked(unknown)[0]
    names = finding.attributes["near"]
    assert isinstance(names, list)
    assert any(str(name).startswith(near) for name in names)
    assert finding.techniques == ()


def test_words_without_id_or_name_lead_by_the_lexicon_and_say_so() -> None:
    finding = asked("what do they call it when somebody records each keystroke?")[0]
    assert (finding.attributes["id"], finding.confidence) == ("T1056.001", Confidence.MEDIUM)


def test_the_question_goes_before_the_text() -> None:
    found = [one for one in look_up("T1003", source="prompt", question="T1005") if isinstance(one, Finding)]
    assert [one.attributes["id"] for one in found] == ["T1005"]


def test_very_many_ids_are_bounded_and_said() -> None:
    steps = list(look_up(" ".join(f"T{number}" for number in range(1000, 1200)), source="prompt"))
    assert sum(isinstance(one, Finding) for one in steps) == MAX_IDS
    assert any(isinstance(one, Gap) for one in steps)


@settings(max_examples=50, deadline=None)
@given(st.text(max_size=200))
def test_any_question_has_an_answer(question: str) -> None:
    assert list(look_up(question, source="prompt"))
