"""The table of file signatures: what each label recognises, and that no other module has its own table."""

from __future__ import annotations

from pathlib import Path

import pytest

import svc.assistant
from svc.assistant.file_types.signatures import describe, is_windows_program, label_of, signature, starts_as, table
from tests.support import program_files as made

ELSEWHERE = {
    "log_readers/evtx.py",  # writes the header of a log
    "skills/program/macho.py",  # reads the byte order and the width from the magic number
    "knowledge/cwe_update.py",  # reads MITRE's own download, not evidence
}
LITERALS = (
    'b"MZ"', 'b"PK', r"\x7fELF", 'b"%PDF"', 'b"%PDF-"', r"\xd0\xcf\x11\xe0", "d0cf11e0", r"\x1f\x8b", 'b"BZ',
    r"\xfd7zX", 'b"Rar!', 'b"7z', 'b"MSCF', r"\x89PNG", 'b"GIF8', r"L\x00\x00\x00\x01", r"\xfe\xed\xfa",
    r"\xca\xfe\xba", 'b"ElfFile',
)  # fmt: skip


def test_no_other_module_has_signatures_of_its_own():
    root = Path(svc.assistant.__file__).parent
    found = {
        str(path.relative_to(root))
        for path in root.rglob("*.py")
        if any(literal in path.read_text() for literal in LITERALS)
    }
    assert found == ELSEWHERE


def test_a_row_is_a_file_signature_or_a_marker():
    assert all(row.mime_type for row in table().signatures)
    assert not any(row.mime_type for row in table().marks)
    assert all(bytes.fromhex(row.hex) for row in (*table().signatures, *table().marks))


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (made.pe(), "Windows program"),
        (b"MZ, a text", ""),
        (made.elf(), "ELF program"),
        (b"%PDF-1.7", "PDF"),
        (b"%PDF", ""),
        (b"PK\x03\x04", "ZIP archive"),
        (b"Rar!\x1a\x07\x00", "RAR archive"),
        (b"7z\xbc\xaf\x27\x1c", "7-Zip archive"),
        (b"MSCF", "Cabinet archive"),
        (bytes.fromhex("d0cf11e0a1b11ae1"), "OLE document"),
        (b"{\\rtf1", "RTF document"),
        (b"\x1f\x8b\x08", "gzip data"),
        (b"\x1f\x8b\x00", ""),
        (bytes.fromhex("4c00000001140200"), "shortcut (LNK)"),
        (b"\x89PNG\r\n\x1a\n", "PNG picture"),
        (b"\x89PNG", "PNG picture"),
        (b"\xff\xd8\xff\xe0", "JPEG picture"),
        (b"GIF89a", "GIF picture"),
        (b"GIF8", "GIF picture"),
        (b"BM", "bitmap"),
        (b"BZh9", ""),
        (b"", ""),
        (b"hello", ""),
    ],
)
def test_embedded_content_is_described_by_its_first_bytes(data: bytes, name: str):
    assert describe(data) == name


def test_a_pe_header_is_found_at_the_offset_in_the_dos_header():
    data = made.pe()
    assert is_windows_program(data)
    assert not is_windows_program(data[:63])
    assert not is_windows_program(data.replace(b"PE\0\0", b"NE\0\0"))


@pytest.mark.parametrize(
    ("data", "labels", "label"),
    [
        (b"BZh9", ("gzip_start", "bzip2", "xz"), "bzip2"),
        (b"BZ", ("bzip2",), ""),
        (b"BZ", ("bzip2_start",), "bzip2_start"),
        (b"\x1f\x8b\x00", ("gzip",), ""),
        (b"\x1f\x8b\x00", ("gzip_start",), "gzip_start"),
        (b"\xfd7zXZ\x00", ("xz", "lzma"), "xz"),
        (b"]\x00\x00\x80", ("xz", "lzma"), "lzma"),
        (b"PK\x05\x06", ("zip",), ""),
        (b"PK\x05\x06", ("zip_start",), "zip_start"),
        (bytes.fromhex("cafebabf"), ("macho", "macho_fat"), "macho_fat"),
        (bytes.fromhex("cffaedfe"), ("macho", "macho_fat"), "macho"),
        (b"{\\rtx", ("rtf",), ""),
        (b"{\\rtx", ("rtf_start",), "rtf_start"),
        (b"\xff\xd8\xff\xe1\0\x10Exif", ("jfif",), ""),
        (bytes(257) + b"ustar", ("zip", "tar"), "tar"),
        (b"\xfc\xe8\x89\0\0\0", ("shellcode_x86", "shellcode_x64"), "shellcode_x86"),
    ],
)
def test_a_label_is_recognised_by_its_own_bytes_only(data: bytes, labels: tuple[str, ...], label: str):
    assert label_of(data, labels) == label
    assert starts_as(data, *labels) == bool(label)


def test_an_unknown_label_is_an_error():
    with pytest.raises(KeyError, match="no signature has the label zipp"):
        signature("zipp")
