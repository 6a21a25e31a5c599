"""Sentences, steps and tables about connections, unusual logins, other products' alerts."""

from __future__ import annotations

from collections.abc import Sequence

from svc.assistant.findings import AnyFinding, Finding, Severity, with_facts
from svc.assistant.skills.answer_parts import Fold
from svc.assistant.skills.events.activity_findings import (
    Beaconing,
    BeaconSearch,
    DeniedTraffic,
    NetworkSummary,
    PortScan,
    ProductAlert,
    ProxySummary,
    UnusualLogin,
    hosts_words,
)
from svc.assistant.skills.events.answer_tables import Table, TitledTable, placed_excerpt, time_words, titled_folds
from svc.untrusted.defang import defang_text
from svc.untrusted.markup import code_span, escape, plural

NAMED = 3
COUNTED = 5
_QUIET = (Severity.INFO, Severity.LOW)


def sentences(findings: Sequence[AnyFinding]) -> list[str]:
    """The verdict's sentences about them; none if the log has none of these."""
    said = [*_scan_sentences(findings), *_beacon_sentences(findings), *_alert_sentences(findings)]
    unusual = with_facts(findings, UnusualLogin)
    if unusual:
        shown = "; ".join(escape(finding.title) for finding in unusual[:NAMED])
        said.append(f"{plural(len(unusual), 'unusual login')}: {shown}{_more(len(unusual))}.")
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
    beacons = with_facts(findings, Beaconing)
    if all(finding.severity in _QUIET for finding in beacons):
        quiet = [finding.facts for finding in beacons]
        said += [_search_words(finding.facts, quiet) for finding in with_facts(findings, BeaconSearch)]
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


def _beacon_sentences(findings: Sequence[AnyFinding]) -> list[str]:
    loud = [finding.facts for finding in with_facts(findings, Beaconing) if finding.severity not in _QUIET]
    if not loud:
        return []
    lead = "Possible beaconing" if len(loud) == 1 else f"Possible beaconing of {len(loud):,} pairs"
    return [f"**{lead}**: {'; '.join(map(_beacon_words, loud[:NAMED]))}{_more(len(loud))}."]


def _beacon_words(beacon: Beaconing) -> str:
    port = f" port {beacon.port}" if beacon.port else ""
    program = f" by {code_span(beacon.program, limit=60)}" if beacon.program else ""
    ends = f"{code_span(defang_text(beacon.source))} → {code_span(defang_text(beacon.destination), limit=60)}"
    contacts = f"{beacon.count:,} {beacon.contacts}, jitter {beacon.jitter:.0%}"
    return f"{ends}{port}{program} every {beacon.pause_seconds:,.0f} s ({contacts})"


def _search_words(searched: BeaconSearch, beacons: Sequence[Beaconing]) -> str:
    """What the search for beaconing found, for a log in which nothing stands out."""
    pairs = f"{plural(searched.judged, 'pair')} of hosts with {searched.least} or more contacts"
    if not searched.judged:
        whose = "the one pair" if searched.pairs == 1 else f"each of the {searched.pairs:,} pairs"
        return f"Whether hosts beacon is unknown: {whose} of hosts has fewer than {searched.least} contacts."
    if not searched.regular:
        return f"No beaconing: none of {pairs} made them at nearly equal intervals."
    reasons = list(dict.fromkeys(one.reason for one in beacons if one.reason))
    shown = "; ".join(escape(reason) for reason in reasons[:NAMED])
    return f"Of {pairs}, {searched.regular:,} made them at nearly equal intervals, most likely {shown}."


def _scan_words(scan: PortScan) -> str:
    source = code_span(defang_text(scan.source))
    if scan.shape == "horizontal":
        return f"{source} tried port {scan.tried[0]} on {hosts_words(scan.hosts)} ({plural(scan.attempts, 'attempt')})"
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
    shown = "; ".join(f"{code_span(f.facts.alert, limit=90)} ({_rating(f.facts)})" for f in loud[:NAMED])
    return [f"**{plural(len(loud), 'alert')} rated medium or higher**: {shown}{_more(len(loud))} ({counted})."]


def _rating(alert: ProductAlert) -> str:
    """The rating, attributed to the product if it is known."""
    level = escape(alert.level) or "not rated"
    return f"{escape(alert.product)} rates it {level}" if alert.product else level


def _more(count: int) -> str:
    return f" and {count - NAMED:,} more" if count > NAMED else ""


