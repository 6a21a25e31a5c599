"""Scan the bytes of a PDF: its names, however they are written or compressed, and data that does not belong.

Finds what a parser may miss: objects that no table lists, names written with #xx, data before the header and after the
end. Only zlib streams are unpacked; other filters are left to ``objects.py``.
"""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Iterator

import msgspec

from svc.assistant.file_types.signatures import describe
from svc.assistant.findings import Severity, ToolEvent
from svc.assistant.skills.file_traits import Inspection

MAX_STREAMS = 5_000
MAX_STREAM_BYTES = 4 * 1024 * 1024  # unpacked, of one stream
MAX_UNPACKED_BYTES = 64 * 1024 * 1024  # of all streams
HEAD_BYTES = 1_024  # within which viewers look for the header (ISO 32000-2, annex I)
TRAILING_BYTES = 1_024  # after the end that are not reported
_NAME = re.compile(rb"/((?:[A-Za-z0-9_.+-]|#[0-9A-Fa-f]{2}){2,60})")
_ESCAPED = re.compile(rb"#([0-9A-Fa-f]{2})")
_STREAM = re.compile(rb"stream\r?\n")
_VERSION = re.compile(rb"%PDF-(\d\.\d)")
_ACTIVE = (
    "JavaScript",
    "JS",
    "OpenAction",
    "AA",
    "Launch",
    "EmbeddedFile",
    "URI",
    "SubmitForm",
    "ImportData",
    "GoToR",
    "GoToE",
    "RichMedia",
    "XFA",
    "AcroForm",
    "ObjStm",
    "Encrypt",
    "JBIG2Decode",
    "Colors",
    "Named",
    "Rendition",
    "Sound",
    "Movie",
    "3D",
)
_ORDINARY_ESCAPES = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")


class NameScan(msgspec.Struct):
    """How often each name occurs; ``hidden`` counts those with letters or digits written as #xx."""

    version: str
    head_at: int
    ends: int
    streams: int
    size: int
    outside: int
    """Bytes outside of streams."""
    counts: Counter[str]
    hidden: Counter[str]

    def active(self) -> list[tuple[str, int]]:
        """Return the names that let a document act, with their counts, in a fixed order."""
        return [(name, self.counts[name]) for name in _ACTIVE if self.counts[name] and name != "Colors"]


def scan_names(data: bytes) -> NameScan:
    """Count the names of the whole file, including compressed streams, within bounds."""
    counts: Counter[str] = Counter()
    hidden: Counter[str] = Counter()
    outside = _without_streams(data)
    _count(outside, counts, hidden)
    streams = 0
    for piece in unpacked(data):
        streams += 1
        if b"/" in piece[:MAX_STREAM_BYTES] and b"<<" in piece:
            _count(piece, counts, hidden)
    head = _VERSION.search(data, 0, HEAD_BYTES * 8)
    version = head[1].decode() if head else ""
    head_at, ends = head.start() if head else -1, outside.count(b"%%EOF")
    return NameScan(version, head_at, ends, streams, len(data), len(outside), counts, hidden)


def _count(text: bytes, counts: Counter[str], hidden: Counter[str]) -> None:
    for raw, number in Counter(_NAME.findall(text)).items():
        name = _ESCAPED.sub(lambda m: bytes([int(m[1], 16)]), raw).decode("latin-1")
        counts[name] += number
        if b"#" in raw and any(chr(int(code, 16)) in _ORDINARY_ESCAPES for code in _ESCAPED.findall(raw)):
            hidden[name] += number


def _streams(data: bytes) -> Iterator[tuple[int, int]]:
    position, count = 0, 0
    while count < MAX_STREAMS and (start := _STREAM.search(data, position)) is not None:
        end = data.find(b"endstream", start.end())
        if end < 0:
            yield start.end(), len(data)
            return
        yield start.end(), end
        position, count = end + 9, count + 1


def _without_streams(data: bytes) -> bytes:
    pieces, position = [], 0
    for start, end in _streams(data):
        pieces.append(data[position:start])
        position = end
    return b"\n".join([*pieces, data[position:]])


def unpacked(data: bytes) -> Iterator[bytes]:
    """Yield the zlib streams unpacked."""
    total = 0
    for start, end in _streams(data):
        piece = data[start : min(end, start + MAX_STREAM_BYTES)]
        if piece[:1] not in (b"x", b"h", b"H", b"X", b"8", b"\x08", b"\x18", b"\x28"):
            continue
        try:
            plain = zlib.decompressobj().decompress(piece, MAX_STREAM_BYTES)
        except zlib.error:
            continue
        total += len(plain)
        if total > MAX_UNPACKED_BYTES:
            return
        yield plain


def raw_traits(data: bytes, names: NameScan, inspection: Inspection) -> Iterator[ToolEvent]:
    """Yield traits of the bytes: hidden names, a header that is not at the start, data after the end."""
    reported = [name for name in names.hidden if name in _ACTIVE]
    if reported:
        yield from inspection.trait(
            "hidden_names",
            "Obfuscated names of actions",
            severity=Severity.HIGH,
            why="letters or digits are needlessly written as #xx, which defeats text searches",
            value=", ".join(sorted(reported)),
            techniques=("T1027",),
        )
    if names.head_at < 0:
        yield from inspection.damaged("header", f"no %PDF- in the first {HEAD_BYTES * 8:,} bytes")
    elif names.head_at > 0:
        before = describe(data)
        yield from inspection.trait(
            "late_head",
            "The document does not start at the beginning of the file",
            severity=Severity.MEDIUM if before or names.head_at > HEAD_BYTES else Severity.LOW,
            why="viewers search for the header, but scanners may misidentify the file",
            value=f"at offset {names.head_at:,}" + (f", after a {before}" if before else ""),
            techniques=("T1036.008",) if before else (),
            offset=names.head_at,
        )
    yield from _after_end(data, inspection)


def _after_end(data: bytes, inspection: Inspection) -> Iterator[ToolEvent]:
    end = data.rfind(b"%%EOF")
    rest = data[end + 5 :].strip(b"\r\n\x00 ") if end >= 0 else b""
    if len(rest) <= TRAILING_BYTES:
        return
    content_type = describe(rest)
    yield from inspection.trait(
        "data_after_end",
        f"A {content_type} after its end" if content_type else "Data after its end",
        severity=Severity.HIGH if "program" in content_type else Severity.LOW,
        why="viewers do not show it; another program may read it",
        value=f"{len(rest):,} bytes",
        techniques=("T1027.009",),
        offset=end + 5,
    )
