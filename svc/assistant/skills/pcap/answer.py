"""The answer about a packet capture: detections first, then remote administration, requests, names, hosts and flows."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from svc.assistant.findings import AnyFinding, Facts, FactsT, Finding, InputKind, Severity, with_facts
from svc.assistant.skills.answer_parts import as_folds
from svc.assistant.skills.pcap.findings import (
    PcapActivity,
    PcapArp,
    PcapBeacon,
    PcapCredential,
    PcapDns,
    PcapDnsGenerator,
    PcapDnsTunnel,
    PcapFlow,
    PcapHttp,
    PcapIndicator,
    PcapRemote,
    PcapScan,
    PcapSummary,
    PcapSuspiciousText,
    PcapTalker,
    PcapTls,
    PcapUpload,
)
from svc.assistant.skills.pcap.pictures import pictures
from svc.assistant.skills.skill import PACKED_LABELS, Section, Skill, words
from svc.untrusted.defang import defang_text
from svc.untrusted.markup import code_span, escape, plural, table

NAMED = 3  # detections in the verdict, answers of a domain
ROWS_SHOWN = 15  # of each table
_DETECTIONS: tuple[type[Facts], ...] = (
    PcapSuspiciousText,
    PcapActivity,
    PcapRemote,
    PcapDnsTunnel,
    PcapDnsGenerator,
    PcapHttp,
    PcapScan,
    PcapCredential,
    PcapBeacon,
    PcapTls,
    PcapUpload,
    PcapArp,
)
"""In the order in which they are named if their severity is equal."""
_LEAST = (Severity.CRITICAL, Severity.HIGH, Severity.MEDIUM)


def verdict(findings: Sequence[AnyFinding]) -> str:
    """The worst detections, one of each kind, and how much was read."""
    summaries = with_facts(findings, PcapSummary)
    if not summaries:
        return "**Not examined:** no packet could be read."
    read = " ".join(_extent(summary.facts) for summary in summaries)
    worst = _worst(findings)
    if not worst:
        return f"**None of the patterns of attacks matched** in the readable part of the traffic. {read}"
    firsts: dict[str, Finding[Facts]] = {}
    for finding in worst:
        firsts.setdefault(finding.kind, finding)
    shown = list(firsts.values())[:NAMED]
    named = "; ".join(escape(finding.title) for finding in shown)
    more = f" (and {len(worst) - len(shown):,} more)" if len(worst) > len(shown) else ""
    return f"**{plural(len(worst), 'detection')}:** {named}{more}. {read}"


def _worst(findings: Sequence[AnyFinding]) -> list[Finding[Facts]]:
    order = list(Severity)
    return sorted(
        (finding for facts in _DETECTIONS for finding in with_facts(findings, facts) if finding.severity in _LEAST),
        key=lambda finding: order.index(finding.severity),
    )


def _extent(summary: PcapSummary) -> str:
    span = f", {_time(summary.first)} to {_time(summary.last)} UTC" if summary.first else ""
    is_known = summary.outside_hosts is not None
    outside = f"{summary.outside_hosts:,} outside" if is_known else "none is private: inside or outside is unknown"
    return (
        f"{plural(summary.packets, 'packet')} in {plural(summary.flows, 'flow')} between "
        f"{plural(summary.hosts, 'address', 'addresses')} ({outside}){span}."
    )


def _code(value: str) -> str:
    return code_span(defang_text(value)) if value else ""


def _packet(finding: Finding[Facts]) -> str:
    return f"{finding.evidence[0].record:,}" if finding.evidence and finding.evidence[0].record else ""


def _time(value: str | None) -> str:
    return value.replace("T", " ").removesuffix("Z") if value else ""


def _detection_row(finding: Finding[Facts]) -> tuple[str, ...]:
    excerpt = finding.evidence[0].excerpt if finding.evidence else ""
    return (
        finding.severity.value,
        escape(finding.title),
        ", ".join(finding.techniques),
        _packet(finding),
        code_span(defang_text(excerpt)),
    )


def _remote_row(finding: Finding[PcapRemote]) -> tuple[str, ...]:
    facts = finding.facts
    return (
        finding.severity.value,
        f"{_code(facts.client)} → {_code(facts.server)}",
        escape(facts.operation),
        f"{facts.count:,}",
        _time(facts.first),
        _packet(finding),
    )


def _activity_row(finding: Finding[PcapActivity]) -> tuple[str, ...]:
    facts = finding.facts
    return (
        finding.severity.value,
        escape(finding.title),
        facts.protocol,
        ", ".join(code_span(defang_text(name), limit=80) for name in facts.names[:NAMED]),
        f"{facts.count:,}",
        _time(facts.first),
        ", ".join(f"{number:,}" for number in facts.packets[:NAMED]),
    )


def _request_row(finding: Finding[PcapHttp]) -> tuple[str, ...]:
    facts = finding.facts
    return (
        finding.severity.value,
        f"{_code(facts.client)} → {_code(facts.server)}",
        code_span(defang_text(f"{facts.method} {facts.host}{facts.target}"), limit=120),
        ", ".join(map(str, facts.statuses)),
        escape(facts.body),
        code_span(facts.agent, limit=60),
        f"{facts.count:,}",
        _packet(finding),
    )


def _handshake_row(finding: Finding[PcapTls]) -> tuple[str, ...]:
    facts = finding.facts
    return (
        _code(facts.name),
        code_span(f"{defang_text(facts.server)}:{facts.port}"),
        escape(facts.version),
        code_span(facts.ja4),
        escape(facts.subject),
        f"{facts.count:,}",
        escape(finding.why),
        _packet(finding),
    )


def _domain_row(finding: Finding[PcapDns]) -> tuple[str, ...]:
    facts = finding.facts
    return (
        _code(facts.domain),
        f"{facts.queries:,}",
        f"{facts.names:,}",
        f"{facts.failed:,}",
        ", ".join(code_span(defang_text(answer), limit=60) for answer in facts.answers[:NAMED]),
        _packet(finding),
    )


def _indicator_row(finding: Finding[PcapIndicator]) -> tuple[str, ...]:
    facts = finding.facts
    return facts.type, _code(facts.value), code_span(defang_text(facts.context), limit=100), _packet(finding)


def _talker_row(finding: Finding[PcapTalker]) -> tuple[str, ...]:
    facts = finding.facts
    return (
        _code(facts.address),
        _code(facts.name),
        {True: "inside", False: "outside", None: ""}[facts.is_internal],
        f"{facts.sent:,}",
        f"{facts.received:,}",
        f"{facts.flows:,}",
        f"{facts.peers:,}",
    )


def _flow_row(finding: Finding[PcapFlow]) -> tuple[str, ...]:
    facts = finding.facts
    return (
        code_span(f"{defang_text(facts.client)}:{facts.client_port}"),
        code_span(f"{defang_text(facts.server)}:{facts.server_port}"),
        escape(facts.service),
        facts.state,
        f"{facts.sent:,}",
        f"{facts.received:,}",
        _time(facts.first),
        _packet(finding),
    )


def body(findings: Sequence[AnyFinding]) -> str:
    """Detections with their packets, then a table for each protocol, for hosts and for flows."""
    blocks = []
    if worst := _worst(findings):
        headers = ("Severity", "Detection", "Techniques", "Packet", "Evidence")
        blocks.append(f"**Detections**\n\n{table(headers, [_detection_row(finding) for finding in worst])}")
    requests = ("Severity", "Client → server", "Request", "Status", "Body", "User-Agent", "Count", "Packet")
    handshakes = ("Name", "Server", "Version", "JA4", "Certificate", "Count", "Alerts", "Packet")
    flows = ("Client", "Server", "Service", "State", "Sent", "Received", "First (UTC)", "Packet")
    blocks += [
        _titled_table(
            "Remote administration",
            ("Severity", "Client → server", "Operation", "Count", "First (UTC)", "Packet"),
            with_facts(findings, PcapRemote),
            _remote_row,
        ),
        _titled_table(
            "Logins, directory and other activities",
            ("Severity", "Activity", "Protocol", "Names", "Count", "First (UTC)", "Packets"),
            with_facts(findings, PcapActivity),
            _activity_row,
        ),
        _titled_table("Web requests", requests, with_facts(findings, PcapHttp), _request_row),
        _titled_table("TLS", handshakes, with_facts(findings, PcapTls), _handshake_row),
        _titled_table(
            "DNS",
            ("Domain", "Queries", "Names", "NXDOMAIN", "Answers", "Packet"),
            with_facts(findings, PcapDns),
            _domain_row,
        ),
        _titled_table(
            "Indicators",
            ("Type", "Value", "First seen", "Packet"),
            with_facts(findings, PcapIndicator),
            _indicator_row,
        ),
        _titled_table(
            "Top talkers",
            ("Address", "Name", "Network", "Sent", "Received", "Flows", "Peers"),
            with_facts(findings, PcapTalker),
            _talker_row,
        ),
        _titled_table("Largest flows", flows, with_facts(findings, PcapFlow), _flow_row),
    ]
    return "\n\n".join(block for block in blocks if block)


def _titled_table(
    title: str,
    headers: tuple[str, ...],
    findings: Sequence[Finding[FactsT]],
    row: Callable[[Finding[FactsT]], tuple[str, ...]],
) -> str:
    if not findings:
        return ""
    return f"**{title}**\n\n{table(headers, [row(finding) for finding in findings], limit=ROWS_SHOWN)}"


_STEP_ORDER: tuple[type[Facts], ...] = (
    PcapSuspiciousText,
    PcapActivity,
    PcapRemote,
    PcapDnsTunnel,
    PcapDnsGenerator,
    PcapBeacon,
    PcapScan,
    PcapCredential,
    PcapHttp,
    PcapUpload,
)
_ACTIVITY_STEPS = {
    "tickets": "Reset the passwords of {names}; check the tickets of {client} on the controller (4768, 4769, 4771).",
    "directory": "Ask who on {client} searched or changed the directory (1644, 4662, 5136 on the controller).",
    "names": "Find {server} in the network, and reset the passwords of those who logged in to it.",
    "relay": "Find the host between the two, and require signing of SMB and LDAP.",
    "guessing": "Check the logins on {server} at that time (4624, 4625, auth.log), and block {client}.",
    "desktop": "Check the logins on {server} at that time (4624 type 10, 1149).",
    "management": "Check PowerShell's log on {server} at that time (4104, 91, 4624).",
    "tunnel": "Find the program on {client} that sends pings.",
    "flood": "Limit the rate at the border of the network, and check how {server} held out.",
    "hosts": "Find the program on {client} that asked.",
    "probing": "Block {client}, and check which pages were answered.",
    "transfer": "Find the program on {client}, and what it sent.",
}


def next_steps(findings: Sequence[AnyFinding]) -> list[str]:
    """A step for the worst detection of each kind."""
    worst = _worst(findings)
    firsts = (next(iter(with_facts(worst, facts)), None) for facts in _STEP_ORDER)
    return [_step(finding.facts) for finding in firsts if finding is not None]


def _step(facts: Facts) -> str:
    match facts:
        case PcapSuspiciousText():
            ends = f"{_code(facts.client)} and {_code(facts.server)}"
            return f"Isolate {ends}: a shell was used between them in cleartext."
        case PcapActivity():
            named = ", ".join(code_span(name, limit=40) for name in facts.names[:NAMED]) or "the accounts"
            client, server = _code(facts.client) or "the clients", _code(facts.server) or "the host"
            return _ACTIVITY_STEPS[facts.activity].format(names=named, client=client, server=server)
        case PcapRemote():
            logs = "services (7045), tasks (4698), logons (4624)"
            return f"Check the event logs of {_code(facts.server)} at that time: {logs}."
        case PcapDnsTunnel():
            client = _code(facts.clients[0]) if facts.clients else "the client"
            return f"Find the program on {client} that queries names under {_code(facts.domain)}; block the domain."
        case PcapDnsGenerator():
            return f"Find the program on {_code(facts.client)} that queries domains that do not exist."
        case PcapBeacon():
            peer = _code(facts.name) or _code(facts.server)
            return f"Find the program on {_code(facts.client)} that contacts {peer}, and other hosts that contact it."
        case PcapScan():
            return f"Check whether {_code(facts.source)} is an authorised scanner; if not, treat it as compromised."
        case PcapCredential():
            return "Change the passwords that were sent in cleartext."
        case PcapUpload():
            peer = _code(facts.name) or _code(facts.server)
            return f"Find out what {_code(facts.client)} sent to {peer}."
        case _:  # PcapHttp
            return "Extract the bodies of the marked requests from the capture and inspect them as files."


_LABELS = frozenset({"pcap", "pcapng"})
SECTION = Section(
    skill=Skill(
        name="pcap",
        tool="svc.assistant.skills.pcap.tool:inspect",
        input=InputKind.BINARY,
        title="Traffic",
        can="read packet captures: flows, DNS, HTTP, TLS, Kerberos, LDAP, RDP, WinRM, remote administration, beacons, "
        "scans, cleartext passwords",
        facts=(*_DETECTIONS, PcapSummary, PcapTalker, PcapFlow, PcapDns, PcapIndicator),
        strong=words(
            r"\bpcap(?:ng)?s?\b",
            r"\bpacket captures?\b",
            r"\b(?:network|packet) (?:traffic|capture|dump)s?\b",
            r"\bbeacon\w*",
            r"\b(?:call|phon)(?:s|e|es|ed|ing)? home\b",
            r"\btop talkers?\b",
            r"\bwireshark\b|\btcpdump\b|\btshark\b",
            r"\bdns tunnel\w*",
        ),
        weak=words(
            r"\btraffic\b",
            r"\bflows?\b",
            r"\bport ?scan\w*",
            r"\bexfiltrat\w*",
            r"\bc2\b|\bcommand and control\b",
            r"\bcaptures?\b",
            r"\b(?:http|tls|dns|smb) (?:requests?|quer(?:y|ies)|connections?|sessions?)\b",
        ),
        labels=_LABELS | PACKED_LABELS,
        claims=_LABELS,
        file_names=words(r".{0,255}\.p?cap(?:ng)?\.(?:gz|bz2|xz|zst)"),
        covers=frozenset({"indicators"}),
    ),
    verdict=verdict,
    folds=as_folds(body),
    next_steps=next_steps,
    pictures=pictures,
)
