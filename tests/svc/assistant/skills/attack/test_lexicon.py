"""From a sentence to techniques."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from svc.assistant.knowledge.attack_names import moved_by_id, techniques_by_id
from svc.assistant.skills.attack.lexicon import CLEAR_SCORE, NAMED_SCORE, candidates, lexicon, what_of

SENTENCES = [
    ("T1003.001", "The intruder ran a tool to read credentials from the memory of lsass.exe."),
    ("T1003.006", "They asked a domain controller for all hashes with DCSync."),
    ("T1016", "Next came ipconfig /all on each server."),
    ("T1021.001", "From there they logged on to the file server over Remote Desktop."),
    ("T1027", "The strings of the sample are obfuscated."),
    ("T1041", "What it had collected was sent to its command-and-control server."),
    ("T1047", "wmic process call create started the payload."),
    ("T1053.005", "A scheduled task starts the loader every hour."),
    ("T1055.012", "It hollows a suspended svchost process."),
    ("T1056.001", "Each keystroke is recorded."),
    ("T1059.001", "A PowerShell one-liner followed."),
    ("T1070.004", "After that the dropper deletes itself."),
    ("T1071.001", "The implant beacons over HTTPS to its C2."),
    ("T1078", "Access was gained with stolen credentials over the VPN."),
    ("T1082", "It gathers the host name, the OS version and the architecture."),
    ("T1105", "It downloads further payloads from a remote server."),
    ("T1110.003", "One password was sprayed over all accounts."),
    ("T1113", "The module takes screenshots."),
    ("T1136.001", "net user /add created a local account."),
    ("T1190", "The group exploited a vulnerability in an Internet-facing appliance."),
    ("T1218.011", "rundll32.exe called an export of the library."),
    ("T1486", "Files were encrypted and a ransom note was left."),
    ("T1490", "vssadmin delete shadows removed the volume shadow copies."),
    ("T1505.003", "A web shell was found in the upload folder."),
    ("T1543.003", "The backdoor installs itself as a Windows service."),
    ("T1547.001", "For persistence it writes a value under the Run key."),
    ("T1548.002", "fodhelper was abused to bypass UAC."),
    ("T1552.005", "The credentials came from the instance metadata service."),
    ("T1562.001", "They turned off Windows Defender."),
    ("T1566.001", "The victim received a phishing email with a malicious attachment."),
    ("T1567.002", "rclone copied the archives to cloud storage."),
    ("T1574.002", "The signed executable side-loads a malicious DLL."),
]


@pytest.mark.parametrize(("technique", "sentence"), SENTENCES, ids=[technique for technique, _ in SENTENCES])
def test_the_technique_that_a_sentence_describes_is_first(technique: str, sentence: str) -> None:
    assert candidates(sentence)[0].id == technique


@pytest.mark.parametrize(
    "sentence",
    [
        "",
        "The weather was fine on Tuesday.",
        "We thank all colleagues for their review.",
        "Figure 3 shows the timeline.",
        "\x00\ufffd\u202e",
    ],
)
def test_a_sentence_without_behaviour_has_no_clear_candidate(sentence: str) -> None:
    assert all(one.score < CLEAR_SCORE for one in candidates(sentence))


def test_why_quotes_the_words_of_the_sentence() -> None:
    why = candidates("Then Dumped the memory of LSASS.")[0].why
    assert why == "Dumped … memory … LSASS"


def test_an_id_in_the_text_outranks_all_words() -> None:
    first = candidates("dumped LSASS memory (t1001.003)")[0]
    assert (first.id, first.why) == ("T1001.003", "T1001.003")
    assert first.score >= NAMED_SCORE


def test_a_withdrawn_id_in_the_text_is_not_replaced() -> None:
    assert candidates("seen: T1086")[0].id == "T1086"


def test_a_parent_follows_its_sub_technique() -> None:
    ids = [one.id for one in candidates("password spraying")]
    assert ids.index("T1110.003") < ids.index("T1110")


def test_techniques_without_phrases_are_found_by_their_name() -> None:
    entry = next(entry for entry in lexicon().techniques if entry.id == "T1687")
    assert (entry.sure, entry.says) == ([], [])
    ids = [one.id for one in candidates("They turned to exploitation for defense impairment.")]
    assert "T1687" in ids[:5]


def test_every_entry_names_a_current_or_former_technique() -> None:
    entries = lexicon().techniques
    assert len({entry.id for entry in entries}) == len(entries) > 500
    assert all(entry.id in techniques_by_id() or entry.id in moved_by_id() for entry in entries)
    assert all(entry.what.endswith(".") for entry in entries)
    assert {entry.id for entry in entries} >= set(techniques_by_id())
    assert what_of("T1055") == "Runs code inside another process."
    assert what_of("T9999") == ""


def test_a_sentence_takes_less_than_a_millisecond() -> None:
    candidates("warm")
    begin = time.process_time()
    for _ in range(10):
        for _, sentence in SENTENCES:
            candidates(sentence)
    assert (time.process_time() - begin) / (10 * len(SENTENCES)) < 0.001


@settings(max_examples=50, deadline=None)
@given(st.text(max_size=300))
def test_any_text_has_candidates_in_order(text: str) -> None:
    scores = [one.score for one in candidates(text)]
    assert scores == sorted(scores, reverse=True)
