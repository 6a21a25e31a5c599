"""Read the records of a packet capture: libpcap's format in each of its forms, and pcapng. Goes on past damage. Pure.

dpkt's own readers know one interface a file and end with an exception where a length is wrong; captures that were cut,
that end in a few stray bytes or whose disk was full are everyday evidence, so the framing is read here and the packets
inside with dpkt (``capture_packets``). Formats: draft-ietf-opsawg-pcap (pcap), draft-ietf-opsawg-pcapng.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from svc.assistant.findings import Gap
from svc.assistant.log_readers.lines import ended_early

PIECE_BYTES = 1024 * 1024
MAX_PACKET_BYTES = 262_144  # libpcap's MAXIMUM_SNAPLEN
MAX_BLOCK_BYTES = 16 * 1024 * 1024  # Wireshark's bound for one pcapng block
RESYNC_BYTES = 1024 * 1024  # how far after damage the next record is looked for
MAX_DAMAGES = 20  # places, after which the rest is not looked at
SANE_SECONDS = 31 * 86_400  # a record further in time from the one before is not how damage is left behind
DEFAULT_RESOLUTION = 1_000_000  # units a second, where a pcapng interface does not say


class Record(NamedTuple):
    """One captured packet. ``number`` counts from 1, ``length`` is what was on the wire, ``data`` what was kept."""

    number: int
    seconds: float
    link_type: int
    data: bytes
    length: int
    offset: int


class _Buffer:
    """A stream read in large pieces, with look-ahead."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._data = b""
        self._at = 0
        self.offset = 0

    def peek(self, size: int) -> bytes:
        """The next ``size`` bytes, fewer only at the end."""
        end = self._at + size
        if end > len(self._data):
            self._fill(size)
            end = self._at + size
        return self._data[self._at : end]

    def _fill(self, size: int) -> None:
        pieces = [self._data[self._at :]]
        have = len(pieces[0])
        while have < size and (piece := self._stream.read(max(PIECE_BYTES, size - have))):
            pieces.append(piece)
            have += len(piece)
        self._data, self._at = b"".join(pieces), 0

    def skip(self, size: int) -> None:
        """Skip bytes that ``peek`` has returned."""
        self._at += size
        self.offset += size


_PCAP_MAGIC = {  # first bytes: byte order, units a second, bytes of a record's header
    bytes.fromhex("d4c3b2a1"): ("<", 1_000_000, 16),
    bytes.fromhex("a1b2c3d4"): (">", 1_000_000, 16),
    bytes.fromhex("4d3cb2a1"): ("<", 1_000_000_000, 16),
    bytes.fromhex("a1b23c4d"): (">", 1_000_000_000, 16),
    bytes.fromhex("34cdb2a1"): ("<", 1_000_000, 24),  # the "modified" form of old Linux distributions
    bytes.fromhex("a1b2cd34"): (">", 1_000_000, 24),
}
_SECTION = 0x0A0D0D0A


def read_records(stream: BinaryIO) -> Iterator[Record | Gap]:
    """The packets of a capture in the file's order; a Gap for each part that could not be read."""
    pending: Gap | None = None  # the last one of a stream that ended early is not the capture's
    for item in _read(stream):
        if pending is not None:
            yield pending
        pending = item if isinstance(item, Gap) else None
        if isinstance(item, Record):
            yield item
    if pending is not None and not ended_early(stream):
        yield pending


def _read(stream: BinaryIO) -> Iterator[Record | Gap]:
    buffer = _Buffer(stream)
    head = buffer.peek(24)
    if head[:4] in _PCAP_MAGIC:
        yield from _Pcap(buffer, head).records()
    elif head[:4] == _SECTION.to_bytes(4, "big"):
        yield from _Pcapng(buffer).records()
    else:
        yield Gap(text="not a packet capture in the pcap or pcapng format; nothing was read")


class _Pcap:
    """libpcap's format: one header, then records."""

    def __init__(self, buffer: _Buffer, head: bytes) -> None:
        self._buffer = buffer
        self._order, self._units, self._header_bytes = _PCAP_MAGIC[head[:4]]
        self._header = struct.Struct(f"{self._order}IIII")
        self._is_whole = len(head) == 24
        self._link_type = struct.unpack(f"{self._order}I", head[20:24])[0] & 0xFFFF if self._is_whole else 0
        self._last = 0

    def records(self) -> Iterator[Record | Gap]:
        buffer, header_bytes, units = self._buffer, self._header_bytes, self._units
        if not self._is_whole:
            yield Gap(text="the capture ends within its header; it has no packets")
            return
        buffer.skip(24)
        number = damages = 0
        while len(header := buffer.peek(header_bytes)) == header_bytes:
            seconds, fraction, kept, length = self._header.unpack_from(header)
            if not self._is_sane(fraction, kept, length):
                damages += 1
                yield self._pass_damage(number, is_last=damages >= MAX_DAMAGES)
                continue
            at = buffer.offset
            data = buffer.peek(header_bytes + kept)[header_bytes:]
            if len(data) < kept:
                yield Gap(text=f"damaged at offset {at:,}: packet {number + 1:,} is cut short, and the capture ends")
                return
            buffer.skip(header_bytes + kept)
            number += 1
            self._last = seconds
            yield Record(number, seconds + fraction / units, self._link_type, data, length, at)
        if header:
            yield Gap(text=f"the capture ends in {len(header)} stray bytes at offset {buffer.offset:,}; not examined")

    def _is_sane(self, fraction: int, kept: int, length: int) -> bool:
        return kept <= MAX_PACKET_BYTES and fraction < 2 * self._units and length <= MAX_BLOCK_BYTES

    def _pass_damage(self, number: int, *, is_last: bool) -> Gap:
        """Move to the next place where two records in a row look right, or to the end."""
        buffer, start = self._buffer, self._buffer.offset
        window = b"" if is_last else buffer.peek(RESYNC_BYTES)
        for at in range(1, len(window) - self._header_bytes):
            if self._looks_right(window, at):
                buffer.skip(at)
                return Gap(text=f"damaged at offset {start:,}: {at:,} bytes after packet {number:,} were skipped")
        while left := len(buffer.peek(PIECE_BYTES)):
            buffer.skip(left)
        return Gap(text=f"damaged at offset {start:,}: nothing after packet {number:,} could be read")

    def _looks_right(self, window: bytes, at: int) -> bool:
        for _ in range(2):
            if at == len(window):
                return True
            if at + self._header_bytes > len(window):
                return False
            seconds, fraction, kept, length = self._header.unpack_from(window, at)
            is_near = abs(seconds - self._last) <= SANE_SECONDS and fraction < self._units
            if not is_near or not 0 < kept <= MAX_PACKET_BYTES or not kept <= length <= MAX_PACKET_BYTES:
                return False
            at += self._header_bytes + kept
        return True


