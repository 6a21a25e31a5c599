"""Who was attacked, from where, and did it work: failed and accepted logins of an auth.log, per source and per account.

Each failed attempt counts once, though sshd, its error log and PAM may each write a line about it: for every connection
the largest of their counts is taken. "message repeated N times" counts N times. What a line says: ``auth_lines.py``.
A log that runs newest first is read from its end (``log_order``).
Decides what is an attack: 5 failures within 10 minutes (fail2ban's default), or 20 failures or 5 accounts at any pace.

Finding kinds and their attributes (times are ISO 8601 in the log's own zone, None where the lines have none):

``auth_source``: source (address, host name or "local …"), failures, attempts (ended before a password was refused),
accounts (how many), account_names, account_failures (parallel, most failures first, at most 50), first, last,
first_line, last_line, per_minute (float or None), pattern ("brute force", "password spraying", "few failures"),
successes (int), success_accounts (list).

``auth_account``: account ("" where the client sent none), failures, attempts, sources (how many), source_names,
source_failures (parallel, at most 50), first, last, first_line, last_line, is_brute_forced (bool), is_valid (bool or
None: whether sshd ever said), success_sources (attackers that got in).

``auth_success``: a success from a source that had failed before: source, account, time, line, method, failures_before
(of the source), account_failures_before (of this account from this source), streak (failures since its last success),
service.

``auth_summary``: lines, login_lines, failures, attempts, successes, sources, accounts, attacking_sources,
key_refusals, unnamed, first, last, zone ("+02:00", "not stated"), has_year (bool), hosts (list), activity (list of int:
lines about failures in equal spans of whole minutes), activity_first, activity_last, after, before (str or
None).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from svc.assistant.findings import Evidence, Gap, Progress, Scalar, Severity, ToolEvent
from svc.assistant.findings import LooseFinding as Finding
from svc.assistant.log_readers.order import TimeOrder
from svc.assistant.log_readers.timestamps import second_of_day
from svc.assistant.skills.histogram import Activity
from svc.assistant.skills.logins.counting import Counts, Tally
from svc.assistant.skills.logins.lines import AuthLines, Event, EventKind

PROGRESS_EVERY = 20_000  # lines
FIRST_PROGRESS = 2_000  # lines: a sign of life
MAX_LISTED = 5_000  # sources and accounts, those with the most failures
MAX_NAMES = 50  # in one finding's lists
SURE_STREAK = 5  # failures in a row before a success: fail2ban's default; people mistype once or twice
DOUBTFUL_STREAK = 3
FAST_PER_MINUTE = 10.0
MANY_FAILURES = 100
NO_ACCOUNT = "(not named)"
_NO_FAILURE = (EventKind.SUCCESS, EventKind.KEY_REFUSED, EventKind.NO_ACCOUNT)


def brute_force(
    lines: Iterable[str], *, source: str, after: str | None = None, before: str | None = None
) -> Iterator[ToolEvent]:
    """Findings about the logins in ``lines``; ``after`` and ``before`` ("03:00") keep a part of each day."""
    reader, counts, order, activity = AuthLines(), Counts(), TimeOrder(lines), Activity()
    start, stop = second_of_day(after or ""), second_of_day(before or "")
    if order.is_backwards:
        yield Progress(text=f"{source} runs from the newest line to the oldest; it is read from its end")
    for done, (number, line) in enumerate(order, start=1):
        event = reader.read(line)
        if event is not None and _is_within(event, start, stop):
            counts.add(event, number, line)
            if event.stamp is not None and event.kind not in _NO_FAILURE:
                activity.add(event.stamp.seconds, event.stamp.text, event.count)
        if done % PROGRESS_EVERY == 0 or done == FIRST_PROGRESS:
            yield Progress(text=_progress(done, counts))
    counts.finish()
    yield Progress(text=_progress(order.count, counts))
    yield _summary(counts, reader, activity, order.count, source, (after, before))
    yield from _successes(counts, source)
    yield from _sources(counts, source)
    yield from _accounts(counts, source)
    yield from _gaps(counts, reader)
    if order.is_cut:
        yield Gap(text=f"the log runs newest first and is long: only its newest {order.count:,} lines were looked at")


def _is_within(event: Event, start: int | None, stop: int | None) -> bool:
    if start is None and stop is None:
        return True
    if event.stamp is None:
        return False
    of_day = event.stamp.of_day
    if start is not None and stop is not None and start > stop:  # over midnight
        return of_day >= start or of_day < stop
    return (start is None or of_day >= start) and (stop is None or of_day < stop)


def _progress(number: int, counts: Counts) -> str:
    return (
        f"read {number:,} lines: {counts.failures:,} failed logins from {len(counts.sources):,} sources, "
        f"{counts.successes:,} accepted"
    )


def _summary(
    counts: Counts,
    reader: AuthLines,
    activity: Activity,
    number: int,
    source: str,
    window: tuple[str | None, str | None],
) -> Finding:
    stamps = reader.stamps
    attackers = sum(1 for tally in counts.sources.values() if tally.is_attack)
    return Finding(
        kind="auth_summary",
        title=f"{counts.failures:,} failed logins in {source}",
        severity=Severity.INFO,
        attributes={
            "lines": number,
            "login_lines": counts.login_lines,
            "failures": counts.failures,
            "attempts": counts.attempts,
            "successes": counts.successes,
            "sources": len(counts.sources),
            "accounts": sum(1 for name in counts.accounts if name is not None),
            "attacking_sources": attackers,
            "key_refusals": counts.key_refusals,
            "unnamed": counts.unnamed,
            "first": counts.all.first_text,
            "last": counts.all.last_text,
            "zone": ", ".join(sorted(stamps.zones)) or "not stated",
            "has_year": not stamps.lacks_year,
            "hosts": [*sorted(counts.hosts)[:MAX_NAMES]],
            "after": window[0],
            "before": window[1],
            "activity": list(activity.spans()),
            "activity_first": activity.ends[0],
            "activity_last": activity.ends[1],
        },
    )


def _successes(counts: Counts, source: str) -> Iterator[Finding]:
    for entry in sorted(counts.entries.values(), key=lambda entry: (-entry.streak, entry.line))[:MAX_LISTED]:
        tally = counts.sources[entry.source]
        account = entry.account if entry.account is not None else NO_ACCOUNT
        severity = _success_severity(entry.streak, tally.is_attack, entry.method)
        yield Finding(
            kind="auth_success",
            title=f"{account} logged in from {entry.source} after {entry.streak:,} failures in a row",
            severity=severity,
            why=_success_reason(severity, entry.method),
            evidence=(Evidence(source=source, excerpt=entry.excerpt, line=entry.line),),
            techniques=("T1110", "T1078") if severity in (Severity.CRITICAL, Severity.HIGH) else (),
            attributes={
                "source": entry.source,
                "account": account,
                "time": entry.time,
                "line": entry.line,
                "method": entry.method,
                "service": entry.service,
                "failures_before": entry.failures_before,
                "account_failures_before": entry.account_failures_before,
                "streak": entry.streak,
            },
        )


def _success_severity(streak: int, is_attack: bool, method: str) -> Severity:  # noqa: FBT001 - two facts, one rule
    if streak >= SURE_STREAK or (is_attack and streak >= DOUBTFUL_STREAK):
        return Severity.HIGH if method == "publickey" else Severity.CRITICAL
    if is_attack:
        return Severity.HIGH
    return Severity.MEDIUM if streak >= DOUBTFUL_STREAK else Severity.LOW


def _success_reason(severity: Severity, method: str) -> str:
    if severity is Severity.LOW:
        return "One or two failures before a success look like a mistyped password."
    if method == "publickey":
        return (
            "The source guessed passwords and then used a key, which cannot be guessed: a known user, or a planted key."
        )
    if severity is Severity.MEDIUM:
        return (
            "Some failures and then a success from a source that does not look like an attack otherwise: ask the user."
        )
    return "A source that guessed passwords was let in: treat the account as taken over."


def _sources(counts: Counts, source: str) -> Iterator[Finding]:
    for tally in counts.ranked(counts.sources):
        names = [(name if name is not None else NO_ACCOUNT, failures) for name, failures in tally.ranked_others()]
        attributes = _figures(tally) | {
            "source": tally.name,
            "accounts": sum(1 for name in tally.others if name is not None),
            "account_names": [name for name, _ in names[:MAX_NAMES]],
            "account_failures": [failures for _, failures in names[:MAX_NAMES]],
            "per_minute": tally.per_minute,
            "pattern": tally.pattern,
            "successes": tally.successes,
            "success_accounts": [*sorted(tally.entered)[:MAX_NAMES]],
        }
        yield Finding(
            kind="auth_source",
            title=f"{tally.pattern} from {tally.name}: {_tries(tally)}, {len(names):,} accounts",
            severity=_source_severity(tally),
            evidence=_evidence(tally, source),
            techniques=_techniques(tally),
            attributes=attributes,
        )


def _source_severity(tally: Tally) -> Severity:
    if not tally.is_attack:
        return Severity.INFO
    if tally.entered:
        return Severity.CRITICAL
    is_loud = tally.failures >= MANY_FAILURES or (tally.per_minute or 0.0) >= FAST_PER_MINUTE
    return Severity.HIGH if is_loud else Severity.MEDIUM


def _tries(tally: Tally) -> str:
    """Failures; of a source that never came as far as a password, its attempts."""
    return f"{tally.failures:,} failures" if tally.failures or not tally.attempts else f"{tally.attempts:,} attempts"


def _techniques(tally: Tally) -> tuple[str, ...]:
    return {"password spraying": ("T1110.003",), "brute force": ("T1110.001",)}.get(tally.pattern, ())


def _accounts(counts: Counts, source: str) -> Iterator[Finding]:
    for tally in counts.ranked(counts.accounts):
        names = tally.ranked_others()
        account = tally.name if tally.name is not None else NO_ACCOUNT
        attributes = _figures(tally) | {
            "account": account,
            "sources": len(names),
            "source_names": [name for name, _ in names[:MAX_NAMES]],
            "source_failures": [failures for _, failures in names[:MAX_NAMES]],
            "is_brute_forced": tally.is_burst or tally.is_many,
            "is_valid": counts.validity.get(account),
            "success_sources": [*sorted(tally.entered)[:MAX_NAMES]],
        }
        yield Finding(
            kind="auth_account",
            title=f"{account}: {_tries(tally)} from {len(names):,} sources",
            severity=_account_severity(tally),
            evidence=_evidence(tally, source),
            attributes=attributes,
        )


def _account_severity(tally: Tally) -> Severity:
    if tally.is_burst or tally.is_many:
        return Severity.CRITICAL if tally.entered else Severity.MEDIUM
    return Severity.INFO


def _figures(tally: Tally) -> dict[str, Scalar | list[Scalar]]:
    return {
        "failures": tally.failures,
        "attempts": tally.attempts,
        "first": tally.first_text,
        "last": tally.last_text,
        "first_line": tally.first_line,
        "last_line": tally.last_line,
    }


def _evidence(tally: Tally, source: str) -> tuple[Evidence, ...]:
    first = Evidence(source=source, excerpt=tally.first_excerpt, line=tally.first_line)
    if tally.last_line == tally.first_line:
        return (first,)
    return first, Evidence(source=source, excerpt=tally.last_excerpt, line=tally.last_line)


def _gaps(counts: Counts, reader: AuthLines) -> Iterator[Gap]:
    if not counts.login_lines:
        yield Gap(
            text="no line is one about a login that this analyst reads (sshd, PAM, su, sudo, login, "
            "FTP, mail and file servers, MySQL)"
        )
        return
    if counts.double_lines:
        yield Gap(
            text=f"{counts.double_lines:,} lines tell of failures that another line counts already "
            "(sshd and PAM both log an attempt); they were not counted again"
        )
    if counts.key_refusals:
        yield Gap(text=f"{counts.key_refusals:,} refused keys (Failed publickey) are not counted as failed passwords")
    if counts.unnamed:
        yield Gap(
            text=f"{counts.unnamed:,} lines about connections that named no account (scans, ends) are not counted"
        )
    if reader.stamps.lacks_year:
        yield Gap(text="the stamps have no year; the order of days is the log's own")
    if not reader.stamps.zones:
        yield Gap(text="the log does not state its time zone; times are shown as they stand there")
    if counts.untold:
        yield Gap(text=f"more than {counts.most_names:,} names: {counts.untold:,} failures were counted without theirs")
    for what, tallies in (("sources", counts.sources), ("accounts", counts.accounts)):
        if len(tallies) > MAX_LISTED:
            yield Gap(text=f"{len(tallies):,} {what}; the {MAX_LISTED:,} with the most failures are listed")
