"""The answer about logins: accepted logins, the sources, the targeted accounts, and the evidence."""

from __future__ import annotations

from collections.abc import Sequence

from svc.assistant.findings import AnyFinding, Finding, InputKind, Severity, with_facts
from svc.assistant.log_readers.login_counting import LoginPattern
from svc.assistant.log_readers.shown_times import time_words, zone_words, zoned
from svc.assistant.log_readers.time_window import OPTIONS
from svc.assistant.skills.answer_parts import Fold
from svc.assistant.skills.asked.findings import ChosenRecords, FollowingRecords
from svc.assistant.skills.logins.findings import (
    AuthAccount,
    AuthSource,
    AuthSuccess,
    AuthSummary,
    AuthUnusual,
    LoginAccess,
)
from svc.assistant.skills.logins.pictures import pictures
from svc.assistant.skills.logins.questions import LOGIN_QUESTIONS, asked_fields
from svc.assistant.skills.logins.verdicts import BAD, accepted_logins, facts, verdict
from svc.assistant.skills.skill import Section, Skill, words
from svc.untrusted.defang import defang_text
from svc.untrusted.markup import code_span, escape, plural

NAMED = 4  # accounts or sources in one cell
STEP_NAMES = 3  # in one piece of advice
CELL_NAMES = 3  # in one cell
_LOCAL = (LoginAccess.SUDO, LoginAccess.SU)


def folds(findings: Sequence[AnyFinding]) -> list[Fold]:
    """Accepted logins first, then what is unusual, accounts, sources, sudo and su, with the evidence."""
    zone = zone_words(finding.facts.zone for finding in with_facts(findings, AuthSummary))
    local = [finding for finding in with_facts(findings, AuthSuccess) if finding.facts.access in _LOCAL]
    evidence = _evidence_rows(findings)
    made = (
        _success_fold("accepted login", accepted_logins(findings), zone),
        _unusual_fold(with_facts(findings, AuthUnusual), zone),
        _account_fold([finding.facts for finding in with_facts(findings, AuthAccount)], zone),
        _source_fold([finding.facts for finding in with_facts(findings, AuthSource)], zone),
        _success_fold("use of sudo and su", local, zone, many="uses of sudo and su"),
        Fold(
            title=plural(len(evidence), "line of evidence", "lines of evidence"),
            headers=("File", "Line", "Text"),
            rows=evidence,
        ),
    )
    return [fold for fold in made if fold.rows]


def _success_fold(noun: str, entries: Sequence[Finding[AuthSuccess]], zone: str, many: str | None = None) -> Fold:
    rows = [_success_row(finding.severity, finding.facts) for finding in entries]
    headers = (
        "Severity", "Account", "Source", "Method", zoned("Login time", zone), "Line", "Count", "Seen before",
        "Preceding failures", "Failures (account)",
    )  # fmt: skip
    count = sum(finding.facts.count for finding in entries)
    of_rows = f" in {plural(len(rows), 'row')}" if count != len(rows) else ""
    return Fold(title=plural(count, noun, many) + of_rows, headers=headers, rows=rows)


def _success_row(severity: Severity, login: AuthSuccess) -> tuple[str, ...]:
    service = "" if login.service in ("sshd", login.method) else f" ({escape(login.service[:40])})"
    return (
        severity.value,
        code_span(login.account, limit=60),
        code_span(defang_text(login.source)),
        f"{code_span(login.method)}{service}",
        time_words(login.time),
        f"{login.line:,}",
        f"{login.count:,}",
        plural(login.earlier_logins, "time") if login.earlier_logins else "no",
        f"{login.streak:,}",
        f"{login.all_failures_before:,}",
    )


def _unusual_fold(found: Sequence[Finding[AuthUnusual]], zone: str) -> Fold:
    rows = [
        (
            finding.severity.value,
            code_span(finding.facts.account, limit=60),
            code_span(defang_text(finding.facts.source)),
            code_span(finding.facts.method),
            time_words(finding.facts.time),
            f"{finding.facts.line:,}",
            escape("; ".join(finding.facts.reasons)),
        )
        for finding in found
    ]
    headers = ("Severity", "Account", "Source", "Method", zoned("Login time", zone), "Line", "Reason")
    return Fold(title=plural(len(rows), "unusual login"), headers=headers, rows=rows)


def _source_fold(sources: Sequence[AuthSource], zone: str) -> Fold:
    rows = [
        (
            code_span(defang_text(source.source)),
            f"{source.failures:,}",
            f"{source.attempts:,}",
            _counted(source.accounts, [(code_span(row.account, limit=40), row.failures) for row in source.by_account]),
            time_words(source.first),
            time_words(source.last),
            "" if source.per_minute is None else f"{source.per_minute:,.1f}",
            source.pattern.value,
            ", ".join(code_span(name, limit=40) for name in source.success_accounts[:NAMED]) or "no",
        )
        for source in sources
    ]
    headers = (
        "Source", "Failures", "No password tried", "Accounts", zoned("First", zone), zoned("Last", zone), "Rate/min",
        "Pattern", "Compromised",
    )  # fmt: skip
    return Fold(
        title=plural(len(rows), "source of failed logins", "sources of failed logins"), headers=headers, rows=rows
    )


