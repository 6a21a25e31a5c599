"""Reading a shortcut: where each kind of item, block and text leads, and that any bytes give a result."""

from __future__ import annotations

import struct
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from svc.assistant.skills.shortcut.link_file import MAX_ITEMS, read_shortcut
from tests.support import office_files as made

HAS_ITEMS, HAS_INFORMATION, HAS_ARGUMENTS, IS_WIDE, IGNORES_INFORMATION = 1, 2, 0x20, 0x80, 0x100
COMPUTER = UUID("20d04fe0-3aea-1069-a2d8-08002b30309d")
NETWORK = UUID("208d2c60-3aea-1069-a2d7-08002b30309d")
CONTROL_PANEL = UUID("21ec2020-3aea-1069-a2dd-08002b30309d")


def item(content: bytes) -> bytes:
    return struct.pack("<H", len(content) + 2) + content


def folder(identity: UUID) -> bytes:
    return item(b"\x1f\x50" + identity.bytes_le)


def drive(name: str) -> bytes:
    return item(b"\x2f" + name.encode().ljust(22, b"\x00"))


def file_entry(name: str) -> bytes:
    return item(b"\x32\x00" + bytes(10) + name.encode() + b"\x00")


def shared_folder(name: str) -> bytes:
    return item(b"\xc3\x01\xc5" + name.encode() + b"\x00Microsoft Windows Network\x00\x00\x02\x00")


def address(url: str) -> bytes:
    return item(b"\x61\x80\x00\x00" + url.encode("utf-16-le") + b"\x00\x00")


def applet(path: str) -> bytes:
    return item(b"\x00" * 10 + b"\x0a\x00\x0b\x00" + path.encode("utf-16-le") + b"\x00\x00\x00\x00")


def block(signature: int, path: str) -> bytes:
    return (
        struct.pack("<II", 788, signature)
        + path.encode().ljust(260, b"\x00")
        + path.encode("utf-16-le").ljust(520, b"\x00")
    )


def share_information(share: str, rest: str) -> bytes:
    named = struct.pack("<IIIII", 20 + len(share) + 1, 2, 20, 0, 0x20000) + share.encode() + b"\x00"
    suffix = rest.encode() + b"\x00"
    return struct.pack("<IIIIIII", 28 + len(named) + len(suffix), 28, 2, 0, 0, 28, 28 + len(named)) + named + suffix


def link(*, items: bytes = b"", information: bytes = b"", flags: int = IS_WIDE, rest: bytes = bytes(4)) -> bytes:
    flags |= (HAS_ITEMS if items else 0) | (HAS_INFORMATION if information else 0)
    head = b"L\x00\x00\x00" + bytes.fromhex("0114020000000000c000000000000046") + struct.pack("<I", flags)
    listed = struct.pack("<H", len(items) + 2) + items + bytes(2) if items else b""
    return head.ljust(76, b"\x00") + listed + information + rest


TARGETS = {
    "a drive and files": (
        folder(COMPUTER) + drive("C:\\") + file_entry("Tools") + file_entry("a.exe"),
        "C:\\Tools\\a.exe",
    ),
    "a share and a file": (
        folder(NETWORK) + shared_folder("\\\\192.0.2.7\\s") + file_entry("a.exe"),
        "\\\\192.0.2.7\\s\\a.exe",
    ),
    "a server, its share and a file": (
        shared_folder("\\\\FILES") + shared_folder("\\\\FILES\\s") + file_entry("a.exe"),
        "\\\\FILES\\s\\a.exe",
    ),
    "an address": (address("https://x.example/a"), "https://x.example/a"),
    "a library of the Control Panel": (
        folder(COMPUTER) + folder(CONTROL_PANEL) + applet("C:\\Users\\Public\\a.cpl"),
        "C:\\Users\\Public\\a.cpl",
    ),
    "a whole path in one item": (drive("C:\\") + file_entry("C:\\Windows\\cmd.exe"), "C:\\Windows\\cmd.exe"),
    "a folder of the shell alone": (folder(COMPUTER), ""),
}


@pytest.mark.parametrize(("items", "target"), TARGETS.values(), ids=TARGETS)
def test_items_lead_to_a_target(items: bytes, target: str):
    assert read_shortcut(link(items=items)).target == target


def test_information_about_a_share_comes_before_the_items():
    data = link(items=drive("C:\\") + file_entry("a.exe"), information=share_information("\\\\h\\s", "b.exe"))
    assert read_shortcut(data).target == "\\\\h\\s\\b.exe"


def test_information_that_windows_ignores_is_ignored():
    data = link(
        items=drive("C:\\") + file_entry("a.exe"),
        information=share_information("\\\\h\\s", "b.exe"),
        flags=IS_WIDE | IGNORES_INFORMATION,
    )
    assert read_shortcut(data).target == "C:\\a.exe"


def test_extra_data_blocks_are_a_fallback_for_target_and_icon():
    blocks = block(0xA0000001, "%TEMP%\\a.exe") + block(0xA0000007, "\\\\192.0.2.7\\s\\a.ico") + bytes(4)
    shortcut = read_shortcut(link(rest=blocks))
    assert shortcut.target == "%TEMP%\\a.exe"
    assert shortcut.words["icon"] == "\\\\192.0.2.7\\s\\a.ico"


def test_a_complete_file_has_no_damage_and_is_read_to_its_end():
    data = made.shortcut("C:\\a.exe", "/c calc", icon="a.ico")
    shortcut = read_shortcut(data)
    assert shortcut.damage == []
    assert shortcut.end == len(data)


def test_a_truncated_text_is_kept_and_noted():
    data = made.shortcut("C:\\a.exe", "/c calculator")
    shortcut = read_shortcut(data[:-8])
    assert shortcut.words["arguments"] == "/c calculat"
    assert [damage.offset for damage in shortcut.damage] == [114]


def test_items_are_counted():
    shortcut = read_shortcut(link(items=file_entry("a") * (MAX_ITEMS + 50)))
    assert shortcut.target.count("a") == MAX_ITEMS


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=400), st.integers(0, 0xFFFF))
def test_any_bytes_give_a_result(data: bytes, flags: int):
    shortcut = read_shortcut(link(flags=flags, rest=data))
    assert 76 <= shortcut.end <= 76 + len(data)
