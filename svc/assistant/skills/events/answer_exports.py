"""Sentences, steps and tables about connections, unusual logins, other products' alerts and notable actions."""

from __future__ import annotations

from collections.abc import Sequence

from svc.assistant.findings import AnyFinding, Finding, Severity, with_facts
from svc.assistant.skills.answer_parts import Fold
from svc.assistant.skills.events.activity_findings import (
    DeniedTraffic,
    NetworkSummary,
    NotableAction,
    PortScan,
    ProductAlert,
    ProxySummary,
    UnusualLogin,
)
from svc.assistant.skills.events.answer_tables import Table, TitledTable, position, time_words, titled_folds
from svc.untrusted.defang import defang_text
from svc.untrusted.markup import code_span, escape, plural

NAMED = 3
COUNTED = 5
_QUIET = (Severity.INFO, Severity.LOW)


def sentences(findings: Sequence[AnyFinding]) -> list[str]:
    """The verdict's sentences about them; none if the log has none of these."""
    said = [*_scan_sentences(findings), *_alert_sentences(findings)]
    unusual = with_facts(findings, UnusualLogin)
    if unusual:
        shown = "; ".join(escape(finding.title) for finding in unusual[:NAMED])
        said.append(f"{plural(len(unusual), 'unusual login')}: {shown}{_more(len(unusual))}.")
    actions = with_facts(findings, NotableAction)
    if actions:
        shown = "; ".join(escape(finding.title) for finding in actions[:NAMED])
        said.append(f"{plural(len(actions), 'notable action')}: {shown}{_more(len(actions))}.")
    return said


def figures(findings: Sequence[AnyFinding]) -> list[str]:
    """Sentences that count connections and requests, whatever was found in them."""
    said = []
    scanned = "" if with_facts(findings, PortScan) else "; no port scan among them"
    for traffic in (finding.facts for finding in with_facts(findings, NetworkSummary)):
        counted = f"{plural(traffic.connections, 'connection')} from {plural(traffic.sources, 'address', 'addresses')}"
        said.append(f"{counted}, {traffic.denied:,} denied or unanswered{scanned}.")
    for proxy in (finding.facts for finding in with_facts(findings, ProxySummary)):
        requests = f"{plural(proxy.requests, 'request')} to {plural(proxy.hosts, 'host')}"
        rare = f"; requested once: {_names(proxy.once[:NAMED])}{_more(len(proxy.once))}" if proxy.once else ""
        said.append(f"{requests}, {proxy.refused:,} refused{rare}.")
    return said


def _scan_sentences(findings: Sequence[AnyFinding]) -> list[str]:
    scans = [finding.facts for finding in with_facts(findings, PortScan)]
    through = [finding for finding in with_facts(findings, DeniedTraffic) if finding.facts.allowed_port is not None]
    said = []
    if scans:
        lead = "Port scan" if len(scans) == 1 else f"{len(scans):,} port scans"
        said.append(f"**{lead}**: {'; '.join(map(_scan_words, scans[:NAMED]))}{_more(len(scans))}.")
    if through:
        shown = "; ".join(escape(defang_text(finding.title)) for finding in through[:NAMED])
        said.append(f"**Allowed after denials**: {shown}{_more(len(through))}.")
    return said


def _scan_words(scan: PortScan) -> str:
    source = code_span(defang_text(scan.source))
    if scan.shape == "horizontal":
        return (
            f"{source} tried port {scan.tried[0]} on {plural(scan.hosts, 'host')} ({plural(scan.attempts, 'attempt')})"
        )
    target = code_span(defang_text(scan.targets[0]))
    more = f" and of {scan.hosts - 1:,} more" if scan.hosts > 1 else ""
    allowed = f", {scan.allowed:,} allowed" if scan.allowed else ""
    return f"{source} tried {scan.ports:,} ports of {target}{more} ({plural(scan.attempts, 'attempt')}{allowed})"


def _alert_sentences(findings: Sequence[AnyFinding]) -> list[str]:
    alerts = with_facts(findings, ProductAlert)
    if not alerts:
        return []
    loud = [finding for finding in alerts if finding.severity not in _QUIET]
    counted = f"{sum(finding.facts.count for finding in alerts):,} alerts of other products, {len(alerts):,} different"
    if not loud:
        return [f"{counted}; none is rated medium or higher."]
    shown = "; ".join(f"{code_span(f.facts.alert, limit=90)} ({escape(f.facts.level)})" for f in loud[:NAMED])
    return [f"**{plural(len(loud), 'alert')} rated medium or higher**: {shown}{_more(len(loud))} ({counted})."]


def _more(count: int) -> str:
    return f" and {count - NAMED:,} more" if count > NAMED else ""


def steps(findings: Sequence[AnyFinding]) -> list[str]:
    """What to do about them."""
    found = []
    if any(finding.facts.allowed for finding in with_facts(findings, PortScan)):
        found.append("Check the services that the scanner reached: which ports were allowed, and what answered.")
    if with_facts(findings, UnusualLogin):
        found.append("Ask the users of the unusual logins whether they were theirs.")
    if any(finding.severity not in _QUIET for finding in with_facts(findings, ProductAlert)):
        found.append("Attach the logs behind the alerts: an alert states what the product concluded, not what it saw.")
    if with_facts(findings, NotableAction):
        found.append("Confirm the notable actions with the owners of the accounts and that day's change tickets.")
    return found


