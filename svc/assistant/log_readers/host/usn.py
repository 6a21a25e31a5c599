"""Read the change journal of NTFS (``$UsnJrnl:$J``): which files were made, deleted, renamed and written, and when.
Pure.

Records of version 2 and 3; sparse runs of zeros at the beginning are skipped. A record names the file, not its folder.
Format: Microsoft's ``USN_RECORD_V2`` and ``USN_RECORD_V3``.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import BinaryIO

from svc.assistant.findings import Gap
from svc.assistant.log_readers.host.record import Artefact, Item, Merged, TraceKind, from_filetime
from svc.assistant.log_readers.lines import Unread

MAX_RECORDS = 1_000_000
MAX_RECORD_BYTES = 65_536
_PIECE = 1024 * 1024
_HEAD = struct.Struct("<IHH")
_V2 = struct.Struct("<QQqQIIIIHH")
_V3 = struct.Struct("<16s16sqQIIIIHH")
MAX_OPEN_FILES = 100_000
_DELETED, _CREATED, _OLD_NAME, _NEW_NAME, _CLOSED = 0x200, 0x100, 0x1000, 0x2000, 0x80000000
_NAMED = _DELETED | _CREATED | _OLD_NAME | _NEW_NAME
_REASONS = {
    0x1: "data overwritten",
    0x2: "data extended",
    0x4: "data truncated",
    0x10: "stream overwritten",
    0x20: "stream extended",
    0x40: "stream truncated",
    0x100: "created",
    0x200: "deleted",
    0x400: "extended attributes changed",
    0x800: "security changed",
    0x1000: "old name",
    0x2000: "new name",
    0x4000: "indexing changed",
    0x8000: "attributes or times changed",
    0x10000: "hard link changed",
    0x20000: "compression changed",
    0x40000: "encryption changed",
    0x80000: "object ID changed",
    0x100000: "reparse point changed",
    0x200000: "stream renamed",
}


def is_journal(head: bytes) -> bool:
    """Whether the first bytes that are not zero, at a multiple of 8, are a record of the journal."""
    at = (len(head) - len(head.lstrip(b"\x00"))) // 8 * 8
    return _record(head, at) is not None


def read(content: BinaryIO) -> Iterator[Item]:
    """Yield one row for each change: a file's creation, deletion and renaming at once, other changes when it is closed.

    The journal repeats the reasons of all changes of a file until the file is closed.
    """
    number = damaged = merged = 0
    open_files: dict[int, int] = {}
    old_names: dict[int, str] = {}
    for offset, data in _records(content):
        parsed = _record(data, 0)
        if parsed is None:
            damaged += 1
            continue
        number += 1
        if number > MAX_RECORDS:
            yield Gap(text=f"only the first {MAX_RECORDS:,} records were read", in_headline=True)
            yield Unread(1)
            break
        file, name, ticks, reason, parent = parsed
        fresh = reason & ~open_files.pop(file, 0)
        if not reason & _CLOSED and len(open_files) < MAX_OPEN_FILES:
            open_files[file] = reason
        if fresh & _OLD_NAME and len(old_names) < MAX_OPEN_FILES:
            old_names[file] = name
        is_other = not reason & _NAMED and fresh & _CLOSED
        if not fresh & _NAMED & ~_OLD_NAME and not is_other:
            merged += 1
            continue
        was = old_names.pop(file, "") if fresh & _NEW_NAME else ""
        yield _row(number, offset, name, from_filetime(ticks), fresh if fresh & _NAMED else reason, parent, was)
    if merged:
        yield Merged(merged)
    if damaged:
        yield Gap(text=f"{damaged:,} parts of the journal are no records and were not read")
        yield Unread(damaged)
    yield Gap(
        text="the journal keeps only the latest changes and overwrites older ones; it names a file but not its folder "
        "(the number of the folder's record in the MFT is given)"
    )


def _row(number: int, offset: int, name: str, time: str, reason: int, parent: int, was: str) -> Artefact:
    reasons = [words for bit, words in _REASONS.items() if reason & bit]
    detail = ", ".join(reasons)
    if reason & _DELETED:
        activity = TraceKind.DELETED
    elif reason & (_OLD_NAME | _NEW_NAME):
        activity = TraceKind.RENAMED
        detail += f" (was {was})" if was else ""
    else:
        activity = TraceKind.CREATED if reason & _CREATED else TraceKind.CHANGED
    return Artefact(
        number=number,
        offset=offset,
        activity=activity,
        what=name,
        where=f"folder record {parent & 0xFFFFFFFFFFFF:,}",
        detail=detail,
        time=time,
        time_means="changed",
        excerpt=f"{time} {name}: {', '.join(reasons)}",
        product="windows",
        category={TraceKind.DELETED: "file_delete", TraceKind.CREATED: "file_event"}.get(activity, ""),
        fields={"TargetFilename": "\\" + name} if activity in (TraceKind.CREATED, TraceKind.DELETED) else {},
    )


def _record(data: bytes, at: int) -> tuple[int, str, int, int, int] | None:
    """File, name, time, reasons and folder of the record at ``at``; None if there is none."""
    if len(data) < at + 60:
        return None
    size, major, minor = _HEAD.unpack_from(data, at)
    form = {2: _V2, 3: _V3}.get(major)
    if form is None or minor != 0 or not 60 <= size <= MAX_RECORD_BYTES or size % 8 or len(data) < at + 8 + form.size:
        return None
    file, parent, _, ticks, reason, _, _, _, name_bytes, name_at = form.unpack_from(data, at + 8)
    if name_bytes % 2 or name_at < 8 + form.size or name_at + name_bytes > size or not from_filetime(ticks):
        return None
    name = data[at + name_at : at + name_at + name_bytes].decode("utf-16-le", errors="replace")
    return _reference(file), name, ticks, reason, _reference(parent)


def _reference(value: int | bytes) -> int:
    return value if isinstance(value, int) else int.from_bytes(value, "little")


def _records(content: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Yield offset and bytes of what looks like a record; after damage it goes on at the next multiple of 8."""
    buffer, base = b"", 0
    is_lost = False
    while piece := content.read(_PIECE):
        buffer += piece
        at = 0
        while len(buffer) - at >= MAX_RECORD_BYTES or (len(piece) < _PIECE and len(buffer) - at >= 60):
            size = int.from_bytes(buffer[at : at + 4], "little")
            if size == 0:
                rest = buffer[at : at + _PIECE].lstrip(b"\x00")
                at += max(8, (len(buffer[at : at + _PIECE]) - len(rest)) // 8 * 8)
                continue
            if _record(buffer, at) is None:
                if not is_lost:
                    yield base + at, b""
                is_lost = True
                at += 8
                continue
            is_lost = False
            yield base + at, buffer[at : at + size]
            at += size
        base += at
        buffer = buffer[at:]
