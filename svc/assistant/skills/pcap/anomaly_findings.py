"""Findings about what stands out in a capture as a whole: calls home, scans, remote administration, logins. Pure.

Kinds: ``pcap.py``.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from svc.assistant.findings import Confidence, Severity
from svc.assistant.findings import LooseFinding as Finding
from svc.assistant.knowledge.network import interface_by_text, mark_of_name, service_of
from svc.assistant.skills.pcap.capture import Capture, Words
from svc.assistant.skills.pcap.cleartext_logins import Credential
from svc.assistant.skills.pcap.dns import Domain, address_text
from svc.assistant.skills.pcap.flow_patterns import (
    Regularity,
    Scan,
    Service,
    Upload,
    beacons,
    by_service,
    is_internal,
    regularity,
    scans,
    uploads,
)
from svc.assistant.skills.pcap.flows import Flow
from svc.assistant.skills.pcap.labels import Names, iso
from svc.assistant.skills.pcap.smb_rpc import Remote

MAX_OF_A_KIND = 100
GUESSED_LOGINS = 5  # refused ones of a client at a server: fail2ban's default
_ADMIN_SHARE = ("ADMIN$", "C$", "D$", "E$")


def stands_out(capture: Capture, names: Names) -> Iterator[Finding]:
    """Each kind's worst first."""
    groups = by_service(capture.flows.all)
    for findings in (
        _remotes(capture, names),
        [_words(flow, words, names) for flow, words in capture.words.items],
        [_tunnel(domain, names) for domain in capture.dns.domains.values() if domain.is_tunnel],
        _generators(capture, names),
        [_beacon(service, found, groups[service], names) for service, found in beacons(groups)],
        _dns_beacons(capture, names),
        [_scan(scan, names) for scan in scans(capture.flows.all)],
        _credentials(capture, names),
        [_upload(upload, names) for upload in uploads(groups)],
        _claims(capture, names),
    ):
        yield from sorted(findings, key=_rank)[:MAX_OF_A_KIND]


def _rank(finding: Finding) -> int:
    return list(Severity).index(finding.severity)


def _beacon(service: Service, found: Regularity, flows: list[Flow], names: Names) -> Finding:
    client, server, protocol, port = service
    first = min(flows, key=lambda flow: flow.first_number)
    named = names.of(server)
    inside = is_internal(server)
    spoken = first.label or service_of(protocol, port)
    target = f"{address_text(server)}{f' ({named})' if named else ''}"
    return Finding(
        kind="pcap_beacon",
        title=f"{address_text(client)} calls {target} every {found.pause_seconds:,.0f} s, {found.count:,} times",
        severity=Severity.MEDIUM,
        confidence=Confidence.LOW if inside else Confidence.MEDIUM,
        why=f"Pauses of {found.pause_seconds:,.1f} s with a jitter of {found.jitter:.0%}: no person does that. An "
        "implant that asks for orders does, and so do programs that look for updates or keep a line open.",
        evidence=(names.packet(first.first_number, names.flow(first)),),
        techniques=("T1071.001",) if spoken in ("HTTP", "HTTPS", "TLS") else ("T1071",),
        attributes={
            "client": address_text(client),
            "server": address_text(server),
            "port": port,
            "service": spoken,
            "name": named,
            "is_internal": inside,
            "count": found.count,
            "pause_seconds": found.pause_seconds,
            "jitter": found.jitter,
            "first": iso(found.first),
            "last": iso(found.last),
        },
    )


def _dns_beacons(capture: Capture, names: Names) -> Iterator[Finding]:
    for domain in capture.dns.domains.values():
        for client, times in domain.times.items():
            found = regularity(times)
            if found is None or "." not in domain.name or domain.name.endswith((".arpa", ".local")):
                continue
            yield Finding(
                kind="pcap_beacon",
                title=f"{address_text(client)} asks for {domain.name} every {found.pause_seconds:,.0f} s, "
                f"{found.count:,} times",
                severity=Severity.LOW,
                confidence=Confidence.LOW,
                why=f"Questions at pauses of {found.pause_seconds:,.1f} s with a jitter of {found.jitter:.0%}: a name "
                "that is looked up again whenever its time runs out looks like this, and so does an implant.",
                evidence=(names.packet(domain.first_number, domain.sample),),
                techniques=("T1071.004",),
                attributes={
                    "client": address_text(client),
                    "server": "",
                    "port": 53,
                    "service": "DNS",
                    "name": domain.name,
                    "is_internal": False,
                    "count": found.count,
                    "pause_seconds": found.pause_seconds,
                    "jitter": found.jitter,
                    "first": iso(found.first),
                    "last": iso(found.last),
                },
            )


_SCAN_TECHNIQUES = {"ports": ("T1046",), "hosts": ("T1046",), "pings": ("T1018",)}