def steps(findings: Sequence[AnyFinding]) -> list[str]:
    """What to do about them."""
    found = []
    if any(finding.facts.allowed for finding in with_facts(findings, PortScan)):
        found.append("Check the services that the scanner reached: which ports were allowed, and what answered.")
    loud = [finding.facts for finding in with_facts(findings, Beaconing) if finding.severity not in _QUIET]
    if loud:
        ends = f"{code_span(defang_text(loud[0].source))} that contacts {code_span(defang_text(loud[0].destination))}"
        found.append(f"Find the program on {ends}, and other hosts that contact it.")
    if with_facts(findings, UnusualLogin):
        found.append("Ask the users of the unusual logins whether they were theirs.")
    if any(finding.severity not in _QUIET for finding in with_facts(findings, ProductAlert)):
        found.append("Attach the logs behind the alerts: an alert states what the product concluded, not what it saw.")
    return found


def folds(findings: Sequence[AnyFinding]) -> list[Fold]:
    """A fold for each kind of finding that has a table."""
    return titled_folds(_TABLES, findings)


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
            placed_excerpt(finding),
        )
        for finding in findings
        for facts in (finding.facts,)
    ]
    headers = ("Severity", "Source", "Targets", "Hosts", "Ports", "Attempts", "Denied", "Allowed", "First", "Last",
               "Evidence")  # fmt: skip
    return Table(headers=headers, rows=rows)


def _beacons(findings: Sequence[Finding[Beaconing]]) -> Table:
    rows = [
        (
            finding.severity.value,
            code_span(defang_text(facts.source)),
            code_span(defang_text(facts.destination), limit=60),
            f"{facts.port}" if facts.port else "",
            f"{facts.count:,} {facts.contacts}",
            f"{facts.pause_seconds:,.0f} s",
            f"{facts.jitter:.0%}",
            escape(facts.reason) or "—",
            time_words(facts.first),
            time_words(facts.last),
            placed_excerpt(finding),
        )
        for finding in findings
        for facts in (finding.facts,)
    ]
    headers = ("Severity", "Source", "Destination", "Port", "Contacts", "Interval", "Jitter", "Ordinary reason",
               "First", "Last", "Evidence")  # fmt: skip
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
            placed_excerpt(finding),
        )
        for finding in findings
        for facts in (finding.facts,)
    ]
    return Table(
        headers=("Severity", "Source", "Destination", "Denied", "Allowed afterwards", "First", "Evidence"), rows=rows
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
    count = sum(one.facts.connections for one in findings)
    return Table(headers=("Statistic", "Most frequent"), rows=rows, count=count)


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
    return Table(headers=("Statistic", "Hosts"), rows=rows, count=sum(one.facts.requests for one in findings))


def _unusual(findings: Sequence[Finding[UnusualLogin]]) -> Table:
    rows = [
        (
            finding.severity.value,
            code_span(facts.account),
            code_span(defang_text(facts.source)),
            escape(", ".join(facts.reasons)),
            _names(facts.usual_sources),
            time_words(facts.time),
            placed_excerpt(finding),
        )
        for finding in findings
        for facts in (finding.facts,)
    ]
    return Table(headers=("Severity", "Account", "Source", "Reason", "Usual sources", "Time", "Evidence"), rows=rows)


def _alerts(findings: Sequence[Finding[ProductAlert]]) -> Table:
    rows = [
        (
            finding.severity.value,
            code_span(facts.alert, limit=90),
            _rating(facts),
            f"{facts.count:,}",
            _names([*facts.hosts, *facts.users, *facts.addresses]),
            time_words(facts.first),
            placed_excerpt(finding),
        )
        for finding in findings
        for facts in (finding.facts,)
    ]
    return Table(headers=("Severity", "Alert", "Product severity", "Count", "Affected", "First", "Evidence"), rows=rows)


_TABLES: tuple[TitledTable, ...] = (
    (PortScan, ("port scan", "port scans"), _scans),
    (Beaconing, ("regular contact", "regular contacts"), _beacons),
    (DeniedTraffic, ("denied connection", "denied connections"), _denials),
    (UnusualLogin, ("unusual login", "unusual logins"), _unusual),
    (ProductAlert, ("alert of another product", "alerts of other products"), _alerts),
    (NetworkSummary, ("connection", "connections"), _connections),
    (ProxySummary, ("request through the proxy", "requests through the proxy"), _proxy),
)
