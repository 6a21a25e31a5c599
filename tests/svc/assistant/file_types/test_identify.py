"""File types are identified by the first bytes."""

import gzip
import io
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc.assistant.file_types.identify import identify

LOGIN = "Nov 20 03:12:45 web1 sshd[1]: Failed password for root from 192.0.2.7 port 22 ssh2\n"


def archive(*names: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as made:
        for name in names:
            made.writestr(name, "x")
    return buffer.getvalue()


def program() -> bytes:
    return b"MZ" + bytes(58) + (128).to_bytes(4, "little") + bytes(64) + b"PE\x00\x00" + bytes(64)


@pytest.mark.parametrize(
    ("head", "name", "label"),
    [
        pytest.param(b"", "a.txt", "empty", id="empty"),
        pytest.param(b"ElfFile\x00" + bytes(20), "Security.evtx", "evtx", id="evtx"),
        pytest.param(bytes.fromhex("d4c3b2a1") + bytes(20), "x.txt", "pcap", id="pcap named as text"),
        pytest.param(bytes.fromhex("0a0d0d0a") + bytes(20), "", "pcapng", id="pcapng"),
        pytest.param(b"\x7fELF\x02\x01" + bytes(20), "auth.log", "elf", id="elf named as a log"),
        pytest.param(program(), "a.jpg", "pebin", id="windows program named as a picture"),
        pytest.param(b"MZ is how this sentence begins, and it is text", "", "txt", id="text that begins with MZ"),
        pytest.param(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3", "", "pdf", id="pdf"),
        pytest.param(gzip.compress(b"just words"), "auth.log.2.gz", "gzip", id="gzip"),
        pytest.param(gzip.compress(LOGIN.encode()), "x", "authlog", id="a compressed log"),
        pytest.param(archive("[Content_Types].xml", "word/document.xml"), "a.zip", "docx", id="docx named zip"),
        pytest.param(archive("[Content_Types].xml", "xl/workbook.xml"), "", "xlsx", id="xlsx"),
        pytest.param(archive("notes.txt"), "a.docx", "zip", id="zip named docx"),
        pytest.param(bytes.fromhex("d0cf11e0a1b11ae1") + "WordDocument".encode("utf-16-le"), "", "doc", id="doc"),
        pytest.param(LOGIN.encode() * 3, "notes.csv", "authlog", id="auth.log named csv"),
        pytest.param(LOGIN.encode("utf-16"), "", "authlog", id="auth.log in UTF-16"),
        pytest.param(b"2026-11-20T03:12:45+00:00 h CRON[1]: x\n" * 4, "", "syslog", id="a syslog"),
        pytest.param(
            b'{"__REALTIME_TIMESTAMP":"1","MESSAGE":"Failed password for root from 192.0.2.1 port 1 ssh2"}\n' * 2,
            "",
            "authlog",
            id="the journal with logins",
        ),
        pytest.param(b"-----BEGIN CERTIFICATE-----\nMIIB", "", "pem", id="pem"),
        pytest.param(b"Received: from a\nFrom: b@example.org\nSubject: c\n\nbody", "", "eml", id="mail"),
        pytest.param(b"Subject matter of this report: mail\n", "", "txt", id="prose that starts like a mail"),
        pytest.param(b'{"a": 1}\n{"a": 2}\n', "x.log", "jsonl", id="json lines"),
        pytest.param(b'{"a": [1, 2]}', "", "json", id="json"),
        pytest.param(b'{"a": "' + b"x" * 70_000, "", "json", id="json that goes on beyond the head"),
        pytest.param(b"[this is prose]", "", "txt", id="prose in brackets"),
        pytest.param(b"time,user,source\n1,root,a\n2,bob,b\n", "", "csv", id="csv without a name"),
        pytest.param(b"<!DOCTYPE html><html>", "", "html", id="html"),
        pytest.param(b"<?xml version='1.0'?><svg xmlns='x'>", "", "svg", id="svg"),
        pytest.param(b"<?xml version='1.0'?><Events>", "", "xml", id="xml"),
        pytest.param(b"#!/bin/bash\ncurl x", "", "shell", id="shell"),
        pytest.param(b"just words", "report.md", "markdown", id="text whose name says markdown"),
        pytest.param(b"just words", "", "txt", id="text"),
        pytest.param("Grüße aus Köln".encode("latin-1"), "", "txt", id="latin-1"),
        pytest.param(bytes(range(256)) * 4, "a.txt", "unknown", id="binary named text"),
    ],
)
def test_content_decides_and_the_name_only_distinguishes_texts(head, name, label):
    assert identify(head, name)[1] == label


@given(st.binary(max_size=400), st.text(max_size=12))
def test_any_bytes_get_a_type_and_a_label(head, name):
    mime_type, label = identify(head, name)
    assert "/" in mime_type
    assert label
