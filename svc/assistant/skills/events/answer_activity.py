"""Sentences, steps and tables about logs other than Windows': web requests, Unix commands and changes, cloud calls."""

from __future__ import annotations

from collections.abc import Sequence

from svc.assistant.findings import AnyFinding, Finding, Severity, with_facts
from svc.assistant.log_readers.shown_times import zoned
from svc.assistant.skills.answer_parts import Fold
from svc.assistant.skills.events.activity_findings import ProductAlert
from svc.assistant.skills.events.answer_tables import (
    Table,
    TitledTable,
    placed_excerpt,
    time_words,
    titled_folds,
    zone_of_findings,
)
from svc.assistant.skills.events.findings import (
    CloudCall,
    CloudIdentity,
    CloudLogin,
    CloudRefusals,
    EventTactics,
    UnixChange,
    UnixSummary,
    WebClient,
    WebSummary,
)
from svc.untrusted.defang import defang_text
from svc.untrusted.markup import code_span, escape, plural, table

NAMED = 3
COUNTED = 5  # values with counts in one cell
_NOTABLE = (Severity.CRITICAL, Severity.HIGH, Severity.MEDIUM)
_NOTABLE_FACTS = (
    (UnixChange, "notable change"),
    (CloudCall, "risky call"),
    (CloudLogin, "notable console login"),
)


def sentences(findings: Sequence[AnyFinding]) -> list[str]:
    """The verdict's sentences about them; none if the log has none of these."""
    said = [_web_sentence(summary.facts, findings) for summary in with_facts(findings, WebSummary)]
    guessers = [finding.facts for finding in with_facts(findings, WebClient) if finding.facts.denied]
    if guessers:
        rejected = plural(sum(client.denied for client in guessers), "rejected login")
        tried = list(dict.fromkeys(name for client in guessers for name in client.accounts))
        accounts = f" for {', '.join(code_span(name, limit=40) for name in tried[:NAMED])}" if tried else ""
        said.append(f"Password guessing: {rejected}{accounts}.")
    for facts, noun in _NOTABLE_FACTS:
        notable = [finding for finding in with_facts(findings, facts) if finding.severity in _NOTABLE]
        if notable:
            shown = "; ".join(escape(finding.title) for finding in notable[:NAMED])
            said.append(f"{plural(len(notable), noun)}: {shown}.")
    return said


def _web_sentence(summary: WebSummary, findings: Sequence[AnyFinding]) -> str:
    attackers = [finding.facts for finding in with_facts(findings, WebClient) if finding.severity in _NOTABLE]
    counted = plural(summary.requests, "request") if summary.requests else plural(summary.errors, "error")
    requests = f"{counted} from {plural(summary.clients, 'client')}"
    if attackers:
        names = ", ".join(code_span(defang_text(client.client)) for client in attackers[:NAMED])
        answered = sum(client.answered for client in attackers)
        worked = f"{plural(answered, 'attack')} got a 2xx response" if answered else "no attack got a 2xx response"
        return f"{requests}; {plural(len(attackers), 'client')} attacked or probed: {names}; {worked}."
    if with_facts(findings, EventTactics) or any(f.severity in _NOTABLE for f in with_facts(findings, ProductAlert)):
        return f"{requests}."  # something else names an attack, although no client stands out by its requests
    if not summary.requests:
        return f"{requests}; none is a rejected login, and no client has many missing or refused paths."
    return f"{requests}; none looks like an attack."


def steps(findings: Sequence[AnyFinding]) -> list[str]:
    """What to do about them."""
    found = []
    answered = [finding.facts for finding in with_facts(findings, WebClient) if finding.facts.answered]
    if answered:
        names = ", ".join(code_span(defang_text(client.client)) for client in answered[:NAMED])
        found.append(f"Repeat the requests that {names} sent, and check what the responses disclose.")
    if any(finding.severity in _NOTABLE for finding in with_facts(findings, UnixChange)):
        found.append("Confirm these accounts and changes with their owners and that day's change tickets.")
    if any(finding.severity in _NOTABLE for finding in with_facts(findings, CloudCall)):
        found.append("Disable the access keys of the identities with risky calls until their owners explain the calls.")
    return found


def folds(findings: Sequence[AnyFinding]) -> list[Fold]:
    """A fold for each kind of finding that has a table."""
    return titled_folds(_TABLES, findings)


def _addresses(addresses: Sequence[str]) -> str:
    return ", ".join(code_span(defang_text(address)) for address in addresses[:NAMED])


def _clients(findings: Sequence[Finding[WebClient]]) -> Table:
    rows = [
        (
            finding.severity.value,
            code_span(defang_text(finding.facts.client)),
            escape(", ".join(finding.facts.what)),
            f"{finding.facts.requests:,}",
            f"{finding.facts.failed:,}",
            f"{finding.facts.answered:,}",
            time_words(finding.facts.first),
            time_words(finding.facts.last),
            placed_excerpt(finding),
        )
        for finding in findings
    ]
    headers = ("Severity", "Client", "Activity", "Requests", "Failed", "Attacks answered", "First", "Last", "Evidence")
    return Table(headers=headers, rows=rows)


