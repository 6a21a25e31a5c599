"""The first bytes by which file formats are recognised: the one table of them (``magic.toml``), and how it is asked.

``identify`` uses the rows with a MIME type. Tools that already know what to expect ask for a label: ``starts_as(data,
"zip")``. Reading what follows the first bytes is up to the reader of each format.
"""

from __future__ import annotations

from functools import cache

import msgspec

from svc.assistant.knowledge import load

PE_MARK = b"PE\x00\x00"
"""What a PE has at the offset that its DOS header names."""
_PE_OFFSET_AT = 60  # e_lfanew in the DOS header


class Signature(msgspec.Struct, frozen=True, kw_only=True):
    """The bytes that a format has at ``offset``.

    ``mime_type`` is "" for bytes that do not identify a file by themselves. ``name`` is how findings describe content
    that starts with them, "" if they do not.
    """

    hex: str
    label: str
    mime_type: str = ""
    offset: int = 0
    name: str = ""


class NamedContent(msgspec.Struct, frozen=True):
    """A type of container by the name of something in it."""

    entry: str
    mime_type: str
    label: str


class NameEnding(msgspec.Struct, frozen=True):
    """A type of text by the ending of the file's name."""

    mime_type: str
    label: str


class MagicTable(msgspec.Struct, frozen=True):
    """``magic.toml``."""

    signatures: list[Signature]
    marks: list[Signature]
    zip_entries: list[NamedContent]
    ole_streams: list[NamedContent]
    text_endings: dict[str, NameEnding]


@cache
def table() -> MagicTable:
    """Return the table as it ships."""
    return load("magic.toml", MagicTable, __package__)


@cache
def _rows(labels: tuple[str, ...]) -> tuple[tuple[bytes, int, str], ...]:
    """``(bytes, offset, label)`` of these labels, in the table's order."""
    rows = (*table().signatures, *table().marks)
    known = {row.label for row in rows}
    if unknown := [label for label in labels if label not in known]:
        raise KeyError(f"no signature has the label {unknown[0]}; see magic.toml")
    return tuple((bytes.fromhex(row.hex), row.offset, row.label) for row in rows if row.label in labels)


@cache
def _prefixes(labels: tuple[str, ...]) -> tuple[bytes, ...]:
    """What data with one of these labels can start with: b"", which everything does, for bytes at an offset."""
    return tuple(b"" if offset else magic for magic, offset, _ in _rows(labels))


def signature(label: str) -> bytes:
    """Return the bytes of ``label``; of its first row if there are several."""
    return _rows((label,))[0][0]


def label_of(data: bytes, labels: tuple[str, ...]) -> str:
    """Return which of ``labels`` the data starts as, or ""."""
    if not data.startswith(_prefixes(labels)):  # one call for the usual answer: a decoder asks for each of its guesses
        return ""
    return next((label for magic, offset, label in _rows(labels) if data.startswith(magic, offset)), "")


def starts_as(data: bytes, *labels: str) -> bool:
    """Whether the data starts as any of ``labels``."""
    return label_of(data, labels) != ""


@cache
def _described() -> tuple[tuple[bytes, str], ...]:
    return tuple((bytes.fromhex(row.hex), row.name) for row in (*table().signatures, *table().marks) if row.name)


def describe(data: bytes) -> str:
    """Return what embedded content is by its first bytes, for example "ZIP archive"; "" if they are not known."""
    if is_windows_program(data):
        return "Windows program"
    return next((name for magic, name in _described() if data.startswith(magic)), "")


def is_windows_program(data: bytes) -> bool:
    """Whether it is a PE: MZ, and PE at the offset that its header names."""
    if not starts_as(data, "mz") or len(data) < _PE_OFFSET_AT + 4:
        return False
    at = int.from_bytes(data[_PE_OFFSET_AT : _PE_OFFSET_AT + 4], "little")
    return data[at : at + 4] == PE_MARK
