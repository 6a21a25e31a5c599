"""Sections on inspected files: evidence from a file that means harm makes no link, no picture and no HTML."""

from __future__ import annotations

import pytest
from markdown_it import MarkdownIt

from svc.assistant.analyst.plan import make_plan, read_question
from svc.assistant.findings import Facts, Finding, Severity
from svc.assistant.skills.answer_parts import as_sections
from svc.assistant.skills.file_answer import body, next_steps, verdict
from svc.assistant.skills.file_traits import FileFacts, FileFamily, Inspection, digests
from svc.assistant.skills.indicators import tool as indicators
from svc.assistant.skills.office import answer as office
from svc.assistant.skills.office.findings import OFFICE, OfficeFacts
from svc.assistant.skills.pdf import answer as pdf
from svc.assistant.skills.pdf.findings import PDF, PdfFacts
from svc.assistant.skills.program import answer as program
from svc.assistant.skills.program.findings import PROGRAM, ProgramFacts
from svc.assistant.skills.shortcut import answer as shortcut
from svc.assistant.skills.shortcut.findings import SHORTCUT, ShortcutFacts
from svc.assistant.turn import TurnFile

HOSTILE = "`![x](http://evil.top/p.png) <img src=x onerror=alert(1)> ``` | [a](javascript:alert(1)) **b**"


def pdf_facts(producer: str | None = None, names: tuple[str, ...] = ()) -> PdfFacts:
    return PdfFacts(
        format=producer or "PDF", **digests(b""), version="1.7", pages=1, objects=1, unread_objects=0, updates=0,
        is_encrypted=False, producer=producer, names=list(names),
    )  # fmt: skip


NO_DIGESTS = digests(b"")
FAMILIES = {
    "program": (program, PROGRAM, ProgramFacts(format=HOSTILE, **NO_DIGESTS, pdb=HOSTILE, libraries=[HOSTILE])),
    "pdf": (pdf, PDF, pdf_facts(HOSTILE, (HOSTILE,))),
    "office": (office, OFFICE, OfficeFacts(format=HOSTILE, **NO_DIGESTS, macros=1, is_encrypted=False, title=HOSTILE)),
    "shortcut": (
        shortcut,
        SHORTCUT,
        ShortcutFacts(
            format=HOSTILE,
            **NO_DIGESTS,
            target=HOSTILE,
            description=HOSTILE,
            relative_path=None,
            working_folder=None,
            arguments=HOSTILE,
            icon=None,
            window="normal",
            target_size=0,
            created=None,
            modified=None,
            accessed=None,
            machine=HOSTILE,
            mac_address=None,
        ),
    ),
}


def hostile(family: FileFamily, facts: FileFacts) -> list[Finding[Facts]]:
    inspection = Inspection(family, HOSTILE)
    return [
        inspection.facts("a file", facts),
        inspection.part("link", HOSTILE, note=HOSTILE, text=HOSTILE, size=1),
        *inspection.trait("x", HOSTILE, severity=Severity.CRITICAL, why=HOSTILE, value=HOSTILE),
        *(
            item
            for item in indicators.inspect(f"http://evil.top/a {HOSTILE}", source=HOSTILE)
            if isinstance(item, Finding)
        ),
        inspection.verdict(),
    ]


@pytest.mark.parametrize(
    ("section", "family", "facts"),
    FAMILIES.values(),
    ids=FAMILIES,
)
def test_evidence_cannot_create_links_images_or_html(section, family: FileFamily, facts: FileFacts):
    found = hostile(family, facts)
    assert {finding.kind for finding in found} == set(section.SECTION.skill.kinds)
    markdown = section.SECTION.verdict(found) + "\n\n" + as_sections(section.SECTION.folds(found))
    tokens = MarkdownIt("commonmark", {"html": True}).enable("table").parse(markdown)
    kinds = {"link_open", "image", "html_inline", "html_block"}
    assert [child.type for token in tokens for child in [token, *(token.children or [])] if child.type in kinds] == []


def test_two_files_are_shown_one_after_the_other():
    one, other = Inspection(PDF, "a.pdf"), Inspection(PDF, "b.pdf")
    found = [one.facts("PDF", pdf_facts()), one.verdict(), other.facts("PDF", pdf_facts()), other.verdict()]
    assert body(found).index("`a.pdf`") < body(found).index("`b.pdf`")
    assert verdict(found).count("**") == 4


def test_an_encrypted_document_is_not_reported_as_clean():
    locked = Inspection(OFFICE, "a.docx")
    facts = OfficeFacts(format="Word document", **digests(b""), macros=0, is_encrypted=True)
    sentence = verdict([locked.facts("encrypted Office document", facts), locked.verdict()])
    assert "was not examined and cannot be judged" in sentence


def test_points_count_once_per_trait():
    inspection = Inspection(PDF, "a.pdf")
    for _ in range(5):
        list(inspection.trait("same", "Same", severity=Severity.HIGH, why="because"))
    assert inspection.verdict().facts.verdict == "suspicious"
    assert next_steps([inspection.verdict()])


def test_parts_alone_have_a_verdict_line():
    assert verdict([Inspection(PDF, "a.pdf").part("link", "x")])


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
def test_a_file_is_routed_to_the_tool_for_its_type(prompt: str, label: str, skill: str):
    file = TurnFile(name="sample.bin", size=9, sha256="0" * 64, mime_type="application/x", label=label, source=b"")
    plan = make_plan(read_question(prompt, [file], use_experimental=True))
    assert [planned.skill.name for planned in plan.skills] == [skill]
