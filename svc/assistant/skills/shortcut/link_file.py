"""Read a Windows shortcut's structure (MS-SHLLINK): its target, its five texts, and the machine that made it. Pure.

Total: any bytes give a result, and damage in one part leaves the others. Judges nothing and runs nothing. Why not
LnkParse3: "Libraries considered in November 2026" in ``docs/decisions.md``.
"""

from __future__ import annotations

import re
from uuid import UUID

import msgspec

from svc.assistant.skills.file_traits import clean_text

TEXTS = ("description", "relative_path", "working_folder", "arguments", "icon")  # in the order of the file
HEADER_BYTES = 76
MAX_BLOCKS = 60
MAX_ITEMS = 500
_HAS_ITEM_LIST, _HAS_LINK_INFO, _FIRST_TEXT, _IS_WIDE, _IGNORES_LINK_INFO = 1, 2, 4, 0x80, 0x100
_HAS_ICON_BLOCK = 0x4000
_ENVIRONMENT, _TRACKER, _ICON_ENVIRONMENT = 0xA0000001, 0xA0000003, 0xA0000007
_VOLUME, _FILE_ENTRY, _NETWORK, _CLASS_BITS = 0x20, 0x30, 0x40, 0x70
_URI = 0x61
_LONG_NAME = b"\x04\x00\xef\xbe"  # the signature of the block with a file entry's long name
_STARTS_PATH = re.compile(r"[A-Za-z]:(?:\\|$)|\\\\|[A-Za-z][A-Za-z0-9+.-]+://")
_PATH = re.compile(r"(?:[A-Za-z]:\\|\\\\[\w.-]+\\)[^\x00-\x1f\ufffd]{2,}")


class Damage(msgspec.Struct, frozen=True):
    """What does not follow the format, and where the part begins."""

    reason: str
    offset: int


class Shortcut(msgspec.Struct):
    """What the file holds. ``words`` are the texts that it has, by TEXTS; ``end`` is where the known parts end."""

    words: dict[str, str] = {}
    target: str = ""
    machine: str = ""
    mac_address: str = ""
    end: int = HEADER_BYTES
    damage: list[Damage] = []


def read_shortcut(data: bytes) -> Shortcut:
    """All that can be read of a file that begins with the header's signature."""
    shortcut = Shortcut()
    if len(data) < HEADER_BYTES:
        shortcut.damage.append(Damage(f"the header has {len(data)} bytes of {HEADER_BYTES}", 0))
    flags = _number(data, 20, 4)
    position = HEADER_BYTES
    if flags & _HAS_ITEM_LIST:
        size = 2 + _number(data, position, 2)
        shortcut.target = _path_of_items(_part(data, position, size, shortcut)[2:])
        position += size
    if flags & _HAS_LINK_INFO:
        size = max(4, _number(data, position, 4))
        path = _path_of_link_info(_part(data, position, size, shortcut))
        if not (flags & _IGNORES_LINK_INFO and shortcut.target):
            shortcut.target = path or shortcut.target
        position += size
    width = 2 if flags & _IS_WIDE else 1
    for number, name in enumerate(TEXTS):
        if flags & (_FIRST_TEXT << number):
            size = 2 + width * _number(data, position, 2)
            raw = _part(data, position, size, shortcut)[2:]
            shortcut.words[name] = raw.decode("utf-16-le" if width == 2 else "cp1252", errors="replace")
            position += size
    _read_blocks(data, position, flags, shortcut)
    return shortcut


def _number(data: bytes, position: int, width: int) -> int:
    return int.from_bytes(data[position : position + width], "little")


def _part(data: bytes, position: int, size: int, shortcut: Shortcut) -> bytes:
    """The bytes of a part, which move ``end``; a part that the file is too short for is noted as damage."""
    if position + size > len(data):
        shortcut.damage.append(
            Damage(f"a part of {size:,} bytes, of which the file has {len(data) - position:,}", position)
        )
    shortcut.end = min(position + size, len(data))
    return data[position : position + size]


