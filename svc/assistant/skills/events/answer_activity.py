"""The tables about what people did by logs that are not Windows': web requests, commands, calls of a cloud.

Kinds: ``tools/events.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from svc.assistant.findings import LooseFinding as Finding
from svc.assistant.findings import Severity
from svc.assistant.skills.events.answer_tables import number, of_kind, text, texts, time_words
from svc.untrusted.markup import code_span, defang, escape, plural, table

NAMED = 3
ACTIVITY_KINDS = (
    "web_client", "unix_deed", "cloud_call", "cloud_login", "cloud_refused", "cloud_identity", "web_summary",
    "unix_summary",
)  # fmt: skip
_BAD = (Severity.CRITICAL, Severity.HIGH, Severity.MEDIUM)


def sentences(findings: Sequence[Finding]) -> list[str]:
    """What the verdict says of them; nothing where a log has none of these."""
    said = []
    for summary in of_kind(findings, "web_summary"):
        attackers = [f for f in of_kind(findings, "web_client") if f.severity in _BAD]
        answered = sum(number(f, "answered") for f in attackers)
        counted = "request" if number(summary, "requests") else "error"
        clients = plural(number(summary, "clients"), "client")
        requests = f"{plural(number(summary, f'{counted}s'), counted)} of {clients}"
        if attackers:
            names = ", ".join(code_span(defang(text(f, "client"))) for f in attackers[:NAMED])
            worked = (
                f"{plural(answered, 'attack')} answered with 2xx" if answered else "no attack was answered with 2xx"
            )
            said.append(f"{requests}; {plural(len(attackers), 'client')} attacked or probed: {names}; {worked}.")
        elif of_kind(findings, "event_tactics"):  # a rule matched, though no client stands out by all it did
            said.append(f"{requests}.")
        else:
            said.append(f"{requests}; none looks like an attack.")
    guessers = [f for f in of_kind(findings, "web_client") if number(f, "denied")]
    if guessers:
        refused = plural(sum(number(f, "denied") for f in guessers), "refused login")
        tried = dict.fromkeys(name for f in guessers for name in texts(f, "accounts"))
        accounts = f" for {', '.join(code_span(name, limit=40) for name in list(tried)[:NAMED])}" if tried else ""
        said.append(f"Passwords were guessed: {refused}{accounts}.")
    for kind, words in (("unix_deed", "deed"), ("cloud_call", "risky call"), ("cloud_login", "login")):
        bad = [f for f in of_kind(findings, kind) if f.severity in _BAD]
        if bad:
            shown = "; ".join(escape(f.title) for f in bad[:NAMED])
            said.append(f"{plural(len(bad), words)} worth a look: {shown}.")
    return said


def steps(findings: Sequence[Finding]) -> list[str]:
    """What to do about them."""
    found = []
    answered = [f for f in of_kind(findings, "web_client") if number(f, "answered")]
    if answered:
        names = ", ".join(code_span(defang(text(f, "client"))) for f in answered[:NAMED])
        found.append(f"Ask for the same pages as {names} did, and look at what they give away.")
    if any(f.severity in _BAD for f in of_kind(findings, "unix_deed")):
        found.append("Ask who made these accounts and changes; compare with the tickets of that day.")
    if any(f.severity in _BAD for f in of_kind(findings, "cloud_call")):
        found.append(
            "Turn off the keys of the identities that made risky calls until their owners have explained them."
        )
    return found


def body(findings: Sequence[Finding]) -> str:
    """All tables, each where there is something for it."""
    parts: list[str] = []
    for kind, title, show in _TABLES:
        if mine := of_kind(findings, kind):
            parts += [f"**{title}**", show(mine)]
    return "\n\n".join(parts)


def _place(finding: Finding) -> str:
    first = finding.evidence[0] if finding.evidence else None
    if first is None:
        return ""
    at = f"record {first.record:,}" if first.record is not None else f"line {first.line:,}" if first.line else ""
    return f"{at}: {code_span(first.excerpt, limit=140)}"


def _clients(findings: Sequence[Finding]) -> str:
    rows = [
        (
            f.severity.value,
            code_span(defang(text(f, "client"))),
            escape(", ".join(texts(f, "what"))),
            f"{number(f, 'requests'):,}",
            f"{number(f, 'failed'):,}",
            f"{number(f, 'answered'):,}",
            time_words(text(f, "first")),
            time_words(text(f, "last")),
            _place(f),
        )
        for f in findings
    ]
    headers = ("Severity", "Client", "What", "Requests", "Failed", "Attacks answered", "First", "Last", "Evidence")
    return table(headers, rows)


def _counted(finding: Finding, names: str, counts: str) -> str:
    pairs = zip(texts(finding, names)[:5], texts(finding, counts)[:5], strict=False)
    return ", ".join(f"{code_span(defang(name) or '-', limit=50)} {int(count):,}" for name, count in pairs)


def _web(findings: Sequence[Finding]) -> str:
    rows = []
    for f in findings:
        rows += [
            ("Statuses", _counted(f, "statuses", "status_counts")),
            ("Methods", _counted(f, "methods", "method_counts")),
            ("Clients with the most requests", _counted(f, "client_names", "client_requests")),
            ("Paths asked for most", _counted(f, "paths", "path_counts")),
        ]
    return table(("What", "Most"), [row for row in rows if row[1]])


def _deeds(findings: Sequence[Finding]) -> str:
    rows = [
        (
            f.severity.value,
            escape(text(f, "what")),
            code_span(text(f, "whom"), limit=80),
            escape(text(f, "host")),
            f"{number(f, 'count'):,}",
            time_words(text(f, "first")),
            _place(f),
        )
        for f in findings
    ]
    return table(("Severity", "What", "Whom", "Host", "Count", "First", "Evidence"), rows)


def _commands(findings: Sequence[Finding]) -> str:
    parts = []
    for f in findings:
        sudo = zip(
            *(texts(f, f"sudo_{name}") for name in ("users", "targets", "commands", "counts", "lines")), strict=False
        )
        rows = [
            (code_span(user), code_span(target), code_span(defang(command), limit=120), count, line)
            for user, target, command, count, line in sudo
        ]
        if rows:
            parts.append(table(("By sudo: who", "As", "Command", "Count", "First line"), rows, limit=15))
        run = zip(*(texts(f, name) for name in ("command_users", "commands", "command_counts")), strict=False)
        commands = [(code_span(user), code_span(defang(command), limit=120), count) for user, command, count in run]
        if commands:
            parts.append(table(("Commands: login user", "Command", "Count"), commands, limit=15))
    return "\n\n".join(parts) or "No command that was run stands in the log."


def _calls(findings: Sequence[Finding]) -> str:
    rows = [
        (
            f.severity.value,
            code_span(text(f, "identity"), limit=60),
            escape(text(f, "what")),
            code_span(text(f, "call")),
            "refused" if f.attributes.get("is_refused") else "done",
            f"{number(f, 'count'):,}",
            ", ".join(code_span(defang(one)) for one in texts(f, "addresses")[:NAMED]),
            time_words(text(f, "first")),
            _place(f),
        )
        for f in findings
    ]
    headers = ("Severity", "Identity", "What", "Call", "Result", "Count", "From", "First (UTC)", "Evidence")
    return table(headers, rows)


def _logins(findings: Sequence[Finding]) -> str:
    rows = [(f.severity.value, escape(f.title), time_words(text(f, "first")), _place(f)) for f in findings]
    return table(("Severity", "Login", "First (UTC)", "Evidence"), rows)


def _identities(findings: Sequence[Finding]) -> str:
    rows = [
        (
            code_span(text(f, "identity"), limit=60),
            f"{number(f, 'count'):,}",
            f"{number(f, 'errors'):,}",
            ", ".join(code_span(defang(one)) for one in texts(f, "addresses")[:NAMED]),
            ", ".join(code_span(one, limit=50) for one in texts(f, "calls")[:5]),
            time_words(text(f, "first")),
            time_words(text(f, "last")),
        )
        for f in findings
    ]
    return table(("Identity", "Calls", "Errors", "From", "Most", "First (UTC)", "Last (UTC)"), rows)


_TABLES: tuple[tuple[str, str, Callable[[Sequence[Finding]], str]], ...] = (
    ("web_client", "Clients that attack or probe", _clients),
    ("web_summary", "Requests", _web),
    ("unix_deed", "Changes on the host", _deeds),
    ("unix_summary", "Commands", _commands),
    ("cloud_call", "Calls that carry risk", _calls),
    ("cloud_login", "Logins to the console", _logins),
    ("cloud_refused", "Identities that were refused often", _logins),
    ("cloud_identity", "Who called", _identities),
)
