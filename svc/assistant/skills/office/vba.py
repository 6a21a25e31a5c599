"""Extract VBA macros: find the modules of a project in its streams, and decompress them.

The compression is MS-OVBA 2.4.1. A module's stream starts with the compiled code; the compressed source follows. The
source is found by its first words instead of the directory's offset, so that a damaged directory hides nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

MAX_SOURCE_BYTES = 8 * 1024 * 1024  # of one module
MAX_MODULES = 400
_CHUNK_BYTES = 4_096  # MS-OVBA 2.4.1.1.4: a chunk holds as much, decompressed
_SIGNATURE = 0x01
_SOURCE = re.compile(rb"\x01(..)\x00Attribut", re.DOTALL)
_CODE_PAGE_RECORD = re.compile(rb"\x03\x00\x02\x00\x00\x00(..)", re.DOTALL)
_ATTRIBUTE_LINE = re.compile(r"^Attribute VB_.*$", re.MULTILINE)
_LEAST_COMPILED = 4_000  # bytes of compiled code that cannot come from an empty source


class VbaModule(msgspec.Struct, frozen=True):
    """One module. ``is_stomped``: it has compiled code, but its source was removed (VBA stomping)."""

    name: str
    source: str
    is_stomped: bool = False


def decompress(data: bytes) -> bytes:
    """Return the content of a compressed container up to the first damage; ``b""`` if it is not one."""
    if not data or data[0] != _SIGNATURE:
        return b""
    out = bytearray()
    position = 1
    while position + 2 <= len(data) and len(out) < MAX_SOURCE_BYTES:
        header = int.from_bytes(data[position : position + 2], "little")
        end = min(position + (header & 0x0FFF) + 3, len(data))
        if (header >> 12) & 7 != 3:
            break
        if not header & 0x8000:
            out += data[position + 2 : position + 2 + _CHUNK_BYTES]
        elif not _unpack_chunk(data, position + 2, end, out):
            break
        position = end
    return bytes(out)


def _unpack_chunk(data: bytes, position: int, end: int, out: bytearray) -> bool:
    """Append one compressed chunk to ``out``; return False if a copy points before the start of the chunk."""
    start = len(out)
    while position < end:
        flags = data[position]
        position += 1
        for bit in range(8):
            if position >= end:
                break
            if not flags & (1 << bit):
                out.append(data[position])
                position += 1
                continue
            token = int.from_bytes(data[position : position + 2], "little")
            position += 2
            if not _copy(token, out, start):
                return False
    return True


def _copy(token: int, out: bytearray, start: int) -> bool:
    """Apply a copy token; how its bits are divided depends on the length of the chunk so far (MS-OVBA 2.4.1.3.19)."""
    done = len(out) - start
    if not 0 < done <= _CHUNK_BYTES:
        return False
    bits = max((done - 1).bit_length(), 4)
    length = (token & (0xFFFF >> bits)) + 3
    offset = (token >> (16 - bits)) + 1
    if offset > done:
        return False
    for _ in range(length):
        out.append(out[-offset])
    return True


def code_page(directory: bytes) -> str:
    """Return the encoding of a project's sources from its decompressed directory; cp1252 if it names none."""
    found = _CODE_PAGE_RECORD.search(directory)
    name = f"cp{int.from_bytes(found[1], 'little')}" if found else "cp1252"
    names = {"cp10000": "mac-roman", "cp65001": "utf-8", "cp20127": "ascii", "cp28591": "latin-1"}
    name = names.get(name, name)
    try:
        b"".decode(name)
    except LookupError:
        return "cp1252"
    return name


def modules(streams: Iterator[tuple[str, bytes]], encoding: str = "cp1252") -> Iterator[VbaModule]:
    """Yield the modules in ``(name, content)`` pairs; streams without source are skipped."""
    count = 0
    for name, content in streams:
        for match in _SOURCE.finditer(content):
            source = decompress(content[match.start() :]).decode(encoding, errors="replace").replace("\r\n", "\n")
            is_empty = not _ATTRIBUTE_LINE.sub("", source).strip()
            yield VbaModule(name, source, is_stomped=is_empty and match.start() > _LEAST_COMPILED)
            count += 1
            if count >= MAX_MODULES:
                return