def _counted(values: Sequence[tuple[str, int]]) -> str:
    return ", ".join(f"{code_span(defang_text(name) or '-', limit=50)} {count:,}" for name, count in values[:COUNTED])


def _web(findings: Sequence[Finding[WebSummary]]) -> Table:
    rows = [
        row
        for facts in (finding.facts for finding in findings)
        for row in (
            ("Statuses", _counted([(one.status, one.count) for one in facts.by_status])),
            ("Methods", _counted([(one.method, one.count) for one in facts.by_method])),
            ("Busiest clients", _counted([(one.client, one.requests) for one in facts.by_client])),
            ("Most requested paths", _counted([(one.path, one.count) for one in facts.by_path])),
        )
        if row[1]
    ]
    return Table(headers=("Statistic", "Most frequent"), rows=rows, count=sum(one.facts.requests for one in findings))


def _changes(findings: Sequence[Finding[UnixChange]]) -> Table:
    rows = [
        (
            finding.severity.value,
            escape(finding.facts.what),
            code_span(finding.facts.whom, limit=80),
            escape(finding.facts.host),
            f"{finding.facts.count:,}",
            time_words(finding.facts.first),
            placed_excerpt(finding),
        )
        for finding in findings
    ]
    return Table(headers=("Severity", "Change", "Object", "Host", "Count", "First", "Evidence"), rows=rows)


def _commands(findings: Sequence[Finding[UnixSummary]]) -> str:
    parts = []
    for facts in (finding.facts for finding in findings):
        sudo = [
            (code_span(run.user), code_span(run.target), _command(run.command), str(run.count), str(run.line))
            for run in facts.sudo
        ]
        if sudo:
            parts.append(table(("sudo user", "Run as", "Command", "Count", "First line"), sudo, limit=15))
        commands = [(code_span(run.user), _command(run.command), str(run.count)) for run in facts.commands]
        if commands:
            parts.append(table(("Login user", "Command", "Count"), commands, limit=15))
    return "\n\n".join(parts) or "The log contains no executed command."


def _command(command: str) -> str:
    return code_span(defang_text(command), limit=120)


def _calls(findings: Sequence[Finding[CloudCall]]) -> Table:
    zone = zone_of_findings(findings)
    rows = [
        (
            finding.severity.value,
            code_span(finding.facts.identity, limit=60),
            escape(finding.facts.what),
            code_span(finding.facts.call),
            "denied" if finding.facts.is_refused else "done",
            f"{finding.facts.count:,}",
            _addresses(finding.facts.addresses),
            time_words(finding.facts.first),
            placed_excerpt(finding),
        )
        for finding in findings
    ]
    headers = (
        "Severity", "Identity", "Action", "API call", "Result", "Count", "Source", zoned("First", zone), "Evidence",
    )  # fmt: skip
    return Table(headers=headers, rows=rows)


def _logins(findings: Sequence[Finding[CloudLogin]]) -> Table:
    zone = zone_of_findings(findings)
    rows = [
        (finding.severity.value, escape(finding.title), time_words(finding.facts.first), placed_excerpt(finding))
        for finding in findings
    ]
    return Table(headers=("Severity", "Login", zoned("First", zone), "Evidence"), rows=rows)


def _refusals(findings: Sequence[Finding[CloudRefusals]]) -> Table:
    rows = [
        (
            finding.severity.value,
            code_span(finding.facts.identity, limit=60),
            f"{finding.facts.count:,}",
            ", ".join(code_span(one, limit=50) for one in finding.facts.calls[:COUNTED]),
            _addresses(finding.facts.addresses),
            placed_excerpt(finding),
        )
        for finding in findings
    ]
    return Table(headers=("Severity", "Identity", "Denied calls", "Most frequent", "Source", "Evidence"), rows=rows)


def _identities(findings: Sequence[Finding[CloudIdentity]]) -> Table:
    zone = zone_of_findings(findings)
    rows = [
        (
            code_span(facts.identity, limit=60),
            f"{facts.count:,}",
            f"{facts.errors:,}",
            _addresses(facts.addresses),
            ", ".join(code_span(one, limit=50) for one in facts.calls[:COUNTED]),
            time_words(facts.first),
            time_words(facts.last),
        )
        for facts in (finding.facts for finding in findings)
    ]
    return Table(
        headers=("Identity", "Calls", "Errors", "Source", "Most frequent", zoned("First", zone), zoned("Last", zone)),
        rows=rows,
    )


_TABLES: tuple[TitledTable, ...] = (
    (WebClient, ("client that attacks or probes", "clients that attack or probe"), _clients),
    (WebSummary, ("request", "requests"), _web),
    (UnixChange, ("change on the host", "changes on the host"), _changes),
    (UnixSummary, ("command", "Commands"), _commands),
    (CloudCall, ("risky call", "risky calls"), _calls),
    (CloudLogin, ("console login", "console logins"), _logins),
    (CloudRefusals, ("identity with many denied calls", "identities with many denied calls"), _refusals),
    (CloudIdentity, ("identity", "identities"), _identities),
)
