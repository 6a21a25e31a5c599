"""What findings about the logins of an auth.log hold. Times are ISO 8601 in the log's own time zone.

A time is None if the lines have none; without a year it is ``--11-20T03:12:45``.
"""

from __future__ import annotations

import msgspec

from svc.assistant.findings import Facts
from svc.assistant.log_readers.login_counting import LoginPattern


class AccountFailures(msgspec.Struct, frozen=True):
    """An account that a source tried, with its failed logins from there."""

    account: str
    failures: int


class SourceFailures(msgspec.Struct, frozen=True):
    """A source that tried an account, with its failed logins for it."""

    source: str
    failures: int


class AuthSource(Facts, frozen=True, kw_only=True, tag="auth_source"):
    """Failed logins from one source."""

    source: str
    """Address, host name or ``local …``."""
    failures: int
    attempts: int
    """Connections that ended before authentication."""
    accounts: int
    """How many were tried."""
    by_account: list[AccountFailures]
    """Most failures first, at most 50."""
    first: str | None
    last: str | None
    first_line: int
    last_line: int
    per_minute: float | None
    """Failures per minute; None without two different times."""
    pattern: LoginPattern
    successes: int
    success_accounts: list[str]
    """Accounts that the source logged in to after an attack."""


class AuthAccount(Facts, frozen=True, kw_only=True, tag="auth_account"):
    """Failed logins of one account."""

    account: str
    """``(not named)`` if the log gives none, "" if the client sent an empty one."""
    failures: int
    attempts: int
    """Connections that ended before authentication."""
    sources: int
    """How many tried it."""
    by_source: list[SourceFailures]
    """Most failures first, at most 50."""
    first: str | None
    last: str | None
    first_line: int
    last_line: int
    is_brute_forced: bool
    """Whether it had enough failures for a brute-force attack."""
    is_valid: bool | None
    """Whether the account exists; None if sshd did not log it."""
    success_sources: list[str]
    """Attacking sources that logged in."""


class AuthSuccess(Facts, frozen=True, kw_only=True, tag="auth_success"):
    """A login from a source that had failed before; of several, the one with the longest streak."""

    source: str
    account: str
    time: str | None
    line: int
    method: str
    """For example ``password`` or ``publickey``."""
    service: str
    failures_before: int
    """Of the source."""
    account_failures_before: int
    """Of this account from this source."""
    streak: int
    """Consecutive failures of the source before this login."""


class AuthSummary(Facts, frozen=True, kw_only=True, tag="auth_summary"):
    """Totals of a log."""

    lines: int
    login_lines: int
    failures: int
    attempts: int
    """Connections that ended before authentication."""
    successes: int
    sources: int
    accounts: int
    attacking_sources: int
    key_refusals: int
    unnamed: int
    """Connections that named no account."""
    first: str | None
    last: str | None
    zone: str
    """``+02:00``, or ``not stated``."""
    has_year: bool
    hosts: list[str]
    after: str | None
    """Start of the time of day that the question asked for."""
    before: str | None
    activity: list[int]
    """Lines about failures in equal spans of whole minutes."""
    activity_first: str
    activity_last: str
