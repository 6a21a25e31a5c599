"""Words that no table about techniques, attacks or computers has are counted; names and common words are not."""

from __future__ import annotations

import pytest

from svc.assistant.skills.attack_mapping.actors import main_clause
from svc.assistant.skills.attack_mapping.vocabulary import MOST_UNFAMILIAR, unfamiliar
from tests.svc.assistant.skills.attack_mapping.test_gates import named


@pytest.mark.parametrize(
    ("sentence", "count"),
    [
        ("The malware injects code into another process.", 0),
        ("The nurse injects the vaccine into the upper arm.", 4),
        ("BrassLoader downloads a DLL from Oslo.", 0),
        ("Goalkeepers kept persistence.", 2),
        ("", 0),
        ("bread " * 20, MOST_UNFAMILIAR),
    ],
)
def test_words_outside_the_trade_are_counted(sentence: str, count: int) -> None:
    assert unfamiliar(sentence) == count


@pytest.mark.parametrize(
    ("sentence", "clause"),
    [
        ("The insurance covers costs that arise when attackers encrypt data.", "The insurance covers costs"),
        ("The log shows that the attacker dumped LSASS.", "The log shows that the attacker dumped LSASS."),
        ("The attacker dumped LSASS.", "The attacker dumped LSASS."),
    ],
)
def test_the_main_clause_ends_before_an_explanation_but_not_before_a_finding(sentence: str, clause: str) -> None:
    assert main_clause(sentence) == clause


@pytest.mark.parametrize(
    ("sentence", "is_report"),
    [
        ("A dropper is a program that downloads malware from a remote server.", False),
        ("Ransomware is malicious software that encrypts the files of a victim.", False),
        ("BrassLoader is malicious software that encrypts the files of a victim.", True),
        ("Mimikatz is a tool that dumps credentials from the memory of LSASS.", True),
        ("The dropper is a program that downloads malware from a remote server.", True),
    ],
)
def test_a_definition_of_a_kind_is_no_report_and_a_description_of_malware_is(sentence: str, is_report: bool) -> None:
    assert bool(named(sentence)) is is_report
