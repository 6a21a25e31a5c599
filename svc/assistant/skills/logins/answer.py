"""The answer about logins: compromised accounts, the sources, the targeted accounts, and the evidence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from svc.assistant.findings import AnyFinding, Finding, InputKind, Severity, with_facts
from svc.assistant.log_readers.login_counting import LoginPattern
from svc.assistant.log_readers.timestamps import MONTH_NAMES
from svc.assistant.skills.charts import Bar, bars, histogram
from svc.assistant.skills.logins.findings import AuthAccount, AuthSource, AuthSuccess, AuthSummary
from svc.assistant.skills.logins.questions import LOGIN_QUESTIONS
from svc.assistant.skills.skill import Picture, Section, Skill, words
from svc.untrusted.defang import defang_text
from svc.untrusted.markup import code_span, escape, plural, table

NAMED = 4  # accounts or sources named in the verdict
STEP_NAMES = 3  # in one piece of advice
CELL_NAMES = 3  # in one cell
_BAD = (Severity.CRITICAL, Severity.HIGH)


def verdict(findings: Sequence[AnyFinding]) -> str:
    """One or two sentences with the figures: compromised accounts, failures, sources, targeted accounts."""
    sources = [finding.facts for finding in with_facts(findings, AuthSource)]
    failures = sum(source.failures for source in sources)
    attempts = sum(source.attempts for source in sources)
    window = _window(findings)
    if not failures and not attempts:
        if not any(summary.facts.login_lines for summary in with_facts(findings, AuthSummary)):
            return f"**Not examined: no line is a login line that this analyst can read.**{window}"
        return f"**No failed logins.**{window}"
    counted = f"{plural(failures, 'failed login')} from {plural(len(sources), 'source')}"
    attacking = sum(1 for source in sources if source.pattern != LoginPattern.FEW)
    targeted = [f.facts for f in with_facts(findings, AuthAccount) if f.facts.is_brute_forced]
    entered = _compromises(findings)
    if attacking:
        counted += f" ({attacking:,} attacking)"
    elif targeted:
        counted += " (none attacking on its own, but together they are)"
    elif not entered:
        counted += " (none attacking)"
    if attempts:
        counted += f", and {plural(attempts, 'connection')} that ended before authentication"
    is_attack = bool(attacking or targeted)
    named = f" {_targeted_accounts(targeted)}" if is_attack else ""
    return f"**{_lead(entered, is_attack=is_attack)}** {counted}.{named}{window}"


def _compromises(findings: Sequence[AnyFinding]) -> list[AuthSuccess]:
    """Logins of sources that had guessed passwords, those after the longest streak first."""
    return [finding.facts for finding in with_facts(findings, AuthSuccess) if finding.severity in _BAD]


def _lead(entered: Sequence[AuthSuccess], *, is_attack: bool) -> str:
    if not entered:
        return "Password guessing; no attacking source logged in." if is_attack else "No password attack."
    names = sorted({login.account for login in entered})
    if len(names) == 1:
        worst = entered[0]
        sources = len({login.source for login in entered})
        origin = code_span(defang_text(worst.source)) if sources == 1 else plural(sources, "source")
        return (
            f"Compromised account: {code_span(names[0], limit=40)} ({escape(worst.method[:40])} login from {origin} "
            f"after {plural(worst.streak, 'failure')})."
        )
    shown = ", ".join(code_span(name, limit=40) for name in names[:NAMED]) + (" …" if len(names) > NAMED else "")
    sources = len({login.source for login in entered})
    return f"{len(names):,} compromised accounts: {shown}, from {plural(sources, 'source')}."


def _targeted_accounts(targeted: Sequence[AuthAccount]) -> str:
    if not targeted:
        return "No account had enough failures for a brute-force attack."
    names = ", ".join(f"{code_span(one.account, limit=40)} ({one.failures:,})" for one in targeted[:NAMED])
    more = f" and {len(targeted) - NAMED:,} more" if len(targeted) > NAMED else ""
    return f"Targeted {'account' if len(targeted) == 1 else 'accounts'}: {names}{more}."


def _window(findings: Sequence[AnyFinding]) -> str:
    for summary in with_facts(findings, AuthSummary):
        after, before = summary.facts.after, summary.facts.before
        if after and before:
            return f" Only lines from {after} to {before} of each day are counted."
        if after or before:
            return f" Only lines {'from' if after else 'before'} {after or before} of each day are counted."
    return ""


def body(findings: Sequence[AnyFinding]) -> str:
    """Tables of logins after failures, accounts and sources, with the evidence."""
    parts = []
    if entries := with_facts(findings, AuthSuccess):
        parts += ["**Success after failure**", _success_table(entries)]
    if accounts := with_facts(findings, AuthAccount):
        parts += ["**By account**", _account_table([finding.facts for finding in accounts])]
    if sources := with_facts(findings, AuthSource):
        parts += ["**By source**", _source_table([finding.facts for finding in sources])]
    if shown := _evidence_rows(findings):
        parts += ["**Evidence**", table(("File", "Line", "Text"), shown, limit=12)]
    parts += [_coverage(finding.facts) for finding in with_facts(findings, AuthSummary)]
    return "\n\n".join(parts)


def _success_table(entries: Sequence[Finding[AuthSuccess]]) -> str:
    rows = [
        (
            finding.severity.value,
            code_span(finding.facts.account, limit=60),
            code_span(defang_text(finding.facts.source)),
            _time(finding.facts.time),
            f"{finding.facts.line:,}",
            f"{finding.facts.streak:,}",
            f"{finding.facts.account_failures_before:,}",
            code_span(finding.facts.method),
        )
        for finding in entries
    ]
    headers = (
        "Severity", "Account", "Source", "Login time", "Line", "Preceding failures", "Failures (account)", "Method",
    )  # fmt: skip
    return table(headers, rows)


def _source_table(sources: Sequence[AuthSource]) -> str:
    rows = [
        (
            code_span(defang_text(source.source)),
            f"{source.failures:,}",
            f"{source.attempts:,}",
            _counted(source.accounts, [(code_span(row.account, limit=40), row.failures) for row in source.by_account]),
            _time(source.first),
            _time(source.last),
            "" if source.per_minute is None else f"{source.per_minute:,.1f}",
            source.pattern.value,
            ", ".join(code_span(name, limit=40) for name in source.success_accounts[:NAMED]) or "no",
        )
        for source in sources
    ]
    headers = (
        "Source", "Failures", "No password tried", "Accounts", "First", "Last", "Rate/min", "Pattern", "Compromised",
    )  # fmt: skip
    return table(headers, rows)


def _account_table(accounts: Sequence[AuthAccount]) -> str:
    rows = [
        (
            code_span(account.account, limit=60),
            f"{account.failures:,}",
            f"{account.attempts:,}",
            _counted(
                account.sources,
                [(code_span(defang_text(row.source), limit=40), row.failures) for row in account.by_source],
            ),
            _time(account.first),
            _time(account.last),
            "yes" if account.is_brute_forced else "no",
            ", ".join(code_span(defang_text(name)) for name in account.success_sources[:NAMED]) or "no",
        )
        for account in accounts
    ]
    headers = (
        "Account", "Failures", "No password tried", "Sources", "First", "Last", "Brute force", "Compromised from",
    )  # fmt: skip
    return table(headers, rows)


def _counted(total: int, named: Sequence[tuple[str, int]]) -> str:
    """How many, and the first ones with their counts: ``2: `root` 5, `admin` 1``."""
    shown = ", ".join(f"{name} {count:,}" for name, count in named[:CELL_NAMES])
    return f"{total:,}: {shown}{' …' if len(named) > CELL_NAMES else ''}"


def _evidence_rows(findings: Sequence[AnyFinding]) -> list[tuple[str, str, str]]:
    """The lines behind the worst findings, each once."""
    worst = [f for f in findings if f.severity in (*_BAD, Severity.MEDIUM)] or list(findings)
    rows = {
        (code_span(e.source), f"{e.line:,}" if e.line else "", code_span(e.excerpt)): None
        for found in (with_facts(worst, AuthSuccess), with_facts(worst, AuthSource))
        for finding in found
        for e in finding.evidence
    }
    return list(rows)


def _coverage(summary: AuthSummary) -> str:
    """What was read: lines, hosts, period and accepted logins."""
    hosts = summary.hosts
    named = f" on {', '.join(code_span(host, limit=60) for host in hosts[:NAMED])}" if hosts else ""
    zone = {"Z": "UTC", "UTC": "UTC", "+00:00": "UTC", "not stated": "time zone not stated"}.get(
        summary.zone, f"zone {summary.zone}"
    )
    year = "" if summary.has_year else "; timestamps have no year"
    period = f", from {_time(summary.first)} to {_time(summary.last)} ({zone}{year})" if summary.first else ""
    return (
        f"Read {plural(summary.lines, 'line')}, {summary.login_lines:,} of them about logins{named}{period}. "
        f"{plural(summary.successes, 'accepted login')} in total."
    )


def _time(value: str | None) -> str:
    """A time as people read it; one without a year as in the log: ``Nov 20 03:12:45``."""
    if not value:
        return "not stated"
    if value.startswith("--"):
        return f"{MONTH_NAMES[int(value[2:4]) - 1]} {value[5:7]} {value[8:]}"
    return value.replace("T", " ")


def next_steps(findings: Sequence[AnyFinding]) -> list[str]:
    """What to lock, look for and block."""
    entered = _compromises(findings)
    attackers = [f.facts for f in with_facts(findings, AuthSource) if f.facts.pattern != LoginPattern.FEW]
    steps = []
    if entered:
        accounts = _first_names(sorted({login.account for login in entered}))
        steps.append(f"Lock {accounts}, end the sessions, and review all activity since the login.")
        steps.append("Look for new authorized_keys entries, accounts, sudo rules and scheduled jobs since then.")
    if attackers:
        sources = _first_names([defang_text(source.source) for source in attackers])
        steps.append(f"Block {sources}, and search other hosts' logs for the same sources.")
        steps.append("Disable password logins (PasswordAuthentication no) or rate-limit them (MaxAuthTries, fail2ban).")
    return steps


def _first_names(names: Sequence[str]) -> str:
    shown = ", ".join(code_span(name, limit=60) for name in names[:STEP_NAMES])
    return shown + (f" and {len(names) - STEP_NAMES:,} more" if len(names) > STEP_NAMES else "")


def pictures(findings: Sequence[AnyFinding]) -> list[Picture]:
    """Failed logins over time, and the sources with the most."""
    drawn: list[Picture] = []
    for summary in with_facts(findings, AuthSummary):
        ends = (_time(summary.facts.activity_first), _time(summary.facts.activity_last))
        drawn += histogram("Lines about failed logins over time", summary.facts.activity, *ends)
    return drawn + bars("Failed logins by source", list(_source_bars(with_facts(findings, AuthSource))))


def _source_bars(sources: Iterable[Finding[AuthSource]]) -> Iterable[Bar]:
    for finding in sources:
        source = finding.facts
        note = f"{source.failures:,} failures, {plural(source.accounts, 'account')}"
        yield Bar(label=source.source, value=source.failures, note=note, severity=finding.severity)


_LINES = words(r"\bsshd(?:-session)?(?:\[\d+\])?: ", r"\bpam_\w+\([\w.-]+:auth\)", r"\bFailed password for ")
SECTION = Section(
    skill=Skill(
        name="auth_log",
        claims=frozenset({"authlog"}),
        also=frozenset({"syslog", "journal", "log"}),
        file_names=words(r"(?:auth|secure|sshd?)\b.*", r".*\b(?:auth|secure)\.log.*"),
        takes=frozenset({"after", "before"}),
        tool="svc.assistant.skills.logins.tool:inspect",
        input=InputKind.LINES,
        title="Logins",
        can="say which accounts were brute-forced in an auth.log, from where, and whether it worked",
        facts=(AuthSource, AuthAccount, AuthSuccess, AuthSummary),
        strong=words(*LOGIN_QUESTIONS),
        weak=words(r"\bauth(?:\.log\b|\w* logs?\b)", r"\blog-?ins?\b", r"\bsshd?\b", r"\bsuccess(?:ful)? log"),
        content=_LINES,
        looks=_LINES,
        covers=frozenset({"indicators"}),
    ),
    verdict=verdict,
    body=body,
    next_steps=next_steps,
    pictures=pictures,
)