def folds(findings: Sequence[AnyFinding]) -> list[Fold]:
    """A fold for each kind of finding that has a table."""
    return titled_folds(_TABLES, findings)


def _place(finding: AnyFinding) -> str:
    if not finding.evidence:
        return ""
    first = finding.evidence[0]
    return f"{position(first)}: {code_span(first.excerpt, limit=140)}"


def _names(values: Sequence[str]) -> str:
    return ", ".join(code_span(defang_text(value), limit=60) for value in values[:COUNTED]) or "—"


def _scans(findings: Sequence[Finding[PortScan]]) -> Table:
    rows = [
        (
            finding.severity.value,
            code_span(defang_text(facts.source)),
            _names(facts.targets),
            f"{facts.hosts:,}",
            f"{facts.ports:,}",
            f"{facts.attempts:,}",
            f"{facts.denied:,}",
            f"{facts.allowed:,}",
            time_words(facts.first),
            time_words(facts.last),
            _place(finding),
        )
        for finding in findings
        for facts in (finding.facts,)
    ]
    headers = ("Severity", "Source", "Targets", "Hosts", "Ports", "Attempts", "Denied", "Allowed", "First", "Last",
               "Evidence")  # fmt: skip
    return Table(headers=headers, rows=rows)


def _denials(findings: Sequence[Finding[DeniedTraffic]]) -> Table:
    rows = [
        (
            finding.severity.value,
            code_span(defang_text(facts.source)),
            code_span(defang_text(facts.destination)),
            f"{facts.denied:,}",
            "—" if facts.allowed_port is None else f"port {facts.allowed_port} at {time_words(facts.allowed_time)}",
            time_words(facts.first),
            _place(finding),
        )
        for finding in findings
        for facts in (finding.facts,)
    ]
    return Table(
        headers=("Severity", "Source", "Destination", "Denied", "Allowed after that", "First", "Evidence"), rows=rows
    )


def _connections(findings: Sequence[Finding[NetworkSummary]]) -> Table:
    rows = [
        row
        for facts in (finding.facts for finding in findings)
        for row in (
            ("Busiest sources", ", ".join(
                f"{code_span(defang_text(one.address))} {one.count:,} ({one.denied:,} denied)"
                for one in facts.by_source[:COUNTED])),
            ("Most tried ports", ", ".join(f"{one.port} ({one.count:,})" for one in facts.by_port[:COUNTED])),
        )
        if row[1]
    ]  # fmt: skip
    return Table(headers=("What", "Most frequent"), rows=rows, count=sum(one.facts.connections for one in findings))


def _proxy(findings: Sequence[Finding[ProxySummary]]) -> Table:
    rows = [
        row
        for facts in (finding.facts for finding in findings)
        for row in (
            ("Most requested hosts", ", ".join(
                f"{code_span(defang_text(one.host) or '-')} {one.count:,}" for one in facts.by_host[:COUNTED])),
            ("Requested once", _names(facts.once)),
        )
    ]  # fmt: skip
    return Table(headers=("What", "Hosts"), rows=rows, count=sum(one.facts.requests for one in findings))


def _unusual(findings: Sequence[Finding[UnusualLogin]]) -> Table:
    rows = [
        (
            finding.severity.value,
            code_span(facts.account),
            code_span(defang_text(facts.source)),
            escape(", ".join(facts.reasons)),
            _names(facts.usual_sources),
            time_words(facts.time),
            _place(finding),
        )
        for finding in findings
        for facts in (finding.facts,)
    ]
    return Table(headers=("Severity", "Account", "Source", "Why", "Usual sources", "Time", "Evidence"), rows=rows)


def _alerts(findings: Sequence[Finding[ProductAlert]]) -> Table:
    rows = [
        (
            finding.severity.value,
            code_span(facts.alert, limit=90),
            escape(facts.level) or "—",
            f"{facts.count:,}",
            _names([*facts.hosts, *facts.users, *facts.addresses]),
            time_words(facts.first),
            _place(finding),
        )
        for finding in findings
        for facts in (finding.facts,)
    ]
    return Table(headers=("Severity", "Alert", "Rated", "Count", "Affected", "First", "Evidence"), rows=rows)


def _actions(findings: Sequence[Finding[NotableAction]]) -> Table:
    rows = [
        (
            finding.severity.value,
            escape(facts.what),
            code_span(facts.action, limit=80),
            code_span(facts.account, limit=60),
            _names(facts.targets),
            _names(facts.addresses),
            facts.outcome or "not stated",
            f"{facts.count:,}",
            time_words(facts.first),
            _place(finding),
        )
        for finding in findings
        for facts in (finding.facts,)
    ]
    headers = ("Severity", "What", "Action", "Account", "Target", "Source", "Outcome", "Count", "First", "Evidence")
    return Table(headers=headers, rows=rows)


_TABLES: tuple[TitledTable, ...] = (
    (PortScan, ("port scan", "port scans"), _scans),
    (DeniedTraffic, ("denied connection", "denied connections"), _denials),
    (UnusualLogin, ("unusual login", "unusual logins"), _unusual),
    (ProductAlert, ("alert of another product", "alerts of other products"), _alerts),
    (NotableAction, ("notable action", "notable actions"), _actions),
    (NetworkSummary, ("connection", "connections"), _connections),
    (ProxySummary, ("request through the proxy", "requests through the proxy"), _proxy),
)
