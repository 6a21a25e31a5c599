"""Read the rows of a SQLite database's tables from its pages. Pure: no SQL runs, so nothing in the file is executed.

Rows before damage are kept, which the SQLite library gives up. Not read: the write-ahead log and the journal (files of
their own), deleted records, tables WITHOUT ROWID. Format: sqlite.org/fileformat2.html.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator

import msgspec

SIGNATURE = b"SQLite format 3\x00"
MAX_PAGES = 300_000  # visited for one table
MAX_VALUE_BYTES = 1024 * 1024
MAX_DEPTH = 20
MAX_COLUMNS = 200
_LEAF, _INTERIOR = 13, 5
_COLUMN = re.compile(r"\s{0,40}(?:\"([^\"]{1,100})\"|\[([^\]]{1,100})\]|`([^`]{1,100})`|(\w{1,100}))")
_CONSTRAINTS = frozenset(["primary", "unique", "check", "foreign", "constraint"])
_SIZES = (0, 1, 2, 3, 4, 6, 8, 8, 0, 0)

Value = int | float | str | bytes | None


class Broken(msgspec.Struct):
    """How many pages or records could not be read, and whether rows were left out."""

    count: int = 0
    is_cut: bool = False


class Database:
    """The tables of a database file in memory; ``broken`` counts what was damaged while rows were read."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        size = int.from_bytes(data[16:18], "big") if len(data) >= 100 else 0
        self.page_bytes: int = 65_536 if size == 1 else size
        self._usable = self.page_bytes - (data[20] if len(data) > 20 else 0)
        self.is_valid: bool = (
            data.startswith(SIGNATURE) and size in (1, *(2**bits for bits in range(9, 16))) and self._usable >= 480
        )
        self.has_write_ahead_log: bool = self.is_valid and data[18] == 2
        self._encoding = {2: "utf-16-le", 3: "utf-16-be"}.get(int.from_bytes(data[56:60], "big"), "utf-8")
        self.broken: Broken = Broken()
        self.tables: dict[str, tuple[int, list[str]]] = {}
        if self.is_valid:
            self.tables = dict(self._schema())

    @property
    def missing_pages(self) -> int:
        """How many pages the header names that the file does not have."""
        named = int.from_bytes(self.data[28:32], "big")
        return (
            max(0, named - len(self.data) // self.page_bytes)
            if self.is_valid and self.data[24:28] == self.data[92:96]
            else 0
        )

    def _schema(self) -> Iterator[tuple[str, tuple[int, list[str]]]]:
        for row in self._rows(1, MAX_PAGES):
            kind, name, _, root, sql = (*row[1], None, None, None, None, None)[:5]
            if kind == "table" and isinstance(name, str) and isinstance(root, int) and isinstance(sql, str):
                yield name.lower(), (root, _columns(sql))

    def rows(self, table: str) -> Iterator[dict[str, Value]]:
        """Yield the rows of a table by column, with ``rowid``; none if there is no such table."""
        root, columns = self.tables.get(table, (0, []))
        if root:
            for rowid, values in self._rows(root, MAX_PAGES):
                row: dict[str, Value] = dict(zip(columns, values, strict=False))
                if "id" in row and row["id"] is None:  # an INTEGER PRIMARY KEY is stored as the row's number
                    row["id"] = rowid
                row["rowid"] = rowid
                yield row

    def _rows(self, root: int, budget: int) -> Iterator[tuple[int, list[Value]]]:
        """Walk a table's tree in order; a page is visited once, so that a circle ends."""
        seen: set[int] = set()
        waiting = [(root, 0)]
        while waiting:
            number, depth = waiting.pop()
            if number in seen or len(seen) >= budget or depth > MAX_DEPTH:
                self.broken.is_cut |= len(seen) >= budget
                self.broken.count += number in seen or depth > MAX_DEPTH
                continue
            seen.add(number)
            page = self._page(number)
            at = 100 if number == 1 else 0
            if len(page) < at + 12 or page[at] not in (_LEAF, _INTERIOR):
                self.broken.count += 1
                continue
            cells = int.from_bytes(page[at + 3 : at + 5], "big")
            first = at + (12 if page[at] == _INTERIOR else 8)
            pointers = page[first : first + 2 * cells]
            places = struct.unpack(f">{len(pointers) // 2}H", pointers[: len(pointers) // 2 * 2])
            if page[at] == _INTERIOR:
                children = [int.from_bytes(page[place : place + 4], "big") for place in places]
                children.append(int.from_bytes(page[at + 8 : at + 12], "big"))
                waiting += [(child, depth + 1) for child in reversed(children)]
                continue
            for place in places:
                row = self._record(page, place)
                if row is None:
                    self.broken.count += 1
                else:
                    yield row

    def _page(self, number: int) -> bytes:
        if number < 1:
            return b""
        return self.data[(number - 1) * self.page_bytes : number * self.page_bytes]

    def _record(self, page: bytes, place: int) -> tuple[int, list[Value]] | None:
        try:
            size, at = _varint(page, place)
            rowid, at = _varint(page, at)
            payload = self._payload(page, at, size)
            header, at = _varint(payload, 0)
            types: list[int] = []
            while at < header and len(types) < MAX_COLUMNS:
                kind, at = _varint(payload, at)
                types.append(kind)
            return rowid, self._values(payload, header, types)
        except (IndexError, struct.error):
            return None

    def _payload(self, page: bytes, at: int, size: int) -> bytes:
        """The record, joined from the page and its overflow pages."""
        most = self._usable - 35
        if size <= most:
            return page[at : at + size]
        least = (self._usable - 12) * 32 // 255 - 23
        local = least + (size - least) % (self._usable - 4)
        local = local if local <= most else least
        parts, got = [page[at : at + local]], local
        number = int.from_bytes(page[at + local : at + local + 4], "big")
        seen: set[int] = set()
        while number and number not in seen and got < min(size, MAX_VALUE_BYTES):
            seen.add(number)
            overflow = self._page(number)
            parts.append(overflow[4 : self._usable])
            got += self._usable - 4
            number = int.from_bytes(overflow[:4], "big")
        return b"".join(parts)[:size]

    def _values(self, payload: bytes, at: int, types: list[int]) -> list[Value]:
        values: list[Value] = []
        for kind in types:
            size = _SIZES[kind] if kind < 10 else (kind - 12) // 2 if kind >= 12 else 0
            part = payload[at : at + size]
            at += size
            values.append(self._value(kind, part) if len(part) == size else None)
        return values

    def _value(self, kind: int, part: bytes) -> Value:
        if kind == 0 or kind in (10, 11):
            return None
        if kind in (8, 9):
            return kind - 8
        if kind == 7:
            return float(struct.unpack(">d", part)[0])
        if kind < 7:
            return int.from_bytes(part, "big", signed=True)
        return part if kind % 2 == 0 else part.decode(self._encoding, errors="replace")


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for step in range(9):
        byte = data[at + step]
        if step == 8:
            value = value << 8 | byte
            return (value - (1 << 64) if value >> 63 else value), at + 9
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at + step + 1
    return value, at + 9


def _columns(sql: str) -> list[str]:
    """The names of the columns of a CREATE TABLE statement."""
    body = sql[sql.find("(") + 1 : 20_000]
    names: list[str] = []
    depth = begin = 0
    for at, char in enumerate(body):
        depth += (char == "(") - (char == ")")
        if depth < 0 or (depth == 0 and char == ","):
            names += _column(body[begin:at])
            begin = at + 1
        if depth < 0:
            break
    return names[:MAX_COLUMNS]


def _column(text: str) -> list[str]:
    found = _COLUMN.match(text)
    name = next(filter(None, found.groups()), "").lower() if found else ""
    return [name] if name and name not in _CONSTRAINTS else []
