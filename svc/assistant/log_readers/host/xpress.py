"""Decompress LZ77 with Huffman codes as Windows' prefetch files have it (MS-XCA, "LZ77+Huffman"). Pure.

Total: damaged data gives what was decompressed before the damage.
"""

from __future__ import annotations

BLOCK_BYTES = 65_536
_SYMBOLS = 512
_TABLE_BYTES = 256
_MAX_BITS = 15


def decompress(data: bytes, size: int) -> bytes:
    """Return ``size`` bytes, or fewer if the data ends or is damaged before."""
    out = bytearray()
    at = 0
    while len(out) < size:
        codes = _codes(data[at : at + _TABLE_BYTES])
        if codes is None:
            break
        try:
            at, is_whole = _block(data, at + _TABLE_BYTES, codes, out, min(size, len(out) + BLOCK_BYTES))
        except IndexError:
            break
        if not is_whole:
            break
    return bytes(out[:size])


def _codes(table: bytes) -> list[tuple[int, int]] | None:
    """For each of the next 15 bits the symbol and the length of its code; None if the table is no table."""
    if len(table) < _TABLE_BYTES:
        return None
    lengths = [nibble for byte in table for nibble in (byte & 15, byte >> 4)]
    codes: list[tuple[int, int]] = []
    for bits in range(1, _MAX_BITS + 1):
        for symbol in range(_SYMBOLS):
            if lengths[symbol] == bits:
                codes += [(symbol, bits)] * (1 << (_MAX_BITS - bits))
        if len(codes) > 1 << _MAX_BITS:
            return None
    return codes or None


class _Bits:
    """The bits of a block, in words of 16; bytes of lengths are between the words."""

    def __init__(self, data: bytes, at: int) -> None:
        self.data = data
        self.at = at + 4
        self.window = self._word(at) << 16 | self._word(at + 2)
        self.spare = 16

    def _word(self, at: int) -> int:
        return int.from_bytes(self.data[at : at + 2], "little")

    def skip(self, bits: int) -> None:
        self.window = self.window << bits & 0xFFFFFFFF
        self.spare -= bits
        if self.spare < 0:
            self.window |= self._word(self.at) << -self.spare
            self.spare += 16
            self.at += 2

    def number(self, size: int) -> int:
        """A number between the words."""
        if self.at + size > len(self.data):
            raise IndexError
        self.at += size
        return int.from_bytes(self.data[self.at - size : self.at], "little")


def _block(data: bytes, at: int, codes: list[tuple[int, int]], out: bytearray, end: int) -> tuple[int, bool]:
    bits = _Bits(data, at)
    while len(out) < end:
        symbol, length = codes[bits.window >> 17]
        bits.skip(length)
        if bits.at > len(data) + 4:
            return bits.at, False
        if symbol < 256:
            out.append(symbol)
            continue
        count, distance_bits = symbol & 15, symbol - 256 >> 4
        if count == 15:
            count = _long(bits)
        distance = (1 << distance_bits) + (bits.window >> 32 - distance_bits)
        bits.skip(distance_bits)
        if distance > len(out):
            return bits.at, False
        for _ in range(min(count + 3, end - len(out))):
            out.append(out[-distance])
    return bits.at, True


def _long(bits: _Bits) -> int:
    count = bits.number(1)
    if count < 255:
        return count + 15
    count = bits.number(2) or bits.number(4)
    if count < 15:
        raise IndexError
    return count
