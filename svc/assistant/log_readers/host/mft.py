"""Read NTFS' master file table (``$MFT``): files with their folders and times, also deleted ones. Pure.

Times are those of $STANDARD_INFORMATION, which programs can set, with those of $FILE_NAME, which they cannot, beside
them. Paths are joined from the records' parents. Format: the NTFS documentation of the Linux-NTFS project.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import BinaryIO

import msgspec

from svc.assistant.findings import Gap
from svc.assistant.log_readers.host.record import Artefact, Item, TraceKind, from_filetime
from svc.assistant.log_readers.lines import Unread

RECORD_BYTES = 1024
MAX_RECORDS = 1_000_000
MAX_DEPTH = 60
_ROOT = 5
_FOLDER = 2  # a flag of a record
_SECTOR = 512
_STANDARD, _FILE_NAME, _DATA, _END = 0x10, 0x30, 0x80, 0xFFFFFFFF
_NUMBER = 0xFFFFFFFFFFFF
_SECOND = 10_000_000


class _MftFile(msgspec.Struct):
    number: int
    name: str
    parent: int
    is_used: bool
    is_folder: bool
    created: int
    changed: int
    named: int
    size: int
    streams: list[str]


def is_mft(head: bytes) -> bool:
    """Whether it starts with a record of a master file table: its signature, and a sequence of fixups in its bounds."""
    if not head.startswith((b"FILE0\x00", b"FILE*\x00")) or len(head) < 56:
        return False
    used, allocated = struct.unpack_from("<II", head, 24)
    return 56 <= used <= allocated and allocated in (RECORD_BYTES, 4096)


def read(content: BinaryIO) -> Iterator[Item]:
    """Yield one row for each file: its creation, or its deletion if the record is free.

    The table is read twice: the folders first, which are few and stay in memory, then all files with their paths.
    """
    head = content.read(64)
    content.seek(0)
    size = struct.unpack_from("<I", head, 28)[0] if is_mft(head) else RECORD_BYTES
    folders: dict[int, tuple[str, int]] = {}
    for number, data in _records(content, size):
        if len(data) == size and data[22] & _FOLDER and (folder := _file(data, number)) is not None and folder.name:
            folders[number] = folder.name, folder.parent
    content.seek(0)
    damaged = 0
    for number, data in _records(content, size):
        file = _file(data, number) if len(data) == size and data.startswith(b"FILE") else None
        if file is not None and file.name:
            yield _row(file, _path(file, folders), size)
        elif file is None and any(data):
            damaged += 1
    if damaged:
        yield Gap(text=f"{_counted(damaged)} damaged or cut off and not read")
        yield Unread(damaged)
    if content.read(1):
        yield Gap(text=f"only the first {MAX_RECORDS:,} records were read", in_headline=True)
        yield Unread(1)
    yield Gap(text="attributes outside a file's own record, contents of files and records in slack space were not read")
    yield Gap(text="a free record says that the file was deleted, not when")


def _counted(count: int) -> str:
    return f"{count:,} record{' is' if count == 1 else 's are'}"


def _records(content: BinaryIO, size: int) -> Iterator[tuple[int, bytes]]:
    for number in range(MAX_RECORDS):
        data = content.read(size)
        if not data:
            return
        yield number, data


def _file(data: bytes, number: int) -> _MftFile | None:
    fixed = _with_fixups(data)
    if fixed is None:
        return None
    at, flags = struct.unpack_from("<HH", fixed, 20)
    file = _MftFile(number, "", 0, bool(flags & 1), bool(flags & 2), 0, 0, 0, 0, [])
    space = -1
    for _ in range(200):
        if at + 24 > len(fixed):
            break
        kind, size = struct.unpack_from("<II", fixed, at)
        if kind == _END or size < 24 or at + size > len(fixed):
            break
        is_outside, name_chars, name_at = fixed[at + 8], fixed[at + 9], struct.unpack_from("<H", fixed, at + 10)[0]
        if is_outside:
            file.size = struct.unpack_from("<Q", fixed, at + 48)[0] if kind == _DATA and size >= 56 else file.size
        else:
            length, value_at = struct.unpack_from("<IH", fixed, at + 16)
            space = _inside(
                file, kind, fixed[at + value_at : at + min(size, value_at + length)], space, has_name=name_chars > 0
            )
        if kind == _DATA and name_chars:
            begin = at + name_at
            file.streams.append(fixed[begin : begin + 2 * name_chars].decode("utf-16-le", errors="replace"))
        at += size
    return file


def _inside(file: _MftFile, kind: int, value: bytes, space: int, *, has_name: bool) -> int:
    """Take what an attribute within the record says; return the name's namespace, as a long one is kept."""
    if kind == _STANDARD and len(value) >= 32:
        file.created, file.changed = struct.unpack_from("<QQ", value)
    elif kind == _FILE_NAME and len(value) >= 66 and value[65] != 2 and space != 1:
        file.parent = struct.unpack_from("<Q", value)[0] & _NUMBER
        file.named = struct.unpack_from("<Q", value, 8)[0]
        file.name = value[66 : 66 + 2 * value[64]].decode("utf-16-le", errors="replace")
        return value[65]
    elif kind == _DATA and not has_name:
        file.size = len(value)
    return space


