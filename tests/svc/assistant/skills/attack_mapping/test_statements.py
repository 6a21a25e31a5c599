"""Denials, advice, requests, and what reports an attack."""

from __future__ import annotations

import pytest

from svc.assistant.findings import Coverage, Finding, Gap, with_facts
from svc.assistant.skills.attack_mapping.findings import BehaviourSentence, BehaviourTechnique
from svc.assistant.skills.attack_mapping.reported import weigh
from svc.assistant.skills.attack_mapping.statements import denied_words, is_advice, is_english, without_request
from svc.assistant.skills.attack_mapping.tool import inspect


def techniques(text: str) -> set[str]:
    found = [one for one in inspect(text, source="prompt") if isinstance(one, Finding)]
    return {finding.facts.id for finding in with_facts(found, BehaviourTechnique)}


@pytest.mark.parametrize(
    "sentence",
    [
        "Use strong passwords.",
        "Monitor LSASS for access by unusual processes.",
        "Organizations should disable SMBv1.",
        "Enable MFA for remote access.",
        "It is recommended to block PowerShell for ordinary users.",
        "Credential Guard protects NTLM hashes against theft.",
        "Tamper protection prevents attackers from stopping Defender.",
        "You can restart the service with sc start.",
    ],
)
def test_advice_and_defences_are_no_behaviour(sentence: str) -> None:
    assert is_advice(sentence)
    assert not techniques(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "The actors disabled Windows Defender.",
        "Attackers used Mimikatz to dump credentials.",
        "patch the AmsiScanBuffer function in memory",
        "Disables Windows Defender with a registry change.",
    ],
)
def test_what_attackers_do_is_no_advice(sentence: str) -> None:
    assert not is_advice(sentence)
    assert techniques(sentence)


@pytest.mark.parametrize(
    ("sentence", "observed", "denied"),
    [
        ("We did not observe Kerberoasting, but LSASS was dumped.", "T1003.001", "T1558.003"),
        ("LSASS memory was dumped; no evidence of Kerberoasting was found.", "T1003.001", "T1558.003"),
        ("The attackers moved over RDP, however they didn't dump LSASS.", "T1021.001", "T1003.001"),
    ],
)
def test_only_the_clause_with_a_denial_is_denied(sentence: str, observed: str, denied: str) -> None:
    found = techniques(sentence)
    assert observed in found
    assert denied not in found


@pytest.mark.parametrize(
    "sentence",
    [
        "The intruders did not dump credentials from LSASS.",
        "No lateral movement was observed.",
        "The malware never used PowerShell.",
        "There was no evidence of data exfiltration over the C2 channel.",
    ],
)
def test_a_denied_sentence_gives_no_technique(sentence: str) -> None:
    assert denied_words(sentence)
    assert not techniques(sentence)


def test_not_only_is_no_denial() -> None:
    assert not denied_words("They did not only dump LSASS, they also cleared the event logs.")


@pytest.mark.parametrize(
    ("prompt", "rest"),
    [
        ("Map to ATT&CK: they dumped LSASS", "they dumped LSASS"),
        ("Which technique does this show: whoami was run", "whoami was run"),
        ("The actor ran: whoami", "The actor ran: whoami"),
    ],
)
def test_a_request_is_not_material(prompt: str, rest: str) -> None:
    assert without_request(prompt) == rest


@pytest.mark.parametrize(
    ("text", "is_it"), [("We went home.", True), ("Wir gingen nach Hause.", False), ("AV:N AT:N IS:N", False)]
)
def test_english_is_told_by_its_small_words(text: str, is_it: bool) -> None:
    assert is_english(text) == is_it


def test_a_weight_says_what_led_to_it() -> None:
    weighed = weigh("The attackers dumped the memory of LSASS with Mimikatz.", 14.0)
    assert weighed.is_report
    assert {"an attacker or a victim", "a program that attackers use"} <= set(weighed.shows)
    assert not weigh("You can change the option in the configuration.", 2.0).is_report


def test_neighbours_that_report_an_attack_lend_their_attacker() -> None:
    alone = "Old files are removed from the folder."
    assert not techniques(alone)
    assert "T1070.004" in techniques(f"The attackers copied the malware to the host. {alone}")


@pytest.mark.parametrize(
    ("ordinary", "reported"),
    [
        ("copied the scans to the server", "copies files to the remote server"),
        ("The vault encrypts each file with AES.", "The files were encrypted with AES and a ransom note was left."),
        ("proxy settings for the branch", "sets a proxy for its traffic to the C2 server"),
    ],
)
def test_ordinary_work_needs_an_actor_named(ordinary: str, reported: str) -> None:
    assert not techniques(ordinary)
    assert techniques(reported)
    assert techniques(f"The attackers deployed Cobalt Strike on the server. {ordinary}")


def test_a_neighbour_that_only_has_words_of_attacks_lends_nothing() -> None:
    alone = "Old files are removed from the folder."
    assert not techniques(f"Monitor the host for malware and stolen credentials. {alone}")


def test_words_of_techniques_without_an_attack_are_named_and_not_counted() -> None:
    events = list(inspect("To download the file run curl with the option -O.", source="prompt"))
    assert not with_facts([one for one in events if isinstance(one, Finding)], BehaviourSentence)
    assert [one.text for one in events if isinstance(one, Gap)] == [
        "1 sentence has words of a technique (“download … file … curl”) but reports no attack: not counted"
    ]


def test_sentences_without_a_techniques_words_were_examined() -> None:
    coverage = next(
        one for one in inspect("The weather was fine. We went home.", source="prompt") if isinstance(one, Coverage)
    )
    assert (coverage.understood, coverage.total) == (2, 2)


def test_an_id_in_the_text_counts_without_words() -> None:
    assert techniques("See T1003.001 in the manual of the library.") == {"T1003.001"}
