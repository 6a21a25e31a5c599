"""Put fragments of IPv4 packets together (RFC 791), since an attacker may send anything in fragments. Pure, bounded.

Of pieces that overlap the first counts. What never becomes whole is counted as it came.
"""

from __future__ import annotations

import dpkt

MAX_WAITING = 1_000  # packets of which pieces are missing
MAX_PIECES = 100  # of one packet: 64 KiB in pieces of a usual size are 45
MAX_BYTES = 65_535
_UNIT = 8  # bytes in which offsets count
_HEAD_BYTES = 20
_Key = tuple[bytes, bytes, int, int]


class Fragments:
    """The pieces that wait for others; the oldest packet is given up first."""

    def __init__(self) -> None:
        self._waiting: dict[_Key, dict[int, bytes]] = {}
        self._sizes: dict[_Key, int] = {}

    def whole(self, packet: dpkt.ip.IP) -> dpkt.ip.IP | None:
        """Return the whole packet if this was the last piece that was missing, else None."""
        key = (packet.src, packet.dst, packet.id, packet.p)
        offset, data = packet.offset * _UNIT, bytes(packet.data)
        pieces = self._waiting.get(key)
        if pieces is None:
            if len(self._waiting) >= MAX_WAITING:
                self._drop(next(iter(self._waiting)))
            pieces = self._waiting[key] = {}
        if len(pieces) >= MAX_PIECES or offset + len(data) > MAX_BYTES:
            self._drop(key)
            return None
        pieces.setdefault(offset, data)
        if not packet.mf:
            self._sizes[key] = offset + len(data)
        joined = _joined(pieces, self._sizes.get(key, 0))
        if joined is None:
            return None
        self._drop(key)
        whole = dpkt.ip.IP(src=packet.src, dst=packet.dst, p=packet.p, id=packet.id, data=joined)
        whole.len = _HEAD_BYTES + len(joined)
        return dpkt.ip.IP(bytes(whole))

    def _drop(self, key: _Key) -> None:
        self._waiting.pop(key, None)
        self._sizes.pop(key, None)


def _joined(pieces: dict[int, bytes], size: int) -> bytes | None:
    """The data of a packet of ``size`` bytes; None while a piece or the last one is missing."""
    if not size or sum(map(len, pieces.values())) < size:
        return None
    found = bytearray()
    for offset in sorted(pieces):
        if offset > len(found):
            return None
        found += pieces[offset][len(found) - offset :]
    return bytes(found[:size]) if len(found) >= size else None
