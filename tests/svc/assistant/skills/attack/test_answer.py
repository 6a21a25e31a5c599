"""The answer about ATT&CK itself."""

from __future__ import annotations

import pytest

from svc.assistant.analyst.plan import make_plan, read_question
from svc.assistant.findings import Facts, Finding
from svc.assistant.skills.answer_parts import as_sections
from svc.assistant.skills.attack.answer import SECTION
from svc.assistant.skills.attack.tool import inspect


def asked(question: str) -> list[Finding[Facts]]:
    return [one for one in inspect(question, source="prompt") if isinstance(one, Finding)]


@pytest.mark.parametrize(
    ("question", "verdict"),
    [
        pytest.param(
            "what is T1059.001",
            "**T1059.001 Command and Scripting Interpreter: PowerShell**. Runs PowerShell commands or scripts.",
            id="a technique",
        ),
        pytest.param(
            "what is T1086",
            "**T1086 PowerShell**. Runs PowerShell commands or scripts. Withdrawn in ATT&CK 7; "
            "replaced by T1059.001 Command and Scripting Interpreter: PowerShell.",
            id="a withdrawn one",
        ),
        pytest.param("what is T9999", "**T9999 is not in ATT&CK 19.0 of 2026-04-28.**", id="one that does not exist"),
        pytest.param(
            "techniques in impact", "**TA0040 Impact** has 15 techniques and 18 sub-techniques.", id="a tactic"
        ),
        pytest.param(
            "the weather",
            "**Not answered:** the question matches no technique or tactic of the ATT&CK table.",
            id="nothing",
        ),
    ],
)
def test_the_verdict_names_the_technique(question: str, verdict: str) -> None:
    assert SECTION.verdict(asked(question)) == verdict


def test_a_technique_found_by_wording_is_marked_as_such() -> None:
    assert "(matched by wording: the question names no technique)" in SECTION.verdict(
        asked("somebody records each keystroke")
    )


def test_the_body_lists_tactics_and_parent_and_names_the_source() -> None:
    facts = "\n".join(SECTION.facts(asked("T1003.001")))
    body = as_sections(SECTION.folds(asked("T1003.001")))
    assert "**Tactics**: Credential Access" in facts
    assert "**Sub-technique of**: T1003 OS Credential Dumping" in facts
    assert "ATT&CK 19.0 of 2026-04-28. © 2026 The MITRE Corporation." in body


def test_a_tactic_is_a_table_of_all_its_techniques() -> None:
    body = as_sections(SECTION.folds(asked("list the defense evasion techniques")))
    assert " techniques of " in body
    assert "| T1027 | Obfuscated Files or Information |" in body
    assert "more (all" not in body


def test_an_unknown_id_suggests_a_newer_table() -> None:
    assert SECTION.next_steps(asked("T1003")) == []
    assert "svc rules update --attack" in SECTION.next_steps(asked("T9999"))[0]


@pytest.mark.parametrize(
    ("prompt", "skill"),
    [
        ("what is T1059.001?", "attack"),
        ("tactic of T1003", "attack"),
        ("what does T1003 mean", "attack"),
        ("which techniques are in tactic impact?", "attack"),
        ("Which ATT&CK techniques belong to credential access?", "attack"),
        ("list persistence techniques", "attack"),
        ("what is the MITRE id of kerberoasting", "attack"),
        ("what is kerberoasting?", "attack"),
        ("Map this to ATT&CK: they dumped LSASS", "behaviours"),
        ("which ATT&CK techniques does this describe?\n\nThe malware creates a Run key.", "behaviours"),
        ("what TTPs are in this report", "behaviours"),
        ("which MITRE techniques were used for persistence?", "behaviours"),
        ("what technique is this: the adversary added a local administrator account", "behaviours"),
        ("The malware creates a Run key and then deletes itself.", "behaviours"),
        ("The attackers used WMI to execute commands on remote hosts.", "behaviours"),
    ],
)
def test_a_question_about_attack_is_a_lookup_and_one_about_a_text_a_mapping(prompt: str, skill: str) -> None:
    assert [planned.skill.name for planned in make_plan(read_question(prompt, [])).skills] == [skill]


def test_a_flaw_that_attackers_could_use_is_not_a_behaviour() -> None:
    prompt = "A flaw in the login form allows remote attackers to execute arbitrary SQL commands."
    assert "behaviours" not in [planned.skill.name for planned in make_plan(read_question(prompt, [])).skills]
