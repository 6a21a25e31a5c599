"""Mapping a text to ATT&CK."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from svc.assistant.findings import Confidence, Gap, Progress
from svc.assistant.findings import LooseFinding as Finding
from svc.assistant.skills.attack_mapping.tool import MAX_BEHAVIOURS, MAX_EVIDENCE, MAX_RANKED, map_text

REPORT = """\
It began with a phishing email that had a malicious attachment.
The actor created a scheduled task and ran whoami, ipconfig /all and tasklist.
We did not observe Kerberoasting.
In the end, vssadmin removed the shadow copies.
"""


def found(text: str, kind: str, question: str = "") -> list[Finding]:
    steps = map_text(text, source="prompt", question=question)
    return [one for one in steps if isinstance(one, Finding) and one.kind == kind]


def test_each_sentence_has_its_candidates_with_their_words_and_line() -> None:
    sentences = found(REPORT, "behaviour")
    assert [one.evidence[0].line for one in sentences] == [1, 2, 3, 4]
    last = sentences[-1].attributes
    assert isinstance(last["ids"], list)
    assert last["ids"][0] == "T1490"
    assert len(last["ids"]) == len(last["names"]) == len(last["scores"]) == len(last["words"]) <= MAX_RANKED  # type: ignore[arg-type]


def test_a_sentence_that_tells_several_behaviours_shows_each() -> None:
    ids = {one.attributes["id"] for one in found(REPORT, "behaviour_technique")}
    assert {"T1053.005", "T1033", "T1016", "T1057"} <= ids


@pytest.mark.parametrize(
    ("sentence", "technique"),
    [
        ("It creates a scheduled task to run at logon.", "T1053.005"),
        ("It schedules a task at 9 in the morning.", "T1053.005"),
        ("They ran at.exe to schedule the tool.", "T1053.002"),
    ],
)
def test_the_word_at_is_not_the_program_at(sentence: str, technique: str) -> None:
    ids = {one.attributes["id"] for one in found(sentence, "behaviour_technique")}
    assert technique in ids
    assert len(ids & {"T1053.002", "T1053.005"}) == 1


def test_what_is_denied_is_told_but_is_no_technique() -> None:
    denied = [one for one in found(REPORT, "behaviour") if one.attributes["is_denied"]]
    assert [one.title.split()[0] for one in denied] == ["T1558.003"]
    assert (denied[0].confidence, denied[0].techniques) == (Confidence.LOW, ())
    assert "T1558.003" not in {one.attributes["id"] for one in found(REPORT, "behaviour_technique")}


def test_a_sub_technique_stands_for_its_parent() -> None:
    ids = [one.attributes["id"] for one in found("They moved laterally over RDP.", "behaviour_technique")]
    assert "T1021.001" in ids
    assert "T1021" not in ids


def test_one_technique_gathers_its_sentences() -> None:
    text = "\n".join(f"Host {number}: LSASS memory was dumped with procdump." for number in range(20))
    (technique,) = found(text, "behaviour_technique")
    assert (technique.attributes["sentences"], len(technique.evidence)) == (20, MAX_EVIDENCE)
    assert technique.attributes["tactics"] == ["Credential Access"]
    assert technique.techniques == ("T1003.001",)


def test_the_question_is_no_behaviour() -> None:
    text = "Map to ATT&CK what they did with PowerShell:\n\nThey dumped LSASS."
    assert [one.evidence[0].line for one in found(text, "behaviour", text.split("\n")[0])] == [3]


def test_weak_hints_are_told_of_a_short_text_alone() -> None:
    weak = "It sends the commands."
    assert found(weak, "behaviour")
    assert not found(weak + "\nNothing here.\n" * 30, "behaviour")


def test_a_withdrawn_id_comes_with_its_successor() -> None:
    (technique,) = found("Seen: T1086.", "behaviour_technique")
    assert technique.attributes["successor"] == "T1059.001"


@pytest.mark.parametrize("text", ["", "\n\n", "\x00" * 1_000, "\ufffd\u202e" * 1_000, "a" * 1_000_000, ". " * 50_000])
def test_damaged_or_empty_text_gives_no_behaviour_and_no_exception(text: str) -> None:
    assert not found(text, "behaviour")


def test_a_large_report_is_bounded_told_as_it_goes_and_says_what_is_left_out() -> None:
    text = "".join(f"On host {number} the actor dumped LSASS memory. Then all was quiet.\n" for number in range(8_000))
    begin = time.process_time()
    steps = list(map_text(text, source="report.txt"))
    assert time.process_time() - begin < 10
    assert sum(isinstance(one, Finding) and one.kind == "behaviour" for one in steps) == MAX_BEHAVIOURS
    assert sum(isinstance(one, Progress) for one in steps) >= 4
    assert [one.text for one in steps if isinstance(one, Gap)] == [
        "7,500 further sentences are counted in the techniques, not told one by one"
    ]


@settings(max_examples=50, deadline=None)
@given(st.text(max_size=300))
def test_any_text_is_read(text: str) -> None:
    assert list(map_text(text, source="prompt", question=text[:20]))


@pytest.mark.long
@settings(max_examples=3_000, deadline=None)
@given(
    st.lists(st.sampled_from([*"\n.-:T10 \u0130", "dumped ", "LSASS", "T1003.001", "not observed", "c&c"]), max_size=60)
)
def test_any_order_of_words_is_read(pieces: list[str]) -> None:
    assert list(map_text("".join(pieces), source="prompt", question="".join(pieces[:3])))
