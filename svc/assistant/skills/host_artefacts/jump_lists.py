"""Read jump lists of Windows: documents and folders that a program opened, from the shortcuts in them. Pure.

Automatic lists are OLE files whose stream DestList has the times and counts; custom lists are shortcuts one after the
other. The file's name says of which program: its number is not resolved here. Format: the public research on DestList.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from itertools import islice, pairwise
from typing import BinaryIO

import olefile

from svc.assistant.file_types.signatures import signature, starts_as
from svc.assistant.findings import Gap
from svc.assistant.log_readers.host.record import Artefact, HostNote, Item, TraceKind, from_filetime
from svc.assistant.log_readers.lines import Unread
from svc.assistant.skills.shortcut.link_file import read_shortcut

MAX_BYTES = 32 * 1024 * 1024
MAX_ENTRIES = 10_000
MAX_LINK_BYTES = 1024 * 1024
_LINK = signature("lnk")


def read(content: BinaryIO) -> Iterator[Item]:
    """Yield one row for each entry."""
    data = content.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        yield Gap(text=f"the list has more than {MAX_BYTES:,} bytes; only its first part was read", in_headline=True)
        yield Unread(1)
    data = data[:MAX_BYTES]
    yield from _automatic(data) if starts_as(data, "ole") else _custom(data)


def _custom(data: bytes) -> Iterator[Item]:
    yield HostNote("list", "custom destinations")
    places = list(islice(_places(data), MAX_ENTRIES + 1))
    for number, (at, end) in enumerate(pairwise([*places, len(data)]), start=1):
        shortcut = read_shortcut(data[at : min(end, at + MAX_LINK_BYTES)])
        yield _row(
            number,
            at,
            shortcut.target or shortcut.words.get("description", ""),
            "",
            "",
            shortcut.words.get("arguments", ""),
        )
    if not places:
        yield Gap(text="the jump list has no entry")
    if len(places) > MAX_ENTRIES:
        yield Gap(text=f"only the first {MAX_ENTRIES:,} entries were read", in_headline=True)
        yield Unread(1)
    yield Gap(text="entries of a custom list have no time of their own")


def _places(data: bytes) -> Iterator[int]:
    at = data.find(_LINK)
    while at >= 0:
        yield at
        at = data.find(_LINK, at + len(_LINK))


def _automatic(data: bytes) -> Iterator[Item]:
    yield HostNote("list", "automatic destinations")
    try:
        with olefile.OleFileIO(io.BytesIO(data)) as ole:
            names = {"/".join(one) for one in ole.listdir()}
            listed = ole.openstream("DestList").read(MAX_BYTES) if "DestList" in names else b""
            entries = list(_entries(listed))
            for number, (stream, path, host, ticks, pins) in enumerate(entries, start=1):
                link = ole.openstream(stream).read(MAX_LINK_BYTES) if stream in names else b""
                shortcut = read_shortcut(link) if link.startswith(_LINK) else None
                target = (shortcut.target if shortcut else "") or path
                arguments = shortcut.words.get("arguments", "") if shortcut else ""
                yield _row(number, None, target, from_filetime(ticks), host, arguments, pins=pins)
            lost = int.from_bytes(listed[4:8], "little") - len(entries)
    except (OSError, ValueError, struct.error, IndexError, TypeError, AttributeError) as error:
        yield Gap(
            text=f"the jump list is damaged ({type(error).__name__}); entries after the damage were not read",
            in_headline=True,
        )
        yield Unread(1)
        return
    if lost > 0:
        yield Gap(text=f"{min(lost, MAX_ENTRIES):,} entries of the list are damaged and were not read")
        yield Unread(min(lost, MAX_ENTRIES))
    if not entries:
        yield Gap(text="the jump list has no entry")


def _entries(data: bytes) -> Iterator[tuple[str, str, str, int, int]]:
    """Stream, path, computer, last access and pin of each entry."""
    version = int.from_bytes(data[:4], "little")
    fixed = 114 if version == 1 else 130
    at = 32
    for _ in range(min(int.from_bytes(data[4:8], "little"), MAX_ENTRIES)):
        if at + fixed > len(data):
            return
        host = data[at + 72 : at + 88].partition(b"\x00")[0].decode("latin-1")
        entry = int.from_bytes(data[at + 88 : at + 92], "little")
        ticks = int.from_bytes(data[at + 100 : at + 108], "little")
        pin = int.from_bytes(data[at + 108 : at + 112], "little", signed=True)
        chars = int.from_bytes(data[at + fixed - 2 : at + fixed], "little")
        end = at + fixed + 2 * chars
        if end > len(data):
            return
        yield f"{entry:x}", data[at + fixed : end].decode("utf-16-le", errors="replace"), host, ticks, pin
        at = end + (0 if version == 1 else 4)


def _row(
    number: int, offset: int | None, target: str, time: str, host: str, arguments: str, *, pins: int = -1
) -> Artefact:
    told = [f"arguments: {arguments}" if arguments else "", "pinned" if pins >= 0 else ""]
    what = target or "(entry without a target)"
    return Artefact(
        number=number,
        offset=offset,
        activity=TraceKind.OPENED,
        what=what,
        where=host,
        detail=", ".join(filter(None, told)),
        time=time,
        time_means="last opened" if time else "",
        excerpt=" ".join(filter(None, [time, what, arguments])),
    )
