"""Small Office documents made byte by byte: OLE storages, VBA projects, workbooks' records, shortcuts."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from itertools import pairwise

_SECTOR = 512
_END, _FREE, _FAT = 0xFFFFFFFE, 0xFFFFFFFF, 0xFFFFFFFD


def storage(streams: Mapping[str, bytes], *, clsid: bytes = bytes(16)) -> bytes:
    """An OLE storage with these streams (``folder/name``); shorter than 4,096 bytes they end in zeros."""
    folders = sorted({name.rsplit("/", 1)[0] for name in streams if "/" in name})
    entries: list[tuple[str, int, bytes]] = [("Root Entry", 5, b"")]
    entries += [(folder, 1, b"") for folder in folders]
    entries += [(name, 2, content.ljust(4_096, b"\x00")) for name, content in streams.items()]
    numbers = {name: number for number, (name, _, _) in enumerate(entries)}
    directory_sectors = -(-len(entries) * 128 // _SECTOR)
    chains: list[int] = []
    body = b""
    starts = {}
    first = 1 + directory_sectors
    for name, kind, content in entries:
        if kind != 2 or not content:
            continue
        count = -(-len(content) // _SECTOR)
        start = first + len(chains)
        starts[name] = start
        chains += [*range(start + 1, start + count), _END]
        body += content.ljust(count * _SECTOR, b"\x00")
    table = [_FAT, *range(2, 1 + directory_sectors), _END, *chains]
    assert len(table) <= 128
    children: dict[str, list[str]] = {"Root Entry": [*folders, *(name for name in streams if "/" not in name)]}
    for folder in folders:
        children[folder] = [name for name in streams if name.startswith(f"{folder}/")]
    follows = {name: numbers[after] for names in children.values() for name, after in pairwise(names)}
    directory = b""
    for name, kind, content in entries:
        label = name.rsplit("/", 1)[-1].encode("utf-16-le")
        child = numbers[children[name][0]] if children.get(name) else _FREE
        directory += label.ljust(64, b"\x00") + struct.pack("<HBB", len(label) + 2, kind, 1)
        directory += struct.pack("<III", _FREE, follows.get(name, _FREE), child) + (clsid if kind == 5 else bytes(16))
        directory += bytes(20) + struct.pack("<IQ", starts.get(name, _END), len(content))
    directory = directory.ljust(directory_sectors * _SECTOR, b"\x00")
    head = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16) + struct.pack("<HHHHH", 62, 3, 0xFFFE, 9, 6) + bytes(6)
    head += struct.pack("<IIIIIIIII", 0, 1, 1, 0, 4_096, _END, 0, _END, 0)
    head += struct.pack("<I", 0) + b"\xff" * (4 * 108)
    fat = struct.pack(f"<{len(table)}I", *table).ljust(_SECTOR, b"\xff")
    return head + fat + directory + body


def compressed(source: bytes) -> bytes:
    """A VBA source as a compressed container of literals alone."""
    out = b"\x01"
    for start in range(0, len(source), 3_000):
        piece = source[start : start + 3_000]
        body = b"".join(b"\x00" + piece[at : at + 8] for at in range(0, len(piece), 8))
        out += struct.pack("<H", 0xB000 | (len(body) - 1)) + body
    return out


def project(source: str, *, compiled: int = 200) -> bytes:
    """A ``vbaProject.bin`` with one module."""
    module = b"\x01" * compiled + compressed(b'Attribute VB_Name = "ThisDocument"\r\n' + source.encode("cp1252"))
    directory = compressed(b"\x01\x00\x04\x00\x00\x00\x03\x00\x00\x00\x03\x00\x02\x00\x00\x00\xe4\x04")
    return storage({"VBA/dir": directory, "VBA/ThisDocument": module})


def records(*rows: tuple[int, bytes]) -> bytes:
    """A workbook's records."""
    return b"".join(struct.pack("<HH", kind, len(body)) + body for kind, body in rows)


def native(name: str, content: bytes) -> bytes:
    """A packed file as OLE 1.0 native data."""
    label = name.encode() + b"\x00"
    path = b"C:\\Users\\a\\" + label
    body = b"\x02\x00" + label + path + b"\x00\x00\x03\x00" + struct.pack("<I", len(path)) + path
    body += struct.pack("<I", len(content)) + content
    return struct.pack("<I", len(body)) + body


def shortcut(target: str, arguments: str = "", *, icon: str = "", window: int = 1, extra: bytes = b"") -> bytes:
    """A shortcut to a local path."""
    flags = 2 | 0x80 | (0x20 if arguments else 0) | (0x40 if icon else 0)
    head = b"L\x00\x00\x00" + bytes.fromhex("0114020000000000c000000000000046") + struct.pack("<II", flags, 0x20)
    head += struct.pack("<QQQIIIHHII", 133_500_000_000_000_000, 0, 0, 300_000, 0, window, 0, 0, 0, 0)
    path = target.encode() + b"\x00"
    information = struct.pack("<IIIIIII", 28 + len(path) + 1, 28, 1, 28, 28, 0, 28 + len(path)) + path + b"\x00"
    strings = b"".join(struct.pack("<H", len(text)) + text.encode("utf-16-le") for text in (arguments, icon) if text)
    return head + information + strings + bytes(4) + extra
