"""The tables of the answer about an event log: tactics, timeline, rules, logons, remote access, processes, gaps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from svc.assistant.findings import AnyFinding, Evidence, Facts, Finding, with_facts
from svc.assistant.knowledge.attack_names import attack_name, tactic_name
from svc.assistant.log_readers.login_counting import NO_ACCOUNT
from svc.assistant.log_readers.shown_times import zone_of, zoned
from svc.assistant.log_readers.timestamps import MONTH_NAMES
from svc.assistant.skills.events.findings import (
    EventsSummary,
    EventTactics,
    LogGap,
    Logon,
    LogonAccount,
    LogonSource,
    LogonSuccess,
    ProcessTree,
    RareValue,
    RemoteAccess,
    RuleHit,
    TacticIndicator,
    Timeline,
    TimelineMoment,
    WeakTickets,
)
from svc.assistant.skills.events.rule_hits import RANK
from svc.untrusted.defang import defang_text
from svc.untrusted.markup import code_block, code_span, cut, escape, plural, table

EVIDENCE_CHARS = 140
NAMED = 3  # accounts, hosts or techniques in one cell
TREE_LINES = 60  # of one tree
TREES = 4
TIMELINE_ROWS = 30


def body(findings: Sequence[AnyFinding]) -> str:
    """All tables that have rows, each under its title."""
    return titled_tables(_TABLES, findings)


TitledTable = tuple[type[Facts], str, Callable[[Sequence[Finding[Any]]], str]]


def titled_tables(tables: Sequence[TitledTable], findings: Sequence[AnyFinding]) -> str:
    """Render each table whose facts occur among the findings, under its title."""
    parts: list[str] = []
    for facts, title, render in tables:
        if found := with_facts(findings, facts):
            parts += [f"**{title}**", render(found)]
    return "\n\n".join(parts)


def time_words(value: str | None) -> str:
    """A time as people read it, to the second; one without a year as in a syslog: ``Nov 20 03:12:45``."""
    stamp = value or ""
    if stamp.startswith("--"):
        return f"{MONTH_NAMES[int(stamp[2:4]) - 1]} {stamp[5:7]} {stamp[8:16]}"
    return stamp[:19].replace("T", " ") if stamp else "not stated"


def zone_of_findings(findings: Sequence[AnyFinding]) -> str:
    """The zone of the times of findings, for the headings of their table."""
    names = ("first", "last", "time", "start", "end")
    return zone_of(getattr(finding.facts, name, None) for finding in findings for name in names)


def technique_words(techniques: Sequence[str]) -> str:
    """``T1021.002 Remote Services: SMB/Windows Admin Shares``, the first few."""
    shown = [f"{code_span(one)} {escape(attack_name(one))}".strip() for one in techniques[:NAMED] if one]
    return ", ".join(shown) or "—"


def position(evidence: Evidence) -> str:
    """``record 41`` or ``line 7``."""
    if evidence.record is not None:
        return f"record {evidence.record:,}"
    return f"line {evidence.line:,}" if evidence.line else ""


def _first_evidence(finding: AnyFinding) -> str:
    if not finding.evidence:
        return "—"
    first = finding.evidence[0]
    return f"{code_span(first.source, limit=40)} {position(first)}: {_excerpt(first.excerpt)}"


def _excerpt(excerpt: str) -> str:
    return code_span(excerpt, limit=EVIDENCE_CHARS)


def _name(value: str | None, limit: int = 60) -> str:
    return code_span(value, limit=limit) if value else "—"


def _address(value: str | None, limit: int = 60) -> str:
    return code_span(defang_text(value), limit=limit) if value else "—"


def _names(values: Sequence[str]) -> str:
    """The first names."""
    shown = ", ".join(_address(value or NO_ACCOUNT, 40) for value in values[:NAMED])
    return f"{shown}{' …' if len(values) > NAMED else ''}" or "—"


def _counted(values: Sequence[tuple[str, int]]) -> str:
    """The first names with their counts."""
    shown = ", ".join(f"{_address(value or NO_ACCOUNT, 40)} {count:,}" for value, count in values[:NAMED])
    return f"{shown}{' …' if len(values) > NAMED else ''}" or "—"


def _tactics(findings: Sequence[Finding[EventTactics]]) -> str:
    rows = [_tactic_row(finding, indicator) for finding in findings for indicator in finding.facts.indicators]
    zone = zone_of(indicator.first for finding in findings for indicator in finding.facts.indicators)
    headers = ("Tactic", "Technique", "Rule or fact", "Severity", "Count", zoned("First", zone), "Evidence")
    return table(headers, rows)


def _tactic_row(finding: Finding[EventTactics], indicator: TacticIndicator) -> tuple[str, ...]:
    source = finding.evidence[0].source if finding.evidence else ""
    has_records = bool(finding.evidence and finding.evidence[0].record is not None)
    at = f"{'record' if has_records else 'line'} {'' if indicator.number is None else indicator.number}"
    return (
        escape(tactic_name(indicator.tactic)),
        technique_words(indicator.techniques),
        _name(indicator.what, 90),
        indicator.severity.value,
        f"{indicator.count:,}",
        time_words(indicator.first),
        f"{code_span(source, limit=40)} {at}: {_excerpt(indicator.excerpt)}",
    )


def _timeline(findings: Sequence[Finding[Timeline]]) -> str:
    rows = [
        (
            time_words(moment.time), moment.severity.value, _address(moment.host, 40), _name(moment.what, 80),
            str(moment.count), "" if moment.number is None else str(moment.number), _excerpt(moment.excerpt),
        )
        for finding in findings for moment in _most_severe(finding.facts.moments)
    ]  # fmt: skip
    total = sum(len(finding.facts.moments) for finding in findings)
    zone = zone_of(moment.time for finding in findings for moment in finding.facts.moments)
    headers = (zoned("Time", zone), "Severity", "Host", "What", "Count", "Record or line", "Evidence")
    shown = table(headers, rows, limit=TIMELINE_ROWS)
    return shown + (f"\n\nThe {TIMELINE_ROWS} most severe of {total:,} moments." if total > TIMELINE_ROWS else "")


def _most_severe(moments: Sequence[TimelineMoment]) -> list[TimelineMoment]:
    """The TIMELINE_ROWS most severe moments, still in chronological order."""
    worst = sorted(range(len(moments)), key=lambda index: RANK[moments[index].severity])[:TIMELINE_ROWS]
    return [moments[index] for index in sorted(worst)]


def _rules(findings: Sequence[Finding[RuleHit]]) -> str:
    zone = zone_of_findings(findings)
    rows = [
        (
            finding.severity.value, _name(finding.title, 90),
            ", ".join(escape(tactic_name(one)) for one in finding.facts.tactics) or "—",
            technique_words(finding.techniques), f"{finding.facts.count:,}", time_words(finding.facts.first),
            _names(finding.facts.hosts), escape(finding.facts.author or "not stated"), _name(finding.facts.license),
        )
        for finding in findings
    ]  # fmt: skip
    headers = (
        "Severity", "Rule", "Tactics", "Techniques", "Matches", zoned("First", zone), "Hosts", "Author", "Licence",
    )  # fmt: skip
    return table(headers, rows)


def _successes(findings: Sequence[Finding[LogonSuccess]]) -> str:
    zone = zone_of_findings(findings)
    rows = [
        (
            finding.severity.value, _name(finding.facts.account), _address(finding.facts.source),
            time_words(finding.facts.time), f"{finding.facts.record:,}", escape(finding.facts.logon_type),
            f"{finding.facts.streak:,}", f"{finding.facts.account_failures_before:,}",
        )
        for finding in findings
    ]  # fmt: skip
    headers = (
        "Severity", "Account", "Source", zoned("Logged on", zone), "Record or line", "Logon type", "Preceding failures",
        "Failures (account)",
    )  # fmt: skip
    return table(headers, rows)


def _sources(findings: Sequence[Finding[LogonSource]]) -> str:
    zone = zone_of_findings(findings)
    rows = [
        (
            _address(facts.source), f"{facts.failures:,}",
            f"{facts.accounts:,}: {_counted([(row.account, row.failures) for row in facts.by_account])}",
            time_words(facts.first), time_words(facts.last),
            "—" if facts.per_minute is None else str(facts.per_minute), escape(", ".join(facts.logon_types[:NAMED])),
            escape(", ".join(row.reason for row in facts.by_reason[:NAMED])), facts.pattern.value,
            _names(facts.success_accounts),
        )
        for facts in (finding.facts for finding in findings)
    ]  # fmt: skip
    headers = (
        "Source", "Failures", "Accounts", zoned("First", zone), zoned("Last", zone), "Rate/min", "Logon type",
        "Reason", "Pattern", "Logged on",
    )  # fmt: skip
    return table(headers, rows)


def _accounts(findings: Sequence[Finding[LogonAccount]]) -> str:
    zone = zone_of_findings(findings)
    rows = [
        (
            _name(facts.account or NO_ACCOUNT), f"{facts.failures:,}",
            f"{facts.sources:,}: {_counted([(row.source, row.failures) for row in facts.by_source])}",
            time_words(facts.first), time_words(facts.last), "yes" if facts.is_brute_forced else "no",
            f"{facts.lockouts:,}", _names(facts.success_sources),
        )
        for facts in (finding.facts for finding in findings)
    ]  # fmt: skip
    headers = (
        "Account", "Failures", "Sources", zoned("First", zone), zoned("Last", zone), "Brute force",
        "Lockouts", "Logged on from",
    )  # fmt: skip
    return table(headers, rows)


def _tickets(findings: Sequence[Finding[WeakTickets]]) -> str:
    zone = zone_of_findings(findings)
    rows = [
        (
            _name(finding.facts.account), _address(finding.facts.source), f"{finding.facts.count:,}",
            _names(finding.facts.services), time_words(finding.facts.first), _first_evidence(finding),
        )
        for finding in findings
    ]  # fmt: skip
    return table(("Account", "Source", "Requests", "Services", zoned("First", zone), "Evidence"), rows)


def _logons(findings: Sequence[Finding[Logon]]) -> str:
    zone = zone_of_findings(findings)
    rows = [
        (
            _name(facts.account), escape(facts.type_words), _address(facts.source), _address(facts.host),
            f"{facts.count:,}", time_words(facts.first), time_words(facts.last), f"{facts.failures_before:,}",
            "yes" if facts.is_privileged else "no",
        )
        for facts in (finding.facts for finding in findings)
    ]  # fmt: skip
    headers = (
        "Account", "Logon type", "Source", "Host", "Count", zoned("First", zone), zoned("Last", zone),
        "Preceding failures", "Privileged",
    )  # fmt: skip
    return table(headers, rows, limit=15)


def _remote(findings: Sequence[Finding[RemoteAccess]]) -> str:
    zone = zone_of_findings(findings)
    rows = [
        (
            escape(finding.facts.way), _name(finding.facts.detail), _name(finding.facts.account),
            _address(finding.facts.source), _address(finding.facts.host), f"{finding.facts.count:,}",
            time_words(finding.facts.first), _first_evidence(finding),
        )
        for finding in findings
    ]  # fmt: skip
    headers = ("Method", "Detail", "Account", "Source", "Host", "Count", zoned("First", zone), "Evidence")
    return table(headers, rows, limit=15)


def _trees(findings: Sequence[Finding[ProcessTree]]) -> str:
    blocks = []
    for facts in (finding.facts for finding in findings[:TREES]):
        lead = f"{plural(facts.processes, 'process', 'processes')} on {_address(facts.host, 40)}"
        lead += f", {facts.flagged:,} of them flagged by rules:" if facts.flagged else ":"
        blocks += [lead, code_block("\n".join(_tree_lines(facts)), limit=12_000)]
    if len(findings) > TREES:
        blocks.append(f"… and {len(findings) - TREES:,} more trees (in the findings).")
    return "\n\n".join(blocks)


def _tree_lines(tree: ProcessTree) -> list[str]:
    lines = []
    for node in tree.nodes[:TREE_LINES]:
        branch = f"{'  ' * (min(node.depth, 20) - 1)}└─ " if node.depth else ""
        clock = f" {node.time[11:19]}" if node.time else " (before the log)"
        mark = f"   ◄ {node.severity}: {'; '.join(node.rules)}" if node.rules else ""
        lines.append(f"{branch}{cut(node.command or node.image or '?', 160)}  [{node.pid}]{clock}{mark}")
    return lines


def _gaps(findings: Sequence[Finding[LogGap]]) -> str:
    zone = zone_of_findings(findings)
    rows = [
        (finding.severity.value, finding.facts.gap, escape(finding.title), time_words(finding.facts.start),
         time_words(finding.facts.end), escape(finding.why), _first_evidence(finding))
        for finding in findings
    ]  # fmt: skip
    headers = ("Severity", "Gap", "What", zoned("Start", zone), zoned("End", zone), "Why", "Evidence")
    return table(headers, rows, limit=12)


def _rare(findings: Sequence[Finding[RareValue]]) -> str:
    zone = zone_of_findings(findings)
    rows = [
        (escape(finding.facts.what), _name(finding.facts.value, 100),
         f"{finding.facts.count:,} of {finding.facts.total:,}", time_words(finding.facts.first),
         _first_evidence(finding))
        for finding in findings
    ]  # fmt: skip
    return table(("Type", "Value", "Count", zoned("First", zone), "Evidence"), rows, limit=15)


def _summaries(findings: Sequence[Finding[EventsSummary]]) -> str:
    blocks = []
    for facts in (finding.facts for finding in findings):
        rows = [
            (
                _name(row.log, 60),
                "—" if row.id is None else str(row.id),
                escape(row.meaning) or "—",
                f"{row.count:,}",
            )
            for row in facts.by_kind
        ]
        period = f"{time_words(facts.first)} to {time_words(facts.last)}{period_zone(facts)}"
        hosts = _counted([(row.host, row.count) for row in facts.by_host])
        accounts = _counted([(row.account, row.count) for row in facts.by_account])
        lead = (
            f"Read {plural(facts.events, 'event')} ({escape(facts.form)}) from {period}; hosts: {hosts}; "
            f"accounts: {accounts}. {plural(facts.rules, 'rule')} ran, {facts.applicable_rules:,} of them apply to it."
        )
        blocks += [lead, table(("Log", "ID", "Meaning", "Events"), rows, limit=15)]
    return "\n\n".join(blocks)


def period_zone(facts: EventsSummary) -> str:
    """`` UTC`` or `` (zone not stated)``, to follow the period of a log."""
    if not facts.first:
        return ""
    return " UTC" if (facts.last or "").endswith("Z") else " (zone not stated)"


_TABLES: tuple[TitledTable, ...] = (
    (EventTactics, "Tactics", _tactics),
    (Timeline, "Timeline", _timeline),
    (RuleHit, "Rules that matched", _rules),
    (LogonSuccess, "Logon after failures", _successes),
    (Logon, "Accepted logons", _logons),
    (LogonSource, "Failed logons by source", _sources),
    (LogonAccount, "Failed logons by account", _accounts),
    (WeakTickets, "Kerberos tickets with weak encryption", _tickets),
    (RemoteAccess, "Remote access", _remote),
    (ProcessTree, "Processes", _trees),
    (LogGap, "Log gaps", _gaps),
    (RareValue, "Rare values", _rare),
    (EventsSummary, "What was read", _summaries),
)
