"""Parse one captured frame: addresses, ports, flags, payload. Ethernet, VLAN, PPPoE, cooked, loopback, raw IP.

Frames are parsed with dpkt, which raises on some truncated or forged ones: these are counted as unread.
Link types: the registry of tcpdump.org. Tunnels (IP in IP, GRE) are read to the innermost IP packet.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import NamedTuple

import dpkt

from svc.assistant.knowledge.network import ICMP, ICMP6, TCP, UDP
from svc.assistant.skills.pcap.capture_file import Record
from svc.assistant.skills.pcap.fragments import Fragments

FIN, SYN, RST, ACK = 0x01, 0x02, 0x04, 0x10
MAX_LAYERS = 8  # between the frame and the innermost IP packet; VLANs in MPLS in a tunnel have five
_ETHERNET, _IP4, _IP6, _ARP = 1, b"\x08\x00", b"\x86\xdd", b"\x08\x06"
_UNREADABLE = (dpkt.Error, struct.error, IndexError, ValueError, KeyError, TypeError, AttributeError, RecursionError)
"""What dpkt raises on truncated or forged frames; found by fuzzing it."""


class Packet(NamedTuple):
    """One IP packet. Addresses are 4 or 16 bytes; ports and ``flags`` are 0 if the protocol has none.

    ``sequence`` is TCP's, or the type of an ICMP message. ``length`` counts the frame's bytes on the wire.
    """

    number: int
    seconds: float
    protocol: int
    source: bytes
    target: bytes
    source_port: int
    target_port: int
    flags: int
    sequence: int
    payload: bytes
    length: int


class ArpClaim(NamedTuple):
    """An ARP message: ``hardware`` says that it has ``address``. Only replies are claims; others ask for ``target``."""

    number: int
    address: bytes
    hardware: bytes
    is_reply: bool
    target: bytes
    seconds: float


def _raw(data: bytes) -> object:
    return dpkt.ip6.IP6(data) if data[:1] and data[0] >> 4 == 6 else dpkt.ip.IP(data)


_FRAMES: dict[int, Callable[[bytes], object]] = {
    0: dpkt.loopback.Loopback,
    1: dpkt.ethernet.Ethernet,
    9: dpkt.ppp.PPP,
    12: _raw,
    14: _raw,
    50: dpkt.ppp.PPP,
    51: dpkt.pppoe.PPPoE,
    101: _raw,
    105: dpkt.ieee80211.IEEE80211,
    108: dpkt.loopback.Loopback,
    113: dpkt.sll.SLL,
    127: dpkt.radiotap.Radiotap,
    228: dpkt.ip.IP,
    229: dpkt.ip6.IP6,
    276: dpkt.sll2.SLL2,
}
LINK_TYPES = frozenset(_FRAMES)
"""The link types whose frames are read."""


def read_packet(record: Record, fragments: Fragments) -> Packet | ArpClaim | None:
    """Return the IP packet or ARP claim in a frame, or None if it has neither or is unreadable.

    The last fragment of a packet becomes the whole packet; the others have no payload, ``fragments`` holds it.
    """
    try:
        layer = _network_layer(record.link_type, record.data)
        is_piece = False
        if isinstance(layer, dpkt.ip.IP) and (layer.mf or layer.offset):
            whole = fragments.whole(layer)
            layer, is_piece = whole or layer, whole is None
        if isinstance(layer, dpkt.arp.ARP):
            return ArpClaim(
                record.number, layer.spa, layer.sha, layer.op == dpkt.arp.ARP_OP_REPLY, layer.tpa, record.seconds
            )
        packet = None if layer is None else _packet(layer, record)
        return packet._replace(payload=b"") if packet is not None and is_piece else packet
    except _UNREADABLE:
        return None


def _network_layer(link_type: int, data: bytes) -> object:
    """Return the innermost IP packet of a frame, an ARP message if there is none, or None."""
    layer: object
    if link_type == _ETHERNET and data[12:14] == _IP4:
        layer = dpkt.ip.IP(data[14:])
    elif link_type in _FRAMES:
        layer = _FRAMES[link_type](data)
    else:
        return None
    found: object = None
    for _ in range(MAX_LAYERS):
        if isinstance(layer, (dpkt.ip.IP, dpkt.ip6.IP6, dpkt.arp.ARP)):
            found = layer
        elif isinstance(layer, (dpkt.tcp.TCP, dpkt.udp.UDP, bytes)):
            break
        layer = getattr(layer, "data", b"")
    return found


def _packet(layer: object, record: Record) -> Packet:
    inside = layer.data  # type: ignore[attr-defined]  # dpkt has no types
    protocol = layer.p  # type: ignore[attr-defined]
    source, target = layer.src, layer.dst  # type: ignore[attr-defined]
    length = record.length or len(record.data)
    if isinstance(inside, dpkt.tcp.TCP):
        ports, flags, sequence, payload = (inside.sport, inside.dport), inside.flags, inside.seq, inside.data
        protocol = TCP
    elif isinstance(inside, dpkt.udp.UDP):
        ports, flags, sequence, payload = (inside.sport, inside.dport), 0, 0, inside.data
        protocol = UDP
    elif isinstance(inside, (dpkt.icmp.ICMP, dpkt.icmp6.ICMP6)):
        ports, flags, sequence, payload = (0, 0), 0, inside.type, bytes(inside.data)
        protocol = ICMP if isinstance(inside, dpkt.icmp.ICMP) else ICMP6
    else:  # a later fragment, or a protocol without ports
        ports, flags, sequence, payload = (0, 0), 0, 0, b""
    body = payload if isinstance(payload, bytes) else bytes(payload)
    return Packet(record.number, record.seconds, protocol, source, target, *ports, flags, sequence, body, length)
