"""Writers of host artefacts: small files in the formats of the systems, from rows. Values are made up."""

from __future__ import annotations

import codecs
import sqlite3
import struct
from collections.abc import Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime

from tests.support import office_files

UNIX = datetime(1970, 1, 1, tzinfo=UTC)
WINDOWS = datetime(1601, 1, 1, tzinfo=UTC)
LOGIN, LOGOUT, BOOT, LOGIN_PROCESS = 7, 8, 2, 6

KeyTree = dict[str, "Key"]
Key = tuple[str, dict[str, object], KeyTree]
"""Last-written time, values, subkeys."""


def moment(text: str) -> datetime:
    """``2026-11-20 03:12:45`` in UTC."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def ticks(text: str) -> int:
    """Windows' time of a moment; 0 for ""."""
    return round((moment(text) - WINDOWS).total_seconds()) * 10_000_000 if text else 0


def seconds(text: str) -> int:
    """Seconds since 1970."""
    return round((moment(text) - UNIX).total_seconds())


def utmp_record(kind: int, time: str, user: str = "", line: str = "", host: str = "", address: str = "") -> bytes:
    """One record of wtmp or btmp."""
    raw = bytes(int(part) for part in address.split(".")) if address else b""
    return struct.pack(
        "<hhi32s4s32s256shhiii16s20x",
        kind,
        0,
        4242,
        line.encode(),
        line[-4:].encode(),
        user.encode(),
        host.encode(),
        0,
        0,
        0,
        seconds(time),
        0,
        raw.ljust(16, b"\x00"),
    )


def utmpx(rows: Sequence[tuple[int, str, str, str, str]]) -> bytes:
    """A file of macOS: type, time, user, line and host of each record."""

    def record(user: bytes, kind: int, time: int, line: str = "", host: str = "") -> bytes:
        return struct.pack("<256s4s32siHxxII256s64x", user, b"", line.encode(), 1, kind, time, 0, host.encode())

    return record(b"utmpx-1.00", 10, 0) + b"".join(
        record(user.encode(), kind, seconds(time), line, host) for kind, time, user, line, host in rows
    )


