"""Read the application compatibility cache (shimcache) of the SYSTEM hive: programs that were on the disk. Pure.

An entry is made when a file is run or merely shown in a folder, so it is no evidence of execution. Its time is the
file's last modification. Windows 7 (64 bit), 8 and 10 or newer; others are named as not read.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from svc.assistant.findings import Gap
from svc.assistant.log_readers.host.record import Artefact, Item, TraceKind, from_filetime
from svc.assistant.log_readers.lines import Unread

MAX_ENTRIES = 10_000
_ENTRY_MARKS = (b"10ts", b"00ts")
_SEVEN = 0xBADC0FEE
_NOT_EXECUTION = Gap(
    text="an entry of the shimcache says that a file was on the disk, not that it ran; its time is the file's own"
)


def shimcache(data: bytes) -> Iterator[Item]:
    """Yield the cache's entries, the most recent first as they are stored."""
    start = int.from_bytes(data[:4], "little")
    if start == _SEVEN:
        entries = _seven(data)
    elif start in (0x30, 0x34, 0x80) and data[start : start + 4] in _ENTRY_MARKS:
        entries = _tens(data, start)
    else:
        yield Gap(
            text="the shimcache has a form that is not supported (Windows XP, Vista, 7 of 32 bits, or damaged); "
            "not read"
        )
        yield Unread(1)
        return
    for position, (path, ticks) in enumerate(entries, start=1):
        yield Artefact(
            number=0,
            activity=TraceKind.PRESENT,
            what=path,
            where="shimcache",
            detail=f"position {position}",
            time=from_filetime(ticks),
            time_means="file modified (shimcache)",
            excerpt=f"{path} {from_filetime(ticks)}",
        )
    yield _NOT_EXECUTION


def _tens(data: bytes, at: int) -> Iterator[tuple[str, int]]:
    for _ in range(MAX_ENTRIES):
        if data[at : at + 4] not in _ENTRY_MARKS or at + 14 > len(data):
            return
        size, length = struct.unpack_from("<IH", data, at + 8)
        after = at + 14 + length
        is_eight = data[at : at + 4] == b"00ts" or int.from_bytes(data[:4], "little") == 0x80
        if is_eight:  # the package's name and two numbers are between path and time
            after += 2 + int.from_bytes(data[after : after + 2], "little") + 8
        if after + 8 > len(data):
            return
        path = data[at + 14 : at + 14 + length].decode("utf-16-le", errors="replace")
        yield path, int.from_bytes(data[after : after + 8], "little")
        at += 12 + size


def _seven(data: bytes) -> Iterator[tuple[str, int]]:
    count = min(int.from_bytes(data[4:8], "little"), MAX_ENTRIES)
    for index in range(count):
        at = 128 + 48 * index
        if at + 48 > len(data):
            return
        length, _, path_at, ticks = struct.unpack_from("<HH4xQQ", data, at)
        if path_at + length <= len(data):
            yield data[path_at : path_at + length].decode("utf-16-le", errors="replace"), ticks
