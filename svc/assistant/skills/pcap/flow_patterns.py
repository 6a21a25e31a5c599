"""Patterns in the flows of a capture: beacons, scans, uploads, top talkers. Pure.

Decides: a scan is many ports of one host, or one port of many hosts, most of which did not answer. What regular
contacts are, ``regularity.py`` decides. Update checks look like beacons, too, so that finding's confidence is lower.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from ipaddress import ip_address
from typing import TypeVar

import msgspec

from svc.assistant.knowledge.network import ICMP, ICMP6, TCP, UDP
from svc.assistant.skills.pcap.addresses import is_group, is_internal
from svc.assistant.skills.pcap.findings import ScanType
from svc.assistant.skills.pcap.flows import Flow
from svc.assistant.skills.pcap.regularity import Regularity, regularity

SCAN_COUNT = 15  # ports of one host, or hosts of one port
SCAN_FAILED_SHARE = 0.5
_TRACEROUTE = range(33_434, 33_535)
UPLOAD_BYTES = 5_000_000  # of payload, to one outside address
UPLOAD_RATIO = 5  # times what came back
_CHATTER = frozenset({(UDP, port) for port in (67, 68, 123, 137, 138, 546, 547, 1900, 3702, 5353, 5355)} | {(UDP, 53)})
"""Services that are regular by nature, or that are judged by name (DNS)."""


class Inside:
    """Which addresses belong to the captured network.

    Private addresses do. Networks with other addresses are recognised by their own resolver, or by the one host that
    takes part in every flow; ``is_known`` is False if neither is there.
    """

    def __init__(self, flows: Sequence[Flow]) -> None:
        ends = [(flow.client[0], flow.server[0]) for flow in flows]
        asking = [ends[number] for number, flow in enumerate(flows) if flow.server[1] == _DNS_PORT]
        self._networks = {_network(client) for client, server in asking if _network(client) == _network(server)}
        addresses = {address for pair in ends for address in pair if not is_group(address)}
        has_private = any(map(is_internal, addresses))
        if not has_private and not self._networks:
            self._networks = set(map(_network, _hub(ends)))
        self.is_known: bool = has_private or bool(self._networks)

    def has(self, address: bytes) -> bool:
        """Whether the address is inside, as far as it is known."""
        return is_internal(address) or _network(address) in self._networks


_DNS_PORT = 53
_LEAST_PEERS = 2  # of the host that a capture was made on


def _network(address: bytes) -> bytes:
    """The first 24 bits of an IPv4 address, 64 of an IPv6 address."""
    return address[:3] if len(address) == 4 else address[:8]


def _hub(ends: Sequence[tuple[bytes, bytes]]) -> set[bytes]:
    """The one address that takes part in every flow, if it has several peers."""
    shared = set(ends[0]) if ends else set()
    for pair in ends:
        shared &= set(pair)
    peers = {address for pair in ends for address in pair} - shared
    return shared if len(shared) == 1 and len(peers) >= _LEAST_PEERS else set()


Key = TypeVar("Key", int, bytes)
Service = tuple[bytes, bytes, int, int]
"""Client, server, protocol, the server's port."""


def by_service(flows: Sequence[Flow]) -> dict[Service, list[Flow]]:
    """Group flows by client, server, protocol and server port."""
    groups: dict[Service, list[Flow]] = defaultdict(list)
    for flow in flows:
        groups[flow.client[0], flow.server[0], flow.protocol, flow.server[1]].append(flow)
    return groups


def beacons(groups: dict[Service, list[Flow]]) -> Iterator[tuple[Service, Regularity]]:
    """Yield the services to which a client connects at regular intervals."""
    for service, flows in groups.items():
        _, server, protocol, port = service
        if protocol not in (TCP, UDP) or is_group(server) or (protocol, port) in _CHATTER:
            continue
        found = regularity(moment for flow in flows for moment in (flow.turns or [flow.first]))
        if found is not None:
            yield service, found


class Scan(msgspec.Struct, frozen=True):
    """Many attempts of one source; ``open`` are the ports or hosts that answered."""

    kind: ScanType
    source: bytes
    target: bytes | None
    port: int | None
    count: int
    failed: int
    open: list[str]
    first: Flow
    last: Flow
    protocol: int = TCP


