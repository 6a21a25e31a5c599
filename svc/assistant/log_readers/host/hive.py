"""Read a Windows registry hive: its keys with their last-written times, and their values. Pure.

Total: damage in one part leaves the others, and is counted. Not read: transaction logs, deleted cells, classes,
security descriptors. Format: the public descriptions of REGF (version 1.3 to 1.6).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from itertools import islice

import msgspec

BASE_BYTES = 4096
MAX_SUBKEYS = 100_000  # of one key
MAX_VALUES = 20_000  # of one key
MAX_VALUE_BYTES = 4 * 1024 * 1024
_NONE = 0xFFFFFFFF
_BIG_DATA_BYTES = 16_344
SZ, EXPAND_SZ, BINARY, DWORD, MULTI_SZ, QWORD = 1, 2, 3, 4, 7, 11
_TEXTS = (SZ, EXPAND_SZ, MULTI_SZ, 6)


class Value(msgspec.Struct, frozen=True):
    """A value: its name ("" for the default one), type and bytes."""

    name: str
    kind: int
    data: bytes

    @property
    def text(self) -> str:
        """Text and numbers as text, several strings with spaces between them; bytes as hex."""
        if self.kind in _TEXTS:
            words = self.data[: len(self.data) & ~1].decode("utf-16-le", errors="replace").split("\x00")
            return " ".join(filter(None, words)) if self.kind == MULTI_SZ else words[0]
        if self.kind in (DWORD, QWORD):
            return str(int.from_bytes(self.data[:8], "little"))
        return self.data[:200].hex()


class Key(msgspec.Struct, frozen=True):
    """A key: name, last-written time (Windows' ticks), and where its parts are."""

    name: str
    written: int
    offset: int
    subkeys: int
    subkeys_at: int
    values: int
    values_at: int


class Hive:
    """A hive in memory; ``broken`` counts cells and lists that could not be read."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.broken: int = 0
        self.is_cut: bool = False
        self.is_valid: bool = data.startswith(b"regf") and len(data) >= BASE_BYTES + 32
        head = data[:BASE_BYTES].ljust(BASE_BYTES, b"\x00")
        self.sequences: tuple[int, int] = struct.unpack_from("<II", head, 4)
        self.bytes_named: int = BASE_BYTES + int.from_bytes(head[40:44], "little")
        self.name: str = head[48:112].decode("utf-16-le", errors="replace").partition("\x00")[0]
        self._root_at = int.from_bytes(head[36:40], "little")

    @property
    def root(self) -> Key | None:
        """The root key; None if it is damaged."""
        return self._key(self._root_at) if self.is_valid else None

    def _cell(self, offset: int) -> bytes:
        at = BASE_BYTES + offset
        if offset == _NONE or at + 8 > len(self.data):
            return b""
        size = abs(int.from_bytes(self.data[at : at + 4], "little", signed=True))
        return self.data[at + 4 : at + size]

    def _key(self, offset: int) -> Key | None:
        cell = self._cell(offset)
        if len(cell) < 76 or cell[:2] != b"nk":
            self.broken += 1
            return None
        flags, written = struct.unpack_from("<HQ", cell, 2)
        subkeys, _, subkeys_at, _, values, values_at = struct.unpack_from("<IIIIII", cell, 20)
        length = int.from_bytes(cell[72:74], "little")
        raw = cell[76 : 76 + length]
        name = raw.decode("latin-1" if flags & 0x20 else "utf-16-le", errors="replace")
        return Key(name, written, offset, min(subkeys, MAX_SUBKEYS), subkeys_at, min(values, MAX_VALUES), values_at)

    def subkeys(self, key: Key) -> Iterator[Key]:
        """Yield the subkeys that can be read."""
        if key.subkeys:
            for offset in islice(self._listed(key.subkeys_at, 0), MAX_SUBKEYS):
                if (found := self._key(offset)) is not None:
                    yield found

    def _listed(self, offset: int, depth: int) -> Iterator[int]:
        cell = self._cell(offset)
        kind, count = cell[:2], int.from_bytes(cell[2:4], "little")
        step = {b"lf": 8, b"lh": 8, b"li": 4, b"ri": 4}.get(kind)
        if step is None or depth > 1 or 4 + step * count > len(cell) or (depth and kind == b"ri"):
            self.broken += 1
            return
        for index in range(count):
            at = int.from_bytes(cell[4 + step * index : 8 + step * index], "little")
            if kind == b"ri":
                yield from self._listed(at, depth + 1)
            else:
                yield at

    def values(self, key: Key) -> Iterator[Value]:
        """Yield the values that can be read."""
        if not key.values:
            return
        offsets = self._cell(key.values_at)
        if len(offsets) < 4 * key.values:
            self.broken += 1
        for at in range(0, min(len(offsets) // 4, key.values) * 4, 4):
            if (value := self._value(int.from_bytes(offsets[at : at + 4], "little"))) is not None:
                yield value

    def _value(self, offset: int) -> Value | None:
        cell = self._cell(offset)
        if len(cell) < 20 or cell[:2] != b"vk":
            self.broken += 1
            return None
        length, size, data_at, kind, flags = struct.unpack_from("<HIIIH", cell, 2)
        name = cell[20 : 20 + length].decode("latin-1" if flags & 1 else "utf-16-le", errors="replace")
        if size & 0x80000000:
            return Value(name, kind, cell[8 : 8 + min(size & 0x7FFFFFFF, 4)])
        return Value(name, kind, self._data(data_at, size))

    def _data(self, offset: int, size: int) -> bytes:
        if size > MAX_VALUE_BYTES:
            self.is_cut = True
        size = min(size, MAX_VALUE_BYTES)
        cell = self._cell(offset)
        if size > _BIG_DATA_BYTES and cell[:2] == b"db":
            count, parts_at = struct.unpack_from("<HI", cell, 2) if len(cell) >= 8 else (0, _NONE)
            parts = self._cell(parts_at)
            pieces = [
                self._cell(int.from_bytes(parts[at : at + 4], "little"))[:_BIG_DATA_BYTES]
                for at in range(0, min(count * 4, len(parts)), 4)
            ]
            cell = b"".join(pieces)
        if size and len(cell) < size:
            self.broken += 1
        return cell[:size]

    def key(self, path: str, start: Key | None = None) -> Key | None:
        """Return the key at a path below ``start`` (the root), whatever its case; None if there is none."""
        found = start or self.root
        for name in filter(None, path.split("\\")):
            if found is None:
                return None
            found = next((one for one in self.subkeys(found) if one.name.lower() == name.lower()), None)
        return found

    def value(self, key: Key | None, name: str) -> Value | None:
        """Return a key's value by name, whatever its case."""
        if key is None:
            return None
        return next((one for one in self.values(key) if one.name.lower() == name.lower()), None)
