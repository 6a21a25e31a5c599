"""What a file is, read from its first bytes: MIME type and a short label. Pure; the sender's word is a hint alone.

Text is told by its bytes; the formats that investigations meet by the short table here, whose names are libmagic's
(``puremagic`` knows several programs for the first bytes of each of them); everything else by ``puremagic``.
"""

from __future__ import annotations

import re

import puremagic

HEAD_BYTES = 8_192  # enough for every signature in the table and for a look at text

_MIME = re.compile(r"[a-z0-9!#$&^_.+-]{1,63}/[a-z0-9!#$&^_.+-]{1,63}")
_NOT_TEXT = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_TEXT_STARTS = (
    (re.compile(r"\s*<\?xml\b", re.IGNORECASE), "text/xml", "xml"),
    (re.compile(r"\s*<(!doctype html|html)\b", re.IGNORECASE), "text/html", "html"),
    (re.compile(r"\s*[\[{]\s*([\"{\[\]}\d-]|true|false|null)"), "application/json", "json"),
)
_SIGNATURES = (
    (b"MZ", "application/vnd.microsoft.portable-executable", "pe"),
    (b"\x7fELF", "application/x-executable", "elf"),
    (b"ElfFile\x00", "application/x-ms-evtx", "evtx"),
    (b"\xd4\xc3\xb2\xa1", "application/vnd.tcpdump.pcap", "pcap"),
    (b"\xa1\xb2\xc3\xd4", "application/vnd.tcpdump.pcap", "pcap"),
    (b"\x4d\x3c\xb2\xa1", "application/vnd.tcpdump.pcap", "pcap"),
    (b"\x0a\x0d\x0d\x0a", "application/x-pcapng", "pcapng"),
    (b"\x1f\x8b", "application/gzip", "gz"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "application/x-ole-storage", "ole"),
    (b"SQLite format 3\x00", "application/vnd.sqlite3", "sqlite"),
    (b"%PDF-", "application/pdf", "pdf"),
    (b"PK\x03\x04", "application/zip", "zip"),
    (b"PK\x05\x06", "application/zip", "zip"),
)
_OFFICE = "application/vnd.openxmlformats-officedocument"
_OFFICE_PARTS = (
    (b"word/", f"{_OFFICE}.wordprocessingml.document", "docx"),
    (b"xl/", f"{_OFFICE}.spreadsheetml.sheet", "xlsx"),
    (b"ppt/", f"{_OFFICE}.presentationml.presentation", "pptx"),
)
_GENERIC = ("text/plain", "application/octet-stream")


def read_type(head: bytes, hint: str | None = None) -> tuple[str, str]:
    """MIME type and label of a file that starts with ``head``; the hint decides where the content does not."""
    mime, label = _of_text(head) if is_text(head) else _of_signature(head)
    clean = (hint or "").partition(";")[0].strip().lower()
    if mime in _GENERIC and _MIME.fullmatch(clean) and clean not in _GENERIC:
        says_text = clean.startswith("text/") or clean in ("application/json", "application/jsonl")
        if says_text == (mime == "text/plain"):
            return clean, clean.rpartition("/")[2]
    return mime, label


def is_text(head: bytes) -> bool:
    """Whether the bytes read as text: UTF-16 with its mark, UTF-8, or another 8-bit text without controls."""
    if head.startswith(_UTF16):
        return True
    if _NOT_TEXT.search(head):
        return False
    try:
        head.decode("utf-8")
    except UnicodeDecodeError as error:
        is_cut_at_end = error.start >= len(head) - 3
        return is_cut_at_end or sum(byte >= 0x80 for byte in head) * 10 < len(head) * 3
    return True


def _of_text(head: bytes) -> tuple[str, str]:
    text = head.decode("utf-16" if head.startswith(_UTF16) else "utf-8", "replace").lstrip("\ufeff")
    for start, mime, label in _TEXT_STARTS:
        if start.match(text):
            return mime, label
    if head.startswith(b"%PDF-"):
        return "application/pdf", "pdf"
    return "text/plain", "txt"


def _of_signature(head: bytes) -> tuple[str, str]:
    for start, mime, label in _SIGNATURES:
        if head.startswith(start):
            return _of_zip(head) if label == "zip" else (mime, label)
    try:
        best = puremagic.magic_string(head)[0]
    except (puremagic.PureError, ValueError):
        return "application/octet-stream", "bin"
    is_sure = len(best.byte_match.strip(b"\x00")) >= 2
    if not is_sure or not best.mime_type:
        return "application/octet-stream", "bin"
    return best.mime_type, best.extension.lstrip(".") or "bin"


def _of_zip(head: bytes) -> tuple[str, str]:
    if b"[Content_Types].xml" in head:
        for part, mime, label in _OFFICE_PARTS:
            if part in head:
                return mime, label
    return "application/zip", "zip"
