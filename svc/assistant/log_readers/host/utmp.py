"""Read login records: Linux's utmp, wtmp and btmp (384 bytes each), and macOS's utmpx (628 bytes each). Pure.

A btmp file has the same records as wtmp, and they are failed logins. Nothing in the content says so, so the file's name
decides, and a gap says what was assumed. Format: glibc's ``bits/utmp.h``, utmp(5) and macOS's ``utmpx.h``.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address
from typing import BinaryIO

from svc.assistant.findings import Gap
from svc.assistant.log_readers.host.record import Artefact, Item, Records, Tampering, TraceKind, clean, from_unix
from svc.assistant.log_readers.lines import Unread

RECORD_BYTES = 384
MAC_RECORD_BYTES = 628
MAC_SIGNATURE = b"utmpx-1.00\x00"
MAX_RECORDS = 500_000
_RECORD = struct.Struct("<hhi32s4s32s256shhiii16s20x")
_TYPES = frozenset(range(10))
_BOOT, _CLOCK_NEW, _CLOCK_OLD, _INIT, _LOGIN, _USER, _DEAD = 2, 3, 4, 5, 6, 7, 8
_LEAST_SECONDS = 315_532_800  # 1980: an earlier time is no login
_STEP_BACK_SECONDS = 3_600  # records are appended in order; a clock that is set back a little is ordinary
_NAMED = re.compile(r"(?:^|[/\\])(?:[bw]tmp|utmp)x?(?:[.\-_][^/\\]*)?$", re.IGNORECASE)
_TEXT = re.compile(rb"[\x20-\x7e\x80-\xff]*\x00*")
_FAILURES = re.compile(r"(?:^|[/\\])btmp(?:[.\-_][^/\\]*)?$", re.IGNORECASE)
_HISTORY = re.compile(r"(?:^|[/\\])[bw]tmp(?:[.\-_][^/\\]*)?$", re.IGNORECASE)
_SYSTEM = {
    1: "change of runlevel",
    _BOOT: "boot",
    _CLOCK_NEW: "clock set (new time)",
    _CLOCK_OLD: "clock set (old time)",
    _INIT: "process started by init",
    9: "accounting",
}
_MAC_TYPES = {2: _BOOT, 3: _CLOCK_OLD, 4: _CLOCK_NEW, 5: _INIT, 6: _LOGIN, 7: _USER, 8: _DEAD}


def is_utmp(head: bytes) -> bool:
    """Whether the first records are those of utmp: types, texts and times are in their bounds."""
    if head.startswith(MAC_SIGNATURE):
        return True
    count = min(len(head) // RECORD_BYTES, 8)
    records = [head[at * RECORD_BYTES : (at + 1) * RECORD_BYTES] for at in range(count)]
    used = [record for record in records if any(record)]
    return bool(used) and all(map(_is_record, used))


def _is_record(data: bytes) -> bool:
    kind, pad, _, line, ident, user, host, _, _, _, seconds, micros, _ = _RECORD.unpack(data)
    texts = all(_TEXT.fullmatch(text.partition(b"\x00")[0]) for text in (line, user, host, ident))
    is_text = bool(line.strip(b"\x00") or user.strip(b"\x00") or host.strip(b"\x00") or ident.strip(b"\x00"))
    return (
        1 <= kind <= 9
        and pad in range(-1, 256)
        and texts
        and is_text
        and 0 <= micros < 1_000_000
        and (seconds == 0 or seconds & 0xFFFFFFFF > _LEAST_SECONDS)
    )


def read(content: BinaryIO, name: str = "") -> Iterator[Item]:
    """Yield the records in the file's order."""
    head = content.read(MAC_RECORD_BYTES)
    if head.startswith(MAC_SIGNATURE):
        yield Records((TraceKind.LOGIN, TraceKind.LOGOUT, TraceKind.SYSTEM))
        yield from _mac(content)
        return
    content.seek(0)
    is_failures = _FAILURES.search(name) is not None
    yield Records((TraceKind.FAILED_LOGIN,) if is_failures else (TraceKind.LOGIN, TraceKind.LOGOUT, TraceKind.SYSTEM))
    if _NAMED.search(name) is None:
        yield Gap(
            text="accepted and failed logins have the same record; these were read as accepted ones, because the file "
            "is not named btmp",
            in_headline=True,
        )
    is_history = _HISTORY.search(name) is not None  # utmp has a place for each terminal instead, in any order
    yield from _linux(content, is_failures=is_failures, is_history=is_history)


