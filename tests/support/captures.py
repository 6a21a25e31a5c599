"""Small captures for the tests: packets built with dpkt, conversations with their handshakes and acknowledgements."""

from __future__ import annotations

import io
from collections.abc import Iterable
from ipaddress import ip_address

import dpkt

START = 1_763_600_000.0
CLIENT, SERVER, OUTSIDE = "10.0.0.5", "10.0.0.80", "203.0.113.9"
Frame = tuple[float, bytes]


def ip(source: str, target: str, layer: dpkt.Packet, protocol: int) -> dpkt.Packet:
    one, other = ip_address(source).packed, ip_address(target).packed
    if len(one) == 16:
        return dpkt.ip6.IP6(src=one, dst=other, nxt=protocol, plen=len(layer), hlim=64, data=layer)
    packet = dpkt.ip.IP(src=one, dst=other, p=protocol, data=layer)
    packet.len = len(packet)
    return packet


def ethernet(packet: dpkt.Packet) -> bytes:
    kind = 0x86DD if isinstance(packet, dpkt.ip6.IP6) else 0x0800
    return bytes(dpkt.ethernet.Ethernet(src=b"\x02" * 6, dst=b"\x04" * 6, type=kind, data=packet))


def udp(source: str, target: str, ports: tuple[int, int], data: bytes) -> dpkt.Packet:
    layer = dpkt.udp.UDP(sport=ports[0], dport=ports[1], data=data)
    layer.ulen = len(layer)
    return ip(source, target, layer, 17)


def tcp(
    source: str, target: str, ports: tuple[int, int], flags: int, sequence: int = 0, data: bytes = b""
) -> dpkt.Packet:
    layer = dpkt.tcp.TCP(sport=ports[0], dport=ports[1], seq=sequence & 0xFFFFFFFF, flags=flags, data=data)
    return ip(source, target, layer, 6)


def conversation(
    turns: Iterable[tuple[str, bytes]],
    *,
    client: str = CLIENT,
    server: str = OUTSIDE,
    ports: tuple[int, int] = (50_000, 80),
    at: float = START,
    piece: int = 1_400,
) -> list[Frame]:
    """A TCP connection in which ``>`` speaks for the client and ``<`` for the server, opened and closed."""
    back = (ports[1], ports[0])
    numbers = {">": 1_000, "<": 4_294_967_000}  # the server's wrap around
    frames = [
        tcp(client, server, ports, 2, numbers[">"]),
        tcp(server, client, back, 18, numbers["<"]),
        tcp(client, server, ports, 16, numbers[">"] + 1),
    ]
    numbers = {side: number + 1 for side, number in numbers.items()}
    for side, data in turns:
        ends = (client, server, ports) if side == ">" else (server, client, back)
        for start in range(0, len(data), piece):
            part = data[start : start + piece]
            frames.append(tcp(*ends, 24, numbers[side], part))
            numbers[side] += len(part)
    frames += [tcp(client, server, ports, 17, numbers[">"]), tcp(server, client, back, 17, numbers["<"])]
    return [(at + number * 0.01, ethernet(frame)) for number, frame in enumerate(frames)]


def question(
    name: str, *, client: str = CLIENT, at: float = START, kind: int = 1, missing: bool | None = None
) -> list[Frame]:
    """A question to a DNS server and, where ``missing`` says which, its answer."""
    asked = dpkt.dns.DNS(id=7, qd=[dpkt.dns.DNS.Q(name=name, type=kind)])
    frames = [(at, ethernet(udp(client, "10.0.0.1", (40_000, 53), bytes(asked))))]
    if missing is not None:
        code = 3 if missing else 0
        answers = [] if missing else [dpkt.dns.DNS.RR(name=name, type=1, cls=1, ttl=60, ip=ip_address(OUTSIDE).packed)]
        reply = dpkt.dns.DNS(id=7, op=0x8180 | code, qd=asked.qd, an=answers)
        frames.append((at + 0.02, ethernet(udp("10.0.0.1", client, (53, 40_000), bytes(reply)))))
    return frames


def capture(frames: Iterable[Frame], *, link_type: int = 1, nano: bool = False) -> bytes:
    """A capture in libpcap's format."""
    stream = io.BytesIO()
    writer = dpkt.pcap.Writer(stream, linktype=link_type, nano=nano)
    for at, frame in frames:
        writer.writepkt(frame, at)
    return stream.getvalue()


def capture_ng(frames: Iterable[Frame]) -> bytes:
    """The same as pcapng."""
    stream = io.BytesIO()
    writer = dpkt.pcapng.Writer(stream)
    for at, frame in frames:
        writer.writepkt(frame, at)
    return stream.getvalue()