def _read_blocks(data: bytes, position: int, flags: int, shortcut: Shortcut) -> None:
    for _ in range(MAX_BLOCKS):
        size = _number(data, position, 4)
        if size < 8:
            shortcut.end = min(position + 4, len(data))
            return
        _read_block(_part(data, position, size, shortcut), flags, shortcut)
        position += size


def _read_block(block: bytes, flags: int, shortcut: Shortcut) -> None:
    signature = _number(block, 4, 4)
    if signature in (_ENVIRONMENT, _ICON_ENVIRONMENT) and len(block) >= 788:
        path = _wide_text(block[268:788]) or clean_text(block[8:268])
        if signature == _ENVIRONMENT:
            shortcut.target = shortcut.target or path
        elif flags & _HAS_ICON_BLOCK or not shortcut.words.get("icon"):
            shortcut.words["icon"] = path
    elif signature == _TRACKER and len(block) >= 96:
        shortcut.machine = clean_text(block[16:32])
        node = UUID(bytes_le=block[48:64])
        if node.version == 1:
            shortcut.mac_address = ":".join(f"{byte:02x}" for byte in node.node.to_bytes(6, "big"))


def _path_of_items(items: bytes) -> str:
    """A path from the shell's items, by their long names if they have any. A whole path replaces what came before."""
    path = ""
    position = 0
    for _ in range(MAX_ITEMS):
        size = _number(items, position, 2)
        if size < 3 or position + 2 >= len(items):
            break
        name = _name_of_item(items[position + 2 : position + size])
        if _STARTS_PATH.match(name):
            path = name
        elif name:
            path = "\\".join((path.rstrip("\\"), name)) if path else name
        position += size
    return path


def _name_of_item(item: bytes) -> str:
    """One level of the path; ``""`` for the shell's own folders. Forms: the libfwsi documentation of shell items."""
    kind = item[0] & _CLASS_BITS
    if item[0] == _URI:
        start = 4 + _number(item, 2, 2)
        return _wide_text(item[start:]) if len(item) > 1 and item[1] & 0x80 else clean_text(item[start:])
    if kind == _VOLUME and item[2:3] == b":":
        return clean_text(item[1:])
    if kind == _NETWORK:
        return clean_text(item[3:])
    if kind == _FILE_ENTRY:
        return _long_name(item) or clean_text(item[12:])
    return _path_within(item)


def _long_name(item: bytes) -> str:
    at = item.find(_LONG_NAME)
    if at < 4:
        return ""
    wide = re.findall(rb"((?:(?!\x00\x00)..){2,260}+)\x00\x00", item[at + 14 :], re.DOTALL)
    names = [one.decode("utf-16-le", errors="replace") for one in wide if len(one) % 2 == 0]
    return next((name for name in names if name.isprintable() and ("." in name or name.isascii())), "")


def _path_within(item: bytes) -> str:
    """A whole path in an item of another class, such as the library that a Control Panel item loads."""
    for start in (0, 1):
        found = _PATH.search(item[start:].decode("utf-16-le", errors="replace"))
        if found is not None:
            return found[0]
    return ""


def _path_of_link_info(block: bytes) -> str:
    """The local path, or the share and the path on it (MS-SHLLINK 2.3)."""
    header_size, flags, _, local_at, network_at, suffix_at = (_number(block, at, 4) for at in range(4, 28, 4))
    suffix = clean_text(block[suffix_at:]) if suffix_at else ""
    if flags & 1 and local_at:
        if header_size >= 0x24:
            wide_at, wide_suffix_at = _number(block, 28, 4), _number(block, 32, 4)
            local = _wide_text(block[wide_at:]) + (_wide_text(block[wide_suffix_at:]) if wide_suffix_at else "")
            if local:
                return local
        return clean_text(block[local_at:]) + suffix
    if flags & 2 and network_at:
        name_at = _number(block, network_at + 8, 4)
        return clean_text(block[network_at + name_at :]) + (f"\\{suffix}" if suffix else "")
    return ""


def _wide_text(data: bytes) -> str:
    return data[:4_096].decode("utf-16-le", errors="replace").split("\x00")[0]
