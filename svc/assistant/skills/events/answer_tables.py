"""The tables of the answer about an event log: tactics, moments, rules, logons, ways in, processes, gaps.

Kinds: ``tools/events.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from svc.assistant.findings import LooseFinding as Finding
from svc.assistant.findings import Scalar
from svc.assistant.knowledge.attack_names import attack_name, tactic_name
from svc.assistant.log_readers.timestamps import MONTH_NAMES
from svc.untrusted.markup import code_block, code_span, cut, defang, escape, plural, table

EVIDENCE_CHARS = 140
NAMED = 3  # accounts, hosts or techniques in one cell
TREE_LINES = 60  # of one tree
TREES = 4
TIMELINE_ROWS = 30


def body(findings: Sequence[Finding]) -> str:
    """All tables, each where there is something for it."""
    parts: list[str] = []
    for kind, title, show in _TABLES:
        if mine := of_kind(findings, kind):
            parts += [f"**{title}**", show(mine)] if title else [show(mine)]
    return "\n\n".join(parts)


def of_kind(findings: Sequence[Finding], kind: str) -> list[Finding]:
    """The findings of one kind, in their order."""
    return [finding for finding in findings if finding.kind == kind]


def number(finding: Finding, name: str) -> int:
    """An attribute that is a count; 0 where it is none."""
    value = finding.attributes.get(name)
    return int(value) if isinstance(value, int | float) else 0


def texts(finding: Finding, name: str) -> list[str]:
    """An attribute that is a list, as texts."""
    value = finding.attributes.get(name)
    return ["" if item is None else str(item) for item in value] if isinstance(value, list) else []


def text(finding: Finding, name: str) -> str:
    """An attribute as text; "" for None."""
    value = finding.attributes.get(name)
    return "" if value is None else str(value)


def time_words(value: Scalar) -> str:
    """A time as people read it, to the second."""
    stamp = str(value or "")
    if stamp.startswith("--"):  # a syslog's, without a year
        return f"{MONTH_NAMES[int(stamp[2:4]) - 1]} {stamp[5:7]} {stamp[8:16]}"
    return stamp[:19].replace("T", " ") if stamp else "not stated"


def technique_words(techniques: Sequence[str]) -> str:
    """``T1021.002 Remote Services: SMB/Windows Admin Shares``, the first few."""
    shown = [f"{code_span(one)} {escape(attack_name(one))}".strip() for one in techniques[:NAMED] if one]
    return ", ".join(shown) or "—"


def _where(finding: Finding) -> str:
    if not finding.evidence:
        return "—"
    first = finding.evidence[0]
    place = f"record {first.record:,}" if first.record is not None else f"line {first.line:,}" if first.line else ""
    return f"{code_span(first.source, limit=40)} {place}: {_excerpt(first.excerpt)}"


def _excerpt(excerpt: str) -> str:
    return code_span(excerpt, limit=EVIDENCE_CHARS)


def _name(value: str, limit: int = 60) -> str:
    return code_span(value, limit=limit) if value else "—"


def _address(value: str, limit: int = 60) -> str:
    return code_span(defang(value), limit=limit) if value else "—"


def _names(values: Sequence[str], counts: Sequence[str] = ()) -> str:
    """The first names, with their counts where there are some."""
    pairs = [(value, counts[place] if place < len(counts) else "") for place, value in enumerate(values[:NAMED])]
    shown = ", ".join(f"{_address(value or '(not named)', 40)}{f' {count}' if count else ''}" for value, count in pairs)
    return f"{shown}{' …' if len(values) > NAMED else ''}" or "—"


def _tactics(findings: Sequence[Finding]) -> str:
    rows = []
    for finding in findings:
        source = finding.evidence[0].source if finding.evidence else ""
        has_records = bool(finding.evidence and finding.evidence[0].record is not None)
        columns = [
            texts(finding, f"row_{name}")
            for name in ("tactics", "techniques", "whats", "severities", "counts", "firsts", "numbers", "excerpts")
        ]
        for tactic, techniques, what, severity, count, first, place, excerpt in zip(*columns, strict=False):
            where = f"{code_span(source, limit=40)} {'record' if has_records else 'line'} {place}: {_excerpt(excerpt)}"
            rows.append(
                (
                    escape(tactic_name(tactic)), technique_words([one for one in techniques.split(", ") if one]),
                    _name(what, 90), severity, f"{int(count):,}", time_words(first), where,
                )
            )  # fmt: skip
    return table(("Tactic", "Technique", "Rule or fact", "Severity", "Count", "First (UTC)", "Evidence"), rows)


def _timeline(findings: Sequence[Finding]) -> str:
    rows = []
    for finding in findings:
        columns = [
            texts(finding, name) for name in ("times", "severities", "hosts", "whats", "counts", "numbers", "excerpts")
        ]
        moments = list(zip(*columns, strict=False))
        if len(moments) > TIMELINE_ROWS:  # the worst of them, still in time
            order = ["critical", "high", "medium", "low", "info"]
            worst = sorted(range(len(moments)), key=lambda place: order.index(moments[place][1]))[:TIMELINE_ROWS]
            moments = [moments[place] for place in sorted(worst)]
        rows += [
            (time_words(time), severity, _address(host, 40), _name(what, 80), count, place, _excerpt(excerpt))
            for time, severity, host, what, count, place, excerpt in moments
        ]
    total = sum(len(texts(finding, "times")) for finding in findings)
    shown = table(
        ("Time (UTC)", "Severity", "Host", "What", "Times", "Record or line", "Evidence"), rows, limit=TIMELINE_ROWS
    )
    return shown + (f"\n\nThe worst {TIMELINE_ROWS} of {total:,} moments." if total > TIMELINE_ROWS else "")


def _rules(findings: Sequence[Finding]) -> str:
    rows = [
        (
            f.severity.value, _name(f.title, 90),
            ", ".join(escape(tactic_name(one)) for one in texts(f, "tactics")) or "—",
            technique_words(f.techniques), f"{number(f, 'count'):,}", time_words(text(f, "first")),
            _names(texts(f, "hosts")), escape(text(f, "author") or "not stated"), _name(text(f, "license")),
        )
        for f in findings
    ]  # fmt: skip
    headers = ("Severity", "Rule", "Tactics", "Techniques", "Matches", "First (UTC)", "Hosts", "Author", "Licence")
    return table(headers, rows)


def _successes(findings: Sequence[Finding]) -> str:
    rows = [
        (
            f.severity.value, _name(text(f, "account")), _address(text(f, "source")), time_words(text(f, "time")),
            f"{number(f, 'record'):,}", escape(text(f, "logon_type")), f"{number(f, 'streak'):,}",
            f"{number(f, 'account_failures_before'):,}",
        )
        for f in findings
    ]  # fmt: skip
    headers = ("Severity", "Account", "Source", "Logged on (UTC)", "Record or line", "How", "Failures in a row before",
               "On this account")  # fmt: skip
    return table(headers, rows)


def _sources(findings: Sequence[Finding]) -> str:
    rows = [
        (
            _address(text(f, "source")), f"{number(f, 'failures'):,}",
            f"{number(f, 'accounts'):,}: {_names(texts(f, 'account_names'), texts(f, 'account_failures'))}",
            time_words(text(f, "first")), time_words(text(f, "last")), text(f, "per_minute") or "—",
            escape(", ".join(texts(f, "logon_types")[:NAMED])), escape(", ".join(texts(f, "reasons")[:NAMED])),
            escape(text(f, "pattern")), _names(texts(f, "success_accounts")),
        )
        for f in findings
    ]  # fmt: skip
    headers = ("Source", "Failures", "Accounts", "First (UTC)", "Last (UTC)", "A minute", "How", "Why refused",
               "Pattern", "Got in")  # fmt: skip
    return table(headers, rows)


def _accounts(findings: Sequence[Finding]) -> str:
    rows = [
        (
            _name(text(f, "account") or "(not named)"), f"{number(f, 'failures'):,}",
            f"{number(f, 'sources'):,}: {_names(texts(f, 'source_names'), texts(f, 'source_failures'))}",
            time_words(text(f, "first")), time_words(text(f, "last")),
            "yes" if f.attributes.get("is_brute_forced") else "no", f"{number(f, 'lockouts'):,}",
            _names(texts(f, "success_sources")),
        )
        for f in findings
    ]  # fmt: skip
    headers = ("Account", "Failures", "Sources", "First (UTC)", "Last (UTC)", "Brute-forced", "Lockouts", "Let in")
    return table(headers, rows)


def _tickets(findings: Sequence[Finding]) -> str:
    rows = [
        (
            _name(text(f, "account")), _address(text(f, "source")), f"{number(f, 'count'):,}",
            _names(texts(f, "services")), time_words(text(f, "first")), _where(f),
        )
        for f in findings
    ]  # fmt: skip
    return table(("Account", "Source", "Requests", "Services", "First (UTC)", "Evidence"), rows)


def _logons(findings: Sequence[Finding]) -> str:
    rows = [
        (
            _name(text(f, "account")), escape(text(f, "type_words")), _address(text(f, "source")),
            _address(text(f, "host")),
            f"{number(f, 'count'):,}", time_words(text(f, "first")), time_words(text(f, "last")),
            "yes" if f.attributes.get("is_privileged") else "no",
        )
        for f in findings
    ]  # fmt: skip
    return table(("Account", "How", "From", "On", "Times", "First (UTC)", "Last (UTC)", "Privileged"), rows, limit=15)


def _remote(findings: Sequence[Finding]) -> str:
    rows = [
        (
            escape(text(f, "way")), _name(text(f, "detail")), _name(text(f, "account")), _address(text(f, "source")),
            _address(text(f, "host")), f"{number(f, 'count'):,}", time_words(text(f, "first")), _where(f),
        )
        for f in findings
    ]  # fmt: skip
    return table(("Way", "What", "Account", "From", "On", "Times", "First (UTC)", "Evidence"), rows, limit=15)


def _trees(findings: Sequence[Finding]) -> str:
    blocks = []
    for finding in findings[:TREES]:
        lead = (
            f"{plural(number(finding, 'processes'), 'process', 'processes')} on {_address(text(finding, 'host'), 40)}"
        )
        flagged = number(finding, "flagged")
        lead += f", {flagged:,} of them named by rules:" if flagged else ":"
        blocks += [lead, code_block("\n".join(_tree_lines(finding)), limit=12_000)]
    if len(findings) > TREES:
        blocks.append(f"… and {len(findings) - TREES:,} more trees (in the findings).")
    return "\n\n".join(blocks)


def _tree_lines(finding: Finding) -> list[str]:
    columns = [
        texts(finding, name) for name in ("depths", "pids", "images", "commands", "times", "rules", "severities")
    ]
    lines = []
    for depth, pid, image, command, time, rules, severity in list(zip(*columns, strict=False))[:TREE_LINES]:
        branch = f"{'  ' * (min(int(depth), 20) - 1)}└─ " if int(depth) else ""
        clock = f" {time[11:19]}" if time else " (before the log)"
        mark = f"   ◄ {severity}: {rules}" if rules else ""
        lines.append(f"{branch}{cut(command or image or '?', 160)}  [{pid}]{clock}{mark}")
    return lines


def _gaps(findings: Sequence[Finding]) -> str:
    rows = [
        (f.severity.value, escape(text(f, "gap")), escape(f.title), time_words(text(f, "from")),
         time_words(text(f, "to")), escape(f.why), _where(f))
        for f in findings
    ]  # fmt: skip
    return table(("Severity", "What", "Where", "From (UTC)", "To (UTC)", "Why", "Evidence"), rows, limit=12)


def _rare(findings: Sequence[Finding]) -> str:
    rows = [
        (escape(text(f, "what")), _name(text(f, "value"), 100), f"{number(f, 'count'):,} of {number(f, 'total'):,}",
         time_words(text(f, "first")), _where(f))
        for f in findings
    ]  # fmt: skip
    return table(("What", "Value", "Seen", "First (UTC)", "Evidence"), rows, limit=15)


def _summaries(findings: Sequence[Finding]) -> str:
    blocks = []
    for finding in findings:
        columns = [texts(finding, name) for name in ("logs", "ids", "words", "counts")]
        rows = [
            (_name(log, 60), event_id or "—", escape(words) or "—", f"{int(count):,}")
            for log, event_id, words, count in zip(*columns, strict=False)
        ]
        hosts, accounts = texts(finding, "hosts"), texts(finding, "accounts")
        lead = (
            f"Read {plural(number(finding, 'events'), 'event')} ({escape(text(finding, 'form'))}) from "
            f"{time_words(text(finding, 'first'))} to {time_words(text(finding, 'last'))} UTC; hosts: "
            f"{_names(hosts, texts(finding, 'host_counts'))}; accounts: "
            f"{_names(accounts, texts(finding, 'account_counts'))}. {plural(number(finding, 'rules'), 'rule')} ran."
        )
        blocks += [lead, table(("Log", "Id", "What", "Events"), rows, limit=15)]
    return "\n\n".join(blocks)


_TABLES: tuple[tuple[str, str, Callable[[Sequence[Finding]], str]], ...] = (
    ("event_tactics", "Tactics", _tactics),
    ("timeline", "Timeline", _timeline),
    ("rule_hit", "Rules that matched", _rules),
    ("logon_success", "Logon after failures", _successes),
    ("logon_source", "Failed logons by source", _sources),
    ("logon_account", "Failed logons by account", _accounts),
    ("weak_tickets", "Tickets in a weak cipher", _tickets),
    ("remote_access", "Access from or to other computers", _remote),
    ("process_tree", "Processes", _trees),
    ("logon", "Logons", _logons),
    ("log_gap", "What is missing from the log", _gaps),
    ("rare", "Rare in this log", _rare),
    ("events_summary", "What was read", _summaries),
)
