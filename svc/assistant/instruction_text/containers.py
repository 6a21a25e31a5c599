"""The text inside compressed parts of a file: members of a ZIP (an Office document is one) and streams of a PDF.

Bounded: damaged, encrypted or huge parts are skipped, because the tool for the format reports them. Pure.
"""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Iterator
from typing import BinaryIO

from svc.assistant.file_types.signatures import starts_as

MAX_PART_BYTES = 8 * 1024 * 1024
MAX_PARTS_BYTES = 64 * 1024 * 1024
MAX_PARTS = 2_000
MAX_PDF_BYTES = 64 * 1024 * 1024
_STREAM = re.compile(rb"stream\r?\n")
_PDF_STRING = re.compile(rb"\((?:[^()\\]|\\.){0,4000}\)|<[0-9A-Fa-f]{2,4000}>|T[dDm*]|TJ|Tj|ET")
_PDF_ESCAPE = re.compile(rb"\\([()\\])")
_TAG = re.compile(rb"<[^<>]{0,2000}>")
_PARAGRAPH = re.compile(rb"</(?:w:p|a:p|text:p|row|si|p)>")
_DAMAGE = (zipfile.BadZipFile, zlib.error, OSError, RuntimeError, NotImplementedError, ValueError, EOFError)


def parts(stream: BinaryIO) -> Iterator[tuple[str, bytes]]:
    """Yield the name and the content of each compressed part of a ZIP or a PDF; nothing for other files."""
    head = stream.read(8)
    stream.seek(0)
    if starts_as(head, "zip"):
        yield from _members(stream)
    elif starts_as(head, "pdf_start"):
        yield from _pdf_streams(stream.read(MAX_PDF_BYTES))


def _members(stream: BinaryIO) -> Iterator[tuple[str, bytes]]:
    left = MAX_PARTS_BYTES
    try:
        with zipfile.ZipFile(stream) as archive:
            for info in archive.infolist()[:MAX_PARTS]:
                if info.is_dir() or left <= 0:
                    continue
                data = _member(archive, info, min(MAX_PART_BYTES, left))
                left -= len(data)
                yield f"member {info.filename}", data
                if b"<" in data[:200] and info.filename.endswith((".xml", ".xhtml", ".html")):
                    yield f"text of {info.filename}", _TAG.sub(b"", _PARAGRAPH.sub(b"\n", data))
    except _DAMAGE:
        return


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, limit: int) -> bytes:
    try:
        with archive.open(info) as member:
            return member.read(limit)
    except _DAMAGE:
        return b""


def _pdf_streams(data: bytes) -> Iterator[tuple[str, bytes]]:
    left = MAX_PARTS_BYTES
    for number, found in enumerate(_STREAM.finditer(data)):
        if number == MAX_PARTS or left <= 0:
            return
        try:
            content = zlib.decompressobj().decompress(data[found.end() : found.end() + MAX_PART_BYTES], MAX_PART_BYTES)
        except zlib.error:
            content = data[found.end() : data.find(b"endstream", found.end(), found.end() + MAX_PART_BYTES)]
        left -= len(content)
        yield f"text of stream {number + 1}", _shown_text(content)


def _shown_text(content: bytes) -> bytes:
    """The strings that the operators of a content stream show, joined as they are seen."""
    pieces = []
    for found in _PDF_STRING.finditer(content):
        token = found[0]
        if token.startswith(b"("):
            pieces.append(_PDF_ESCAPE.sub(rb"\1", token[1:-1]))
        elif token.startswith(b"<"):
            digits = token[1:-1].decode()
            pieces.append(bytes.fromhex(digits[: len(digits) // 2 * 2]).replace(b"\0", b""))
        else:
            pieces.append(b" ")
    return b"".join(pieces)
