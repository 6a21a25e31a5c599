"""A PDF by its bytes alone: its names, however they are written or compressed, and what does not belong. Pure.

Finds what a parser may miss: objects that no table lists, names written with #xx, data before the head and after the
end. Streams are unpacked with zlib where they are; other filters are left to ``pdf_objects.py``.
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
HEAD_BYTES = 1_024  # within which readers look for the head (ISO 32000-2, annex I)
TRAILING_BYTES = 1_024  # of what follows the end before it is told
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
    """How often each name stands in the file; ``hidden`` are those written with #xx for plain letters."""

    version: str
    head_at: int
    ends: int
    streams: int
    counts: Counter[str]
    hidden: Counter[str]

    def active(self) -> list[tuple[str, int]]:
        """Those that let a document do something, in the table's order."""
        return [(name, self.counts[name]) for name in _ACTIVE if self.counts[name] and name != "Colors"]


def scan_names(data: bytes) -> NameScan:
    """The names of the whole file, compressed streams included, within bounds."""
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
    return NameScan(version, head.start() if head else -1, outside.count(b"%%EOF"), streams, counts, hidden)


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
    """What zlib finds in the streams; a damaged one up to the damage."""
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
    """What the bytes tell beside the names' meaning: hidden names, a head that is not first, more after the end."""
    told = [name for name in names.hidden if name in _ACTIVE]
    if told:
        yield from inspection.trait(
            "hidden_names",
            "NameScan of actions are written so that a search misses them",
            severity=Severity.HIGH,
            why="letters are written as #xx where nothing asks for it",
            value=", ".join(sorted(told)),
            techniques=("T1027",),
        )
    if names.head_at < 0:
        yield from inspection.damaged("head", f"no %PDF- in the first {HEAD_BYTES * 8:,} bytes")
    elif names.head_at > 0:
        before = describe(data)
        yield from inspection.trait(
            "late_head",
            "The document does not begin at the file's beginning",
            severity=Severity.MEDIUM if before or names.head_at > HEAD_BYTES else Severity.LOW,
            why="readers look for the head; scanners that do not take the file for something else",
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
        f"A {content_type} follows its end" if content_type else "Data follows its end",
        severity=Severity.HIGH if "program" in content_type else Severity.LOW,
        why="no reader shows it; something else may look for it there",
        value=f"{len(rest):,} bytes",
        techniques=("T1027.009",),
        offset=end + 5,
    )