def _with_fixups(data: bytes) -> bytes | None:
    """The record with the last two bytes of each sector put back; None if they do not fit."""
    at, count = struct.unpack_from("<HH", data, 4)
    if count < 1 or at + 2 * count > len(data) or (count - 1) * _SECTOR > len(data):
        return None
    fixed = bytearray(data)
    mark = data[at : at + 2]
    for index in range(1, count):
        end = index * _SECTOR
        if data[end - 2 : end] != mark:
            return None
        fixed[end - 2 : end] = data[at + 2 * index : at + 2 * index + 2]
    return bytes(fixed)


def _path(file: _MftFile, folders: dict[int, tuple[str, int]]) -> str:
    parts = [file.name]
    parent = file.parent
    for _ in range(MAX_DEPTH):
        if parent in (_ROOT, file.number):
            return "\\" + "\\".join(reversed(parts))
        if parent not in folders:
            break
        name, parent = folders[parent]
        parts.append(name)
    return "(unknown folder)\\" + "\\".join(reversed(parts))


def _row(file: _MftFile, path: str, size: int) -> Artefact:
    own = [
        name
        for name in file.streams
        if name not in ("Zone.Identifier", "$J", "$Max", "$Bad", "$SDS", "$SRAT", "WofCompressedData")
    ]
    told = [
        "folder" if file.is_folder else f"{file.size:,} bytes",
        f"modified {from_filetime(file.changed)}" if from_filetime(file.changed) else "",
        "from the Internet (Zone.Identifier)" if "Zone.Identifier" in file.streams else "",
        f"alternate data streams: {', '.join(own[:5])}" if own and file.number > 30 else "",
    ]
    is_older = 0 < file.created < file.named - _SECOND and file.created % _SECOND == 0
    if is_older and not file.is_folder:
        told.append(
            f"creation time set back: $FILE_NAME says {from_filetime(file.named)}, and it has no fraction of a second"
        )
    return Artefact(
        number=file.number + 1,
        offset=file.number * size,
        activity=TraceKind.CREATED if file.is_used else TraceKind.DELETED,
        what=path,
        detail=", ".join(filter(None, told)),
        time=from_filetime(file.created),
        time_means="created" if file.is_used else "created (the file is deleted; when is not known)",
        excerpt=f"{from_filetime(file.created)} {path}",
        product="windows",
        category="file_event" if file.is_used and not file.is_folder else "",
        fields={"TargetFilename": "C:" + path} if file.is_used and not file.is_folder else {},
    )
