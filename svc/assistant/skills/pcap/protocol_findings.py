"""Findings by protocol: DNS domains, web requests and TLS handshakes, and the indicators in them. Pure.

Decides which requests and handshakes are suspicious, and why.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from svc.assistant.findings import Facts, Finding, Severity
from svc.assistant.knowledge.network import mark_of_agent, mark_of_certificate, mark_of_request
from svc.assistant.skills.pcap.addresses import is_internal
from svc.assistant.skills.pcap.capture import Capture
from svc.assistant.skills.pcap.dns import Domain, address_text, registered_domain
from svc.assistant.skills.pcap.findings import PcapDns, PcapHttp, PcapIndicator, PcapIndicatorType, PcapTls
from svc.assistant.skills.pcap.flows import Flow
from svc.assistant.skills.pcap.http import HttpExchange
from svc.assistant.skills.pcap.labels import CaptureNames, iso
from svc.assistant.skills.pcap.tls import Handshake

MAX_DOMAINS = 200
MAX_REQUESTS = 500  # different ones: the worst, then in time
MAX_HANDSHAKES = 200
MAX_INDICATORS = 1_000_000
WEB_PORTS = frozenset({80, 8080, 8000, 8008, 8888, 3128, 81, 5985, 47001})
PROGRAM_LABELS = frozenset(
    {"pebin", "elf", "macho", "dosmbr", "dex", "apk", "jar", "javabytecode", "cab", "iso", "lnk"}
)
_UPDATE_LABELS = frozenset({"cab"})  # what Windows fetches its updates in
SCRIPT_LABELS = frozenset({"powershell", "vba", "batch", "shell"})
_ARCHIVE_LABELS = frozenset({"zip", "sevenzip", "rar"})
_NO_TEXT = _ARCHIVE_LABELS | {"unknown"}
_PLAIN_TYPES = ("text/", "image/", "audio/", "video/", "font/")
_OLD_VERSIONS = frozenset({"SSL 3.0", "TLS 1.0", "TLS 1.1"})
STAGE_BYTES = 50_000  # of the reply: the program that a stager fetches
_STAGER = ("T1071.001", "T1105")
_STAGER_PATH = re.compile(r"[A-Za-z0-9_-]{4,255}")
_STAGER_SUMS = frozenset({80, 88, 92, 93, 95, 98})
"""Remainders of 256: the first four ask for a stage, for Python, Java, Windows in 32 and 64 bits; then connections."""
_Alert = tuple[str, Severity, tuple[str, ...]]
"""What is suspicious, how severe it is, and its techniques."""


def protocol_findings(capture: Capture, names: CaptureNames) -> Iterator[Finding[Facts]]:
    """Yield requests, handshakes, domains and indicators."""
    yield from _requests(capture, names)
    yield from _handshakes(capture, names)
    domains = sorted(capture.dns.domains.values(), key=lambda domain: -domain.queries)
    for domain in domains[:MAX_DOMAINS]:
        yield _domain(domain, names)
    yield from _indicators(capture, names)


def _domain(domain: Domain, names: CaptureNames) -> Finding[PcapDns]:
    return Finding(
        title=f"{domain.name}: {domain.queries:,} queries, {domain.failed:,} NXDOMAIN",
        evidence=(names.packet(domain.first_number, domain.sample or domain.name),),
        facts=PcapDns(
            domain=domain.name,
            queries=domain.queries,
            names=len(domain.names),
            failed=domain.failed,
            clients=len(domain.clients),
            types=[kind for kind, _ in domain.types.most_common(5)],
            answers=[*domain.answers],
            sample=domain.sample,
            first=iso(domain.first),
            last=iso(domain.last),
        ),
    )


class _RequestGroup(msgspec.Struct):
    """Equal requests."""

    flow: Flow
    exchange: HttpExchange
    signs: list[_Alert]
    count: int = 0
    sent: int = 0
    received: int = 0
    last: float = 0.0
    statuses: dict[int, None] = msgspec.field(default_factory=dict)


def _requests(capture: Capture, names: CaptureNames) -> Iterator[Finding[PcapHttp]]:
    groups: dict[tuple[bytes, bytes, str, str, str, str, str], _RequestGroup] = {}
    for flow, one in capture.exchanges.items:
        key = (flow.client[0], flow.server[0], one.method, one.host, one.target, one.agent, one.label)
        group = groups.get(key)
        if group is None:
            group = groups[key] = _RequestGroup(flow, one, _signs(flow, one))
        group.count += 1
        group.sent += one.sent
        group.received += one.received
        group.last = one.seconds
        group.statuses.setdefault(one.status)
    ranked = sorted(groups.values(), key=lambda group: (_rank(group.signs), group.exchange.number))
    for group in ranked[:MAX_REQUESTS]:
        yield _request(group, names)


def _rank(signs: list[_Alert]) -> int:
    order = list(Severity)
    return min((order.index(severity) for _, severity, _ in signs), default=order.index(Severity.INFO))


def _request(group: _RequestGroup, names: CaptureNames) -> Finding[PcapHttp]:
    one, flow, signs = group.exchange, group.flow, group.signs
    line = f"{one.method} {one.host}{one.target}"
    return Finding(
        title=f"{line[:120]}: {signs[0][0]}" if signs else line[:160],
        severity=list(Severity)[_rank(signs)],
        why="; ".join(sign for sign, _, _ in signs),
        evidence=(names.packet(one.number, line),),
        techniques=tuple(dict.fromkeys(technique for _, _, found in signs for technique in found)),
        facts=PcapHttp(
            client=address_text(flow.client[0]),
            server=address_text(flow.server[0]),
            port=flow.server[1],
            method=one.method,
            host=one.host,
            target=one.target,
            agent=one.agent,
            referer=one.referer,
            statuses=[status for status in group.statuses if status],
            content_type=one.content_type,
            body=one.label,
            sha256=one.sha256,
            sent=group.sent,
            received=group.received,
            count=group.count,
            first=iso(one.seconds),
            last=iso(group.last),
            signs=[sign for sign, _, _ in signs],
        ),
    )


def _signs(flow: Flow, one: HttpExchange) -> list[_Alert]:
    """What makes a request and its reply suspicious, worst first."""
    found: list[_Alert] = [*_signs_of_body(one)]
    for mark in (mark_of_request(one.target), mark_of_agent(one.agent), *one.marks):
        if mark is not None:
            found.append((mark.what, mark.severity, tuple(mark.techniques)))
    if one.received >= STAGE_BYTES and _is_stager(one):
        found.append(("a request as Metasploit's and Cobalt Strike's stagers make it", Severity.HIGH, _STAGER))
    if not one.agent and one.method != "CONNECT":
        found.append(("no User-Agent", Severity.INFO, ()))
    if flow.server[1] not in WEB_PORTS and flow.server[1] != 443:
        found.append((f"HTTP on port {flow.server[1]}", Severity.LOW, ("T1571",)))
    if one.host.replace(".", "").replace(":", "").isdigit() and not is_internal(flow.server[0]):
        found.append(("requested by IP address instead of host name", Severity.LOW, ("T1071.001",)))
    return sorted(found, key=lambda sign: list(Severity).index(sign[1]))


def _is_stager(one: HttpExchange) -> bool:
    """Whether an address is asked for a path of one word whose letters add up to what stagers agree on."""
    name = one.target.removeprefix("/").rstrip("/")
    host = one.host.rsplit(":", 1)[0]
    is_address = host.replace(".", "").isdigit()
    return is_address and _STAGER_PATH.fullmatch(name) is not None and sum(name.encode()) % 256 in _STAGER_SUMS


def _signs_of_body(one: HttpExchange) -> Iterator[_Alert]:
    declared = one.content_type.split(";")[0].strip().lower()
    if one.label in PROGRAM_LABELS:
        if declared.startswith(_PLAIN_TYPES):
            yield f"a program ({one.label}) declared as {declared}", Severity.HIGH, ("T1105", "T1036")
        else:
            severity = Severity.LOW if one.label in _UPDATE_LABELS else Severity.MEDIUM
            yield f"download of a program ({one.label})", severity, ("T1105",)
    elif one.label in SCRIPT_LABELS:
        yield f"download of a script ({one.label})", Severity.MEDIUM, ("T1105", "T1059")
    elif declared == "text/html" and one.label in _NO_TEXT:
        yield f"the reply is declared as {declared} but is not", Severity.MEDIUM, ("T1001", "T1036")
    elif (declared == "text/plain" and one.label in _NO_TEXT) or (
        declared.startswith("image/") and one.label in _ARCHIVE_LABELS
    ):
        yield f"the reply is declared as {declared} but is not", Severity.LOW, ("T1001", "T1036")


class _HandshakeGroup(msgspec.Struct):
    """Handshakes with the same server, name and fingerprint."""

    flow: Flow
    handshake: Handshake
    count: int = 0
    clients: set[bytes] = msgspec.field(default_factory=set)


def _handshakes(capture: Capture, names: CaptureNames) -> Iterator[Finding[PcapTls]]:
    groups: dict[tuple[bytes, int, str, str, str], _HandshakeGroup] = {}
    for flow, one in capture.handshakes.items:
        key = (flow.server[0], flow.server[1], one.name, one.ja4, one.certificate_sha256)
        group = groups.setdefault(key, _HandshakeGroup(flow, one))
        group.count += 1
        group.clients.add(flow.client[0])
    judged = [(group, _signs_of_handshake(group)) for group in groups.values()]
    for group, signs in sorted(judged, key=lambda item: (_rank(item[1]), item[0].handshake.number))[:MAX_HANDSHAKES]:
        one, server = group.handshake, address_text(group.flow.server[0])
        yield Finding(
            title=f"TLS with {one.name or server}" + (f": {signs[0][0]}" if signs else ""),
            severity=list(Severity)[_rank(signs)],
            why="; ".join(sign for sign, _, _ in signs),
            evidence=(names.packet(one.number, f"{names.flow(group.flow)} {one.name}".strip()),),
            techniques=tuple(dict.fromkeys(technique for _, _, found in signs for technique in found)),
            facts=PcapTls(
                clients=[address_text(client) for client in sorted(group.clients)[:20]],
                server=server,
                port=group.flow.server[1],
                name=one.name,
                version=one.chosen or one.offered,
                ja3=one.ja3,
                ja4=one.ja4,
                subject=one.subject,
                issuer=one.issuer,
                not_before=one.not_before,
                not_after=one.not_after,
                count=group.count,
                first=iso(one.seconds),
                signs=[sign for sign, _, _ in signs],
            ),
        )


def _signs_of_handshake(group: _HandshakeGroup) -> list[_Alert]:
    one, outside = group.handshake, not is_internal(group.flow.server[0])
    found: list[_Alert] = []
    if one.is_self_signed:
        severity = Severity.MEDIUM if outside else Severity.LOW
        found.append((f"self-signed certificate ({one.subject})", severity, ("T1573.002",)))
    mark = mark_of_certificate(f"{one.subject} {one.issuer}") if one.subject else None
    if mark is not None:
        found.append((mark.what, mark.severity, tuple(mark.techniques)))
    now = iso(one.seconds) or ""
    if one.not_after and now and not one.not_before[:19] <= now[:19] <= one.not_after[:19]:
        found.append(("certificate not valid at that time", Severity.MEDIUM, ()))
    if one.chosen in _OLD_VERSIONS:
        found.append((f"{one.chosen} is insecure or deprecated", Severity.LOW, ()))
    if one.ja4 and not one.name and outside:
        found.append(("no server name (SNI), which browsers always send", Severity.LOW, ("T1071.001",)))
    if group.flow.server[1] not in (443, 8443, 465, 587, 636, 853, 989, 990, 993, 995, 3269, 3389, 5061, 5986, 6443):
        found.append((f"TLS on port {group.flow.server[1]}", Severity.LOW, ("T1571",)))
    return sorted(found, key=lambda sign: list(Severity).index(sign[1]))


def _indicators(capture: Capture, names: CaptureNames) -> Iterator[Finding[PcapIndicator]]:
    """Outside addresses, domains, hosts, and hashes of downloaded programs and scripts, each once."""
    found: dict[tuple[PcapIndicatorType, str], tuple[int, str]] = {}
    for flow in capture.flows.all:
        if not is_internal(flow.server[0]) and flow.packets_back:
            found.setdefault(("address", address_text(flow.server[0])), (flow.first_number, names.flow(flow)))
        if not is_internal(flow.client[0]):
            found.setdefault(("address", address_text(flow.client[0])), (flow.first_number, names.flow(flow)))
        if len(found) > MAX_INDICATORS:
            break
    for domain in capture.dns.domains.values():
        if "." in domain.name and not domain.name.endswith((".arpa", ".local")):
            found.setdefault(("domain", domain.name), (domain.first_number, domain.sample))
    for flow, one in capture.handshakes.items:
        if one.name:
            found.setdefault(("host", one.name), (one.number, names.flow(flow)))
    for flow, exchange in capture.exchanges.items:
        if registered_domain(exchange.host.rsplit(":", 1)[0]) and "." in exchange.host:
            found.setdefault(("host", exchange.host), (exchange.number, names.flow(flow)))
        if exchange.sha256 and exchange.label in PROGRAM_LABELS | SCRIPT_LABELS:
            line = f"{exchange.method} {exchange.host}{exchange.target}"
            found.setdefault(("sha256", exchange.sha256), (exchange.number, line))
    for (kind, value), (number, context) in list(found.items())[:MAX_INDICATORS]:
        yield Finding(
            title=value,
            evidence=(names.packet(number, context),),
            facts=PcapIndicator(type=kind, value=value, context=context),
        )
