"""The answer about a packet capture: what stands out, who talked to whom, names, requests. Kinds: ``tools/pcap.py``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from svc.assistant.findings import InputKind, Scalar, Severity
from svc.assistant.findings import LooseFinding as Finding
from svc.assistant.skills import charts as picture
from svc.assistant.skills.charts import Bar, Mark
from svc.assistant.skills.events.answer_tables import number, of_kind, text, texts
from svc.assistant.skills.skill import PACKED_LABELS, Picture, Section, Skill, words
from svc.untrusted.markup import code_span, defang, escape, plural, table

NAMED = 3  # things in the verdict
_STANDING_OUT = (
    "pcap_words",
    "pcap_remote",
    "pcap_dns_tunnel",
    "pcap_dns_generator",
    "pcap_http",
    "pcap_scan",
    "pcap_credential",
    "pcap_beacon",
    "pcap_tls",
    "pcap_upload",
    "pcap_arp",
)
"""In the order in which they are named where two are equally bad."""
_LEAST = (Severity.CRITICAL, Severity.HIGH, Severity.MEDIUM)


def verdict(findings: Sequence[Finding]) -> str:
    """The worst things, one of a kind, and how much was read."""
    worst = _worst(findings)
    kinds = {finding.kind: finding for finding in reversed(worst)}
    shown = [finding for finding in worst if kinds[finding.kind] is finding][:NAMED]
    summaries = of_kind(findings, "pcap_summary")
    if not summaries:
        return "**No packet capture that could be read.**"
    read = " ".join(_read(summary) for summary in summaries)
    if not shown:
        return f"**Nothing stands out** by what can be seen. {read}"
    bad = "; ".join(f"{escape(finding.title)}" for finding in shown)
    more = f" (and {len(worst) - len(shown):,} more)" if len(worst) > len(shown) else ""
    return f"**Stands out:** {bad}{more}. {read}"


def _worst(findings: Sequence[Finding]) -> list[Finding]:
    order = list(Severity)
    return sorted(
        (finding for kind in _STANDING_OUT for finding in of_kind(findings, kind) if finding.severity in _LEAST),
        key=lambda finding: order.index(finding.severity),
    )


def _read(summary: Finding) -> str:
    span = f", {_time(summary.attributes['first'])} to {_time(summary.attributes['last'])} UTC"
    return (
        f"{plural(number(summary, 'packets'), 'packet')} in {plural(number(summary, 'flows'), 'flow')} between "
        f"{plural(number(summary, 'hosts'), 'address', 'addresses')} ({number(summary, 'outside_hosts'):,} outside)"
        f"{span if summary.attributes['first'] else ''}."
    )


_Cells = Callable[[Finding], tuple[str, ...]]
_Table = tuple[str, tuple[str, ...], tuple[str, ...], _Cells]


def _code(finding: Finding, name: str) -> str:
    value = text(finding, name)
    return code_span(defang(value)) if value else ""


def _pair(finding: Finding) -> str:
    return f"{_code(finding, 'client')} → {_code(finding, 'server')}"


def _packet(finding: Finding) -> str:
    return f"{finding.evidence[0].record:,}" if finding.evidence and finding.evidence[0].record else ""


def _time(value: Scalar | list[Scalar]) -> str:
    return str(value).replace("T", " ").removesuffix("Z") if value else ""


def _of_worst(finding: Finding) -> tuple[str, ...]:
    excerpt = finding.evidence[0].excerpt if finding.evidence else ""
    return (
        finding.severity.value,
        escape(finding.title),
        ", ".join(finding.techniques),
        _packet(finding),
        code_span(defang(excerpt)),
    )


def _of_remote(finding: Finding) -> tuple[str, ...]:
    return (
        finding.severity.value,
        _pair(finding),
        escape(text(finding, "operation")),
        f"{number(finding, 'count'):,}",
        _time(finding.attributes["first"]),
        _packet(finding),
    )


def _of_request(finding: Finding) -> tuple[str, ...]:
    return (
        finding.severity.value,
        _pair(finding),
        code_span(defang(f"{text(finding, 'method')} {text(finding, 'host')}{text(finding, 'target')}"), limit=120),
        ", ".join(str(status) for status in _list(finding, "statuses")),
        escape(text(finding, "body")),
        code_span(text(finding, "agent"), limit=60),
        f"{number(finding, 'count'):,}",
        _packet(finding),
    )


def _of_handshake(finding: Finding) -> tuple[str, ...]:
    port = number(finding, "port")
    return (
        _code(finding, "name"),
        code_span(f"{defang(text(finding, 'server'))}:{port}"),
        escape(text(finding, "version")),
        code_span(text(finding, "ja4")),
        escape(text(finding, "subject")),
        f"{number(finding, 'count'):,}",
        escape(finding.why),
        _packet(finding),
    )


def _of_domain(finding: Finding) -> tuple[str, ...]:
    return (
        _code(finding, "domain"),
        f"{number(finding, 'queries'):,}",
        f"{number(finding, 'names'):,}",
        f"{number(finding, 'failed'):,}",
        ", ".join(code_span(defang(answer), limit=60) for answer in texts(finding, "answers")[:NAMED]),
        _packet(finding),
    )


def _of_indicator(finding: Finding) -> tuple[str, ...]:
    return (
        text(finding, "type"),
        _code(finding, "value"),
        code_span(defang(text(finding, "context")), limit=100),
        _packet(finding),
    )


def _of_talker(finding: Finding) -> tuple[str, ...]:
    return (
        _code(finding, "address"),
        _code(finding, "name"),
        "inside" if finding.attributes["is_internal"] else "outside",
        f"{number(finding, 'sent'):,}",
        f"{number(finding, 'received'):,}",
        f"{number(finding, 'flows'):,}",
        f"{number(finding, 'peers'):,}",
    )


def _of_flow(finding: Finding) -> tuple[str, ...]:
    return (
        code_span(f"{defang(text(finding, 'client'))}:{number(finding, 'client_port')}"),
        code_span(f"{defang(text(finding, 'server'))}:{number(finding, 'server_port')}"),
        escape(text(finding, "service")),
        text(finding, "state"),
        f"{number(finding, 'sent'):,}",
        f"{number(finding, 'received'):,}",
        _time(finding.attributes["first"]),
        _packet(finding),
    )


_TABLES: tuple[_Table, ...] = (
    (
        "Remote administration",
        ("pcap_remote",),
        ("Severity", "From → on", "What", "Count", "First (UTC)", "Packet"),
        _of_remote,
    ),
    (
        "Web requests",
        ("pcap_http",),
        ("Severity", "Client → server", "Request", "Status", "Body", "User-Agent", "Count", "Packet"),
        _of_request,
    ),
    (
        "TLS",
        ("pcap_tls",),
        ("Name", "Server", "Version", "JA4", "Certificate", "Count", "Signs", "Packet"),
        _of_handshake,
    ),
    ("DNS", ("pcap_dns",), ("Domain", "Questions", "Names", "No such name", "Answers", "Packet"), _of_domain),
    ("Indicators", ("pcap_indicator",), ("Type", "Value", "Where it is first", "Packet"), _of_indicator),
    ("Top talkers", ("pcap_talker",), ("Address", "Name", "Where", "Sent", "Received", "Flows", "Peers"), _of_talker),
    (
        "Largest flows",
        ("pcap_flow",),
        ("Client", "Server", "Service", "State", "Sent", "Received", "First (UTC)", "Packet"),
        _of_flow,
    ),
)


def body(findings: Sequence[Finding]) -> str:
    """What stands out with its packets, then a table for each thing that was spoken."""
    parts = []
    if worst := _worst(findings):
        headers = ("Severity", "What", "Techniques", "Packet", "Evidence")
        parts += ["**What stands out**", table(headers, [_of_worst(finding) for finding in worst])]
    for title, kinds, columns, cells in _TABLES:
        rows = [cells(finding) for kind in kinds for finding in of_kind(findings, kind)]
        if rows:
            parts += [f"**{title}**", table(columns, rows, limit=15)]
    return "\n\n".join(parts)


_STEPS = (
    ("pcap_words", "Take {client} and {server} off the network: a shell was used between them in the clear."),
    ("pcap_remote", "Look at the event logs of {server} at that time: services (7045), tasks (4698), logons (4624)."),
    ("pcap_dns_tunnel", "Find the program on {client} that asks for names under {domain}, and block the domain."),
    ("pcap_dns_generator", "Find the program on {client} that asks for domains that do not exist."),
    ("pcap_beacon", "Find the program on {client} that calls {peer}, and look for others that call it."),
    ("pcap_scan", "Ask whether {source} is a scanner of your own; if not, treat it as taken over."),
    ("pcap_credential", "Change the passwords that went over the network in the clear."),
    ("pcap_http", "Fetch the bodies of the marked requests from the capture and inspect them as files."),
    ("pcap_upload", "Find out what {client} sent to {peer}."),
)


def next_steps(findings: Sequence[Finding]) -> list[str]:
    """A step for the worst finding of each kind that stands out."""
    worst = _worst(findings)
    firsts = ((step, next((one for one in worst if one.kind == kind), None)) for kind, step in _STEPS)
    return [_step(step, finding) for step, finding in firsts if finding is not None]


def _step(step: str, finding: Finding) -> str:
    known = {name: _code(finding, name) for name in ("client", "server", "domain", "source")}
    return step.format_map(known | {"peer": _code(finding, "name") or _code(finding, "server")})


def pictures(findings: Sequence[Finding]) -> list[Picture]:
    """Who talked most, and flows over time in a lane each service."""
    talkers = [
        Bar(
            label=text(finding, "name") or text(finding, "address"),
            value=number(finding, "sent") + number(finding, "received"),
            note=f"{number(finding, 'sent') + number(finding, 'received'):,} bytes",
            severity=Severity.INFO if finding.attributes["is_internal"] else Severity.LOW,
        )
        for finding in of_kind(findings, "pcap_talker")
    ]
    marks = [
        Mark(
            time=datetime.fromisoformat(str(finding.attributes["first"])),
            lane=text(finding, "service"),
            label=finding.title,
        )
        for finding in of_kind(findings, "pcap_flow")
        if finding.attributes["first"]
    ]
    return picture.bars("Top talkers (all bytes)", talkers) + picture.lanes("The largest flows over time", marks)


def _list(finding: Finding, name: str) -> list[Scalar]:
    value = finding.attributes.get(name)
    return value if isinstance(value, list) else []


_LABELS = frozenset({"pcap", "pcapng"})
SECTION = Section(
    skill=Skill(
        name="pcap",
        tool="svc.assistant.skills.pcap.tool:inspect",
        input=InputKind.BINARY,
        title="Traffic",
        can="read packet captures: flows, DNS, HTTP, TLS, remote administration, beacons, scans, open passwords",
        loose_kinds=(*_STANDING_OUT, "pcap_summary", "pcap_talker", "pcap_flow", "pcap_dns", "pcap_indicator"),
        strong=words(
            r"\bpcap(?:ng)?s?\b",
            r"\bpacket captures?\b",
            r"\b(?:network|packet) (?:traffic|capture|dump)s?\b",
            r"\bbeacon\w*",
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
        file_names=words(r".*\.p?cap(?:ng)?\.(?:gz|bz2|xz)"),
        covers=frozenset({"indicators"}),
    ),
    verdict=verdict,
    body=body,
    next_steps=next_steps,
    pictures=pictures,
)
