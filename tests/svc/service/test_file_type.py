"""What a file is, by its first bytes."""

from __future__ import annotations

import io
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc.service.file_type import read_type

PE = "application/vnd.microsoft.portable-executable"


def zip_of(*names: str) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        for name in names:
            archive.writestr(name, "x")
    return sink.getvalue()


FILES = {
    "text": (b"Failed password for root\n", None, "text/plain", "txt"),
    "empty": (b"", None, "text/plain", "txt"),
    "latin-1 text": ("Grüße an Müller".encode("latin-1"), None, "text/plain", "txt"),
    "utf-16 text": ("hello".encode("utf-16"), None, "text/plain", "txt"),
    "text cut inside a character": ("a€".encode()[:-1], None, "text/plain", "txt"),
    "coloured log": (b"\x1b[31mred\x1b[0m\n", None, "text/plain", "txt"),
    "json": (b' {"a": 1}', None, "application/json", "json"),
    "xml": (b'<?xml version="1.0"?><a/>', None, "text/xml", "xml"),
    "html": (b"<!DOCTYPE html><p>", None, "text/html", "html"),
    "a log line in brackets": (b"[Mon Jan 01 2026] started", None, "text/plain", "txt"),
    "executable": (b"MZ\x90\x00\x03\x00\x00\x00" + bytes(99), None, PE, "pe"),
    "elf": (b"\x7fELF\x02\x01\x01" + bytes(99), None, "application/x-executable", "elf"),
    "event log": (b"ElfFile\x00" + bytes(99), None, "application/x-ms-evtx", "evtx"),
    "capture": (b"\xd4\xc3\xb2\xa1\x02\x00\x04\x00" + bytes(99), None, "application/vnd.tcpdump.pcap", "pcap"),
    "pdf": (b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\x00", None, "application/pdf", "pdf"),
    "zip": (zip_of("a.txt"), None, "application/zip", "zip"),
    "png": (b"\x89PNG\r\n\x1a\n" + bytes(20), None, "image/png", "png"),
    "zeros": (bytes(100), None, "application/octet-stream", "bin"),
    "noise": (b"\x01\x02\x03\x99", None, "application/octet-stream", "bin"),
    "hint for text": (b"a,b\n1,2\n", "text/csv; charset=utf-8", "text/csv", "csv"),
    "hint for noise": (b"\x01\x02\x03\x99", "application/x-mine", "application/x-mine", "x-mine"),
    "hint against content": (b"MZ\x00\x01" + bytes(9), "text/plain", PE, "pe"),
    "text said to be a picture": (b"hello", "image/png", "text/plain", "txt"),
    "a hint that is none": (b"hello", "../../x", "text/plain", "txt"),
}  # fmt: skip


@pytest.mark.parametrize(("head", "hint", "mime", "label"), FILES.values(), ids=FILES)
def test_the_content_decides_and_the_hint_only_where_it_does_not(head: bytes, hint: str | None, mime: str, label: str):
    assert read_type(head, hint) == (mime, label)


def test_office_documents_are_told_from_other_archives():
    assert read_type(zip_of("[Content_Types].xml", "xl/workbook.xml"))[1] == "xlsx"


@given(st.binary(max_size=200), st.one_of(st.none(), st.text(max_size=40)))
def test_any_bytes_have_a_type(head: bytes, hint: str | None):
    mime, label = read_type(head, hint)
    assert "/" in mime
    assert label