def _linux(content: BinaryIO, *, is_failures: bool, is_history: bool) -> Iterator[Item]:
    latest, broken, zeros = 0, 0, list[int]()
    number = 0
    while number < MAX_RECORDS and (data := content.read(RECORD_BYTES)):
        if len(data) < RECORD_BYTES:
            yield _cut_record(len(data), RECORD_BYTES)
            yield Unread(1)
            break
        number += 1
        if not any(data):
            zeros.append(number)
            continue
        row = _row(data, number, is_failures=is_failures)
        if row is None:
            broken += 1
            continue
        seconds = struct.unpack_from("<I", data, 340)[0]
        is_older = latest - seconds > _STEP_BACK_SECONDS and seconds and row.activity is not TraceKind.SYSTEM
        if is_history and is_older:
            yield Tampering(
                "Login record older than the one before it",
                "records are appended in order: it was changed or inserted later, or the clock was set back",
                row.excerpt,
                number,
            )
        latest = max(latest, seconds)
        yield row
    yield from _ends(content, number, broken, zeros)


def _cut_record(size: int, whole: int) -> Gap:
    return Gap(text=f"the last {size} bytes are only a part of a record (a record has {whole})")


def _ends(content: BinaryIO, number: int, broken: int, zeros: list[int]) -> Iterator[Item]:
    if zeros and zeros[0] < number - len(zeros) + 1:
        yield Tampering(
            "Login records overwritten with zeros",
            "tools that hide a login write zeros over its record; a file system that was not shut down cleanly "
            "can, too",
            f"{len(zeros):,} empty records, the first is record {zeros[0]:,}",
            zeros[0],
        )
    if zeros:
        yield Gap(text=f"{len(zeros):,} records are empty (all zeros); what they held is not known")
        yield Unread(len(zeros))
    if broken:
        yield Gap(text=f"{broken:,} records are damaged and were not read")
        yield Unread(broken)
    if number == MAX_RECORDS and content.read(1):
        yield Gap(text=f"only the first {MAX_RECORDS:,} records were read", in_headline=True)
        yield Unread(1)


def _row(data: bytes, number: int, *, is_failures: bool) -> Artefact | None:
    kind, _, pid, line, _, user, host, _, _, _, seconds, micros, address = _RECORD.unpack(data)
    if kind not in _TYPES:
        return None
    return _artefact(
        kind,
        number=number,
        offset=(number - 1) * RECORD_BYTES,
        pid=pid,
        line=clean(line),
        user=clean(user),
        host=clean(host),
        address=_address(address),
        time=from_unix((seconds & 0xFFFFFFFF) + min(max(micros, 0), 999_999) / 1_000_000),
        is_failures=is_failures,
    )


def _artefact(
    kind: int,
    *,
    number: int,
    offset: int,
    pid: int,
    line: str,
    user: str,
    host: str,
    address: str,
    time: str,
    is_failures: bool,
) -> Artefact:
    source = address or host
    excerpt = " ".join(filter(None, (time, user or "-", line, host, f"pid {pid}", f"type {kind}")))
    if is_failures and kind in (_LOGIN, _USER, 0):
        activity, means = TraceKind.FAILED_LOGIN, "failed login"
    elif kind == _USER:
        activity, means = TraceKind.LOGIN, "login"
    elif kind == _DEAD:
        activity, means = TraceKind.LOGOUT, "end of a session"
    else:
        activity, means = (
            TraceKind.SYSTEM,
            _SYSTEM.get(kind, "waiting for a login" if kind == _LOGIN else "empty record"),
        )
    is_login = activity in (TraceKind.LOGIN, TraceKind.FAILED_LOGIN)
    return Artefact(
        number=number,
        offset=offset,
        activity=activity,
        what=user if is_login else (user or means),
        user=user if kind in (_USER, _DEAD) or is_failures else "",
        source=source,
        where=line,
        detail=host if host != source else "",
        time=time,
        time_means=means,
        excerpt=excerpt,
    )


def _address(raw: bytes) -> str:
    if not any(raw):
        return ""
    return str(IPv6Address(raw)) if any(raw[4:]) else str(IPv4Address(raw[:4]))


def _mac(content: BinaryIO) -> Iterator[Item]:
    """After the signature record: user, id, line, pid, type, time, microseconds, host."""
    number = 0
    while (data := content.read(MAC_RECORD_BYTES)) and number < MAX_RECORDS:
        number += 1
        if len(data) < MAC_RECORD_BYTES:
            yield _cut_record(len(data), MAC_RECORD_BYTES)
            yield Unread(1)
            return
        pid, kind, seconds, micros = struct.unpack_from("<iHxxII", data, 292)
        if kind == 0 or kind == 10:
            continue
        yield _artefact(
            _MAC_TYPES.get(kind, kind if kind == 1 else 9),
            number=number,
            offset=number * MAC_RECORD_BYTES,
            pid=pid,
            line=clean(data[260:292]),
            user=clean(data[:256]),
            host=clean(data[308:564]),
            address="",
            time=from_unix(seconds + min(micros, 999_999) / 1_000_000),
            is_failures=False,
        )