def _scan(scan: Scan, names: Names) -> Finding:
    source = address_text(scan.source)
    target = address_text(scan.target) if scan.target else ""
    knocked = {
        "ports": f"{scan.count:,} ports of {target}",
        "hosts": f"{scan.count:,} hosts on port {scan.port}",
        "pings": f"{scan.count:,} hosts with pings",
    }[scan.kind]
    is_loud = scan.kind != "pings"
    return Finding(
        kind="pcap_scan",
        title=f"{source} tried {knocked}; {scan.failed:,} did not answer",
        severity=Severity.HIGH if is_loud and is_internal(scan.source) else Severity.MEDIUM,
        why="Somebody looks for what is there: a scanner of one's own, or an intruder who looks around."
        if is_internal(scan.source)
        else "A scan from outside: everyday, but what answered is what an attacker knows now.",
        evidence=(names.packet(scan.first.first_number, names.flow(scan.first)),),
        techniques=_SCAN_TECHNIQUES[scan.kind],
        attributes={
            "scan": scan.kind,
            "source": source,
            "target": target,
            "port": scan.port,
            "count": scan.count,
            "failed": scan.failed,
            "open": [*scan.open[:50]],
            "first": iso(scan.first.first),
            "last": iso(scan.last.last),
        },
    )


def _upload(upload: Upload, names: Names) -> Finding:
    client, server, _, port = upload.service
    named = names.of(server)
    return Finding(
        kind="pcap_upload",
        title=f"{address_text(client)} sent {upload.sent:,} bytes to {named or address_text(server)}",
        severity=Severity.MEDIUM,
        confidence=Confidence.LOW,
        why="Much more went out than came back: a backup, a call with pictures, or data that is carried off.",
        evidence=(names.packet(upload.first.first_number, names.flow(upload.first)),),
        techniques=("T1048", "T1041"),
        attributes={
            "client": address_text(client),
            "server": address_text(server),
            "port": port,
            "name": named,
            "sent": upload.sent,
            "received": upload.received,
            "first": iso(upload.first.first),
        },
    )


def _tunnel(domain: Domain, names: Names) -> Finding:
    return Finding(
        kind="pcap_dns_tunnel",
        title=f"{len(domain.names):,} different long names under {domain.name}",
        severity=Severity.HIGH,
        confidence=Confidence.MEDIUM,
        why=f"{domain.mean_chars:.0f} characters with {domain.entropy:.1f} bits each stand in front of the domain: "
        "data in DNS. Tunnels do that; some anti-virus and mail filters look up hashes in this way, too.",
        evidence=(names.packet(domain.first_number, domain.sample),),
        techniques=("T1071.004", "T1048.003"),
        attributes={
            "domain": domain.name,
            "names": len(domain.names),
            "mean_chars": round(domain.mean_chars, 1),
            "entropy": round(domain.entropy, 2),
            "queries": domain.queries,
            "clients": [address_text(client) for client, _ in domain.clients.most_common(20)],
            "types": [kind for kind, _ in domain.types.most_common(5)],
            "sample": domain.sample,
            "first": iso(domain.first),
            "last": iso(domain.last),
        },
    )


def _generators(capture: Capture, names: Names) -> Iterator[Finding]:
    for client, missing, asked in capture.dns.generators():
        number = min(capture.dns.domains[name].first_number for name in missing)
        yield Finding(
            kind="pcap_dns_generator",
            title=f"{address_text(client)} asked for {len(missing):,} random domains that do not exist",
            severity=Severity.HIGH,
            confidence=Confidence.MEDIUM,
            why=f"{len(missing):,} of the {asked:,} domains that it asked for do not exist and look random: malware "
            "that makes up the names of its servers does that.",
            evidence=(names.packet(number, ", ".join(missing[:5])),),
            techniques=("T1568.002",),
            attributes={
                "client": address_text(client),
                "missing": len(missing),
                "asked": asked,
                "examples": [*missing[:20]],
            },
        )


class _Logins(msgspec.Struct):
    flow: Flow
    first: Credential
    count: int = 0
    accepted: int = 0
    refused: int = 0


def _credentials(capture: Capture, names: Names) -> Iterator[Finding]:
    groups: dict[tuple[str, bytes, bytes, str], _Logins] = {}
    for flow, login in capture.credentials.items:
        key = (login.protocol, flow.client[0], flow.server[0], login.user)
        logins = groups.setdefault(key, _Logins(flow, login))
        logins.count += 1
        logins.accepted += login.result == "accepted"
        logins.refused += login.result == "refused"
    for (protocol, _, _, user), logins in groups.items():
        is_guessed = logins.refused >= GUESSED_LOGINS
        yield Finding(
            kind="pcap_credential",
            title=f"{protocol}: the password of {user or '(no name)'} went over the network in the clear",
            severity=Severity.HIGH if is_guessed or logins.accepted else Severity.MEDIUM,
            why="Whoever sees the packets has the password; it is not shown here. Change it and use an encrypted way."
            + (f" {logins.refused:,} were refused: somebody was guessing." if is_guessed else ""),
            evidence=(names.packet(logins.first.number, f"{names.flow(logins.flow)} {user}"),),
            techniques=("T1040", "T1110.001") if is_guessed else ("T1040",),
            attributes={
                "protocol": protocol,
                **names.ends(logins.flow),
                "user": user,
                "secret": logins.first.secret,
                "count": logins.count,
                "accepted": logins.accepted,
                "refused": logins.refused,
            },
        )


