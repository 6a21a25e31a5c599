"""File types by first bytes."""

from __future__ import annotations

import io
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc.service.sessions.file_type import detect_type

PE_HEAD = b"MZ" + bytes(58) + (64).to_bytes(4, "little") + b"PE\0\0" + bytes(40)
PE = "application/vnd.microsoft.portable-executable"


def zip_of(*names: str) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        for name in names:
            archive.writestr(name, "x")
    return sink.getvalue()


FILES = {
    "text": (b"Failed words\n", "a", None, "text/plain", "txt"),
    "a log of logins": (b"Nov 20 03:12:45 web1 sshd[1]: Failed password for root from 192.0.2.7 port 22 ssh2\n" * 3,
                        "x.bin", None, "text/plain", "authlog"),
    "json": (b' {"a": 1}', "a", None, "application/json", "json"),
    "executable": (PE_HEAD, "a.txt", None, PE, "pebin"),
    "zip": (zip_of("a.txt"), "a", None, "application/zip", "zip"),
    "zeros": (bytes(100), "a", None, "application/octet-stream", "unknown"),
    "hint for text": (b"one\ntwo\n", "a", "text/x-mine; charset=utf-8", "text/x-mine", "x-mine"),
    "hint for noise": (b"\x01\x02\x03\x99", "a", "application/x-mine", "application/x-mine", "x-mine"),
    "hint against content": (PE_HEAD, "a", "text/plain", PE, "pebin"),
    "text said to be a picture": (b"hello", "a", "image/png", "text/plain", "txt"),
    "an invalid hint": (b"hello", "a", "../../x", "text/plain", "txt"),
}  # fmt: skip


@pytest.mark.parametrize(("head", "name", "hint", "mime", "label"), FILES.values(), ids=FILES)
def test_the_content_decides_and_the_hint_is_a_fallback(
    head: bytes, name: str, hint: str | None, mime: str, label: str
):
    assert detect_type(head, name, hint) == (mime, label)


def test_office_documents_are_distinguished_from_other_archives():
    assert detect_type(zip_of("[Content_Types].xml", "xl/workbook.xml"), "a")[1] == "xlsx"


@given(st.binary(max_size=200), st.text(max_size=40), st.one_of(st.none(), st.text(max_size=40)))
def test_any_bytes_have_a_type(head: bytes, name: str, hint: str | None):
    mime, label = detect_type(head, name, hint)
    assert "/" in mime
    assert label
