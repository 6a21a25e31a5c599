"""What findings about the logins of an auth.log hold. Times are ISO 8601 in the log's own time zone.

A time is None if the lines have none; without a year it is ``--11-20T03:12:45``.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from svc.assistant.findings import Facts
from svc.assistant.log_readers.login_counting import LoginPattern
from svc.assistant.skills.charts.histogram import ActivitySeries


class LoginAccess(StrEnum):
    """How a login reached the host; with sudo and su, a user who was logged in already became another one."""

    NETWORK = "network"
    CONSOLE = "console"
    SUDO = "sudo"
    SU = "su"


class LoginQuestion(StrEnum):
    """What a question asks about logins."""

    ENTRY = "entry"
    """Who or whether anyone got in."""
    ATTACK = "attack"
    """Whether an attack succeeded."""
    COMPROMISE = "compromise"
    """Whether a host or an account is compromised."""
    UNUSUAL = "unusual"
    """Which logins are unusual."""
    OTHER = "other"


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
    """Accepted logins of one account from one source by one method.

    ``time``, ``line``, ``earlier_logins`` and the failures are those of the login after the longest streak of failures;
    of the first login if there were none.
    """

    source: str
    """Address, host name, ``local …``, or ``(not stated)`` if only PAM logged the login."""
    account: str
    access: LoginAccess
    method: str
    """For example ``password`` or ``publickey``."""
    service: str
    count: int
    first: str | None
    last: str | None
    first_line: int
    last_line: int
    time: str | None
    line: int
    earlier_logins: int
    """Accepted logins of this account from this source before it, by any method; 0: the first in the log."""
    failures_before: int
    """Of the source."""
    account_failures_before: int
    """Of this account from this source."""
    all_failures_before: int
    """Of this account from any source."""
    streak: int
    """Consecutive failures of the source before this login."""


class AuthUnusual(Facts, frozen=True, kw_only=True, tag="auth_unusual"):
    """A login that differs from the other logins of its account."""

    account: str
    source: str
    method: str
    time: str | None
    line: int
    reasons: list[str]


class AuthSummary(Facts, frozen=True, kw_only=True, tag="auth_summary"):
    """Totals of a log."""

    lines: int
    log_lines: int
    """Lines that a log of programs can hold: a time, a host and a program, or a login message."""
    login_lines: int
    records_logins: bool
    """Whether a program that authenticates people wrote any of the lines."""
    failures: int
    attempts: int
    """Connections that ended before authentication."""
    successes: int
    """Accepted logins, by network and at the console."""
    local_sessions: int
    """Uses of sudo and su, which are not logins."""
    jobs: int
    """Sessions of scheduled jobs and services, which are not logins."""
    compared: int
    """Accepted logins of accounts with enough logins to tell what is unusual."""
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
    window: str = ""
    """The part of each day or week that the question asked for, in words; the other lines are not counted."""
    activity: list[int]
    """Lines about failures in equal periods."""
    activity_start: str
    """When the first period begins."""
    activity_seconds: int
    """The length of a period."""
    activity_by_source: list[ActivitySeries]
    """The counts of the sources with the most."""
    question: LoginQuestion
    """What the question asks."""
    is_yes_no: bool
    """Whether it asks for yes or no."""
