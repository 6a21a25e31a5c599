"""Find brute-force attacks and compromised accounts in an auth.log: failed and accepted logins by source and account.

Each failed attempt counts once, although sshd, its error log and PAM may each write a line about it (``counting``).
"message repeated N times" counts N times. What is an attack: ``log_readers/login_counting.py``. A log in reverse order
(newest first) is read from its end (``log_readers/order.py``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from svc.assistant.findings import Evidence, Finding, Gap, Progress, Severity, ToolEvent
from svc.assistant.log_readers.login_counting import (
    DOUBTFUL_STREAK,
    MAX_NAMES,
    NO_ACCOUNT,
    SURE_STREAK,
    TECHNIQUES,
    WHY_COMPROMISED,
    WHY_DOUBTFUL,
    ranked,
)
from svc.assistant.log_readers.order import TimeOrder
from svc.assistant.log_readers.timestamps import second_of_day
from svc.assistant.skills.histogram import Activity
from svc.assistant.skills.logins.counting import AuthTally, LoginCounts, SuccessAfterFailure
from svc.assistant.skills.logins.findings import (
    AccountFailures,
    AuthAccount,
    AuthSource,
    AuthSuccess,
    AuthSummary,
    SourceFailures,
)
from svc.assistant.skills.logins.lines import AuthLines, LoginEvent, LoginEventKind

PROGRESS_EVERY = 20_000  # lines
FIRST_PROGRESS = 2_000  # lines, so that a first report comes soon
MAX_LISTED = 5_000  # sources and accounts, those with the most failures
FAST_PER_MINUTE = 10.0
MANY_FAILURES = 100
_NOT_FAILURES = (LoginEventKind.SUCCESS, LoginEventKind.KEY_REFUSED, LoginEventKind.NO_ACCOUNT)


def inspect(
    content: Iterable[str], /, *, source: str, after: str | None = None, before: str | None = None
) -> Iterator[ToolEvent]:
    """Yield findings about the logins in an auth.log.

    Args:
        content: The lines of the log.
        source: The log's name.
        after: Start of a time of day (``03:00``); earlier lines of each day are not counted.
        before: End of a time of day.
    """
    reader, counts, order, activity = AuthLines(), LoginCounts(), TimeOrder(content), Activity()
    start, stop = second_of_day(after or ""), second_of_day(before or "")
    if order.is_backwards:
        yield Progress(text=f"{source} is in reverse order (newest line first); reading it from its end")
    for done, (number, line) in enumerate(order, start=1):
        event = reader.read(line)
        if event is not None and _is_within(event, start, stop):
            counts.add(event, number, line)
            if event.stamp is not None and event.kind not in _NOT_FAILURES:
                activity.add(event.stamp.seconds, event.stamp.text, event.count)
        if done % PROGRESS_EVERY == 0 or done == FIRST_PROGRESS:
            yield Progress(text=_progress(done, counts))
    counts.finish()
    yield Progress(text=_progress(order.count, counts))
    yield _summary(counts, reader, activity, order.count, source, (after, before))
    yield from _successes(counts, source)
    for _, tally in ranked(counts.sources, limit=MAX_LISTED):
        yield _source_finding(tally, source)
    for _, tally in ranked(counts.accounts, limit=MAX_LISTED):
        yield _account_finding(tally, counts, source)
    yield from _gaps(counts, reader)
    if order.is_cut:
        yield Gap(text=f"the log is newest first and too long: only its newest {order.count:,} lines were examined")


def _is_within(event: LoginEvent, start: int | None, stop: int | None) -> bool:
    if start is None and stop is None:
        return True
    if event.stamp is None:
        return False
    of_day = event.stamp.of_day
    if start is not None and stop is not None and start > stop:  # over midnight
        return of_day >= start or of_day < stop
    return (start is None or of_day >= start) and (stop is None or of_day < stop)


def _progress(number: int, counts: LoginCounts) -> str:
    return (
        f"read {number:,} lines: {counts.failures:,} failed logins from {len(counts.sources):,} sources, "
        f"{counts.successes:,} accepted"
    )


def _summary(
    counts: LoginCounts,
    reader: AuthLines,
    activity: Activity,
    number: int,
    source: str,
    window: tuple[str | None, str | None],
) -> Finding[AuthSummary]:
    stamps = reader.stamps
    return Finding(
        title=f"{counts.failures:,} failed logins in {source}",
        facts=AuthSummary(
            lines=number,
            login_lines=counts.login_lines,
            failures=counts.failures,
            attempts=counts.attempts,
            successes=counts.successes,
            sources=len(counts.sources),
            accounts=sum(1 for name in counts.accounts if name is not None),
            attacking_sources=sum(1 for tally in counts.sources.values() if tally.is_attack),
            key_refusals=counts.key_refusals,
            unnamed=counts.unnamed,
            first=counts.all.first_text,
            last=counts.all.last_text,
            zone=", ".join(sorted(stamps.zones)) or "not stated",
            has_year=not stamps.lacks_year,
            hosts=sorted(counts.hosts)[:MAX_NAMES],
            after=window[0],
            before=window[1],
            activity=activity.spans(),
            activity_first=activity.ends[0],
            activity_last=activity.ends[1],
        ),
    )


def _successes(counts: LoginCounts, source: str) -> Iterator[Finding[AuthSuccess]]:
    for entry in sorted(counts.entries.values(), key=lambda entry: (-entry.streak, entry.line))[:MAX_LISTED]:
        tally = counts.sources[entry.source]
        account = entry.account if entry.account is not None else NO_ACCOUNT
        severity = _success_severity(entry, is_attack=tally.is_attack)
        yield Finding(
            title=f"{account} logged in from {entry.source} after {entry.streak:,} consecutive failures",
            severity=severity,
            why=_success_reason(severity, entry.method),
            evidence=(Evidence(source=source, excerpt=entry.excerpt, line=entry.line),),
            techniques=("T1110", "T1078") if severity in (Severity.CRITICAL, Severity.HIGH) else (),
            facts=AuthSuccess(
                source=entry.source,
                account=account,
                time=entry.time,
                line=entry.line,
                method=entry.method,
                service=entry.service,
                failures_before=entry.failures_before,
                account_failures_before=entry.account_failures_before,
                streak=entry.streak,
            ),
        )


def _success_severity(entry: SuccessAfterFailure, *, is_attack: bool) -> Severity:
    if entry.streak >= SURE_STREAK or (is_attack and entry.streak >= DOUBTFUL_STREAK):
        return Severity.HIGH if entry.method == "publickey" else Severity.CRITICAL
    if is_attack:
        return Severity.HIGH
    return Severity.MEDIUM if entry.streak >= DOUBTFUL_STREAK else Severity.LOW


def _success_reason(severity: Severity, method: str) -> str:
    if severity is Severity.LOW:
        return "One or two failures before a success look like a mistyped password."
    if method == "publickey":
        return "The source guessed passwords and then used a key, which cannot be guessed: known user or planted key."
    return WHY_DOUBTFUL if severity is Severity.MEDIUM else WHY_COMPROMISED


def _source_finding(tally: AuthTally, source: str) -> Finding[AuthSource]:
    accounts = tally.ranked_others()
    return Finding(
        title=f"{tally.pattern} from {tally.name}: {_tries(tally)}, {len(accounts):,} accounts",
        severity=_source_severity(tally),
        evidence=_evidence(tally, source),
        techniques=TECHNIQUES[tally.pattern],
        facts=AuthSource(
            source=tally.name or "",
            failures=tally.failures,
            attempts=tally.attempts,
            accounts=sum(1 for name, _ in accounts if name is not None),
            by_account=[
                AccountFailures(name if name is not None else NO_ACCOUNT, failures)
                for name, failures in accounts[:MAX_NAMES]
            ],
            first=tally.first_text,
            last=tally.last_text,
            first_line=tally.first_line,
            last_line=tally.last_line,
            per_minute=tally.per_minute,
            pattern=tally.pattern,
            successes=tally.successes,
            success_accounts=tally.entered_names(),
        ),
    )


def _source_severity(tally: AuthTally) -> Severity:
    if not tally.is_attack:
        return Severity.INFO
    if tally.entered:
        return Severity.CRITICAL
    is_loud = tally.failures >= MANY_FAILURES or (tally.per_minute or 0.0) >= FAST_PER_MINUTE
    return Severity.HIGH if is_loud else Severity.MEDIUM


def _tries(tally: AuthTally) -> str:
    """The failures, or the attempts if no connection came as far as a password."""
    return f"{tally.failures:,} failures" if tally.failures or not tally.attempts else f"{tally.attempts:,} attempts"


def _account_finding(tally: AuthTally, counts: LoginCounts, source: str) -> Finding[AuthAccount]:
    sources = tally.ranked_others()
    account = tally.name if tally.name is not None else NO_ACCOUNT
    return Finding(
        title=f"{account}: {_tries(tally)} from {len(sources):,} sources",
        severity=_account_severity(tally),
        evidence=_evidence(tally, source),
        facts=AuthAccount(
            account=account,
            failures=tally.failures,
            attempts=tally.attempts,
            sources=len(sources),
            by_source=[SourceFailures(name or "", failures) for name, failures in sources[:MAX_NAMES]],
            first=tally.first_text,
            last=tally.last_text,
            first_line=tally.first_line,
            last_line=tally.last_line,
            is_brute_forced=tally.is_brute_forced,
            is_valid=counts.validity.get(account),
            success_sources=tally.entered_names(),
        ),
    )


def _account_severity(tally: AuthTally) -> Severity:
    if not tally.is_brute_forced:
        return Severity.INFO
    return Severity.CRITICAL if tally.entered else Severity.MEDIUM


def _evidence(tally: AuthTally, source: str) -> tuple[Evidence, ...]:
    first = Evidence(source=source, excerpt=tally.first_excerpt, line=tally.first_line)
    if tally.last_line == tally.first_line:
        return (first,)
    return first, Evidence(source=source, excerpt=tally.last_excerpt, line=tally.last_line)


def _gaps(counts: LoginCounts, reader: AuthLines) -> Iterator[Gap]:
    if not counts.login_lines:
        yield Gap(
            text="no login lines found (supported are sshd, PAM, su, sudo, login, FTP, mail and file servers, MySQL)"
        )
        return
    notes = (
        (
            counts.double_lines,
            "lines repeat failures that are counted already (sshd and PAM both log an attempt); not counted again",
        ),
        (counts.key_refusals, "rejected keys (Failed publickey) are not counted as failed passwords"),
        (counts.unnamed, "lines about connections without an account name (scans, disconnects) are not counted"),
        (
            counts.unattributed,
            f"failures are not attributed: over {counts.max_names:,} pairs of source and account",
        ),
    )
    for count, note in notes:
        if count:
            yield Gap(text=f"{count:,} {note}")
    if reader.stamps.lacks_year:
        yield Gap(text="the timestamps have no year; days are in the log's order")
    if not reader.stamps.zones:
        yield Gap(text="the log does not state its time zone; times are shown as logged")
    for what, tallies in (("sources", counts.sources), ("accounts", counts.accounts)):
        if len(tallies) > MAX_LISTED:
            yield Gap(text=f"{len(tallies):,} {what}; only the {MAX_LISTED:,} with the most failures are listed")
