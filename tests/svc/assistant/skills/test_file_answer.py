"""Sections on inspected files: evidence from a file that means harm makes no link, no picture and no HTML."""

from __future__ import annotations

import pytest
from markdown_it import MarkdownIt

from svc.assistant.analyst.plan import plan, read_question
from svc.assistant.findings import Finding as TypedFinding
from svc.assistant.findings import LooseFinding as Finding
from svc.assistant.findings import Severity
from svc.assistant.skills.file_answer import body, next_steps, verdict
from svc.assistant.skills.file_traits import Inspection
from svc.assistant.skills.indicators import tool as indicators
from svc.assistant.skills.office import answer as office
from svc.assistant.skills.pdf import answer as pdf
from svc.assistant.skills.program import answer as program
from svc.assistant.skills.shortcut import answer as shortcut
from svc.assistant.turn import TurnFile

HOSTILE = "`![x](http://evil.top/p.png) <img src=x onerror=alert(1)> ``` | [a](javascript:alert(1)) **b**"


def hostile(family: str) -> list[Finding]:
    inspection = Inspection(family, HOSTILE)
    return [
        inspection.facts("a file", {"format": HOSTILE, "names": [HOSTILE], "size": 3}),
        inspection.part("link", HOSTILE, note=HOSTILE, text=HOSTILE, size=1),
        *inspection.trait("x", HOSTILE, severity=Severity.CRITICAL, why=HOSTILE, value=HOSTILE),
        *(
            item
            for item in indicators.inspect(f"http://evil.top/a {HOSTILE}", source=HOSTILE)
            if isinstance(item, TypedFinding)
        ),
        inspection.verdict(),
    ]


@pytest.mark.parametrize(
    ("section", "family"),
    [(program, "program"), (pdf, "pdf"), (office, "office"), (shortcut, "shortcut")],
    ids=["program", "pdf", "office", "shortcut"],
)
def test_evidence_can_make_no_link_no_image_and_no_html(section, family: str):
    found = hostile(family)
    assert {finding.kind for finding in found} == set(section.SECTION.skill.kinds)
    markdown = section.SECTION.verdict(found) + "\n\n" + section.SECTION.body(found)
    tokens = MarkdownIt("commonmark", {"html": True}).enable("table").parse(markdown)
    kinds = {"link_open", "image", "html_inline", "html_block"}
    assert [child.type for token in tokens for child in [token, *(token.children or [])] if child.type in kinds] == []


def test_two_files_are_shown_one_after_the_other():
    one, other = Inspection("pdf", "a.pdf"), Inspection("pdf", "b.pdf")
    found = [one.facts("PDF", {"size": 1}), one.verdict(), other.facts("PDF", {"size": 2}), other.verdict()]
    assert body(found).index("`a.pdf`") < body(found).index("`b.pdf`")
    assert verdict(found).count("**") == 4


def test_a_document_that_a_password_keeps_shut_is_not_called_quiet():
    sealed = Inspection("office", "a.docx")
    said = verdict([sealed.facts("encrypted Office document", {"is_encrypted": True}), sealed.verdict()])
    assert "was not read and cannot be judged" in said


def test_points_add_up_once_a_trait():
    inspection = Inspection("pdf", "a.pdf")
    for _ in range(5):
        list(inspection.trait("same", "Same", severity=Severity.HIGH, why="because"))
    assert inspection.verdict().attributes["verdict"] == "suspicious"
    assert next_steps([inspection.verdict()])


def test_parts_alone_have_a_verdict_line_too():
    assert verdict([Inspection("pdf", "a.pdf").part("link", "x")])


@pytest.mark.parametrize(
    ("label", "skill"),
    [
        ("pebin", "program"),
        ("elf", "program"),
        ("pdf", "pdf"),
        ("docx", "office"),
        ("rtf", "office"),
        ("lnk", "shortcut"),
    ],
)
@pytest.mark.parametrize("prompt", ["is this malicious?", "Is this file malicious?", "analyze the attached file", ""])
def test_a_file_goes_to_the_tool_that_is_made_for_it(prompt: str, label: str, skill: str):
    file = TurnFile(name="sample.bin", size=9, sha256="0" * 64, mime_type="application/x", label=label, source=b"")
    assert [ask.skill.name for ask in plan(read_question(prompt, [file], use_experimental=True)).asks] == [skill]
