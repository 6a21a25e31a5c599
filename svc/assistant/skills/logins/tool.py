"""Find accepted logins, brute-force attacks and compromised accounts in an auth.log, by source and account.

Each failed attempt counts once, although sshd, its error log and PAM may each write a line about it (``counting``);
each accepted login is a finding, whether or not failures came before it (``accepted``).

A line counts as understood if it is a log line (``log_lines``), whatever program wrote it, not only if it is about a
login: a log in which only cron wrote has been searched for logins. A text, a table or random bytes has no such line and
was not examined. An answer may only say "no accepted login" about logs in which a program that authenticates wrote.
"message repeated N times" counts N times. What is an attack: ``log_readers/login_counting.py``. A log in reverse order
(newest first) is read from its end (``log_readers/order.py``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from svc.assistant.findings import Confidence, Evidence, Finding, Gap, Progress, Severity, ToolEvent
from svc.assistant.log_readers.login_counting import (
    BURST,
    MAX_NAMES,
    NO_ACCOUNT,
    TECHNIQUES,
    WHY_COMPROMISED,
    ranked,
    source_severity,
    success_severity,
)
from svc.assistant.log_readers.order import TimeOrder
from svc.assistant.log_readers.parts import part_of
from svc.assistant.log_readers.time_window import WITHOUT_DAY, TimeWindow
from svc.assistant.skills.asked.chosen import ChosenCollector, conditions_in
from svc.assistant.skills.asked.evidence import Place
from svc.assistant.skills.asked.following import FollowingCollector, following_in
from svc.assistant.skills.charts.histogram import Activity
from svc.assistant.skills.logins.accepted import LoginDeviation, LoginRow
from svc.assistant.skills.logins.counting import AuthTally, LoginCounts
from svc.assistant.skills.logins.findings import (
    AccountFailures,
    AuthAccount,
    AuthSource,
    AuthSuccess,
    AuthSummary,
    AuthUnusual,
    LoginAccess,
    LoginQuestion,
    SourceFailures,
)
from svc.assistant.skills.logins.lines import AuthLines
from svc.assistant.skills.logins.log_lines import LogLines
from svc.assistant.skills.logins.parts import LoginsSoFar
from svc.assistant.skills.logins.questions import asked
from svc.untrusted.markup import plural

PROMPT = "prompt"  # the name of what is pasted
PROGRESS_EVERY = 20_000  # lines
FIRST_PROGRESS = 2_000  # lines, so that a first report comes soon
TARGETED_BY = 3  # sources with failures that make an account a target of a distributed attack
_BAD = (Severity.CRITICAL, Severity.HIGH)


def inspect(
    content: Iterable[str],
    /,
    *,
    source: str,
    after: str | None = None,
    before: str | None = None,
    days: str = "",
    outside: str = "",
    question: str = "",
    conditions: str = "",
    following: str = "",
) -> Iterator[ToolEvent]:
    """Yield findings about the logins in an auth.log.

    Args:
        content: The lines of the log.
        source: The log's name.
        after: Start of a time of day (``03:00``); earlier lines of each day are not counted.
        before: End of a time of day.
        days: Days of the week as digits, 0 for Monday; lines of other days are not counted.
        outside: ``yes`` to count all other lines instead.
        question: The question, which decides what the verdict says first.
        conditions: Questions for the logins that fulfil conditions exactly, as JSON (``RecordConditions``).
        following: Questions for what came after a login, as JSON (``FollowingQuestion``).
    """
    part = part_of(content)
    found = part.begin()
    found = (
        found if isinstance(found, LoginsSoFar) else LoginsSoFar(TimeWindow(after or "", before or "", days, outside))
    )
    if not found.count:
        _collect(found, conditions, following)
    order, counts, read, window = TimeOrder(content, found.count), found.counts, found.lines, found.window
    if order.is_backwards:
        yield Progress(text=f"{source} is in reverse order (newest line first); reading it from its end")
    for number, line in order:
        found.add(number, line)
        if found.count % PROGRESS_EVERY == 0 or found.count == FIRST_PROGRESS:
            yield Progress(text=_progress(found.count, counts))
    if part.is_paused:
        part.state = found
        return
    counts.finish()
    yield Progress(text=_progress(order.count, counts))
    yield read.coverage()
    yield _summary(
        counts,
        found.reader,
        found.activity,
        read,
        order.count,
        source,
        (after or "", before or "", window.words),
        _asked(question, read, source),
    )
    successes = list(_successes(counts, source))
    yield from successes
    for unusual in counts.accepted.unusual():
        yield _unusual_finding(unusual, source)
    worst = _Worst(successes)
    for _, tally in ranked(counts.sources, limit=counts.max_names + 1):
        yield _source_finding(tally, worst, source)
    for _, tally in ranked(counts.accounts, limit=counts.max_names + 1):
        yield _account_finding(tally, counts, worst, source)
    collectors: tuple[ChosenCollector | FollowingCollector, ...] = (*counts.asked, *found.following)
    for collector in collectors:
        yield from collector.findings(Place(source, has_records=False))
    yield from _gaps(counts, found.reader)
    if window.lacks_day:
        yield Gap(text=WITHOUT_DAY, in_headline=True)
    if order.is_cut:
        yield Gap(text=f"the log is newest first and too long: only its newest {order.count:,} lines were examined")


def _asked(question: str, read: LogLines, source: str) -> tuple[LoginQuestion, bool]:
    """What the question asks; in a prompt it may come after the pasted lines."""
    found = asked(question)
    if found[0] is LoginQuestion.OTHER and source == PROMPT:
        return asked(" ".join(read.questions))
    return found


def _collect(found: LoginsSoFar, conditions: str, following: str) -> None:
    """Add what collects the lines that the question is about."""
    found.counts.asked = tuple(ChosenCollector(clause, one) for clause, one in conditions_in(conditions) if one.logins)
    found.following = tuple(map(FollowingCollector, following_in(following)))


class _Worst:
    """The worst severity of the compromises of each source and account."""

    def __init__(self, successes: Iterable[Finding[AuthSuccess]]) -> None:
        self.of_source: dict[str, Severity] = {}
        self.of_account: dict[str, Severity] = {}
        for found in successes:
            if found.severity in _BAD:
                for known, name in ((self.of_source, found.facts.source), (self.of_account, found.facts.account)):
                    is_critical = Severity.CRITICAL in (found.severity, known.get(name))
                    known[name] = Severity.CRITICAL if is_critical else Severity.HIGH


def _progress(number: int, counts: LoginCounts) -> str:
    failed = f"{plural(counts.failures, 'failed login')} from {plural(len(counts.sources), 'source')}"
    return f"read {plural(number, 'line')}: {failed}, {counts.accepted.total:,} accepted"


def _summary(
    counts: LoginCounts,
    reader: AuthLines,
    activity: Activity,
    read: LogLines,
    number: int,
    source: str,
    window: tuple[str, str, str],
    question: tuple[LoginQuestion, bool],
) -> Finding[AuthSummary]:
    stamps, failing = reader.stamps, activity.histogram()
    return Finding(
        title=f"{counts.failures:,} failed logins in {source}",
        facts=AuthSummary(
            lines=number,
            log_lines=read.understood,
            login_lines=counts.login_lines,
            records_logins=read.records_logins,
            failures=counts.failures,
            attempts=counts.attempts,
            successes=counts.accepted.total,
            local_sessions=counts.accepted.local,
            jobs=counts.jobs,
            compared=counts.accepted.compared,
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
            after=window[0] or None,
            before=window[1] or None,
            window=window[2],
            activity=failing.total,
            activity_start=failing.start,
            activity_seconds=failing.seconds,
            activity_by_source=failing.by_source,
            question=question[0],
            is_yes_no=question[1],
        ),
    )


def _successes(counts: LoginCounts, source: str) -> Iterator[Finding[AuthSuccess]]:
    """Yield every accepted login, those after the longest streak of failures first, sudo and su last."""
    is_local = (LoginAccess.SUDO, LoginAccess.SU)
    rows = sorted(
        counts.accepted.rows.values(), key=lambda row: (row.access in is_local, -row.before.streak, row.first_line)
    )
    for row in rows:
        severity, why = _judged(row, counts)
        account = row.account if row.account is not None else NO_ACCOUNT
        yield Finding(
            title=_success_title(row, account),
            severity=severity,
            why=why,
            evidence=(Evidence(source=source, excerpt=row.excerpt, line=row.line),),
            techniques=("T1110", "T1078") if severity in _BAD else (),
            facts=AuthSuccess(
                source=row.source,
                account=account,
                access=row.access,
                method=row.method,
                service=row.service,
                count=row.count,
                first=row.first,
                last=row.last,
                first_line=row.first_line,
                last_line=row.last_line,
                time=row.time,
                line=row.line,
                earlier_logins=row.earlier,
                failures_before=row.before.of_source,
                account_failures_before=row.before.of_pair,
                all_failures_before=row.before.of_account,
                streak=row.before.streak,
            ),
        )


def _success_title(row: LoginRow, account: str) -> str:
    if row.access in (LoginAccess.SUDO, LoginAccess.SU):
        verb = f"used {row.access.value}" if row.access is LoginAccess.SUDO else "was entered with su"
        title = f"{account} {verb}, {row.source}"
    else:
        title = f"{account} logged in from {row.source} ({row.method})"
    if row.before.streak:
        title += f" after {row.before.streak:,} consecutive failure{'' if row.before.streak == 1 else 's'}"
    return title if row.count == 1 else f"{title}, {row.count:,} times in total"


def _judged(row: LoginRow, counts: LoginCounts) -> tuple[Severity, str]:
    """How much the logins of a row matter, and why."""
    source, account = counts.sources.get(row.source), counts.accounts.get(row.account)
    if source is None:
        return Severity.INFO, ""
    if not row.before.streak:
        is_after_attack = source.is_attack and row.before.of_source >= BURST and not row.earlier
        return (Severity.HIGH, WHY_COMPROMISED) if is_after_attack else (Severity.INFO, "")
    return success_severity(
        row.before.streak,
        is_attack=source.is_attack,
        is_key=row.method == "publickey",
        is_target=account is not None and account.is_brute_forced and len(account.others) >= TARGETED_BY,
        earlier=row.earlier,
    )


def _unusual_finding(unusual: LoginDeviation, source: str) -> Finding[AuthUnusual]:
    row = unusual.row
    account = row.account if row.account is not None else NO_ACCOUNT
    return Finding(
        title=f"unusual login of {account} from {row.source}",
        severity=Severity.MEDIUM if len(unusual.reasons) > 1 else Severity.LOW,
        confidence=Confidence.MEDIUM,
        why=f"{'; '.join(unusual.reasons)}.",
        evidence=(Evidence(source=source, excerpt=unusual.excerpt, line=unusual.line),),
        facts=AuthUnusual(
            account=account,
            source=row.source,
            method=row.method,
            time=unusual.time,
            line=unusual.line,
            reasons=list(unusual.reasons),
        ),
    )


def _source_finding(tally: AuthTally, worst: _Worst, source: str) -> Finding[AuthSource]:
    accounts = tally.ranked_others()
    return Finding(
        title=f"{tally.pattern} from {tally.name}: {_tries(tally)}, {plural(len(accounts), 'account')}",
        severity=worst.of_source.get(tally.name or "") or source_severity(tally, tally.per_minute),
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


def _tries(tally: AuthTally) -> str:
    """The failures, or the attempts if no connection came as far as a password."""
    if tally.attempts and not tally.failures:
        return plural(tally.attempts, "attempt")
    return plural(tally.failures, "failure")


def _account_finding(tally: AuthTally, counts: LoginCounts, worst: _Worst, source: str) -> Finding[AuthAccount]:
    sources = tally.ranked_others()
    account = tally.name if tally.name is not None else NO_ACCOUNT
    return Finding(
        title=f"{account}: {_tries(tally)} from {plural(len(sources), 'source')}",
        severity=worst.of_account.get(account) or (Severity.MEDIUM if tally.is_brute_forced else Severity.INFO),
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
            f"failures are not attributed: more than {counts.max_names:,} pairs of source and account",
        ),
        (
            counts.accepted.not_listed,
            f"accepted logins are counted, not listed: over {counts.max_names:,} rows of account, source and method",
        ),
    )
    for count, note in notes:
        if count:
            yield Gap(text=f"{count:,} {note}")
    if reader.stamps.lacks_year:
        yield Gap(text="the timestamps have no year; days are in the log's order")
    if not reader.stamps.zones:
        yield Gap(text="the log does not state its time zone; times are shown as logged")
