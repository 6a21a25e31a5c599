"""Put packets together to flows, and a flow's TCP segments to the bytes that its two sides sent. Pure, bounded.

A flow is the traffic between two endpoints over one protocol; its client opened it or, if the capture lacks the
opening, is not on the lower port. Segments are put in order by their sequence numbers (RFC 9293); one
that the capture lost is skipped once enough later ones have come. The content of a flow is read by a ``FlowReader``,
which ``recognise`` chooses by the first bytes that either side sends.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from svc.assistant.knowledge.network import TCP, UDP
from svc.assistant.skills.pcap.packets import ACK, FIN, RST, SYN, Packet

MAX_FLOWS = 200_000  # about 150 MB; packets of further flows are counted, and their DNS is read
MAX_TURNS = 1_000  # times of what the client sent in one flow that are kept: enough to tell a regular interval
MAX_READ_FLOWS = 50_000  # whose bytes are put in order at the same time
OPENING_BYTES = 16  # or a line, by which a protocol is recognised: the head of a DCE/RPC message
MAX_HELD = 64  # segments of one side that wait for one that is missing
UDP_PAUSE_SECONDS = 120.0  # after which the same two UDP endpoints have begun something new (RFC 4787's NAT timeout)
_HALF = 1 << 31
_WRAP = (1 << 32) - 1

Endpoint = tuple[bytes, int]
"""An address and a port."""


class FlowReader(Protocol):
    """Reads the content of a flow, each side's bytes in order. Sets ``is_done`` when it has seen enough."""

    is_done: bool

    def receive(self, data: bytes, *, from_client: bool, number: int, seconds: float) -> None:
        """Take the next bytes of one side, from packet ``number``."""


class _TcpSide:
    """One direction of a TCP flow: what comes next, and what came too early."""

    __slots__ = ("held", "next")

    def __init__(self, start: int | None) -> None:
        self.next = start
        self.held: dict[int, bytes] = {}

    def ready(self, sequence: int, payload: bytes) -> bytes:
        """The bytes that are now in order; what is repeated is dropped."""
        if self.next is None:
            self.next = sequence
        ahead = (sequence - self.next) & _WRAP
        if 0 < ahead < _HALF:
            self.held[sequence] = payload
            if len(self.held) <= MAX_HELD:
                return b""
            self.next = min(self.held, key=lambda start: (start - (self.next or 0)) & _WRAP)  # the capture lost it
            payload = self.held.pop(self.next)
        elif ahead:
            payload = payload[(self.next - sequence) & _WRAP :]
        self.next = (self.next + len(payload)) & _WRAP
        return payload + self._followers() if self.held else payload

    def _followers(self) -> bytes:
        pieces = []
        while self.next is not None and (payload := self.held.pop(self.next, None)) is not None:
            pieces.append(payload)
            self.next = (self.next + len(payload)) & _WRAP
        return b"".join(pieces)


class Flow:
    """The traffic between ``client`` and ``server``; bytes are the frames' on the wire, payload what they carried."""

    client: Endpoint
    first: float
    first_flags: int
    first_number: int
    flags_back: int
    flags_out: int
    last: float
    last_number: int
    packets_back: int
    packets_out: int
    payload_back: int
    payload_out: int
    protocol: int
    received: int
    sent: int
    server: Endpoint

    __slots__ = (
        "client", "conversation", "first", "first_flags", "first_number", "flags_back", "flags_out", "is_read", "label",
        "last", "last_number", "opening", "packets_back", "packets_out", "payload_back", "payload_out", "protocol",
        "received", "sent", "server", "sides", "starts", "turns", "was_client",
    )  # fmt: skip

    def __init__(self, client: Endpoint, server: Endpoint, packet: Packet) -> None:
        self.client, self.server, self.protocol = client, server, packet.protocol
        self.first = self.last = packet.seconds
        self.first_number = self.last_number = packet.number
        self.first_flags = packet.flags
        self.sent = self.received = self.payload_out = self.payload_back = self.packets_out = self.packets_back = 0
        self.flags_out = self.flags_back = 0
        self.turns: list[float] = []
        self.was_client: bool = False
        self.label: str = ""
        self.is_read: bool = False
        self.starts: list[int | None] = [None, None]
        self.sides: tuple[_TcpSide, _TcpSide] | None = None
        self.opening: tuple[bool, bytes] | None = None  # the first side's bytes while they are too few to recognise
        self.conversation: FlowReader | None = None

    @property
    def packets(self) -> int:
        """Of both sides."""
        return self.packets_out + self.packets_back

    @property
    def state(self) -> str:
        """The state of the connection in words."""
        if self.protocol != TCP:
            return "answered" if self.packets_back else "no answer"
        if not self.flags_out & SYN and not self.flags_back & SYN:
            return "under way"
        if not self.flags_back & SYN:
            return "refused" if self.flags_back & RST else "no answer"
        if not self.flags_out & ACK and self.flags_out & RST:
            return "half open"
        if (self.flags_out | self.flags_back) & RST:
            return "reset"
        return "closed" if (self.flags_out | self.flags_back) & FIN else "open"

    @property
    def is_probe(self) -> bool:
        """Whether it begins with a TCP segment that no program sends: without SYN, ACK and RST (Xmas, NULL, FIN)."""
        return self.protocol == TCP and not self.first_flags & (SYN | ACK | RST) and not self.payload_out

    @property
    def is_failed(self) -> bool:
        """Whether a TCP connection was never established, or was dropped as soon as the port had answered."""
        return self.state in ("refused", "no answer", "half open") and not self.payload_back