class _Interface(NamedTuple):
    link_type: int
    units: int
    offset: int
    kept: int


class _Pcapng:
    """pcapng: blocks, of which sections set the byte order and interfaces the link type and the clock."""

    def __init__(self, buffer: _Buffer) -> None:
        self._buffer = buffer
        self._order = "<"
        self._interfaces: list[_Interface] = []
        self._number = 0
        self._homeless = 0

    def records(self) -> Iterator[Record | Gap]:
        damages = 0
        while len(head := self._buffer.peek(12)) == 12:
            self._set_order(head)
            kind, size = struct.unpack_from(f"{self._order}II", head)
            block = self._buffer.peek(size) if 12 <= size <= MAX_BLOCK_BYTES and size % 4 == 0 else b""
            if not block or len(block) < size or block[-4:] != head[4:8]:
                damages += 1
                yield self._pass_damage(is_last=damages >= MAX_DAMAGES)
                continue
            at = self._buffer.offset
            self._buffer.skip(size)
            record = self._block(kind, block[8:-4], at)
            if record is not None:
                yield record
        if head:
            yield Gap(text=f"the capture ends in {len(head)} stray bytes at offset {self._buffer.offset:,}")
        if self._homeless:
            yield Gap(text=f"{self._homeless:,} packets refer to an interface that the capture does not describe")

    def _set_order(self, head: bytes) -> None:
        if head[:4] == _SECTION.to_bytes(4, "big"):
            self._order = "<" if head[8:12] == bytes.fromhex("4d3c2b1a") else ">"
            self._interfaces = []

    def _block(self, kind: int, body: bytes, at: int) -> Record | None:
        match kind:
            case 1 if len(body) >= 8:
                self._interfaces.append(self._interface(body))
            case 6 if len(body) >= 20:  # enhanced packet
                number, high, low, kept, length = struct.unpack_from(f"{self._order}IIIII", body)
                return self._record(number, high << 32 | low, body[20 : 20 + kept], length, at)
            case 2 if len(body) >= 20:  # packet, its obsolete form
                number, _, high, low, kept, length = struct.unpack_from(f"{self._order}HHIIII", body)
                return self._record(number, high << 32 | low, body[20 : 20 + kept], length, at)
            case 3 if len(body) >= 4:  # simple packet: it has no time
                length = struct.unpack_from(f"{self._order}I", body)[0]
                limit = self._interfaces[0].kept or length if self._interfaces else length
                return self._record(0, 0, body[4 : 4 + min(length, limit)], length, at)
        return None

    def _record(self, number: int, ticks: int, data: bytes, length: int, at: int) -> Record | None:
        if number >= len(self._interfaces):
            self._homeless += 1
            return None
        interface = self._interfaces[number]
        self._number += 1
        seconds = ticks / interface.units + interface.offset if ticks else 0.0
        return Record(self._number, seconds, interface.link_type, data, length, at)

    def _interface(self, body: bytes) -> _Interface:
        link_type, _, kept = struct.unpack_from(f"{self._order}HHI", body)
        units, offset, at = DEFAULT_RESOLUTION, 0, 8
        while at + 4 <= len(body):
            code, size = struct.unpack_from(f"{self._order}HH", body, at)
            value = body[at + 4 : at + 4 + size]
            at += 4 + (size + 3) // 4 * 4
            if code == 9 and len(value) == 1:  # if_tsresol: a negative power of 10, or of 2 where the top bit is set
                units = 2 ** (value[0] & 0x7F) if value[0] & 0x80 else 10 ** (value[0] & 0x7F)
            elif code == 14 and len(value) == 8:  # if_tsoffset, seconds
                offset = struct.unpack(f"{self._order}q", value)[0]
        return _Interface(link_type, units, offset, kept)

    def _pass_damage(self, *, is_last: bool) -> Gap:
        """Move to the next block whose two lengths agree, or to the end."""
        buffer, start = self._buffer, self._buffer.offset
        window = b"" if is_last else buffer.peek(RESYNC_BYTES)
        for at in range(4, len(window) - 12, 4):
            kind, size = struct.unpack_from(f"{self._order}II", window, at)
            if not (kind in (1, 2, 3, 5, 6, _SECTION) and 12 <= size <= len(window) - at and size % 4 == 0):
                continue
            if window[at + size - 4 : at + size] == window[at + 4 : at + 8]:
                buffer.skip(at)
                text = f"damaged at offset {start:,}: {at:,} bytes after packet {self._number:,} were skipped"
                return Gap(text=text)
        while left := len(buffer.peek(PIECE_BYTES)):
            buffer.skip(left)
        return Gap(text=f"damaged at offset {start:,}: nothing after packet {self._number:,} could be read")
