"""Findings about a capture as a whole: beacons, scans, tunnels, uploads, remote administration, cleartext logins. Pure.

Decides how severe each is; ``flow_patterns.py``, ``dns.py`` and ``smb_rpc.py`` decide what is one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from svc.assistant.findings import Confidence, Facts, Finding, Severity
from svc.assistant.knowledge.network import UDP, regular_by_nature, service_of
from svc.assistant.skills.pcap.abuse_findings import abuse_findings
from svc.assistant.skills.pcap.addresses import is_internal
from svc.assistant.skills.pcap.capture import Capture, TextMatch
from svc.assistant.skills.pcap.cleartext_logins import Credential
from svc.assistant.skills.pcap.dns import Domain, address_text
from svc.assistant.skills.pcap.findings import (
    PcapArp,
    PcapBeacon,
    PcapCredential,
    PcapDnsGenerator,
    PcapDnsTunnel,
    PcapScan,
    PcapSuspiciousText,
    PcapUpload,
)
from svc.assistant.skills.pcap.flow_patterns import (
    Scan,
    Service,
    Upload,
    beacons,
    by_service,
    scans,
    uploads,
)
from svc.assistant.skills.pcap.flows import Flow
from svc.assistant.skills.pcap.labels import CaptureNames, iso
from svc.assistant.skills.pcap.regularity import Regularity, regularity
from svc.assistant.skills.pcap.windows_findings import windows_findings

MAX_OF_A_KIND = 100
GUESSED_LOGINS = 5  # refused ones of a client at a server: fail2ban's default


def anomaly_findings(capture: Capture, names: CaptureNames) -> Iterator[Finding[Facts]]:
    """Yield up to MAX_OF_A_KIND of each kind, worst first."""
    groups = by_service(capture.flows.all)
    agents = {(flow.client[0], *flow.server): one.agent for flow, one in capture.exchanges.items}
    found: tuple[Iterable[Finding[Facts]], ...] = (
        windows_findings(capture, names),
        abuse_findings(capture, names),
        [_text(flow, match, names) for flow, match in capture.texts.items],
        [_tunnel(domain, names) for domain in capture.dns.domains.values() if domain.is_tunnel],
        _generators(capture, names),
        [_beacon(service, found, groups[service], names, agents) for service, found in beacons(groups)],
        _dns_beacons(capture, names),
        [_scan(scan, names) for scan in scans(capture.flows.all)],
        _credentials(capture, names),
        [_upload(upload, names) for upload in uploads(groups)],
        _claims(capture, names),
    )
    for findings in found:
        yield from sorted(findings, key=_rank)[:MAX_OF_A_KIND]


def _rank(finding: Finding[Facts]) -> int:
    return list(Severity).index(finding.severity)


def _beacon(
    service: Service,
    found: Regularity,
    flows: list[Flow],
    names: CaptureNames,
    agents: Mapping[tuple[bytes, bytes, int], str],
) -> Finding[PcapBeacon]:
    client, server, protocol, port = service
    agent = agents.get((client, server, port))
    first = min(flows, key=lambda flow: flow.first_number)
    named = names.of(server)
    inside = is_internal(server)
    spoken = first.label or service_of(protocol, port)
    sure_name = names.resolved(server)  # SNI and Host are what the client says
    ordinary = regular_by_nature("udp" if protocol == UDP else "tcp", port, sure_name, is_inside=inside)
    if inside and not ordinary and (agent is None or not agent.startswith("Mozilla/")):
        ordinary = "monitoring or another service of the network"
    target = f"{address_text(server)}{f' ({named})' if named else ''}"
    return Finding(
        title=f"possible beaconing: {address_text(client)} → {target} every {found.pause_seconds:,.0f} s "
        f"({found.count:,} connections)",
        severity=Severity.LOW if ordinary else Severity.MEDIUM,
        confidence=Confidence.LOW if inside or ordinary else Confidence.MEDIUM,
        why=f"Intervals of {found.pause_seconds:,.1f} s with a jitter of {found.jitter:.0%} are made by a program: "
        + (
            f"most likely {ordinary}."
            if ordinary
            else "an implant that polls its server, but also update checks and keep-alives."
        ),
        evidence=(names.packet(first.first_number, names.flow(first)),),
        techniques=("T1071.001",) if spoken in ("HTTP", "HTTPS", "TLS") else ("T1071",),
        facts=PcapBeacon(
            client=address_text(client),
            server=address_text(server),
            port=port,
            service=spoken,
            name=named,
            is_internal=inside,
            count=found.count,
            pause_seconds=found.pause_seconds,
            jitter=found.jitter,
            first=iso(found.first),
            last=iso(found.last),
            offsets=found.offsets,
        ),
    )


def _dns_beacons(capture: Capture, names: CaptureNames) -> Iterator[Finding[PcapBeacon]]:
    for domain in capture.dns.domains.values():
        for client, times in domain.times.items():
            found = regularity(times)
            if found is None or "." not in domain.name or domain.name.endswith((".arpa", ".local")):
                continue
            yield Finding(
                title=f"possible DNS beaconing: {address_text(client)} queries {domain.name} every "
                f"{found.pause_seconds:,.0f} s ({found.count:,} queries)",
                severity=Severity.LOW,
                confidence=Confidence.LOW,
                why=f"Queries at intervals of {found.pause_seconds:,.1f} s with a jitter of {found.jitter:.0%}: an "
                "implant does that, but also a client that resolves a name again whenever its TTL expires.",
                evidence=(names.packet(domain.first_number, domain.sample),),
                techniques=("T1071.004",),
                facts=PcapBeacon(
                    client=address_text(client),
                    server="",
                    port=53,
                    service="DNS",
                    name=domain.name,
                    is_internal=False,
                    count=found.count,
                    pause_seconds=found.pause_seconds,
                    jitter=found.jitter,
                    first=iso(found.first),
                    last=iso(found.last),
                    offsets=found.offsets,
                ),
            )


_SCAN_TECHNIQUES = {"ports": ("T1046",), "hosts": ("T1046",), "pings": ("T1018",)}


def _scan(scan: Scan, names: CaptureNames) -> Finding[PcapScan]:
    source = address_text(scan.source)
    target = address_text(scan.target) if scan.target else ""
    title = {
        "ports": f"port scan: {source} tried {scan.count:,} {'UDP ' if scan.protocol == UDP else ''}ports of {target}",
        "hosts": f"host sweep: {source} tried port {scan.port} on {scan.count:,} hosts",
        "pings": f"ping sweep: {source} pinged {scan.count:,} hosts",
    }[scan.kind]
    is_loud = scan.kind != "pings"
    return Finding(
        title=f"{title}; {scan.failed:,} did not answer",
        severity=Severity.HIGH if is_loud and is_internal(scan.source) else Severity.MEDIUM,
        why="Discovery from inside the network: an authorised scanner, or an intruder."
        if is_internal(scan.source)
        else "Scans from outside are common, but the scanner now knows which services answered.",
        evidence=(names.packet(scan.first.first_number, names.flow(scan.first)),),
        techniques=_SCAN_TECHNIQUES[scan.kind] if is_internal(scan.source) else ("T1595.001", "T1046"),
        facts=PcapScan(
            scan=scan.kind,
            source=source,
            target=target,
            port=scan.port,
            count=scan.count,
            failed=scan.failed,
            open=[*scan.open[:50]],
            first=iso(scan.first.first),
            last=iso(scan.last.last),
        ),
    )


def _upload(upload: Upload, names: CaptureNames) -> Finding[PcapUpload]:
    client, server, _, port = upload.service
    named = names.of(server)
    return Finding(
        title=f"large upload: {address_text(client)} sent {upload.sent:,} bytes to {named or address_text(server)}",
        severity=Severity.MEDIUM,
        confidence=Confidence.LOW,
        why="Far more was sent than received: a backup, a video call, or exfiltration.",
        evidence=(names.packet(upload.first.first_number, names.flow(upload.first)),),
        techniques=("T1048", "T1041"),
        facts=PcapUpload(
            client=address_text(client),
            server=address_text(server),
            port=port,
            name=named,
            sent=upload.sent,
            received=upload.received,
            first=iso(upload.first.first),
        ),
    )


def _tunnel(domain: Domain, names: CaptureNames) -> Finding[PcapDnsTunnel]:
    return Finding(
        title=f"possible DNS tunnel: {len(domain.names):,} different long names under {domain.name}",
        severity=Severity.HIGH,
        confidence=Confidence.MEDIUM,
        why=f"The names have {domain.mean_chars:.0f} characters of {domain.entropy:.1f} bits each in front of the "
        "domain: they carry data. Tunnels do that, but also anti-virus and mail filters that look up hashes.",
        evidence=(names.packet(domain.first_number, domain.sample),),
        techniques=("T1071.004", "T1048.003"),
        facts=PcapDnsTunnel(
            domain=domain.name,
            names=len(domain.names),
            mean_chars=round(domain.mean_chars, 1),
            entropy=round(domain.entropy, 2),
            queries=domain.queries,
            clients=[address_text(client) for client, _ in domain.clients.most_common(20)],
            types=[kind for kind, _ in domain.types.most_common(5)],
            sample=domain.sample,
            first=iso(domain.first),
            last=iso(domain.last),
        ),
    )


def _generators(capture: Capture, names: CaptureNames) -> Iterator[Finding[PcapDnsGenerator]]:
    for client, missing, asked in capture.dns.generators():
        number = min(capture.dns.domains[name].first_number for name in missing)
        yield Finding(
            title=f"possible DGA: {address_text(client)} queried {len(missing):,} random domains that do not exist",
            severity=Severity.HIGH,
            confidence=Confidence.MEDIUM,
            why=f"{len(missing):,} of the {asked:,} domains that it queried do not exist and look random: malware "
            "that generates the names of its servers does that.",
            evidence=(names.packet(number, ", ".join(missing[:5])),),
            techniques=("T1568.002",),
            facts=PcapDnsGenerator(
                client=address_text(client),
                missing=len(missing),
                asked=asked,
                examples=[*missing[:20]],
            ),
        )


class _LoginGroup(msgspec.Struct):
    flow: Flow
    first: Credential
    count: int = 0
    accepted: int = 0
    refused: int = 0


def _credentials(capture: Capture, names: CaptureNames) -> Iterator[Finding[PcapCredential]]:
    groups: dict[tuple[str, bytes, bytes, str], _LoginGroup] = {}
    for flow, login in capture.credentials.items:
        key = (login.protocol, flow.client[0], flow.server[0], login.user)
        logins = groups.setdefault(key, _LoginGroup(flow, login))
        logins.count += 1
        logins.accepted += login.result == "accepted"
        logins.refused += login.result == "refused"
    for (protocol, _, _, user), logins in groups.items():
        is_guessed = logins.refused >= GUESSED_LOGINS
        yield Finding(
            title=f"{protocol} password of {user or '(no name)'} sent in cleartext",
            severity=Severity.HIGH if is_guessed or logins.accepted else Severity.MEDIUM,
            why="Anyone who can see the traffic has the password (not shown here). Change it and use encryption."
            + (f" {logins.refused:,} logins were refused: password guessing." if is_guessed else ""),
            evidence=(names.packet(logins.first.number, f"{names.flow(logins.flow)} {user}"),),
            techniques=("T1040", "T1110.001") if is_guessed else ("T1040",),
            facts=PcapCredential(
                protocol=protocol,
                client=address_text(logins.flow.client[0]),
                server=address_text(logins.flow.server[0]),
                user=user,
                secret=logins.first.secret,
                count=logins.count,
                accepted=logins.accepted,
                refused=logins.refused,
            ),
        )


def _text(flow: Flow, match: TextMatch, names: CaptureNames) -> Finding[PcapSuspiciousText]:
    return Finding(
        title=f"{match.mark.what}: {names.flow(flow)}",
        severity=match.mark.severity,
        why="The text is in a connection whose protocol does not explain it.",
        evidence=(names.packet(match.number, match.excerpt),),
        techniques=tuple(match.mark.techniques),
        facts=PcapSuspiciousText(
            what=match.mark.what,
            client=address_text(flow.client[0]),
            server=address_text(flow.server[0]),
            port=flow.server[1],
            excerpt=match.excerpt,
        ),
    )


def _claims(capture: Capture, names: CaptureNames) -> Iterator[Finding[PcapArp]]:
    for address, claims in capture.claims.items():
        if len(claims) < 2 or not any(address):
            continue
        listed = sorted(hardware.hex(":") for hardware in claims)
        yield Finding(
            title=f"{len(claims)} hardware addresses claim {address_text(address)}",
            severity=Severity.MEDIUM,
            confidence=Confidence.MEDIUM,
            why="Several hardware addresses answer for one IP address: ARP spoofing, or an address that moves between "
            "the machines of a cluster.",
            evidence=tuple(names.packet(number, key.hex(":")) for key, number in list(claims.items())[:5]),
            techniques=("T1557.002",),
            facts=PcapArp(address=address_text(address), hardware=[*listed[:20]]),
        )