def scans(flows: Sequence[Flow]) -> Iterator[Scan]:
    """Yield port scans over TCP and UDP, sweeps of one port over hosts, and ping sweeps."""
    datagrams: dict[tuple[bytes, bytes], dict[int, Flow]] = defaultdict(dict)
    ports: dict[tuple[bytes, bytes], dict[int, Flow]] = defaultdict(dict)
    hosts: dict[tuple[bytes, int], dict[bytes, Flow]] = defaultdict(dict)
    pings: dict[bytes, dict[bytes, Flow]] = defaultdict(dict)
    for flow in flows:
        source, target = flow.client[0], flow.server[0]
        if flow.protocol == TCP:
            _keep_better(ports[source, target], flow.server[1], flow)
            _keep_better(hosts[source, flow.server[1]], target, flow)
        elif flow.protocol in (ICMP, ICMP6) and not is_group(target):
            pings[source].setdefault(target, flow)
        elif flow.protocol == UDP and _is_udp_probe(flow):
            _keep_better(datagrams[source, target], flow.server[1], flow)
    for (source, target), found in ports.items():
        if len(found) >= SCAN_COUNT:
            yield from _scan("ports", source, target, None, {str(port): flow for port, flow in found.items()})
    for (source, target), found in datagrams.items():
        if len(found) >= SCAN_COUNT:
            yield from _scan("ports", source, target, None, {str(port): flow for port, flow in found.items()}, UDP)
    for (source, port), reached in hosts.items():
        if len(reached) >= SCAN_COUNT:
            yield from _scan("hosts", source, None, port, _by_text(reached))
    for source, reached in pings.items():
        if len(reached) >= SCAN_COUNT:
            yield from _scan("pings", source, None, None, _by_text(reached))


def _is_udp_probe(flow: Flow) -> bool:
    """Whether it may be an attempt at a port: traceroute, groups and services of the local network are not."""
    port = flow.server[1]
    return not is_group(flow.server[0]) and (UDP, port) not in _CHATTER and port not in _TRACEROUTE


def _by_text(reached: dict[bytes, Flow]) -> dict[str, Flow]:
    return {str(ip_address(address)): flow for address, flow in reached.items()}


def _keep_better(found: dict[Key, Flow], key: Key, flow: Flow) -> None:
    """Keep an established connection rather than a failed one."""
    kept = found.get(key)
    if kept is None or (kept.is_failed and not flow.is_failed):
        found[key] = flow


def _scan(
    kind: ScanType, source: bytes, target: bytes | None, port: int | None, found: dict[str, Flow], protocol: int = TCP
) -> Iterator[Scan]:
    failed = sum(1 for flow in found.values() if _did_not_answer(flow))
    if kind != "pings" and failed < SCAN_FAILED_SHARE * len(found):
        return
    order = sorted(found.values(), key=lambda flow: flow.first_number)
    answered = [name for name, flow in found.items() if not _did_not_answer(flow)]
    yield Scan(kind, source, target, port, len(found), failed, answered, order[0], order[-1], protocol)


def _did_not_answer(flow: Flow) -> bool:
    return flow.is_probe or flow.state in ("refused", "no answer")


class Upload(msgspec.Struct, frozen=True):
    """Far more sent to one outside address than received."""

    service: Service
    sent: int
    received: int
    first: Flow


def uploads(groups: dict[Service, list[Flow]]) -> Iterator[Upload]:
    """Yield outside services to which far more was sent than received."""
    for service, flows in groups.items():
        sent, received = sum(f.payload_out for f in flows), sum(f.payload_back for f in flows)
        if sent >= UPLOAD_BYTES and sent >= UPLOAD_RATIO * received and not is_internal(service[1]):
            yield Upload(service, sent, received, min(flows, key=lambda flow: flow.first_number))


class Talker(msgspec.Struct):
    """One host's traffic. ``sent`` and ``received`` are bytes on the wire."""

    address: bytes
    sent: int = 0
    received: int = 0
    packets: int = 0
    flows: int = 0
    first_number: int = 0
    peers: set[bytes] = msgspec.field(default_factory=set)


def talkers(flows: Sequence[Flow]) -> list[Talker]:
    """Return the hosts, most bytes first."""
    found: dict[bytes, Talker] = {}
    for flow in flows:
        client, server = flow.client[0], flow.server[0]
        for address, other, sent, received in (
            (client, server, flow.sent, flow.received),
            (server, client, flow.received, flow.sent),
        ):
            talker = found.get(address)
            if talker is None:
                talker = found[address] = Talker(address, first_number=flow.first_number)
            talker.sent += sent
            talker.received += received
            talker.packets += flow.packets
            talker.flows += 1
            if len(talker.peers) < 10_000:
                talker.peers.add(other)
    return sorted(found.values(), key=lambda talker: -(talker.sent + talker.received))
