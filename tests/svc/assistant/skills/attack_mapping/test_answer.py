"""The answer that maps a text to ATT&CK."""

from __future__ import annotations

import pytest

from svc.assistant.findings import Facts, Finding
from svc.assistant.skills.answer_parts import as_sections
from svc.assistant.skills.attack_mapping.answer import SECTION
from svc.assistant.skills.attack_mapping.tool import inspect

STORY = """\
They dumped LSASS memory with procdump.
A scheduled task was created for persistence.
vssadmin removed the shadow copies.
They moved on over RDP sessions.
"""


def mapped(text: str) -> list[Finding[Facts]]:
    return [one for one in inspect(text, source="report.txt") if isinstance(one, Finding)]


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        pytest.param(
            "They dumped LSASS memory with procdump.",
            "**T1003.001 OS Credential Dumping: LSASS Memory**. Reads passwords and hashes from the memory of LSASS,"
            " the Windows logon process.",
            id="one",
        ),
        pytest.param("The weather was fine.", "**Not examined:** no sentence describes a known technique", id="none"),
        pytest.param(
            "We did not observe Kerberoasting.",
            "**No technique is reported as observed:** 1 sentence says",
            id="denied",
        ),
        pytest.param("It sends the commands.", "**No clear technique.** The wording hints at T", id="weak"),
        pytest.param(STORY, "**4 techniques of 4 tactics:** T", id="several"),
    ],
)
def test_the_verdict_says_what_the_text_shows_and_how_sure_it_is(text: str, verdict: str) -> None:
    assert SECTION.verdict(mapped(text)).startswith(verdict)


def test_each_technique_is_listed_with_its_sentence_words_and_location() -> None:
    row = next(line for line in as_sections(SECTION.folds(mapped(STORY))).split("\n") if line.startswith("| T1490"))
    assert "`vssadmin removed the shadow copies.` (`report.txt`, line 3)" in row
    assert "`vssadmin … shadow copies`" in row


def test_only_a_short_text_lists_candidates_per_sentence() -> None:
    assert "Sentences with their candidates" in as_sections(SECTION.folds(mapped(STORY)))
    assert "Sentences with their candidates" not in as_sections(SECTION.folds(mapped(STORY * 5)))


def test_the_source_of_the_names_is_given() -> None:
    assert "ATT&CK 19.0 of 2026-04-28, © The MITRE Corporation" in as_sections(SECTION.folds(mapped(STORY)))


def test_a_report_without_initial_access_suggests_looking_for_it() -> None:
    assert any("initial access" in step for step in SECTION.next_steps(mapped(STORY)))
    assert SECTION.next_steps(mapped("The weather was fine.")) == []


def test_text_cannot_break_out_of_the_table() -> None:
    hostile = "They dumped LSASS memory | `x` | <img src=x> [a](http://evil.example/) with procdump"
    findings = mapped(hostile)
    row = next(line for line in as_sections(SECTION.folds(findings)).split("\n") if line.startswith("| T1003.001"))
    assert row.count("|") - row.count("\\|") == 7
    assert "``They dumped LSASS memory \\| `x`" in row
