"""Read a prefetch file of Windows: which program ran, how often, its last run times, and the files that it loaded.
Pure.

Windows writes the file about ten seconds after the start of the program. Versions 17 (XP), 23 (Vista, 7), 26 (8) and 30
and 31 (10, 11, compressed: ``xpress.py``). Format: the documentation of libscca.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import BinaryIO

from svc.assistant.findings import Gap
from svc.assistant.log_readers.host.record import Artefact, HostNote, Item, TraceKind, from_filetime
from svc.assistant.log_readers.host.xpress import decompress
from svc.assistant.log_readers.lines import Unread

MAX_BYTES = 32 * 1024 * 1024
MAX_FILES = 5_000
_COMPRESSED, _SIGNATURE = b"MAM", b"SCCA"
_LAST_RUN = {17: (120, 1, 144), 23: (128, 1, 152), 26: (128, 8, 208), 30: (128, 8, 208), 31: (128, 8, 208)}
"""By version: where the run times begin, how many there are, where the number of runs is."""
_SHORT_INFORMATION = (
    296  # where the metrics begin in the second form of version 30, which has the number of runs 8 bytes earlier
)
_VOLUME_BYTES = 40


def is_prefetch(head: bytes) -> bool:
    """Whether it is a prefetch file, compressed or not."""
    return head[4:8] == _SIGNATURE or head.startswith((b"MAM\x04", b"MAM\x84"))


def read(content: BinaryIO) -> Iterator[Item]:
    """Yield one row for each run time."""
    data = content.read(MAX_BYTES + 1)[:MAX_BYTES]
    if data.startswith(_COMPRESSED):
        size = int.from_bytes(data[4:8], "little")
        whole = decompress(data[12 if data[3] & 0x80 else 8 :], min(size, MAX_BYTES))
        if len(whole) < size:
            yield Gap(
                text=f"the compressed data is damaged after {len(whole):,} of {size:,} bytes; the first part was read"
            )
            yield Unread(1)
        data = whole
    version = int.from_bytes(data[:4], "little")
    if data[4:8] != _SIGNATURE or version not in _LAST_RUN or len(data) < 216:
        yield Gap(text=f"the prefetch file is damaged or of an unknown version ({version}); it was not read")
        yield Unread(1)
        return
    size = int.from_bytes(data[12:16], "little")
    if size > len(data):
        yield Gap(text=f"the file is cut off: it has {len(data):,} of {size:,} bytes", in_headline=True)
        yield Unread(1)
    yield from _rows(data, version)
    yield Gap(text="older runs than those listed are only counted; the count starts again if Windows deletes the file")


def _rows(data: bytes, version: int) -> Iterator[Item]:
    name = data[16:76].decode("utf-16-le", errors="replace").partition("\x00")[0]
    at, times, runs_at = _LAST_RUN[version]
    if version >= 30 and int.from_bytes(data[84:88], "little") == _SHORT_INFORMATION:
        runs_at -= 8
    runs = int.from_bytes(data[runs_at : runs_at + 4], "little")
    files = _files(data)
    path = next((one for one in files if one.upper().endswith("\\" + name.upper())), name)
    ticks = [time for time in struct.unpack_from(f"<{times}Q", data, at) if from_filetime(time)]
    yield HostNote("program", name)
    yield HostNote("runs", f"{runs:,}")
    for volume, created in _volumes(data):
        yield HostNote("volume", f"{volume}, created {created or 'at an unknown time'}")
    loaded = [
        one for one in files if one.upper().endswith((".EXE", ".DLL", ".PS1", ".BAT", ".JS", ".VBS", ".TMP", ".DAT"))
    ]
    odd = [
        one for one in loaded if any(part in one.upper() for part in ("\\TEMP\\", "\\USERS\\PUBLIC\\", "\\DOWNLOADS\\"))
    ]
    detail = f"{runs:,} run{'' if runs == 1 else 's'} in all; {len(files):,} files loaded"
    if odd:
        detail += f", of these in temporary or public folders: {', '.join(odd[:5])}"
    for number, time in enumerate(ticks or [0], start=1):
        yield Artefact(
            number=number,
            activity=TraceKind.RAN,
            what=path,
            where=name,
            detail=detail if number == 1 else "",
            count=1,
            time=from_filetime(time),
            time_means="last run" if number == 1 else "earlier run",
            excerpt=f"{path} {from_filetime(time)}, run count {runs:,}",
            product="windows",
            category="process_creation",
            fields={"Image": _drive(path)},
        )


def _drive(path: str) -> str:
    """``\\VOLUME{…}\\WINDOWS\\X.EXE`` as ``C:\\WINDOWS\\X.EXE``: rules expect a drive."""
    parts = path.split("\\")
    if path.upper().startswith("\\VOLUME{"):
        return "\\".join(["C:", *parts[2:]])
    return "\\".join(["C:", *parts[3:]]) if path.upper().startswith("\\DEVICE\\") else path


def _files(data: bytes) -> list[str]:
    at, size = struct.unpack_from("<II", data, 100)
    text = data[at : at + min(size, len(data))].decode("utf-16-le", errors="replace") if at < len(data) else ""
    return [name for name in text.split("\x00")[:MAX_FILES] if name]


def _volumes(data: bytes) -> Iterator[tuple[str, str]]:
    at, count = struct.unpack_from("<II", data, 108)
    if count < 1 or at + _VOLUME_BYTES > len(data):
        return
    path_at, chars, created, serial = struct.unpack_from("<IIQI", data, at)
    path = data[at + path_at : at + path_at + 2 * min(chars, 1_000)].decode("utf-16-le", errors="replace")
    yield f"{path} (serial {serial:08X})", from_filetime(created)