def hive(root: KeyTree, *, name: str = "", is_dirty: bool = False) -> bytes:
    """A registry hive with these keys below its root."""
    cells = bytearray()

    def cell(data: bytes) -> int:
        at = len(cells) + 32
        size = (len(data) + 4 + 7) // 8 * 8
        cells.extend(struct.pack("<i", -size) + data.ljust(size - 4, b"\x00"))
        return at

    def value(label: str, content: object) -> int:
        kind, data = _registry_data(content)
        if len(data) <= 4:
            size, at = len(data) | 0x80000000, int.from_bytes(data.ljust(4, b"\x00"), "little")
        else:
            size, at = len(data), cell(data)
        raw = label.encode("latin-1")
        return cell(b"vk" + struct.pack("<HIIIHH", len(raw), size, at, kind, 1, 0) + raw)

    def key(label: str, node: Key, flags: int = 0x20) -> int:
        written, values, subkeys = node
        children = [key(one, child) for one, child in sorted(subkeys.items())]
        listed = cell(b"lh" + struct.pack("<H", len(children)) + b"".join(struct.pack("<II", at, 0) for at in children))
        stored = [value(one, content) for one, content in values.items()]
        values_at = cell(struct.pack(f"<{len(stored)}I", *stored)) if stored else 0xFFFFFFFF
        raw = label.encode("latin-1")
        return cell(
            b"nk"
            + struct.pack(
                "<HQ15IHH",
                flags,
                ticks(written),
                0,
                0,
                len(children),
                0,
                listed if children else 0xFFFFFFFF,
                0xFFFFFFFF,
                len(stored),
                values_at,
                0xFFFFFFFF,
                0xFFFFFFFF,
                0,
                0,
                0,
                0,
                0,
                len(raw),
                0,
            )
            + raw
        )

    top = key("ROOT", ("2026-11-20 00:00:00", {}, root), 0x2C)
    body = b"hbin" + struct.pack("<II20x", 0, (len(cells) + 32 + 4095) // 4096 * 4096) + bytes(cells)
    body = body.ljust((len(body) + 4095) // 4096 * 4096, b"\x00")
    base = b"regf" + struct.pack(
        "<IIQIIIIIII", 7, 6 if is_dirty else 7, ticks("2026-11-20 00:00:00"), 1, 5, 0, 1, top, len(body), 1
    )
    return base + name.encode("utf-16-le").ljust(64, b"\x00").ljust(4096 - len(base), b"\x00") + body


def _registry_data(content: object) -> tuple[int, bytes]:
    if isinstance(content, int):
        return 4, struct.pack("<I", content)
    if isinstance(content, list):
        return 7, ("\x00".join(content) + "\x00\x00").encode("utf-16-le")
    if isinstance(content, bytes):
        return 3, content
    return 1, f"{content}\x00".encode("utf-16-le")


def keys(paths: Mapping[str, tuple[str, dict[str, object]]]) -> KeyTree:
    """The tree of keys by path: last-written time and values of each."""
    tree: KeyTree = {}
    for path, (written, values) in paths.items():
        level = tree
        *parents, last = path.split("\\")
        for name in parents:
            level = level.setdefault(name, ("2026-01-02 08:00:00", {}, {}))[2]
        level[last] = written, values, level.get(last, ("", {}, {}))[2]
    return tree


def user_assist(program: str, count: int, last: str) -> tuple[str, bytes]:
    """Name and data of a value of UserAssist."""
    data = struct.pack("<IIII", 0, count, 1, 1000).ljust(60, b"\x00") + struct.pack("<Q", ticks(last)) + bytes(4)
    return codecs.encode(program, "rot13"), data


def shimcache(rows: Sequence[tuple[str, str]]) -> bytes:
    """The cache of Windows 10: path and modification time of each file."""
    made = bytearray(struct.pack("<I", 0x34).ljust(0x34, b"\x00"))
    for path, time in rows:
        raw = path.encode("utf-16-le")
        body = struct.pack("<H", len(raw)) + raw + struct.pack("<QI", ticks(time), 0)
        made += b"10ts" + struct.pack("<II", 0, len(body)) + body
    return bytes(made)


def prefetch(
    program: str, path: str, runs: Sequence[str], count: int, loaded: Sequence[str] = (), version: int = 30
) -> bytes:
    """A prefetch file, not compressed."""
    files = "\x00".join([path, *loaded]).encode("utf-16-le") + b"\x00\x00"
    volume = "\\VOLUME{01d5f0a0b0c0d0e0-1a2b3c4d}".encode("utf-16-le")
    info = 304
    volumes = info + len(files)
    head = struct.pack(
        "<I4sII60sII", version, b"SCCA", 0x11, volumes + 104 + len(volume), program.encode("utf-16-le"), 0, 0
    )
    head += struct.pack("<9I", info, 0, info, 0, info, len(files), volumes, 1, 104 + len(volume))
    head += bytes(8)
    times = [ticks(one) for one in runs] + [0] * 8
    head += struct.pack("<8Q", *times[:8]) + bytes(16) + struct.pack("<I", count)
    head = head.ljust(info, b"\x00")
    chars = len(volume) // 2
    return (
        head
        + files
        + struct.pack("<IIQI", 104, chars, ticks("2026-01-02 08:00:00"), 0x1A2B3C4D).ljust(104, b"\x00")
        + volume
    )


def compressed(data: bytes) -> bytes:
    """As Windows 10 stores it, with literal bytes only: codes of 8 bits, the symbols in their order."""
    made = bytearray(b"MAM\x04" + struct.pack("<I", len(data)))
    table = bytes([0x88] * 128 + [0] * 128)
    for at in range(0, len(data), 65_536):
        block = data[at : at + 65_536]
        block += bytes(len(block) % 2)
        made += table
        for index in range(0, len(block), 2):
            made += bytes([block[index + 1], block[index]])
        made += bytes(4) if at + 65_536 >= len(data) else b""
    return bytes(made)


def usn_record(name: str, time: str, reason: int, *, file: int = 100, parent: int = 5) -> bytes:
    """A record of the change journal, version 2."""
    raw = name.encode("utf-16-le")
    size = (60 + len(raw) + 7) // 8 * 8
    head = struct.pack("<IHHQQqQIIIIHH", size, 2, 0, file, parent, 0, ticks(time), reason, 0, 0, 32, len(raw), 60)
    return (head + raw).ljust(size, b"\x00")


def mft_record(
    number: int,
    name: str,
    created: str,
    *,
    parent: int = 5,
    is_used: bool = True,
    is_folder: bool = False,
    named: str = "",
    streams: Sequence[str] = (),
    size: int = 0,
) -> bytes:
    """A record of the master file table."""
    times = struct.pack("<4Q", *[ticks(created)] * 4)
    stored = struct.pack("<4Q", *[ticks(named or created)] * 4)
    raw = name.encode("utf-16-le")
    parts = [
        _attribute(0x10, times + bytes(40)),
        _attribute(0x30, struct.pack("<Q", parent | 1 << 48) + stored + bytes(24) + bytes([len(name), 1]) + raw),
        _attribute(0x80, bytes(size)),
        *(_attribute(0x80, b"[ZoneTransfer]", one) for one in streams),
    ]
    body = b"".join(parts) + struct.pack("<II", 0xFFFFFFFF, 0)
    flags = is_used | is_folder << 1
    head = b"FILE" + struct.pack("<HHQHHHHIIQHHI", 48, 3, 0, 1, 1, 56, flags, 56 + len(body), 1024, 0, 4, 0, number)
    data = bytearray((head + struct.pack("<HHH", 7, 0, 0)).ljust(56, b"\x00") + body).ljust(1024, b"\x00")
    fixups = [bytes(data[510:512]), bytes(data[1022:1024])]
    data[50:54] = b"".join(fixups)
    data[510:512] = data[1022:1024] = struct.pack("<H", 7)
    return bytes(data)


def _attribute(kind: int, value: bytes, name: str = "") -> bytes:
    raw = name.encode("utf-16-le")
    at = (24 + len(raw) + 7) // 8 * 8
    size = (at + len(value) + 7) // 8 * 8
    head = struct.pack("<IIBBHHHIHH", kind, size, 0, len(name), 24, 0, 0, len(value), at, 0)
    return (head + raw).ljust(at, b"\x00")[:at] + value.ljust(size - at, b"\x00")


def jump_list(rows: Sequence[tuple[str, str, str]]) -> bytes:
    """An automatic list: target, last access and computer of each entry."""
    listed = bytearray(struct.pack("<IIII", 4, len(rows), 0, 0).ljust(32, b"\x00"))
    streams: dict[str, bytes] = {}
    for number, (target, time, host) in enumerate(rows, start=1):
        raw = target.encode("utf-16-le")
        entry = bytearray(130)
        entry[72:88] = host.encode().ljust(16, b"\x00")
        entry[88:92] = struct.pack("<I", number)
        entry[100:108] = struct.pack("<Q", ticks(time))
        entry[108:112] = struct.pack("<i", -1)
        entry[128:130] = struct.pack("<H", len(target))
        listed += bytes(entry) + raw + bytes(4)
        streams[f"{number:x}"] = office_files.shortcut(target)
    return office_files.storage(streams | {"DestList": bytes(listed)})


def custom_list(targets: Sequence[str]) -> bytes:
    """A custom list: shortcuts one after the other."""
    head = (
        struct.pack("<IIII", 2, 1, 0, 0)
        + struct.pack("<II", 0, len(targets))
        + bytes.fromhex("0114020000000000c000000000000046")
    )
    return head + b"".join(office_files.shortcut(one) for one in targets) + bytes.fromhex("abfbbfba")


def chrome(visits: Sequence[tuple[str, str, str]], downloads: Sequence[tuple[str, str, str, int]] = ()) -> bytes:
    """A history of Chromium: address, title and time; target, address, time and danger of each download."""
    with closing(sqlite3.connect(":memory:")) as base:
        base.executescript(
            """CREATE TABLE urls(id INTEGER PRIMARY KEY AUTOINCREMENT,url LONGVARCHAR,title LONGVARCHAR,visit_count
            INTEGER); CREATE TABLE visits(id INTEGER PRIMARY KEY,url INTEGER NOT NULL,visit_time INTEGER NOT
            NULL,from_visit INTEGER, transition INTEGER DEFAULT 0 NOT NULL);
            CREATE TABLE downloads(id INTEGER PRIMARY KEY,guid VARCHAR,current_path LONGVARCHAR,target_path LONGVARCHAR,
              start_time INTEGER,received_bytes INTEGER,total_bytes INTEGER,state INTEGER,danger_type INTEGER,referrer
              VARCHAR); CREATE TABLE downloads_url_chains(id INTEGER,chain_index INTEGER,url LONGVARCHAR, PRIMARY KEY
              (id, chain_index));"""
        )
        for number, (url, title, time) in enumerate(visits, start=1):
            base.execute("INSERT INTO urls VALUES(?,?,?,1)", (number, url, title))
            base.execute("INSERT INTO visits VALUES(?,?,?,0,1)", (number, number, ticks(time) // 10))
        for number, (target, url, time, danger) in enumerate(downloads, start=1):
            row = (number, "g", target, target, ticks(time) // 10, 1000, 1000, 1, danger, "https://www.example.org/")
            base.execute("INSERT INTO downloads VALUES(?,?,?,?,?,?,?,?,?,?)", row)
            base.execute("INSERT INTO downloads_url_chains VALUES(?,0,?)", (number, url))
        base.commit()
        return base.serialize()


def firefox(visits: Sequence[tuple[str, str, str]], downloads: Sequence[tuple[str, str, str]] = ()) -> bytes:
    """A history of Firefox: address, title and time; target, address and time of each download."""
    with closing(sqlite3.connect(":memory:")) as base:
        base.executescript(
            """CREATE TABLE moz_places (id INTEGER PRIMARY KEY, url LONGVARCHAR, title LONGVARCHAR);
            CREATE TABLE moz_historyvisits (id INTEGER PRIMARY KEY, from_visit INTEGER, place_id INTEGER, visit_date
            INTEGER, visit_type INTEGER, session INTEGER);
            CREATE TABLE moz_anno_attributes (id INTEGER PRIMARY KEY, name VARCHAR(32) UNIQUE NOT NULL);
            CREATE TABLE moz_annos (id INTEGER PRIMARY KEY, place_id INTEGER NOT NULL, anno_attribute_id INTEGER,
            content LONGVARCHAR, flags INTEGER, dateAdded INTEGER);
            INSERT INTO moz_anno_attributes VALUES(1, 'downloads/destinationFileURI'), (2, 'downloads/metaData');"""
        )
        for number, (url, title, time) in enumerate(visits, start=1):
            base.execute("INSERT INTO moz_places VALUES(?,?,?)", (number, url, title))
            base.execute(
                "INSERT INTO moz_historyvisits VALUES(?,0,?,?,2,0)", (number, number, seconds(time) * 1_000_000)
            )
        for number, (target, url, time) in enumerate(downloads, start=1_000):
            base.execute("INSERT INTO moz_places VALUES(?,?,'')", (number, url))
            base.execute(
                "INSERT INTO moz_historyvisits VALUES(?,0,?,?,7,0)", (number, number, seconds(time) * 1_000_000)
            )
            base.execute(
                "INSERT INTO moz_annos VALUES(?,?,1,?,0,?)",
                (number, number, f"file://{target}", seconds(time) * 1_000_000),
            )
        base.commit()
        return base.serialize()


def task(
    command: str,
    arguments: str = "",
    *,
    name: str = "\\Update",
    author: str = "CORP\\admin",
    hidden: bool = False,
    trigger: str = "LogonTrigger",
    user: str = "S-1-5-18",
) -> bytes:
    """A scheduled task as Windows exports it: UTF-16."""
    esc = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
    text = (
        '<?xml version="1.0" encoding="UTF-16"?>\r\n'
        '<Task version="1.4" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">\r\n'
        "  "
        f"<RegistrationInfo><Date>2026-11-20T03:12:45</Date><Author>{author}</Author><URI>{name}</URI></RegistrationInfo>\r\n"
        f"  <Triggers><{trigger}><Enabled>true</Enabled></{trigger}></Triggers>\r\n"
        "  <Principals><Principal "
        f'id="Author"><UserId>{user}</UserId><RunLevel>HighestAvailable</RunLevel></Principal></Principals>\r\n'
        f"  <Settings><Hidden>{str(hidden).lower()}</Hidden><Enabled>true</Enabled></Settings>\r\n"
        f'  <Actions Context="Author"><Exec><Command>{command.translate(esc)}</Command>'
        f"<Arguments>{arguments.translate(esc)}</Arguments></Exec></Actions>\r\n</Task>\r\n"
    )
    return text.encode("utf-16")


def transcript(host: str, lines: Sequence[str], user: str = "CORP\\mara") -> bytes:
    """A PowerShell transcript: what ran PowerShell, and lines of prompts and output."""
    bar = "*" * 22
    text = [
        bar,
        "Windows PowerShell transcript start",
        "Start time: 20261120031245",
        f"Username: {user}",
        f"RunAs User: {user}",
        "Machine: WS-17 (Microsoft Windows NT 10.0.19045.0)",
        f"Host Application: {host}",
        "Process ID: 4242",
        "PSVersion: 5.1.19041.1",
        bar,
        *lines,
        bar,
        "Windows PowerShell transcript end",
        "End time: 20261120032000",
        bar,
    ]
    return ("\ufeff" + "\r\n".join(text) + "\r\n").encode()
