"""Mapping a text to ATT&CK."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from svc.assistant.findings import Confidence, Facts, Finding, Gap, Progress, with_facts
from svc.assistant.skills.attack_mapping.findings import BehaviourSentence, BehaviourTechnique
from svc.assistant.skills.attack_mapping.tool import MAX_EVIDENCE, MAX_RANKED, inspect

REPORT = """\
It began with a phishing email that had a malicious attachment.
The actor created a scheduled task and ran whoami, ipconfig /all and tasklist.
We did not observe Kerberoasting.
In the end, vssadmin removed the shadow copies.
"""


def inspected(text: str, question: str = "") -> list[Finding[Facts]]:
    return [one for one in inspect(text, source="prompt", question=question) if isinstance(one, Finding)]


def sentences_in(text: str, question: str = "") -> list[Finding[BehaviourSentence]]:
    return with_facts(inspected(text, question), BehaviourSentence)


def techniques_in(text: str) -> list[Finding[BehaviourTechnique]]:
    return with_facts(inspected(text), BehaviourTechnique)


def test_each_sentence_has_its_candidates_with_their_words_and_line() -> None:
    sentences = sentences_in(REPORT)
    assert [one.evidence[0].line for one in sentences] == [1, 2, 3, 4]
    last = sentences[-1].facts.candidates
    assert (last[0].id, last[0].name) == ("T1490", "Inhibit System Recovery")
    assert all(one.score and one.words for one in last)
    assert len(last) <= MAX_RANKED


def test_a_sentence_with_several_behaviours_counts_for_each() -> None:
    ids = {one.facts.id for one in techniques_in(REPORT)}
    assert {"T1053.005", "T1033", "T1016", "T1057"} <= ids


@pytest.mark.parametrize(
    ("sentence", "technique"),
    [
        ("It creates a scheduled task to run at logon.", "T1053.005"),
        ("It schedules a task at 9 in the morning.", "T1053.005"),
        ("They ran at.exe to schedule the tool.", "T1053.002"),
    ],
)
def test_the_word_at_is_not_the_at_command(sentence: str, technique: str) -> None:
    ids = {one.facts.id for one in techniques_in(sentence)}
    assert technique in ids
    assert len(ids & {"T1053.002", "T1053.005"}) == 1


def test_a_denied_behaviour_is_listed_but_not_counted() -> None:
    denied = [one for one in sentences_in(REPORT) if one.facts.is_denied]
    assert [one.title.split()[0] for one in denied] == ["T1558.003"]
    assert (denied[0].confidence, denied[0].techniques) == (Confidence.LOW, ())
    assert "T1558.003" not in {one.facts.id for one in techniques_in(REPORT)}


def test_a_sub_technique_counts_instead_of_its_parent() -> None:
    ids = [one.facts.id for one in techniques_in("They moved laterally over RDP.")]
    assert "T1021.001" in ids
    assert "T1021" not in ids


def test_a_technique_collects_its_sentences() -> None:
    text = "\n".join(f"Host {number}: LSASS memory was dumped with procdump." for number in range(20))
    (technique,) = techniques_in(text)
    assert (technique.facts.sentences, len(technique.evidence)) == (20, MAX_EVIDENCE)
    assert technique.facts.tactics == ["Credential Access"]
    assert technique.techniques == ("T1003.001",)


def test_the_question_is_not_examined() -> None:
    text = "Map to ATT&CK what they did with PowerShell:\n\nThey dumped LSASS."
    assert [one.evidence[0].line for one in sentences_in(text, text.split("\n")[0])] == [3]


def test_weak_hints_count_in_a_short_text_only() -> None:
    weak = "It sends the commands."
    assert sentences_in(weak)
    assert not sentences_in(weak + "\nNothing here.\n" * 30)


def test_a_withdrawn_id_comes_with_its_successor() -> None:
    (technique,) = techniques_in("Seen: T1086.")
    assert technique.facts.successor == "T1059.001"


@pytest.mark.parametrize("text", ["", "\n\n", "\x00" * 1_000, "\ufffd\u202e" * 1_000, "a" * 1_000_000, ". " * 50_000])
def test_damaged_or_empty_text_has_no_behaviour(text: str) -> None:
    assert not sentences_in(text)


def test_every_sentence_of_a_large_report_is_listed_with_progress() -> None:
    text = "".join(f"On host {number} the actor dumped LSASS memory. Then all was quiet.\n" for number in range(8_000))
    begin = time.process_time()
    steps = list(inspect(text, source="report.txt"))
    assert time.process_time() - begin < 10
    assert sum(isinstance(one, Finding) and one.kind == "behaviour" for one in steps) == 8_000
    assert sum(isinstance(one, Progress) for one in steps) >= 4
    assert not [one.text for one in steps if isinstance(one, Gap)]


@settings(max_examples=50, deadline=None)
@given(st.text(max_size=300))
def test_any_text_is_read(text: str) -> None:
    assert list(inspect(text, source="prompt", question=text[:20]))


@pytest.mark.long
@settings(max_examples=3_000, deadline=None)
@given(
    st.lists(st.sampled_from([*"\n.-:T10 \u0130", "dumped ", "LSASS", "T1003.001", "not observed", "c&c"]), max_size=60)
)
def test_any_order_of_words_is_read(pieces: list[str]) -> None:
    assert list(inspect("".join(pieces), source="prompt", question="".join(pieces[:3])))