def _words(flow: Flow, words: Words, names: Names) -> Finding:
    return Finding(
        kind="pcap_words",
        title=f"{words.mark.what}: {names.flow(flow)}",
        severity=words.mark.severity,
        why="The words stand in a connection of no protocol that would explain them.",
        evidence=(names.packet(words.number, words.excerpt),),
        techniques=tuple(words.mark.techniques),
        attributes={
            "what": words.mark.what,
            **names.ends(flow),
            "port": flow.server[1],
            "excerpt": words.excerpt,
        },
    )


def _claims(capture: Capture, names: Names) -> Iterator[Finding]:
    for address, claims in capture.claims.items():
        if len(claims) < 2 or not any(address):
            continue
        listed = sorted(hardware.hex(":") for hardware in claims)
        yield Finding(
            kind="pcap_arp",
            title=f"{len(claims)} network cards claim to be {address_text(address)}",
            severity=Severity.MEDIUM,
            confidence=Confidence.MEDIUM,
            why="One address answers with several hardware addresses: somebody puts himself between (ARP spoofing), "
            "or an address that moves between two machines of a cluster.",
            evidence=tuple(names.packet(number, key.hex(":")) for key, number in list(claims.items())[:5]),
            techniques=("T1557.002",),
            attributes={"address": address_text(address), "hardware": [*listed[:20]]},
        )


class _Deed(msgspec.Struct):
    flow: Flow
    remote: Remote
    count: int = 0


def _remotes(capture: Capture, names: Names) -> Iterator[Finding]:
    groups: dict[tuple[str, str, int | None, bytes, bytes, str], _Deed] = {}
    for flow, remote in capture.remotes.items:
        key = (remote.what, remote.detail, remote.operation, flow.client[0], flow.server[0], remote.result)
        groups.setdefault(key, _Deed(flow, remote)).count += 1
    for deed in sorted(groups.values(), key=lambda deed: deed.remote.operation is None):
        what, severity, techniques = _judged(deed.remote)
        yield Finding(
            kind="pcap_remote",
            title=f"{what}: {address_text(deed.flow.client[0])} on {address_text(deed.flow.server[0])}",
            severity=severity,
            evidence=(names.packet(deed.remote.number, f"{names.flow(deed.flow)} {deed.remote.detail}"),),
            techniques=techniques,
            attributes={
                "what": deed.remote.what,
                "name": _shown(deed.remote),
                "operation": what,
                **names.ends(deed.flow),
                "count": deed.count,
                "result": deed.remote.result,
                "first": iso(deed.remote.seconds),
            },
        )


def _shown(remote: Remote) -> str:
    interface = interface_by_text(remote.detail) if remote.what == "call" else None
    return interface.name if interface else remote.detail


def _of_operation(severity: Severity, done: str) -> Severity:
    """A call that changes something is worth a look on any interface."""
    return Severity.MEDIUM if severity in (Severity.LOW, Severity.INFO) and "listed" not in done else severity


def _less(severity: Severity) -> Severity:
    """One step down: an interface that was opened, with no call seen that does something."""
    order = list(Severity)
    return order[min(order.index(severity) + 1, len(order) - 1)]


def _judged(remote: Remote) -> tuple[str, Severity, tuple[str, ...]]:
    """What was done in words, how much it matters, and the techniques."""
    match remote.what:
        case "call":
            interface = interface_by_text(remote.detail)
            if interface is None:
                return "a call", Severity.INFO, ()
            done = interface.operations.get(str(remote.operation), "")
            text = f"{done} ({interface.name})" if done else f"{interface.what} ({interface.name})"
            severity = _of_operation(interface.severity, done) if done else _less(interface.severity)
            return text, severity, tuple(interface.techniques)
        case "share":
            is_admin = remote.detail.upper().endswith(_ADMIN_SHARE)
            severity = Severity.MEDIUM if is_admin else Severity.INFO
            return f"opened the share {remote.detail}", severity, ("T1021.002",) if is_admin else ()
        case "program":
            return f"wrote a program to {remote.detail}", Severity.HIGH, ("T1570", "T1021.002")
        case "login":
            result = f", {remote.result}" if remote.result else ""
            return f"NTLM login of {remote.detail}{result}", Severity.INFO, ()
        case "dialect":
            severity = Severity.LOW if remote.detail == "SMB 1" else Severity.INFO
            return f"speaks {remote.detail}", severity, ()
    mark = mark_of_name(remote.detail)
    if mark is not None:
        return f"opened {remote.detail} ({mark.what})", mark.severity, tuple(mark.techniques)
    return f"opened {remote.detail}", Severity.INFO, ()
