"""Pings whose data is not what a ping sends: tunnels over ICMP. Pure, bounded.

Decides: a host answers a ping with the data that came (RFC 792), whatever it is. Answers with other data, or requests
of many different sizes with data that does not compress, carry something else.
"""

from __future__ import annotations

import zlib

import msgspec

from svc.assistant.skills.pcap.packets import Packet

REQUEST, REPLY = 8, 0
LEAST_ANSWERS = 5  # with other data than was sent
ANSWER_SHARE = 0.5
LEAST_SIZES = 15  # of requests, all of which hold random data
RANDOM_SHARE = 0.9  # of its size that compressed data still has
MAX_PAIRS = 20_000
MAX_OPEN = 2_000  # requests of a pair that wait for their answer
_HEAD = 4  # identifier and sequence number
_LEAST_DATA = 32


class EchoPair(msgspec.Struct):
    """The pings from one host to another, ``size`` bytes. ``changed`` counts answers with other data than was sent."""

    first: float
    numbers: list[int]
    requests: int = 0
    answers: int = 0
    changed: int = 0
    size: int = 0
    last: float = 0.0
    random_sizes: set[int] = msgspec.field(default_factory=set)
    open: dict[bytes, int] = msgspec.field(default_factory=dict)

    @property
    def is_tunnel(self) -> bool:
        """Whether the data is not a ping's."""
        is_changed = self.changed >= LEAST_ANSWERS and self.changed >= ANSWER_SHARE * self.answers
        return is_changed or len(self.random_sizes) >= LEAST_SIZES


class Echoes:
    """All pings of a capture, by who asked and who was asked."""

    def __init__(self) -> None:
        self.pairs: dict[tuple[bytes, bytes], EchoPair] = {}

    def add(self, packet: Packet) -> None:
        """Read one ICMP message."""
        if packet.sequence not in (REQUEST, REPLY) or len(packet.payload) < _HEAD:
            return
        is_request = packet.sequence == REQUEST
        key = (packet.source, packet.target) if is_request else (packet.target, packet.source)
        pair = self.pairs.get(key)
        if pair is None:
            if len(self.pairs) >= MAX_PAIRS:
                return
            pair = self.pairs[key] = EchoPair(packet.seconds, [])
        pair.last = packet.seconds
        pair.size += len(packet.payload)
        self._count(pair, packet, is_request=is_request)

    @staticmethod
    def _count(pair: EchoPair, packet: Packet, *, is_request: bool) -> None:
        name, data = packet.payload[:_HEAD], packet.payload[_HEAD:]
        if is_request:
            pair.requests += 1
            if len(pair.open) < MAX_OPEN:
                pair.open[name] = zlib.crc32(data)
            if len(pair.random_sizes) < LEAST_SIZES and _is_random(data):
                pair.random_sizes.add(len(data))
        else:
            pair.answers += 1
            if (sent := pair.open.pop(name, None)) is None or sent == zlib.crc32(data):
                return
            pair.changed += 1
        if len(pair.numbers) < 20:
            pair.numbers.append(packet.number)


def _is_random(data: bytes) -> bool:
    return len(data) >= _LEAST_DATA and len(zlib.compress(data, 1)) >= RANDOM_SHARE * len(data)
