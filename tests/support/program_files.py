"""Small programs and documents made byte by byte, for the tests of the inspectors."""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Mapping, Sequence

CODE, DATA, RWX = 0x60000020, 0xC0000040, 0xE0000020
_FILE_ALIGNMENT, _SECTION_ALIGNMENT = 0x200, 0x1000


def pe(
    *,
    sections: Sequence[tuple[str, bytes, int]] = ((".text", b"\x90" * 512, CODE),),
    imports: Mapping[str, Sequence[str]] | None = None,
    exports: Sequence[str] = (),
    stamp: int = 1_700_000_000,
    overlay: bytes = b"",
    subsystem: int = 3,
    is_library: bool = False,
) -> bytes:
    """A 64-bit Windows program with these sections, imports and exports; it would not run."""
    address = _SECTION_ALIGNMENT + sum(_pages(content) for _, content, _ in sections)
    tables, import_at, export_at = _tables(
        imports or {"KERNEL32.dll": [f"Function{n}" for n in range(20)]}, exports, address
    )
    placed = [*sections, (".rdata", tables, 0x40000040)]
    headers = _FILE_ALIGNMENT * 2
    rows, body, position, virtual = b"", b"", headers, _SECTION_ALIGNMENT
    for name, content, flags in placed:
        padded = content.ljust(-(-len(content) // _FILE_ALIGNMENT) * _FILE_ALIGNMENT, b"\x00")
        rows += struct.pack(
            "<8sIIIIIIHHI", name.encode(), len(content), virtual, len(padded), position, 0, 0, 0, 0, flags
        )
        body, position, virtual = body + padded, position + len(padded), virtual + _pages(content)
    directories = [(0, 0)] * 16
    directories[0], directories[1] = (export_at, 40 if export_at else 0), (import_at, 40)
    optional = struct.pack("<HBBIIIII", 0x20B, 14, 0, 0x200, 0, 0, _SECTION_ALIGNMENT, _SECTION_ALIGNMENT)
    optional += struct.pack(
        "<QIIHHHHHHIIIIHH",
        0x140000000,
        _SECTION_ALIGNMENT,
        _FILE_ALIGNMENT,
        6,
        0,
        0,
        0,
        6,
        0,
        0,
        virtual,
        headers,
        0,
        subsystem,
        0x8160,
    )
    optional += struct.pack("<QQQQII", 0x100000, 0x1000, 0x100000, 0x1000, 0, 16)
    optional += b"".join(struct.pack("<II", *directory) for directory in directories)
    coff = struct.pack("<HHIIIHH", 0x8664, len(placed), stamp, 0, 0, len(optional), 0x2022 if is_library else 0x22)
    dos = b"MZ".ljust(60, b"\x00") + (64).to_bytes(4, "little")
    return (dos + b"PE\x00\x00" + coff + optional + rows).ljust(headers, b"\x00") + body + overlay


def _pages(content: bytes) -> int:
    return _SECTION_ALIGNMENT * max(1, -(-len(content) // _SECTION_ALIGNMENT))


def _tables(imports: Mapping[str, Sequence[str]], exports: Sequence[str], base: int) -> tuple[bytes, int, int]:
    """The content of a section with an import table and an export table, and where in memory each begins."""
    descriptors_size = 20 * (len(imports) + 1)
    blob = bytearray(descriptors_size)
    for number, (library, functions) in enumerate(imports.items()):
        names = []
        for function in functions:
            names.append(base + len(blob))
            blob += b"\x00\x00" + function.encode() + b"\x00"
        library_at = base + len(blob)
        blob += library.encode() + b"\x00"
        blob += b"\x00" * (-len(blob) % 8)
        thunks = b"".join(name.to_bytes(8, "little") for name in names) + bytes(8)
        first = base + len(blob)
        blob += thunks
        second = base + len(blob)
        blob += thunks
        struct.pack_into("<IIIII", blob, 20 * number, first, 0, 0, library_at, second)
    if not exports:
        return bytes(blob), base, 0
    name_places = []
    for name in exports:
        name_places.append(base + len(blob))
        blob += name.encode() + b"\x00"
    own = base + len(blob)
    blob += b"own.dll\x00"
    count = len(exports)
    start = base + len(blob)
    functions_at, names_at, ordinals_at = start + 40, start + 40 + 4 * count, start + 40 + 8 * count
    blob += struct.pack("<IIHHIIIIIII", 0, 0, 0, 0, own, 1, count, count, functions_at, names_at, ordinals_at)
    blob += struct.pack(f"<{count}I", *[_SECTION_ALIGNMENT] * count) + struct.pack(f"<{count}I", *name_places)
    blob += struct.pack(f"<{count}H", *range(count))
    return bytes(blob), base, start


def elf(*, code: bytes = b"\x90" * 64, flags: int = 5, extra: bytes = b"") -> bytes:
    """A static 64-bit ELF program of one segment and no table of sections."""
    size = 64 + 56 + len(code)
    head = b"\x7fELF\x02\x01\x01".ljust(16, b"\x00")
    head += struct.pack("<HHIQQQIHHHHHH", 2, 62, 1, 0x400000 + 120, 64, 0, 0, 64, 56, 1, 64, 0, 0)
    segment = struct.pack("<IIQQQQQQ", 1, flags, 0, 0x400000, 0x400000, size, size, 0x1000)
    return head + segment + code + extra


def macho(
    *, libraries: Sequence[str] = ("/usr/lib/libSystem.B.dylib",), segments: Sequence[tuple[str, int]] = ()
) -> bytes:
    """The header and load commands of a 64-bit Mach-O program for ARM64; a segment has a name and permissions."""
    commands = b""
    for name, permissions in segments:
        commands += struct.pack("<II16s4Q4I", 0x19, 72, name.encode(), 0, 64, 0, 64, 7, permissions, 0, 0)
    for library in libraries:
        path = library.encode() + b"\x00"
        path = path.ljust(-(-len(path) // 8) * 8, b"\x00")
        commands += struct.pack("<IIIIII", 0xC, 24 + len(path), 24, 0, 0, 0) + path
    return (
        struct.pack("<8I", 0xFEEDFACF, 0x0100000C, 0, 2, len(libraries) + len(segments), len(commands), 0x200000, 0)
        + commands
    )


def pdf(*objects: bytes, head: bytes = b"%PDF-1.7\n", trailer: bytes = b"/Root 1 0 R") -> bytes:
    """A PDF of these numbered objects with a table that is right."""
    out = bytearray(head)
    places = []
    for number, content in enumerate(objects, start=1):
        places.append(len(out))
        out += b"%d 0 obj\n" % number + content + b"\nendobj\n"
    table = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    out += b"trailer\n<< /Size %d %s >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, trailer, table)
    return bytes(out)


def pdf_stream(content: bytes, entries: bytes = b"") -> bytes:
    """A stream object."""
    return b"<< /Length %d %s >>\nstream\n%s\nendstream" % (len(content), entries, content)


def archive(files: Mapping[str, bytes | str]) -> bytes:
    """A ZIP of these files: Office's newer formats are that."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in files.items():
            made.writestr(name, content)
    return out.getvalue()
