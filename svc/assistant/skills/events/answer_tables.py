"""The tables of the answer about an event log: rules, logons, remote access, processes, gaps, kinds of events."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from svc.assistant.findings import AnyFinding, Evidence, Facts, Finding, with_facts
from svc.assistant.knowledge.attack_names import attack_name, tactic_name
from svc.assistant.log_readers.login_counting import NO_ACCOUNT
from svc.assistant.log_readers.shown_times import zone_of, zoned
from svc.assistant.log_readers.timestamps import MONTH_NAMES
from svc.assistant.skills.answer_parts import Fold, fold_of
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
    WeakTickets,
)
from svc.untrusted.defang import defang_text
from svc.untrusted.markup import code_block, code_span, cut, escape, plural

EVIDENCE_CHARS = 140
NAMED = 3  # accounts, hosts or techniques in one cell
TREE_LINES = 60  # of one tree
TREES = 4


def folds(findings: Sequence[AnyFinding]) -> list[Fold]:
    """A fold for each kind of finding that has a table."""
    return [*titled_folds(_TABLES, findings), *_trees_fold(findings)]


def rules_fold(findings: Sequence[AnyFinding]) -> Fold | None:
    """The rules that matched, and the facts that point to a tactic and are no rule, each with its first event."""
    hits, tactics = with_facts(findings, RuleHit), with_facts(findings, EventTactics)
    zone = zone_of_findings(hits)
    named = {hit.title for hit in hits}
    signs = [(one, sign) for one in tactics for sign in one.facts.indicators if sign.what not in named]
    rows = [_rule_row(hit) for hit in hits] + [_sign_row(one, sign) for one, sign in signs]
    has_hosts = any(name for hit in hits for name in hit.facts.hosts) or not any(hit.facts.accounts for hit in hits)
    where = "Hosts" if has_hosts else "Accounts"
    headers = (
        "Severity", "Rule or indicator", "Tactics", "Techniques", "Matches", zoned("First", zone), where, "Evidence",
    )  # fmt: skip
    if not rows:
        return None
    signed = plural(len(rows), "sign of a tactic", "signs of tactics")
    title = f"{plural(len(hits), 'rule')} that matched" if hits else signed
    if hits and signs:
        title += f", {plural(len(signs), 'other sign of a tactic', 'other signs of tactics')}"
    return Fold(title=title, headers=headers, rows=rows, text=_authors(hits))


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """A table of findings. ``count`` is what its rows stand for if it is not their number."""

    headers: Sequence[str]
    rows: Sequence[Sequence[str]]
    count: int | None = None


TitledTable = tuple[type[Facts], tuple[str, str], Callable[[Sequence[Finding[Any]]], Table | str]]
"""The facts, what one and several of the rows are called, and the table; a text has no rows to count."""


def titled_folds(tables: Sequence[TitledTable], findings: Sequence[AnyFinding]) -> list[Fold]:
    """Render each table whose facts occur among the findings as a fold, with the number of its rows."""
    made = []
    for facts, (one, many), render in tables:
        if found := with_facts(findings, facts):
            match render(found):
                case Table(headers=headers, rows=rows, count=count):
                    title = plural(len(rows) if count is None else count, one, many)
                    made.append(Fold(title=title, headers=headers, rows=rows))
                case str(text):
                    made.append(fold_of(many, text))
    return made


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


def placed_excerpt(finding: AnyFinding) -> str:
    """Where the first evidence is and what it says; "" if there is none."""
    if not finding.evidence:
        return ""
    first = finding.evidence[0]
    return f"{position(first)}: {code_span(first.excerpt, limit=140)}"


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


def _rule_row(finding: Finding[RuleHit]) -> tuple[str, ...]:
    facts = finding.facts
    return (
        finding.severity.value,
        _name(finding.title, 90),
        ", ".join(escape(tactic_name(one)) for one in facts.tactics) or "—",
        technique_words(finding.techniques),
        f"{facts.count:,}",
        time_words(facts.first),
        _names(facts.hosts if any(facts.hosts) else facts.accounts or facts.hosts),
        _first_evidence(finding),
    )


def _authors(hits: Sequence[Finding[RuleHit]]) -> str:
    """Who wrote the rules, and their licences, which ask for that."""
    rights = dict.fromkeys(
        f"{escape(hit.facts.author or 'an unknown author')} ({_name(hit.facts.license)})" for hit in hits
    )
    return f"Rules by {', '.join(rights)}." if rights else ""


def _sign_row(finding: Finding[EventTactics], sign: TacticIndicator) -> tuple[str, ...]:
    source = finding.evidence[0].source if finding.evidence else ""
    has_records = bool(finding.evidence and finding.evidence[0].record is not None)
    at = f"{'record' if has_records else 'line'} {'' if sign.number is None else f'{sign.number:,}'}"
    return (
        sign.severity.value,
        _name(sign.what, 90),
        escape(tactic_name(sign.tactic)),
        technique_words(sign.techniques),
        f"{sign.count:,}",
        time_words(sign.first),
        "—",
        f"{code_span(source, limit=40)} {at}: {_excerpt(sign.excerpt)}",
    )


def _successes(findings: Sequence[Finding[LogonSuccess]]) -> Table:
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
        "Severity", "Account", "Source", zoned("Logon time", zone), "Record or line", "Logon type",
        "Preceding failures", "Failures (account)",
    )  # fmt: skip
    return Table(headers=headers, rows=rows)


def _sources(findings: Sequence[Finding[LogonSource]]) -> Table:
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
    return Table(headers=headers, rows=rows)


def _accounts(findings: Sequence[Finding[LogonAccount]]) -> Table:
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
    return Table(headers=headers, rows=rows)


def _tickets(findings: Sequence[Finding[WeakTickets]]) -> Table:
    zone = zone_of_findings(findings)
    rows = [
        (
            _name(finding.facts.account), _address(finding.facts.source), f"{finding.facts.count:,}",
            _names(finding.facts.services), time_words(finding.facts.first), _first_evidence(finding),
        )
        for finding in findings
    ]  # fmt: skip
    return Table(headers=("Account", "Source", "Requests", "Services", zoned("First", zone), "Evidence"), rows=rows)


def _logons(findings: Sequence[Finding[Logon]]) -> Table:
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
    return Table(headers=headers, rows=rows)


def _remote(findings: Sequence[Finding[RemoteAccess]]) -> Table:
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
    return Table(headers=headers, rows=rows)


def _trees_fold(findings: Sequence[AnyFinding]) -> list[Fold]:
    trees = with_facts(findings, ProcessTree)
    if not trees:
        return []
    count = plural(sum(tree.facts.processes for tree in trees), "process", "processes")
    return [fold_of(f"{count} in {plural(len(trees), 'tree')}", _trees(trees))]


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


def _gaps(findings: Sequence[Finding[LogGap]]) -> Table:
    zone = zone_of_findings(findings)
    rows = [
        (finding.severity.value, finding.facts.gap, escape(finding.title), time_words(finding.facts.start),
         time_words(finding.facts.end), escape(finding.why), _first_evidence(finding))
        for finding in findings
    ]  # fmt: skip
    headers = ("Severity", "Type", "Gap", zoned("Start", zone), zoned("End", zone), "Reason", "Evidence")
    return Table(headers=headers, rows=rows)


def _rare(findings: Sequence[Finding[RareValue]]) -> Table:
    zone = zone_of_findings(findings)
    rows = [
        (escape(finding.facts.what), _name(finding.facts.value, 100),
         f"{finding.facts.count:,} of {finding.facts.total:,}", time_words(finding.facts.first),
         _first_evidence(finding))
        for finding in findings
    ]  # fmt: skip
    return Table(headers=("Type", "Value", "Count", zoned("First", zone), "Evidence"), rows=rows)


def _summaries(findings: Sequence[Finding[EventsSummary]]) -> Table:
    rows = [
        (
            _name(row.log, 60),
            "—" if row.id is None else str(row.id),
            escape(row.meaning) or "—",
            f"{row.count:,}",
        )
        for finding in findings
        for row in finding.facts.by_kind
    ]
    return Table(headers=("Log", "ID", "Meaning", "Events"), rows=rows, count=sum(one.facts.kinds for one in findings))


def period_zone(facts: EventsSummary) -> str:
    """`` UTC`` or `` (zone not stated)``, to follow the period of a log."""
    if not facts.first:
        return ""
    return " UTC" if (facts.last or "").endswith("Z") else " (zone not stated)"


_TABLES: tuple[TitledTable, ...] = (
    (LogonSuccess, ("logon after failures", "logons after failures"), _successes),
    (Logon, ("accepted logon", "accepted logons"), _logons),
    (LogonSource, ("source of failed logons", "sources of failed logons"), _sources),
    (LogonAccount, ("account with failed logons", "accounts with failed logons"), _accounts),
    (WeakTickets, ("request for tickets with weak encryption", "requests for tickets with weak encryption"), _tickets),
    (RemoteAccess, ("remote access", "ways of remote access"), _remote),
    (LogGap, ("gap in the log", "gaps in the log"), _gaps),
    (RareValue, ("rare value", "rare values"), _rare),
    (EventsSummary, ("kind of event", "kinds of events"), _summaries),
)
