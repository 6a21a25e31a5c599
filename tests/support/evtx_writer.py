"""A small writer of EVTX, since no library has one: chunks of records in binary XML, without templates.

The format after libevtx's description ("Windows XML Event Log (EVTX)") and [MS-EVEN6] 2.2.12: tokens, names in place,
text values. Checksums are right, so that a reader may check them.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import msgspec

CHUNK_BYTES = 65_536
HEADER_BYTES = 4_096
_FIRST_RECORD = 512  # in a chunk, after its header and its two tables
_EPOCH = datetime(1601, 1, 1, tzinfo=UTC)
_OPEN, _OPEN_WITH_ATTRIBUTES, _CLOSE_START, _END, _VALUE, _ATTRIBUTE = 0x01, 0x41, 0x02, 0x04, 0x05, 0x06
_MORE = 0x40
_TEXT = 0x01


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """One event; ``data`` becomes EventData, or with ``user_data`` the name of UserData's one child."""

    number: int
    event_id: int
    time: str = "2026-11-20T03:12:45+00:00"
    channel: str = "Security"
    provider: str = "Microsoft-Windows-Security-Auditing"
    computer: str = "PC01.example.test"
    data: dict[str, str] = {}
    user_data: str = ""


class _Fragment:
    """Binary XML at ``offset`` of its chunk; names store their own offset."""

    def __init__(self, offset: int) -> None:
        self._offset = offset
        self.content = bytearray(b"\x0f\x01\x01\x00")

    def _name(self, name: str) -> None:
        self.content += struct.pack("<I", self._offset + len(self.content) + 4)
        number = 0
        for char in name:
            number = number * 65_599 + ord(char)
        self.content += struct.pack("<IHH", 0, number & 0xFFFF, len(name)) + name.encode("utf-16-le") + b"\x00\x00"

    def _value(self, text: str) -> None:
        encoded = text.encode("utf-16-le")
        self.content += struct.pack("<BBH", _VALUE, _TEXT, len(encoded) // 2) + encoded

    def element(
        self, name: str, text: str = "", attributes: dict[str, str] | None = None, children: Sequence[tuple] = ()
    ) -> None:
        """``<name attributes>text children</name>``; a child is the arguments of ``element``."""
        self.content += bytes([_OPEN_WITH_ATTRIBUTES if attributes else _OPEN])  # outside of a template: no dependency
        size_at = len(self.content)
        self.content += bytes(4)
        self._name(name)
        if attributes:
            self._attributes(attributes)
        self.content.append(_CLOSE_START)
        if text:
            self._value(text)
        for child in children:
            self.element(*child)
        self.content.append(_END)
        struct.pack_into("<I", self.content, size_at, len(self.content) - size_at - 4)

    def _attributes(self, attributes: dict[str, str]) -> None:
        size_at = len(self.content)
        self.content += bytes(4)
        for place, (name, value) in enumerate(attributes.items(), start=1):
            self.content.append(_ATTRIBUTE | (_MORE if place < len(attributes) else 0))
            self._name(name)
            self._value(value)
        struct.pack_into("<I", self.content, size_at, len(self.content) - size_at - 4)


def _record(record: Record, offset: int) -> bytes:
    moment = datetime.fromisoformat(record.time)
    fragment = _Fragment(offset + 24)
    system = [
        ("Provider", "", {"Name": record.provider}),
        ("EventID", str(record.event_id)),
        ("TimeCreated", "", {"SystemTime": moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")}),
        ("EventRecordID", str(record.number)),
        ("Channel", record.channel),
        ("Computer", record.computer),
    ]
    if record.user_data:
        inner = [(name, value) for name, value in record.data.items()]
        data = ("UserData", "", None, [(record.user_data, "", None, inner)])
    else:
        data = ("EventData", "", None, [("Data", value, {"Name": name}) for name, value in record.data.items()])
    fragment.element("Event", children=[("System", "", None, system), data])
    fragment.content.append(0)
    body = bytes(fragment.content) + bytes(-len(fragment.content) % 8)
    size = 24 + len(body) + 4
    ticks = (moment - _EPOCH) // timedelta(microseconds=1) * 10
    return struct.pack("<IIQQ", 0x2A2A, size, record.number, ticks) + body + struct.pack("<I", size)


def _chunk(records: Sequence[Record]) -> bytes:
    data = bytearray()
    last = _FIRST_RECORD
    for record in records:
        last = _FIRST_RECORD + len(data)
        data += _record(record, last)
    assert _FIRST_RECORD + len(data) <= CHUNK_BYTES, "too many records for one chunk"
    numbers = records[0].number, records[-1].number
    head = bytearray(_FIRST_RECORD)
    struct.pack_into("<8sQQQQIIII", head, 0, b"ElfChnk", *numbers, *numbers, 128, last, _FIRST_RECORD + len(data), 0)
    struct.pack_into("<I", head, 52, zlib.crc32(data))
    struct.pack_into("<I", head, 120, 1)
    struct.pack_into("<I", head, 124, zlib.crc32(bytes(head[:120]) + bytes(head[128:])))
    return (bytes(head) + bytes(data)).ljust(CHUNK_BYTES, b"\x00")


def evtx(*chunks: Sequence[Record]) -> bytes:
    """The file with these chunks of records."""
    last = chunks[-1][-1].number if chunks else 0
    head = bytearray(HEADER_BYTES)
    struct.pack_into(
        "<8sQQQIHHHH", head, 0, b"ElfFile", 0, max(0, len(chunks) - 1), last + 1, 128, 1, 3, HEADER_BYTES, len(chunks)
    )
    struct.pack_into("<I", head, 124, zlib.crc32(bytes(head[:120])))
    return bytes(head) + b"".join(_chunk(records) for records in chunks)
