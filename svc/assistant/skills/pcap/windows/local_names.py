"""Answers to questions for names in the local network: LLMNR (RFC 4795), mDNS (RFC 6762), NetBIOS (RFC 1002). Pure.

Decides: a host answers for its own few names. One that answers with its own address for several names, or for ``wpad``,
poisons the names of others. A WINS server is asked directly and not by broadcast, so it is not counted.
"""

from __future__ import annotations

import re
import struct

import msgspec

from svc.assistant.skills.pcap.addresses import is_group
from svc.assistant.skills.pcap.dns import read_name
from svc.assistant.skills.pcap.packets import Packet

NETBIOS, MDNS, LLMNR = 137, 5353, 5355
PORTS = frozenset({NETBIOS, MDNS, LLMNR})
PROTOCOLS = {NETBIOS: "NetBIOS", MDNS: "mDNS", LLMNR: "LLMNR"}
POISONED_NAMES = 3  # different names that one host answers for: a workstation has one, or two with an alias
MAX_ANSWERERS = 5_000
MAX_NAMES = 50  # of one host
MAX_ASKED = 50_000
_CALL_NAME = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")  # what browsers call themselves in WebRTC
_HOST_SUFFIXES = (0x00, 0x20)
_NETBIOS_BYTES = 34  # of an encoded name with its length and its end
_ADDRESSES = {1: 4, 28: 16}
_NAME_SERVICE = 32


class Answerer(msgspec.Struct):
    """A host that answers for names with its own address."""

    protocol: str
    first: float
    last: float
    numbers: list[int]
    names: dict[str, None]
    clients: dict[bytes, None]


class LocalNames:
    """All answers of a capture."""

    def __init__(self) -> None:
        self.answerers: dict[tuple[bytes, int], Answerer] = {}
        self._asked: set[tuple[bytes, str]] = set()

    def add(self, packet: Packet) -> None:
        """Read one datagram; a damaged one is skipped."""
        port = packet.source_port if packet.source_port in PORTS else packet.target_port
        try:
            if port == NETBIOS:
                self._netbios(packet)
            elif packet.source_port == port:
                self._answer(packet, port)
        except (struct.error, IndexError):
            return

    def _netbios(self, packet: Packet) -> None:
        data = packet.payload
        flags = struct.unpack_from(">H", data, 2)[0]
        name, suffix = _netbios_name(data[12 : 12 + _NETBIOS_BYTES])
        if suffix not in _HOST_SUFFIXES or not name or flags & 0x7800:
            return
        if not flags & 0x8000:
            if is_group(packet.target) and len(self._asked) < MAX_ASKED:
                self._asked.add((packet.source, name))
            return
        kind, _, _, size = struct.unpack_from(">HHIH", data, 12 + _NETBIOS_BYTES)
        address = data[12 + _NETBIOS_BYTES + 12 : 12 + _NETBIOS_BYTES + 16]
        if kind == _NAME_SERVICE and size >= 6 and address == packet.source and (packet.target, name) in self._asked:
            self._note(packet, NETBIOS, name)

    def _answer(self, packet: Packet, port: int) -> None:
        data = packet.payload
        flags, questions, answers = struct.unpack_from(">HHH", data, 2)
        if not flags & 0x8000 or questions > 10:
            return
        at = 12
        for _ in range(questions):
            at = read_name(data, at)[1] + 4
        for _ in range(min(answers, 20)):
            name, at = read_name(data, at)
            kind, _, _, size = struct.unpack_from(">HHIH", data, at)
            value = data[at + 10 : at + 10 + size]
            at += 10 + size
            if _ADDRESSES.get(kind) == size and value == packet.source and name:
                self._note(packet, port, name.lower().removesuffix(".local"))

    def _note(self, packet: Packet, port: int, name: str) -> None:
        if _CALL_NAME.fullmatch(name):
            return
        key = (packet.source, port)
        found = self.answerers.get(key)
        if found is None:
            if len(self.answerers) >= MAX_ANSWERERS:
                return
            found = self.answerers[key] = Answerer(PROTOCOLS[port], packet.seconds, packet.seconds, [], {}, {})
        found.last = packet.seconds
        if len(found.names) < MAX_NAMES and name not in found.names:
            found.names[name] = None
            found.numbers.append(packet.number)
        if not is_group(packet.target) and len(found.clients) < MAX_NAMES:
            found.clients[packet.target] = None

    def poisoners(self) -> list[tuple[bytes, Answerer]]:
        """The hosts that answer for names of others."""
        return [
            (address, found)
            for (address, _), found in self.answerers.items()
            if len(found.names) >= POISONED_NAMES or "wpad" in found.names
        ]


def _netbios_name(data: bytes) -> tuple[str, int]:
    """The name and its suffix; ("", -1) if it is not encoded so."""
    if len(data) < _NETBIOS_BYTES or data[0] != 0x20:
        return "", -1
    letters = data[1:33]
    if any(not 0x41 <= letter <= 0x50 for letter in letters):
        return "", -1
    plain = bytes((letters[at] - 0x41) << 4 | (letters[at + 1] - 0x41) for at in range(0, 32, 2))
    return plain[:15].decode("ascii", errors="replace").strip().lower(), plain[15]