class Flows:
    """All flows of a capture. ``recognise`` is asked once a flow, with the first bytes that either side sends."""

    unlisted_packets: int
    unlisted_bytes: int
    unread_flows: int

    def __init__(self, recognise: Callable[[Flow, bytes, bool], FlowReader | None]) -> None:
        self.all: list[Flow] = []
        self.unlisted_packets = self.unlisted_bytes = self.unread_flows = 0
        self._recognise = recognise
        self._open: dict[tuple[int, bytes, int, bytes, int], Flow] = {}
        self._reading = 0

    def add(self, packet: Packet) -> Flow | None:
        """Count a packet and return its flow, or None if there are already MAX_FLOWS."""
        protocol, source, target = packet.protocol, packet.source, packet.target
        source_port, target_port = packet.source_port, packet.target_port
        flow = self._open.get((protocol, source, source_port, target, target_port))
        from_client = True
        if flow is None:
            flow = self._open.get((protocol, target, target_port, source, source_port))
            from_client = False
        if flow is None or self._is_new(flow, packet):
            if len(self.all) >= MAX_FLOWS:
                self.unlisted_packets += 1
                self.unlisted_bytes += packet.length
                return None
            flow, from_client = self._begin(packet)
        self._count(flow, packet, from_client=from_client)
        if packet.protocol == TCP:
            self._read(flow, packet, from_client=from_client)
        return flow

    @staticmethod
    def _is_new(flow: Flow, packet: Packet) -> bool:
        """Whether a known pair of endpoints began a new flow."""
        if packet.protocol == UDP:
            return packet.seconds - flow.last > UDP_PAUSE_SECONDS
        if packet.protocol != TCP or packet.flags & (SYN | ACK) != SYN:
            return False
        return bool((flow.flags_out | flow.flags_back) & (FIN | RST))

    def _begin(self, packet: Packet) -> tuple[Flow, bool]:
        source, target = (packet.source, packet.source_port), (packet.target, packet.target_port)
        is_from_client = self._is_from_client(packet)
        client, server = (source, target) if is_from_client else (target, source)
        flow = Flow(client, server, packet)
        self.all.append(flow)
        self._open[packet.protocol, client[0], client[1], server[0], server[1]] = flow
        return flow, is_from_client

    @staticmethod
    def _is_from_client(packet: Packet) -> bool:
        if packet.protocol == TCP and packet.flags & SYN:
            return not packet.flags & ACK
        if packet.protocol not in (TCP, UDP):
            return True
        is_low = packet.source_port < 1024 <= packet.target_port
        return not is_low if packet.protocol == UDP else packet.source_port >= packet.target_port

    @staticmethod
    def _count(flow: Flow, packet: Packet, *, from_client: bool) -> None:
        flow.last, flow.last_number = packet.seconds, packet.number
        payload = len(packet.payload)
        if from_client:
            flow.packets_out += 1
            flow.sent += packet.length
            flow.payload_out += payload
            flow.flags_out |= packet.flags
            if payload and not flow.was_client:
                flow.was_client = True
                if len(flow.turns) < MAX_TURNS:
                    flow.turns.append(packet.seconds)
            return
        flow.packets_back += 1
        flow.received += packet.length
        flow.payload_back += payload
        flow.flags_back |= packet.flags
        if payload:
            flow.was_client = False

    def _read(self, flow: Flow, packet: Packet, *, from_client: bool) -> None:
        """Reassemble the segment and pass what is in order to the conversation."""
        if flow.is_read:
            return
        if packet.flags & SYN:
            flow.starts[not from_client] = (packet.sequence + 1) & _WRAP
            return
        data = self._in_order(flow, packet, from_client=from_client) if packet.payload else b""
        if data:
            self._deliver(flow, data, packet, from_client=from_client)
        if packet.flags & RST and not flow.is_read:
            self._stop(flow)

    def _in_order(self, flow: Flow, packet: Packet, *, from_client: bool) -> bytes:
        if flow.sides is None:
            if self._reading >= MAX_READ_FLOWS:
                flow.is_read = True
                self.unread_flows += 1
                return b""
            self._reading += 1
            flow.sides = _TcpSide(flow.starts[0]), _TcpSide(flow.starts[1])
        return flow.sides[not from_client].ready(packet.sequence, packet.payload)

    def _deliver(self, flow: Flow, data: bytes, packet: Packet, *, from_client: bool) -> None:
        if flow.conversation is None:
            opener, opening = flow.opening or (from_client, b"")
            if opener == from_client:
                data = opening + data
                if len(data) < OPENING_BYTES and b"\n" not in data:
                    flow.opening = from_client, data
                    return
            flow.conversation = self._recognise(flow, data if opener == from_client else opening, opener)
            if flow.conversation is not None and opener != from_client:
                flow.conversation.receive(opening, from_client=opener, number=packet.number, seconds=packet.seconds)
        if flow.conversation is not None and not flow.conversation.is_done:
            flow.conversation.receive(data, from_client=from_client, number=packet.number, seconds=packet.seconds)
        if flow.conversation is None or flow.conversation.is_done:
            self._stop(flow)

    def _stop(self, flow: Flow) -> None:
        if flow.sides is not None:
            self._reading -= 1
        flow.is_read, flow.sides, flow.conversation = True, None, None
