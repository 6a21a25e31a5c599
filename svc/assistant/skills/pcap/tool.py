"""Analyse a packet capture: flows, names, requests, and what in them is suspicious. Pure; every list is bounded.

Decides how the capture is summarised and which limits are reported. Detections: ``anomaly_findings.py`` and
``protocol_findings.py``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from svc.assistant.findings import Coverage, Evidence, Finding, Gap, Progress, ToolEvent
from svc.assistant.knowledge.network import service_of
from svc.assistant.skills.pcap.anomaly_findings import anomaly_findings
from svc.assistant.skills.pcap.capture import Capture
from svc.assistant.skills.pcap.capture_file import Record, read_records
from svc.assistant.skills.pcap.dns import address_text
from svc.assistant.skills.pcap.findings import ActivityBin, PcapFlow, PcapSummary, PcapTalker, ProtocolVolume
from svc.assistant.skills.pcap.flow_patterns import Inside, talkers
from svc.assistant.skills.pcap.flows import MAX_FLOWS, Flow
from svc.assistant.skills.pcap.labels import CaptureNames, iso
from svc.assistant.skills.pcap.protocol_findings import protocol_findings

FIRST_PROGRESS = 1_000  # packets
PROGRESS_EVERY = 20_000
MAX_TALKERS = 50
MAX_FLOWS_LISTED = 200  # those with the most bytes
ACTIVITY_BINS = 120


def inspect(content: BinaryIO, /, *, source: str) -> Iterator[ToolEvent]:
    """Yield the summary, anomalies, findings by protocol, then hosts and flows by volume."""
    yield Progress(text=f"reading {source}")
    capture = Capture()
    damages = 0
    for item in read_records(content):
        if isinstance(item, Gap):
            damages += 1
            yield item
            continue
        capture.add(item)
        if capture.packets % PROGRESS_EVERY == 0 or capture.packets == FIRST_PROGRESS:
            yield Progress(text=_progress(capture, item))
    yield Progress(text=f"read {capture.packets:,} packets: {len(capture.flows.all):,} flows; looking for anomalies")
    if not capture.packets:
        yield Gap(text="no packet could be read")
        yield _coverage(capture, damages)
        return
    names = CaptureNames(capture, source)
    inside = Inside(capture.flows.all)
    yield _summary(capture, names, inside)
    yield from anomaly_findings(capture, names)
    yield from protocol_findings(capture, names)
    yield from _talkers(capture, names, inside)
    yield from _flows(capture, names)
    yield from _gaps(capture)
    yield _coverage(capture, damages)


def _coverage(capture: Capture, damages: int) -> Coverage:
    """Each damaged place held at least one more packet."""
    return Coverage(
        read_as="packet capture" if capture.packets else "content without a readable packet",
        unit="packet",
        understood=capture.packets - capture.others - capture.flows.unlisted_packets,
        total=capture.packets + damages,
        looked_for=(
            "scans, floods, beacons, tunnels over DNS and ICMP, generated domains, passwords in cleartext and guessed, "
            "Kerberos tickets, searches of a directory, poisoned names and relayed logins, remote administration, "
            "large uploads, suspicious requests, certificates and shells"
        ),
        not_covered="the content of encrypted connections and unsupported protocols is not visible",
    )


def _progress(capture: Capture, record: Record) -> str:
    return f"read {record.number:,} packets, {record.offset:,} bytes: {len(capture.flows.all):,} flows"


def _summary(capture: Capture, names: CaptureNames, inside: Inside) -> Finding[PcapSummary]:
    flows = capture.flows.all
    addresses = {address for flow in flows for address in (flow.client[0], flow.server[0])}
    volumes: dict[str, int] = {}
    for flow in flows:
        spoken = flow.label or service_of(flow.protocol, flow.server[1])
        volumes[spoken] = volumes.get(spoken, 0) + flow.sent + flow.received
    ranked = sorted(volumes.items(), key=lambda item: -item[1])[:30]
    return Finding(
        title=f"{capture.packets:,} packets in {len(flows):,} flows between {len(addresses):,} addresses",
        evidence=(Evidence(source=names.source, excerpt=f"{capture.packets:,} packets", record=1),),
        facts=PcapSummary(
            packets=capture.packets,
            bytes=capture.bytes,
            first=iso(capture.first),
            last=iso(capture.last),
            seconds=round(capture.last - capture.first, 3),
            flows=len(flows),
            hosts=len(addresses),
            outside_hosts=sum(not inside.has(address) for address in addresses) if inside.is_known else None,
            protocols=[ProtocolVolume(name, size) for name, size in ranked],
            dns_queries=capture.dns.queries,
            http_requests=len(capture.exchanges.items) + capture.exchanges.unlisted,
            tls_handshakes=len(capture.handshakes.items) + capture.handshakes.unlisted,
            activity=_activity(capture),
        ),
    )


def _activity(capture: Capture) -> list[ActivityBin]:
    """The bytes over time, in at most ACTIVITY_BINS equal intervals."""
    if not capture.bytes_by_second:
        return []
    first, last = int(capture.first), int(capture.last)
    width = max(1, -(-(last - first + 1) // ACTIVITY_BINS))
    bins = [0] * ((last - first) // width + 1)
    for second, size in capture.bytes_by_second.items():
        bins[min(max(0, second - first) // width, len(bins) - 1)] += size
    return [ActivityBin(iso(first + number * width), size) for number, size in enumerate(bins)]


def _talkers(capture: Capture, names: CaptureNames, inside: Inside) -> Iterator[Finding[PcapTalker]]:
    for talker in talkers(capture.flows.all)[:MAX_TALKERS]:
        address = address_text(talker.address)
        yield Finding(
            title=f"{address}: {talker.sent:,} bytes sent, {talker.received:,} received",
            evidence=(names.packet(talker.first_number, f"first packet of {address}"),),
            facts=PcapTalker(
                address=address,
                name=names.of(talker.address),
                is_internal=inside.has(talker.address) if inside.is_known else None,
                sent=talker.sent,
                received=talker.received,
                packets=talker.packets,
                flows=talker.flows,
                peers=len(talker.peers),
            ),
        )


def _flows(capture: Capture, names: CaptureNames) -> Iterator[Finding[PcapFlow]]:
    for flow in sorted(capture.flows.all, key=_volume, reverse=True)[:MAX_FLOWS_LISTED]:
        yield Finding(
            title=f"{names.flow(flow)}: {flow.sent + flow.received:,} bytes",
            evidence=(names.packet(flow.first_number, names.flow(flow)),),
            facts=PcapFlow(
                client=address_text(flow.client[0]),
                server=address_text(flow.server[0]),
                client_port=flow.client[1],
                server_port=flow.server[1],
                server_name=names.of(flow.server[0]),
                service=flow.label or service_of(flow.protocol, flow.server[1]),
                state=flow.state,
                sent=flow.sent,
                received=flow.received,
                packets=flow.packets,
                first=iso(flow.first),
                last=iso(flow.last),
                last_packet=flow.last_number,
            ),
        )


def _volume(flow: Flow) -> int:
    return flow.sent + flow.received


def _gaps(capture: Capture) -> Iterator[Gap]:
    flows = capture.flows
    if flows.unlisted_packets:
        yield Gap(
            text=f"more than {MAX_FLOWS:,} flows: {flows.unlisted_packets:,} packets ({flows.unlisted_bytes:,} bytes) "
            "of other flows were only counted"
        )
    if flows.unread_flows:
        yield Gap(text=f"{flows.unread_flows:,} flows ran at the same time as many others: their content was not read")
    if capture.unread:
        kinds = ", ".join(str(kind) for kind, _ in capture.link_types.most_common(5))
        yield Gap(text=f"{capture.unread:,} packets have an unsupported link type (types seen: {kinds})")
    elif capture.others:
        yield Gap(text=f"{capture.others:,} packets contain no readable IP packet (other protocols, or damaged)")
    if capture.dns.unread:
        yield Gap(text=f"{capture.dns.unread:,} DNS messages are truncated or damaged")
    if capture.dns.unlisted:
        yield Gap(text=f"too many domains: {capture.dns.unlisted:,} DNS messages were only counted")
    for what, noted in (
        ("requests", capture.exchanges),
        ("handshakes", capture.handshakes),
        ("logins", capture.credentials),
        ("tickets", capture.tickets),
        ("searches of a directory", capture.directory),
        ("remote actions", capture.remotes),
    ):
        if noted.unlisted:
            yield Gap(text=f"{noted.unlisted:,} further {what} were only counted")
    encrypted = sum(1 for flow in flows.all if flow.label in ("TLS", "SSH") or flow.server[1] in (443, 22))
    if encrypted:
        yield Gap(text=f"{encrypted:,} flows are encrypted: only endpoints, sizes and handshakes are visible")
    sealed = len({id(flow) for flow, one in capture.remotes.items if one.what == "dialect" and one.detail != "SMB 1"})
    if sealed:
        yield Gap(text=f"{sealed:,} SMB connections are encrypted: what was done over them is not visible")
    hidden = len(capture.desktops.items) + sum(1 for flow in flows.all if flow.server[1] in (636, 3269, 5986))
    if hidden:
        yield Gap(text=f"{hidden:,} connections of RDP, LDAPS or WinRM are encrypted: what was done is not visible")
