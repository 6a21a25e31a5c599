"""Findings by number and shape: guessed passwords, floods, ICMP tunnels, address scans, hosts, files sent away. Pure.

Decides which numbers are an attack. Thresholds that are not cited are ours, set so that the ordinary captures of the
tests (browsing, calls, backups, monitoring, an administrator's day) stay below.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from itertools import islice

from svc.assistant.findings import Confidence, Facts, Finding, Severity
from svc.assistant.knowledge.network import TCP, UDP, mark_of_host
from svc.assistant.skills.pcap.activity import ActivityJudgement, Sighting, activity, is_dense, listing
from svc.assistant.skills.pcap.addresses import is_group, is_internal
from svc.assistant.skills.pcap.capture import Capture
from svc.assistant.skills.pcap.dns import address_text
from svc.assistant.skills.pcap.findings import PcapActivity
from svc.assistant.skills.pcap.flows import Flow
from svc.assistant.skills.pcap.http import HttpExchange
from svc.assistant.skills.pcap.labels import CaptureNames

GUESSES = 10  # short connections of a client to one login …
GUESS_PAUSE_SECONDS = 10.0  # … with a mean pause below this: monitoring connects once a minute
SHORT_BYTES = 12_000  # of both sides: a login that fails ends there, one that succeeds goes on
SHORT_SECONDS = 30.0
LOGIN_LABELS = frozenset({"SSH", "FTP", "Telnet", "VNC", "POP3", "IMAP"})
WEB_GUESSES = 10
WEB_FORM_GUESSES = 20
WEB_PAUSE_SECONDS = 10.0
MISSING_PAGES = 40
MISSING_SHARE = 0.6
FLOOD_FLOWS = 500
FLOOD_PER_SECOND = 50.0
FLOOD_SHARE = 0.8  # of the flows to one service that carry nothing
DATAGRAM_FLOWS = 50
DATAGRAM_BYTES = 200  # of payload, on average: a scan's are smaller
WEB_FLOOD = 300
SCANNED_ADDRESSES = 50
SCAN_ADDRESSES_PER_SECOND = 0.5
MAX_HOST_NAMES = 100_000
NAMES_PER_DOMAIN = 50
_LOGIN_PATH = re.compile(
    r"(?:login|signin|sign-in|logon|wp-login\.php|xmlrpc\.php|sessions?/new|j_security_check)/?$", re.IGNORECASE
)
_ONE_WAY = frozenset({162, 514, 2055, 4739, 5140, 6343, 8125, 9995, 9996, 12_201, 25_826})
"""SNMP traps, syslog, NetFlow, IPFIX, sFlow, StatsD, GELF, collectd."""
_SIG = "type 24"  # as dns.py names a type that it does not know
_HANDSHAKES = ("ntlm", "negotiate", "kerberos")  # logins whose first round is always answered with 401
_STOLEN = re.compile(
    r"\b(?:PW_|SC_|KL_|CO_)|passwords?\b|keylog|recovered|screen ?shots?\b|stealer|\blogs? from\b", re.IGNORECASE
)
_Found = Iterator[Finding[PcapActivity]]
_RATED = "So many in such a time are made by a program."


def abuse_findings(capture: Capture, names: CaptureNames) -> Iterator[Finding[Facts]]:
    """Yield everything that numbers and shapes of flows show."""
    kinds = (
        _guesses,
        _refused_texts,
        _web_guesses,
        _missing_pages,
        _floods,
        _web_floods,
        _tunnels,
        _address_scans,
        _hosts,
        _transfers,
        _name_server_exploits,
    )
    for find in kinds:
        yield from find(capture, names)


def _name_server_exploits(capture: Capture, names: CaptureNames) -> _Found:
    """Questions for SIG records, which DNSSEC has not used since 2005: SIGRed (CVE-2020-1350)."""
    for domain in capture.dns.domains.values():
        if not domain.types[_SIG]:
            continue
        judged = ActivityJudgement(
            title=f"{domain.types[_SIG]:,} questions for SIG records of {domain.name} (SIGRed)",
            severity=Severity.HIGH,
            techniques=("T1210", "T1499.004"),
            why="Nothing asks for this type of record any more; an oversized answer makes an old Windows name server "
            "run code or crash.",
        )
        seen = [Sighting(domain.first_number, domain.first, name=domain.sample)]
        client = next(iter(domain.clients), b"")
        yield activity("probing", judged, seen, names, protocol="DNS", client=client, count=domain.types[_SIG])


def _where(client: bytes, server: bytes) -> str:
    return f"{address_text(client)} → {address_text(server)}"


def _guesses(capture: Capture, names: CaptureNames) -> _Found:
    """Short connections to a login, one after the other."""
    groups: dict[tuple[bytes, bytes, int, str], list[Flow]] = defaultdict(list)
    longer: set[tuple[bytes, bytes, int, str]] = set()
    for flow in capture.flows.all:
        if flow.protocol != TCP or flow.label not in LOGIN_LABELS or not flow.payload_back:
            continue
        key = (flow.client[0], *flow.server, flow.label)
        if flow.payload_out + flow.payload_back <= SHORT_BYTES and flow.last - flow.first <= SHORT_SECONDS:
            groups[key].append(flow)
        else:
            longer.add(key)
    for (client, server, port, label), flows in groups.items():
        if not is_dense([flow.first for flow in flows], GUESSES, GUESS_PAUSE_SECONDS):
            continue
        then = (
            "; a longer connection shows that one may have succeeded" if (client, server, port, label) in longer else ""
        )
        judged = ActivityJudgement(
            title=f"password guessing over {label}: {_where(client, server)}, {len(flows):,} short connections{then}",
            severity=Severity.HIGH if then else Severity.MEDIUM,
            techniques=("T1110.001",),
            why=f"{_RATED} If the protocol is encrypted, it is not visible whether a login succeeded.",
        )
        seen = [Sighting(flow.first_number, flow.first, flow) for flow in flows]
        yield activity("guessing", judged, seen, names, protocol=label, client=client, server=server, port=port)


def _refused_texts(capture: Capture, names: CaptureNames) -> _Found:
    """Databases that say that a login failed."""
    groups: dict[tuple[bytes, bytes, int], list[Sighting]] = defaultdict(list)
    for flow, match in capture.texts.items:
        if "T1110.001" in match.mark.techniques:
            groups[flow.client[0], *flow.server].append(Sighting(match.number, flow.first, flow, flow.label))
    for (client, server, port), seen in groups.items():
        if len(seen) < GUESSES:
            continue
        title = f"password guessing at a database: {_where(client, server)}, {len(seen):,} logins refused"
        judged = ActivityJudgement(title, _refused(client), ("T1110.001",), _RATED)
        yield activity("guessing", judged, seen, names, protocol="SQL", client=client, server=server, port=port)


def _web_guesses(capture: Capture, names: CaptureNames) -> _Found:
    refused: dict[tuple[bytes, bytes, int, str], list[Sighting]] = defaultdict(list)
    sent: dict[tuple[bytes, bytes, int, str], list[Sighting]] = defaultdict(list)
    for flow, one in capture.exchanges.items:
        path = one.target.partition("?")[0]
        key = (flow.client[0], *flow.server, path[:200])
        is_handshake = one.scheme.lower() in _HANDSHAKES
        if one.status in (401, 403) and not is_handshake and (one.method == "POST" or one.scheme):
            refused[key].append(_request(flow, one))
        elif one.method == "POST" and _LOGIN_PATH.search(path):
            sent[key].append(_request(flow, one))
    for groups, least in ((refused, WEB_GUESSES), (sent, WEB_FORM_GUESSES)):
        for (client, server, port, path), seen in groups.items():
            if not is_dense([one.seconds for one in seen], least, WEB_PAUSE_SECONDS):
                continue
            result = "refused" if groups is refused else "sent"
            severity = _refused(client) if groups is refused else Severity.MEDIUM
            title = f"password guessing at {path}: {_where(client, server)}, {len(seen):,} logins {result}"
            judged = ActivityJudgement(title, severity, ("T1110.001",), _RATED)
            yield activity("guessing", judged, seen, names, protocol="HTTP", client=client, server=server, port=port)


def _refused(client: bytes) -> Severity:
    """How severe guesses without success are: from the Internet they are everyday."""
    return Severity.HIGH if is_internal(client) else Severity.MEDIUM


def _request(flow: Flow, one: HttpExchange) -> Sighting:
    return Sighting(one.number, one.seconds, flow, f"{one.method} {one.target}"[:200])


def _missing_pages(capture: Capture, names: CaptureNames) -> _Found:
    counts: dict[tuple[bytes, bytes, int], int] = defaultdict(int)
    missing: dict[tuple[bytes, bytes, int], dict[str, Sighting]] = defaultdict(dict)
    for flow, one in capture.exchanges.items:
        key = (flow.client[0], *flow.server)
        counts[key] += 1
        if one.status in (403, 404):
            missing[key].setdefault(one.target, _request(flow, one))
    for (client, server, port), pages in missing.items():
        if len(pages) < MISSING_PAGES or len(pages) < MISSING_SHARE * counts[client, server, port]:
            continue
        seen = [*pages.values()]
        title = f"pages were guessed: {_where(client, server)}, {len(pages):,} different ones do not exist"
        judged = ActivityJudgement(title, Severity.MEDIUM, ("T1595.003",), f"{_RATED} For example {listing(seen)}.")
        yield activity("probing", judged, seen, names, protocol="HTTP", client=client, server=server, port=port)


def _floods(capture: Capture, names: CaptureNames) -> _Found:
    """More unanswered connections, datagrams or pings to one service than anyone needs."""
    opened: dict[tuple[bytes, int], list[Flow]] = defaultdict(list)
    datagrams: dict[bytes, list[Flow]] = defaultdict(list)
    for flow in capture.flows.all:
        if flow.protocol == TCP:
            opened[flow.server].append(flow)
        elif flow.protocol == UDP and not flow.packets_back and not _is_one_way(flow):
            datagrams[flow.server[0]].append(flow)
    for (server, port), flows in opened.items():
        bare = [flow for flow in flows if not flow.payload_out and not flow.payload_back and not flow.is_probe]
        if len(bare) >= FLOOD_FLOWS and len(bare) >= FLOOD_SHARE * len(flows) and _rate(bare) >= FLOOD_PER_SECOND:
            sources = len({flow.client[0] for flow in bare})
            what = f"{len(bare):,} connections without data from {sources:,} addresses (SYN flood)"
            judged = ActivityJudgement(_flooded(what, server), Severity.HIGH, ("T1498.001", "T1499.001"), _RATED)
            yield _flood(judged, bare, names, server, port, "TCP")
    for server, flows in datagrams.items():
        packets = sum(flow.packets_out for flow in flows)
        heavy = sum(flow.payload_out for flow in flows) >= DATAGRAM_BYTES * packets
        if (
            len(flows) >= DATAGRAM_FLOWS
            and packets >= FLOOD_FLOWS
            and heavy
            and _rate(flows, packets) >= FLOOD_PER_SECOND
        ):
            what = f"{packets:,} datagrams that nobody answered (UDP flood)"
            why = f"{_RATED} Cameras that send films to a recorder look so, too."
            judged = ActivityJudgement(_flooded(what, server), Severity.MEDIUM, ("T1498.001",), why)
            yield _flood(judged, flows, names, server, None, "UDP")
    for (client, server), pair in capture.echoes.pairs.items():
        seconds = max(pair.last - pair.first, 1.0)
        if pair.requests >= FLOOD_FLOWS and pair.requests / seconds >= FLOOD_PER_SECOND:
            seen = [Sighting(number, pair.first) for number in pair.numbers[:1]]
            title = f"flood: {pair.requests:,} pings to {address_text(server)} (ICMP flood)"
            judged = ActivityJudgement(title, Severity.HIGH, ("T1498.001",), _RATED)
            count = pair.requests
            yield activity("flood", judged, seen, names, protocol="ICMP", client=client, server=server, count=count)


def _is_one_way(flow: Flow) -> bool:
    """Whether nobody answers by nature: groups, and the forwarding of logs, flows and measurements."""
    return is_group(flow.server[0]) or flow.server[1] in _ONE_WAY


def _flooded(what: str, server: bytes) -> str:
    return f"flood: {what} to {address_text(server)}"


def _rate(flows: list[Flow], count: int = 0) -> float:
    span = max(flow.last for flow in flows) - min(flow.first for flow in flows)
    return (count or len(flows)) / max(span, 1.0)


def _flood(
    judged: ActivityJudgement, flows: list[Flow], names: CaptureNames, server: bytes, port: int | None, protocol: str
) -> Finding[PcapActivity]:
    seen = [Sighting(flow.first_number, flow.first, flow) for flow in (flows[0], flows[-1])]
    return activity("flood", judged, seen, names, protocol=protocol, server=server, port=port, count=len(flows))


def _web_floods(capture: Capture, names: CaptureNames) -> _Found:
    groups: dict[tuple[bytes, bytes, int, str], list[Sighting]] = defaultdict(list)
    for flow, one in capture.exchanges.items:
        groups[flow.client[0], *flow.server, one.target[:200]].append(_request(flow, one))
    for (client, server, port, target), seen in groups.items():
        if is_dense([one.seconds for one in seen], WEB_FLOOD, 1 / FLOOD_PER_SECOND):
            title = f"flood: {len(seen):,} requests for {target} in a row: {_where(client, server)}"
            judged = ActivityJudgement(title, Severity.MEDIUM, ("T1499.002",), _RATED)
            yield activity("flood", judged, seen, names, protocol="HTTP", client=client, server=server, port=port)


def _tunnels(capture: Capture, names: CaptureNames) -> _Found:
    for (client, server), pair in capture.echoes.pairs.items():
        if not pair.is_tunnel:
            continue
        seen = [Sighting(number, pair.first) for number in pair.numbers] + [Sighting(pair.numbers[-1], pair.last)]
        judged = ActivityJudgement(
            title=f"possible tunnel over ICMP: {_where(client, server)}, {pair.size:,} bytes in "
            f"{pair.requests + pair.answers:,} pings",
            severity=Severity.HIGH,
            techniques=("T1095", "T1572"),
            why=f"{pair.changed:,} of {pair.answers:,} answers hold other data than was sent: pings return what came. "
            f"Requests with random data have {len(pair.random_sizes):,} different sizes.",
        )
        yield activity(
            "tunnel", judged, seen, names, protocol="ICMP", client=client, server=server, count=pair.requests
        )


def _address_scans(capture: Capture, names: CaptureNames) -> _Found:
    for source, asked in capture.asked.items():
        times = [seconds for _, seconds in asked.values()]
        if not is_dense(times, SCANNED_ADDRESSES, 1 / SCAN_ADDRESSES_PER_SECOND):
            continue
        seen = [Sighting(number, seconds, name=address_text(target)) for target, (number, seconds) in asked.items()]
        judged = ActivityJudgement(
            title=f"address scan: {address_text(source)} looked for {len(asked):,} addresses by ARP",
            severity=Severity.MEDIUM,
            techniques=("T1018",),
            why="It looks for every host of the network: an inventory, or an intruder. A router that a scan from "
            "outside passes does that as well.",
        )
        yield activity("hosts", judged, seen, names, protocol="ARP", client=source)


def _hosts(capture: Capture, names: CaptureNames) -> _Found:
    """Names that malware asks for, by their meaning."""
    groups: dict[tuple[bytes, str], tuple[ActivityJudgement, list[Sighting]]] = {}
    for client, name, seen in _asked_names(capture):
        mark = mark_of_host(name)
        if mark is None:
            continue
        judged = ActivityJudgement(
            title=f"{address_text(client)} asked for {name}: {mark.what}",
            severity=mark.severity,
            techniques=tuple(mark.techniques),
            why="People and their programs do that as well; look at which program asked.",
            confidence=Confidence.LOW,
        )
        groups.setdefault((client, mark.what), (judged, []))[1].append(seen)
    for (client, _), (judged, listed) in groups.items():
        yield activity("hosts", judged, listed, names, protocol="DNS, TLS, HTTP", client=client)


def _asked_names(capture: Capture) -> Iterator[tuple[bytes, str, Sighting]]:
    """Each client and name once, with the first packet; up to MAX_HOST_NAMES of each protocol."""
    known: set[tuple[bytes, str]] = set()
    for source in (_web_names(capture), _queried_names(capture)):
        for client, name, seen in islice(source, MAX_HOST_NAMES):
            if (client, name) not in known:
                known.add((client, name))
                yield client, name, seen


def _web_names(capture: Capture) -> Iterator[tuple[bytes, str, Sighting]]:
    for flow, one in capture.handshakes.items:
        if one.name:
            yield flow.client[0], one.name.lower(), Sighting(one.number, one.seconds, flow, one.name)
    for flow, exchange in capture.exchanges.items:
        host = exchange.host.rsplit(":", 1)[0].lower()
        if host:
            yield flow.client[0], host, Sighting(exchange.number, exchange.seconds, flow, host)


def _queried_names(capture: Capture) -> Iterator[tuple[bytes, str, Sighting]]:
    for domain in capture.dns.domains.values():
        if len(domain.names) > NAMES_PER_DOMAIN:
            continue
        for client in list(domain.clients)[:NAMES_PER_DOMAIN]:
            for name in sorted(domain.names):
                yield client, name, Sighting(domain.first_number, domain.first, name=name)


def _transfers(capture: Capture, names: CaptureNames) -> _Found:
    groups: dict[tuple[bytes, bytes, int, str], list[Sighting]] = defaultdict(list)
    for flow, one in capture.transfers.items:
        seen = Sighting(one.number, one.seconds, flow, one.name)
        groups[flow.client[0], *flow.server, one.protocol].append(seen)
    for (client, server, port, protocol), sent in groups.items():
        is_outside = not is_internal(server)
        is_stolen = any(_STOLEN.search(one.name) for one in sent)
        what = "files sent" if protocol == "FTP" else "mail sent with a password in cleartext"
        judged = ActivityJudgement(
            title=f"{what}: {_where(client, server)}: {listing(sent)}",
            severity=Severity.HIGH if is_stolen and is_outside else Severity.MEDIUM if is_outside else Severity.LOW,
            techniques=("T1048.003",),
            why="Nothing is encrypted: an old program, or one that takes data away."
            + (" The names are those of stolen passwords." if is_stolen else ""),
        )
        yield activity("transfer", judged, sent, names, protocol=protocol, client=client, server=server, port=port)