def _account_fold(accounts: Sequence[AuthAccount], zone: str) -> Fold:
    rows = [
        (
            code_span(account.account, limit=60),
            f"{account.failures:,}",
            f"{account.attempts:,}",
            _counted(
                account.sources,
                [(code_span(defang_text(row.source), limit=40), row.failures) for row in account.by_source],
            ),
            time_words(account.first),
            time_words(account.last),
            "yes" if account.is_brute_forced else "no",
            ", ".join(code_span(defang_text(name)) for name in account.success_sources[:NAMED]) or "no",
        )
        for account in accounts
    ]
    headers = (
        "Account", "Failures", "No password tried", "Sources", zoned("First", zone), zoned("Last", zone), "Brute force",
        "Compromised from",
    )  # fmt: skip
    title = plural(len(rows), "account with failed logins", "accounts with failed logins")
    return Fold(title=title, headers=headers, rows=rows)


def _counted(total: int, named: Sequence[tuple[str, int]]) -> str:
    """How many, and the first ones with their counts: ``2: `root` 5, `admin` 1``."""
    shown = ", ".join(f"{name} {count:,}" for name, count in named[:CELL_NAMES])
    return f"{total:,}: {shown}{' …' if len(named) > CELL_NAMES else ''}"


def _evidence_rows(findings: Sequence[AnyFinding]) -> list[tuple[str, str, str]]:
    """The lines behind the worst findings, each once."""
    worst = [f for f in findings if f.severity in (*BAD, Severity.MEDIUM)] or list(findings)
    rows = {
        (code_span(e.source), f"{e.line:,}" if e.line else "", code_span(e.excerpt)): None
        for found in (with_facts(worst, AuthSuccess), with_facts(worst, AuthSource))
        for finding in found
        for e in finding.evidence
    }
    return list(rows)


def next_steps(findings: Sequence[AnyFinding]) -> list[str]:
    """What to lock, look for and block."""
    entered = [finding.facts for finding in accepted_logins(findings) if finding.severity in BAD]
    attackers = [f.facts for f in with_facts(findings, AuthSource) if f.facts.pattern != LoginPattern.FEW]
    steps = []
    if entered:
        accounts = _first_names(sorted({login.account for login in entered}))
        steps.append(f"Lock {accounts}, end the sessions, and review all activity since the login.")
        steps.append("Look for new authorized_keys entries, accounts, sudo rules and scheduled jobs since then.")
    elif doubtful := _to_confirm(findings):
        steps.append(f"Ask the owner of {_first_names(doubtful)} whether the login was theirs.")
    if attackers:
        sources = _first_names([defang_text(source.source) for source in attackers])
        steps.append(f"Block {sources}, and search other hosts' logs for the same sources.")
        steps.append("Disable password logins (PasswordAuthentication no) or rate-limit them (MaxAuthTries, fail2ban).")
    return steps


def _to_confirm(findings: Sequence[AnyFinding]) -> list[str]:
    """The accounts whose login came after failures or is unusual."""
    after_failures = [finding.facts.account for finding in accepted_logins(findings) if finding.facts.streak]
    return list(
        dict.fromkeys([*after_failures, *(finding.facts.account for finding in with_facts(findings, AuthUnusual))])
    )


def _first_names(names: Sequence[str]) -> str:
    shown = ", ".join(code_span(name, limit=60) for name in names[:STEP_NAMES])
    return shown + (f" and {len(names) - STEP_NAMES:,} more" if len(names) > STEP_NAMES else "")


_LINES = words(r"\bsshd(?:-session)?(?:\[\d+\])?: ", r"\bpam_\w+\([\w.-]+:auth\)", r"\bFailed password for ")
SECTION = Section(
    skill=Skill(
        name="auth_log",
        claims=frozenset({"authlog"}),
        also=frozenset({"syslog", "applog", "journal", "log"}),
        file_names=words(r"(?:auth|secure|sshd?)\b.*", r".{0,255}\b(?:auth|secure)\.log.*"),
        takes=OPTIONS | {"question", "conditions", "following"},
        asks=asked_fields,
        tool="svc.assistant.skills.logins.tool:inspect",
        input=InputKind.LINES,
        title="Logins",
        can="show who logged in (auth.log), which accounts were attacked, from where, and whether it succeeded",
        facts=(AuthSource, AuthAccount, AuthSuccess, AuthUnusual, AuthSummary, ChosenRecords, FollowingRecords),
        strong=words(*LOGIN_QUESTIONS),
        weak=words(r"\bauth(?:\.log\b|\w* logs?\b)", r"\blog-?ins?\b", r"\bsshd?\b", r"\bsuccess(?:ful)? log"),
        content=_LINES,
        looks=_LINES,
        covers=frozenset({"indicators"}),
    ),
    verdict=verdict,
    facts=facts,
    folds=folds,
    next_steps=next_steps,
    pictures=pictures,
)
