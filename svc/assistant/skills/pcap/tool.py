"""What is in a packet capture: who talked to whom, what was asked for, and what of it stands out. Pure, bounded.

Finding kinds and their attributes (times are ISO 8601 in UTC; addresses and names as they are, not defanged):

``pcap_summary``: packets, bytes, first, last, seconds, flows, hosts, outside_hosts, protocols, protocol_bytes
(parallel, most bytes first), dns_queries, http_requests, tls_handshakes, activity_times, activity_bytes (parallel,
at most ACTIVITY_BINS).
``pcap_talker``: address, name, is_internal, sent, received, packets, flows, peers.
``pcap_flow``: client, client_port, server, server_port, server_name, service, state, sent, received, packets, first,
last, last_packet.
``pcap_dns``: domain, queries, names, failed, clients, types, answers, sample, first, last.
``pcap_dns_tunnel``: domain, names, mean_chars, entropy, queries, clients, types, sample, first, last.
``pcap_dns_generator``: client, missing, asked, examples.
``pcap_http``: client, server, port, method, host, target, agent, referer, statuses, content_type, body, sha256, sent,
received, count, first, last, signs (list).
``pcap_tls``: clients, server, port, name, version, ja3, ja4, subject, issuer, not_before, not_after, count, first,
signs (list).
``pcap_beacon``: client, server, port, service, name, is_internal, count, pause_seconds, jitter, first, last.
``pcap_scan``: scan ("ports", "hosts", "pings"), source, target, port, count, failed, open, first, last.
``pcap_upload``: client, server, port, name, sent, received, first.
``pcap_credential``: protocol, client, server, user, secret (its length), count, accepted, refused.
``pcap_remote``: what ("call", "share", "file", "program", "login", "dialect"), name, operation, client, server, count,
result, first.
``pcap_words``: what, client, server, port, excerpt.
``pcap_arp``: address, hardware (list).
``pcap_indicator``: type ("address", "domain", "host", "sha256"), value, context.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from svc.assistant.findings import Evidence, Gap, Progress, ToolEvent
from svc.assistant.findings import LooseFinding as Finding
from svc.assistant.knowledge.network import service_of
from svc.assistant.skills.pcap.anomaly_findings import stands_out
from svc.assistant.skills.pcap.capture import Capture
from svc.assistant.skills.pcap.capture_file import Record, read_records
from svc.assistant.skills.pcap.dns import address_text
from svc.assistant.skills.pcap.flow_patterns import is_internal, talkers
from svc.assistant.skills.pcap.flows import MAX_FLOWS, Flow
from svc.assistant.skills.pcap.labels import Names, iso
from svc.assistant.skills.pcap.protocol_findings import said

FIRST_PROGRESS = 1_000  # packets: a sign of life
PROGRESS_EVERY = 20_000
MAX_TALKERS = 50
MAX_FLOWS_LISTED = 200  # those with the most bytes
ACTIVITY_BINS = 120


def inspect(feed: BinaryIO, /, *, source: str) -> Iterator[ToolEvent]:
    """Findings about the capture; what stands out first, then what was said, then who talked."""
    yield Progress(text=f"reading {source}")
    capture = Capture()
    for item in read_records(feed):
        if isinstance(item, Gap):
            yield item
            continue
        capture.add(item)
        if capture.packets % PROGRESS_EVERY == 0 or capture.packets == FIRST_PROGRESS:
            yield Progress(text=_progress(capture, item))
    yield Progress(
        text=f"read {capture.packets:,} packets: {len(capture.flows.all):,} flows; looking for what stands out"
    )
    if not capture.packets:
        yield Gap(text="the capture holds no packet")
        return
    names = Names(capture, source)
    yield _summary(capture, names)
    yield from stands_out(capture, names)
    yield from said(capture, names)
    yield from _talkers(capture, names)
    yield from _flows(capture, names)
    yield from _gaps(capture)


def _progress(capture: Capture, record: Record) -> str:
    return f"read {record.number:,} packets, {record.offset:,} bytes: {len(capture.flows.all):,} flows"


def _summary(capture: Capture, names: Names) -> Finding:
    flows = capture.flows.all
    addresses = {address for flow in flows for address in (flow.client[0], flow.server[0])}
    volumes: dict[str, int] = {}
    for flow in flows:
        spoken = flow.label or service_of(flow.protocol, flow.server[1])
        volumes[spoken] = volumes.get(spoken, 0) + flow.sent + flow.received
    ranked = sorted(volumes.items(), key=lambda item: -item[1])[:30]
    times, volume = _activity(capture)
    return Finding(
        kind="pcap_summary",
        title=f"{capture.packets:,} packets in {len(flows):,} flows between {len(addresses):,} addresses",
        evidence=(Evidence(source=names.source, excerpt=f"{capture.packets:,} packets", record=1),),
        attributes={
            "packets": capture.packets,
            "bytes": capture.bytes,
            "first": iso(capture.first),
            "last": iso(capture.last),
            "seconds": round(capture.last - capture.first, 3),
            "flows": len(flows),
            "hosts": len(addresses),
            "outside_hosts": sum(1 for address in addresses if not is_internal(address)),
            "protocols": [name for name, _ in ranked],
            "protocol_bytes": [size for _, size in ranked],
            "dns_queries": capture.dns.queries,
            "http_requests": len(capture.exchanges.items) + capture.exchanges.untold,
            "tls_handshakes": len(capture.handshakes.items) + capture.handshakes.untold,
            "activity_times": [*times],
            "activity_bytes": [*volume],
        },
    )


def _activity(capture: Capture) -> tuple[list[str | None], list[int]]:
    """Bytes a bin from the first second to the last."""
    if not capture.bytes_by_second:
        return [], []
    first, last = int(capture.first), int(capture.last)
    width = max(1, -(-(last - first + 1) // ACTIVITY_BINS))
    bins = [0] * ((last - first) // width + 1)
    for second, size in capture.bytes_by_second.items():
        bins[min(max(0, second - first) // width, len(bins) - 1)] += size
    return [iso(first + number * width) for number in range(len(bins))], bins


def _talkers(capture: Capture, names: Names) -> Iterator[Finding]:
    for talker in talkers(capture.flows.all)[:MAX_TALKERS]:
        address = address_text(talker.address)
        yield Finding(
            kind="pcap_talker",
            title=f"{address}: {talker.sent:,} bytes sent, {talker.received:,} received",
            evidence=(names.packet(talker.first_number, f"first packet of {address}"),),
            attributes={
                "address": address,
                "name": names.of(talker.address),
                "is_internal": is_internal(talker.address),
                "sent": talker.sent,
                "received": talker.received,
                "packets": talker.packets,
                "flows": talker.flows,
                "peers": len(talker.peers),
            },
        )


def _flows(capture: Capture, names: Names) -> Iterator[Finding]:
    for flow in sorted(capture.flows.all, key=_volume, reverse=True)[:MAX_FLOWS_LISTED]:
        yield Finding(
            kind="pcap_flow",
            title=f"{names.flow(flow)}: {flow.sent + flow.received:,} bytes",
            evidence=(names.packet(flow.first_number, names.flow(flow)),),
            attributes={
                **names.ends(flow),
                "client_port": flow.client[1],
                "server_port": flow.server[1],
                "server_name": names.of(flow.server[0]),
                "service": flow.label or service_of(flow.protocol, flow.server[1]),
                "state": flow.state,
                "sent": flow.sent,
                "received": flow.received,
                "packets": flow.packets,
                "first": iso(flow.first),
                "last": iso(flow.last),
                "last_packet": flow.last_number,
            },
        )


def _volume(flow: Flow) -> int:
    return flow.sent + flow.received


def _gaps(capture: Capture) -> Iterator[Gap]:
    flows = capture.flows
    if flows.untold_packets:
        yield Gap(
            text=f"more than {MAX_FLOWS:,} flows: {flows.untold_packets:,} packets ({flows.untold_bytes:,} bytes) of "
            "others were counted alone"
        )
    if flows.unread_flows:
        yield Gap(text=f"{flows.unread_flows:,} flows at the same time as many others: what they said was not read")
    if capture.unread:
        kinds = ", ".join(str(kind) for kind, _ in capture.link_types.most_common(5))
        yield Gap(text=f"{capture.unread:,} packets are of a link type that is not read here (types seen: {kinds})")
    elif capture.others:
        yield Gap(text=f"{capture.others:,} packets hold no IP packet that can be read (other protocols, or damaged)")
    if capture.dns.unread:
        yield Gap(text=f"{capture.dns.unread:,} DNS messages are cut or damaged")
    if capture.dns.untold:
        yield Gap(text=f"too many domains: {capture.dns.untold:,} DNS messages were counted alone")
    for what, noted in (
        ("requests", capture.exchanges),
        ("handshakes", capture.handshakes),
        ("logins", capture.credentials),
    ):
        if noted.untold:
            yield Gap(text=f"{noted.untold:,} further {what} were counted alone")
    encrypted = sum(1 for flow in flows.all if flow.label in ("TLS", "SSH") or flow.server[1] in (443, 22))
    if encrypted:
        yield Gap(text=f"{encrypted:,} flows are encrypted: only their ends, sizes and handshakes can be seen")
