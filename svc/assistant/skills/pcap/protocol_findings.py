"""Findings about what was said in a capture: names asked for, web requests, TLS handshakes, and the indicators of all.

Decides which request or handshake is a sign of something; kinds: ``pcap.py``. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from svc.assistant.findings import LooseFinding as Finding
from svc.assistant.findings import Severity
from svc.assistant.knowledge.network import mark_of_agent, mark_of_request
from svc.assistant.skills.pcap.capture import Capture
from svc.assistant.skills.pcap.dns import Domain, address_text, registered_domain
from svc.assistant.skills.pcap.flow_patterns import is_internal
from svc.assistant.skills.pcap.flows import Flow
from svc.assistant.skills.pcap.http import Exchange
from svc.assistant.skills.pcap.labels import Names, iso
from svc.assistant.skills.pcap.tls import Handshake

MAX_DOMAINS = 200
MAX_REQUESTS = 500  # different ones: the worst, then in time
MAX_HANDSHAKES = 200
MAX_INDICATORS = 300
WEB_PORTS = frozenset({80, 8080, 8000, 8008, 8888, 3128, 81, 5985, 47001})
PROGRAM_LABELS = frozenset(
    {"pebin", "elf", "macho", "dosmbr", "dex", "apk", "jar", "javabytecode", "cab", "iso", "lnk"}
)
SCRIPT_LABELS = frozenset({"powershell", "vba", "batch", "shell"})
_ARCHIVE_LABELS = frozenset({"zip", "sevenzip", "rar"})
_NO_TEXT = _ARCHIVE_LABELS | {"unknown"}
_PLAIN_TYPES = ("text/", "image/", "audio/", "video/", "font/")
_OLD_VERSIONS = frozenset({"SSL 3.0", "TLS 1.0", "TLS 1.1"})
_Sign = tuple[str, Severity, tuple[str, ...]]


def said(capture: Capture, names: Names) -> Iterator[Finding]:
    """Requests, handshakes, domains, indicators."""
    yield from _requests(capture, names)
    yield from _handshakes(capture, names)
    domains = sorted(capture.dns.domains.values(), key=lambda domain: -domain.queries)
    for domain in domains[:MAX_DOMAINS]:
        yield _domain(domain, names)
    yield from _indicators(capture, names)


def _domain(domain: Domain, names: Names) -> Finding:
    return Finding(
        kind="pcap_dns",
        title=f"{domain.name}: {domain.queries:,} questions, {domain.failed:,} times no such name",
        evidence=(names.packet(domain.first_number, domain.sample or domain.name),),
        attributes={
            "domain": domain.name,
            "queries": domain.queries,
            "names": len(domain.names),
            "failed": domain.failed,
            "clients": len(domain.clients),
            "types": [kind for kind, _ in domain.types.most_common(5)],
            "answers": [*domain.answers],
            "sample": domain.sample,
            "first": iso(domain.first),
            "last": iso(domain.last),
        },
    )


class _Asked(msgspec.Struct):
    """The same request, however often."""

    flow: Flow
    exchange: Exchange
    signs: list[_Sign]
    count: int = 0
    sent: int = 0
    received: int = 0
    last: float = 0.0
    statuses: dict[int, None] = msgspec.field(default_factory=dict)


def _requests(capture: Capture, names: Names) -> Iterator[Finding]:
    groups: dict[tuple[bytes, bytes, str, str, str, str, str], _Asked] = {}
    for flow, one in capture.exchanges.items:
        key = (flow.client[0], flow.server[0], one.method, one.host, one.target, one.agent, one.label)
        asked = groups.get(key)
        if asked is None:
            asked = groups[key] = _Asked(flow, one, _signs(flow, one))
        asked.count += 1
        asked.sent += one.sent
        asked.received += one.received
        asked.last = one.seconds
        asked.statuses.setdefault(one.status)
    ranked = sorted(groups.values(), key=lambda asked: (_rank(asked.signs), asked.exchange.number))
    for asked in ranked[:MAX_REQUESTS]:
        yield _request(asked, names)


def _rank(signs: list[_Sign]) -> int:
    order = list(Severity)
    return min((order.index(severity) for _, severity, _ in signs), default=order.index(Severity.INFO))


def _request(asked: _Asked, names: Names) -> Finding:
    one, flow, signs = asked.exchange, asked.flow, asked.signs
    line = f"{one.method} {one.host}{one.target}"
    return Finding(
        kind="pcap_http",
        title=f"{line[:120]}: {signs[0][0]}" if signs else line[:160],
        severity=list(Severity)[_rank(signs)],
        why="; ".join(sign for sign, _, _ in signs),
        evidence=(names.packet(one.number, line),),
        techniques=tuple(dict.fromkeys(technique for _, _, found in signs for technique in found)),
        attributes={
            **names.ends(flow),
            "port": flow.server[1],
            "method": one.method,
            "host": one.host,
            "target": one.target,
            "agent": one.agent,
            "referer": one.referer,
            "statuses": [status for status in asked.statuses if status],
            "content_type": one.content_type,
            "body": one.label,
            "sha256": one.sha256,
            "sent": asked.sent,
            "received": asked.received,
            "count": asked.count,
            "first": iso(one.seconds),
            "last": iso(asked.last),
            "signs": [sign for sign, _, _ in signs],
        },
    )


def _signs(flow: Flow, one: Exchange) -> list[_Sign]:
    """What about a request and its reply is worth a look, the worst first."""
    found: list[_Sign] = [*_signs_of_body(one)]
    for mark in (mark_of_request(one.target), mark_of_agent(one.agent)):
        if mark is not None:
            found.append((mark.what, mark.severity, tuple(mark.techniques)))
    if not one.agent and one.method != "CONNECT":
        found.append(("no User-Agent", Severity.INFO, ()))
    if flow.server[1] not in WEB_PORTS and flow.server[1] != 443:
        found.append((f"HTTP on port {flow.server[1]}", Severity.LOW, ("T1571",)))
    if one.host.replace(".", "").replace(":", "").isdigit() and not is_internal(flow.server[0]):
        found.append(("asked by address, not by name", Severity.LOW, ("T1071.001",)))
    return sorted(found, key=lambda sign: list(Severity).index(sign[1]))


def _signs_of_body(one: Exchange) -> Iterator[_Sign]:
    declared = one.content_type.split(";")[0].strip().lower()
    if one.label in PROGRAM_LABELS:
        if declared.startswith(_PLAIN_TYPES):
            yield f"a program ({one.label}) that says it is {declared}", Severity.HIGH, ("T1105", "T1036")
        else:
            yield f"a program ({one.label}) was fetched", Severity.MEDIUM, ("T1105",)
    elif one.label in SCRIPT_LABELS:
        yield f"a script ({one.label}) was fetched", Severity.MEDIUM, ("T1105", "T1059")
    elif declared == "text/html" and one.label in _NO_TEXT:
        yield f"the reply says it is {declared} and is not", Severity.MEDIUM, ("T1001", "T1036")
    elif (declared == "text/plain" and one.label in _NO_TEXT) or (
        declared.startswith("image/") and one.label in _ARCHIVE_LABELS
    ):
        yield f"the reply says it is {declared} and is not", Severity.LOW, ("T1001", "T1036")


class _Shaken(msgspec.Struct):
    """Handshakes with the same server, name and fingerprint."""

    flow: Flow
    handshake: Handshake
    count: int = 0
    clients: set[bytes] = msgspec.field(default_factory=set)


def _handshakes(capture: Capture, names: Names) -> Iterator[Finding]:
    groups: dict[tuple[bytes, int, str, str, str], _Shaken] = {}
    for flow, one in capture.handshakes.items:
        key = (flow.server[0], flow.server[1], one.name, one.ja4, one.certificate_sha256)
        shaken = groups.setdefault(key, _Shaken(flow, one))
        shaken.count += 1
        shaken.clients.add(flow.client[0])
    judged = [(shaken, _signs_of_handshake(shaken)) for shaken in groups.values()]
    for shaken, signs in sorted(judged, key=lambda item: (_rank(item[1]), item[0].handshake.number))[:MAX_HANDSHAKES]:
        one, server = shaken.handshake, address_text(shaken.flow.server[0])
        yield Finding(
            kind="pcap_tls",
            title=f"TLS with {one.name or server}" + (f": {signs[0][0]}" if signs else ""),
            severity=list(Severity)[_rank(signs)],
            why="; ".join(sign for sign, _, _ in signs),
            evidence=(names.packet(one.number, f"{names.flow(shaken.flow)} {one.name}".strip()),),
            techniques=tuple(dict.fromkeys(technique for _, _, found in signs for technique in found)),
            attributes={
                "clients": [address_text(client) for client in sorted(shaken.clients)[:20]],
                "server": server,
                "port": shaken.flow.server[1],
                "name": one.name,
                "version": one.chosen or one.offered,
                "ja3": one.ja3,
                "ja4": one.ja4,
                "subject": one.subject,
                "issuer": one.issuer,
                "not_before": one.not_before,
                "not_after": one.not_after,
                "count": shaken.count,
                "first": iso(one.seconds),
                "signs": [sign for sign, _, _ in signs],
            },
        )


def _signs_of_handshake(shaken: _Shaken) -> list[_Sign]:
    one, outside = shaken.handshake, not is_internal(shaken.flow.server[0])
    found: list[_Sign] = []
    if one.is_self_signed:
        severity = Severity.MEDIUM if outside else Severity.LOW
        found.append((f"the certificate is signed by itself ({one.subject})", severity, ("T1573.002",)))
    now = iso(one.seconds) or ""
    if one.not_after and now and not one.not_before[:19] <= now[:19] <= one.not_after[:19]:
        found.append(("the certificate was not valid at that time", Severity.MEDIUM, ()))
    if one.chosen in _OLD_VERSIONS:
        found.append((f"{one.chosen} is broken or out of use", Severity.LOW, ()))
    if one.ja4 and not one.name and outside:
        found.append(("the client names no server (SNI), as browsers always do", Severity.LOW, ("T1071.001",)))
    if shaken.flow.server[1] not in (443, 8443, 465, 587, 636, 853, 989, 990, 993, 995, 3269, 3389, 5061, 5986, 6443):
        found.append((f"TLS on port {shaken.flow.server[1]}", Severity.LOW, ("T1571",)))
    return sorted(found, key=lambda sign: list(Severity).index(sign[1]))


def _indicators(capture: Capture, names: Names) -> Iterator[Finding]:
    """Outside addresses, domains, hosts and hashes of what was fetched, each once."""
    found: dict[tuple[str, str], tuple[int, str]] = {}
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
            kind="pcap_indicator",
            title=value,
            evidence=(names.packet(number, context),),
            attributes={"type": kind, "value": value, "context": context},
        )
