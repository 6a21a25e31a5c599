"""What findings about an event log hold. Times are ISO 8601 in UTC, or in the log's own zone if it states none.

A time is None if the events have none. Lists have a limit; the findings say how much was left out.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from svc.assistant.findings import Facts, Severity
from svc.assistant.log_readers.login_counting import LoginPattern
from svc.assistant.skills.logins.findings import AccountFailures, SourceFailures


class KindCount(msgspec.Struct, frozen=True):
    """One kind of event: its log, its ID and what the ID means; of an audit log without IDs, the action."""

    log: str
    id: int | None
    meaning: str
    count: int


class HostEvents(msgspec.Struct, frozen=True):
    """A host with its number of events."""

    host: str
    count: int


class AccountEvents(msgspec.Struct, frozen=True):
    """An account with its number of events."""

    account: str
    count: int


class SourceEvents(msgspec.Struct, frozen=True):
    """A log source in Sigma's terms ("" if it has none), and how many events the log has of it."""

    product: str
    service: str
    category: str
    events: int


class EventsSummary(Facts, frozen=True, kw_only=True, tag="events_summary"):
    """What was read."""

    events: int
    form: str
    """What the log was read as: ``Windows event log (EVTX)``, ``Okta System Log (mapped columns)``, …"""
    columns: list[str]
    """How the columns of a table were read: ``time=TimeGenerated``; empty for other logs."""
    unused_columns: list[str]
    """Columns of a table without a known meaning, at most 50."""
    first: str | None
    last: str | None
    kinds: int
    """How many kinds of event there are."""
    by_kind: list[KindCount]
    """Most frequent first, at most 100."""
    by_host: list[HostEvents]
    """Most frequent first, at most 50."""
    by_account: list[AccountEvents]
    """Most frequent first, at most 50."""
    by_log_source: list[SourceEvents]
    """Most frequent first, at most 100; they decide which detection rules could match."""
    rules: int
    """How many detection rules ran."""
    applicable_rules: int
    """How many of them could apply to these events, by log source and event ID."""
    after: str | None
    """Start of the time of day that the question asked for."""
    before: str | None
    window: str = ""
    """The part of each day or week that the question asked for, in words; the other events are not counted."""
    outside: int = 0
    """How many events are outside of it."""
    table_version: str
    """Version of the table of Windows event IDs."""
    table_date: str


class TacticScore(msgspec.Struct, frozen=True):
    """An ATT&CK tactic (``lateral-movement``) and how strongly the log points to it."""

    tactic: str
    score: float


class TacticIndicator(msgspec.Struct, frozen=True):
    """A rule or fact that points to a tactic; ``number`` is the line or record of the evidence."""

    tactic: str
    techniques: list[str]
    what: str
    count: int
    first: str
    severity: Severity
    number: int | None
    excerpt: str


class EventTactics(Facts, frozen=True, kw_only=True, tag="event_tactics"):
    """The tactics that the whole log points to."""

    named: list[str]
    """Those strong enough for the verdict."""
    by_tactic: list[TacticScore]
    """Strongest first."""
    indicators: list[TacticIndicator]
    """Strongest first."""
    attack_version: str


class TimelineMoment(msgspec.Struct, frozen=True):
    """What happened on a host; ``count`` is how often within the same minute, ``number`` the line or record."""

    time: str
    severity: Severity
    host: str
    what: str
    count: int
    number: int | None
    excerpt: str


class Timeline(Facts, frozen=True, kw_only=True, tag="timeline"):
    """The most severe moments in chronological order."""

    moments: list[TimelineMoment]
    left_out: int


class CorrelatedGroup(msgspec.Struct, frozen=True):
    """Events that a correlation rule relates: the values that they share, and the figure that the rule counts."""

    shared: list[str]
    """``FIELD=value``, as the rule groups."""
    events: int
    figure: float
    """The highest in the rule's span of time: events, different values, rules that matched, or a sum."""
    first: str | None
    last: str | None


class RuleHit(Facts, frozen=True, kw_only=True, tag="rule_hit"):
    """A detection rule that matched."""

    rule: str
    """The rule's ID."""
    level: str
    author: str
    license: str
    tactics: list[str]
    false_positives: list[str]
    count: int
    first: str | None
    last: str | None
    hosts: list[str]
    accounts: list[str] = msgspec.field(default_factory=list)
    """Who acted, in logs of services and Windows' security log: the first 20 that differ; empty for other logs."""
    addresses: list[str] = msgspec.field(default_factory=list)
    """From where they acted."""
    actions: list[str] = msgspec.field(default_factory=list)
    """What they did, as the log names it."""
    targets: list[str] = msgspec.field(default_factory=list)
    """What they did it to: accounts, groups, roles, policies, files, tasks."""
    event_ids: list[int]
    event_names: list[str] = msgspec.field(default_factory=list)
    """What each of ``event_ids`` means, in the same order; "" if that is not known."""
    groups: list[CorrelatedGroup] = msgspec.field(default_factory=list)
    """Of a correlation rule, which ``count`` counts: most events first, at most 50; empty for other rules."""


class LogGap(Facts, frozen=True, kw_only=True, tag="log_gap"):
    """Something missing from a log."""

    gap: Literal["cleared", "records missing", "silence", "clock set back"]
    log: str
    host: str
    start: str | None = msgspec.field(name="from")
    end: str | None = msgspec.field(name="to")
    account: str | None = None
    """Who cleared the log."""
    missing: int | None = None
    """Missing records."""
    places: int | None = None
    """At how many places records are missing."""
    is_filtered: bool | None = None
    """Whether so many places miss records that the log was filtered on export."""
    seconds: int | None = None
    """Length of the silence, or how far the clock was set back (negative)."""


class ReasonCount(msgspec.Struct, frozen=True):
    """Why logons were rejected, and how often."""

    reason: str
    count: int


class LogonSource(Facts, frozen=True, kw_only=True, tag="logon_source"):
    """Failed Windows logons from one source."""

    source: str
    """Address, workstation, or ``local``."""
    failures: int
    accounts: int
    """How many were tried."""
    by_account: list[AccountFailures]
    """Most failures first, at most 50."""
    first: str | None
    last: str | None
    per_minute: float | None
    pattern: LoginPattern
    logon_types: list[str]
    by_reason: list[ReasonCount]
    success_accounts: list[str]
    """Accounts that logged on from there after failures."""


class LogonAccount(Facts, frozen=True, kw_only=True, tag="logon_account"):
    """Failed Windows logons of one account."""

    account: str
    """Lower case, without the domain; "" if not named."""
    failures: int
    sources: int
    """How many tried it."""
    by_source: list[SourceFailures]
    """Most failures first, at most 50."""
    first: str | None
    last: str | None
    is_brute_forced: bool
    """Whether it had enough failures for a brute-force attack."""
    lockouts: int
    logon_types: list[str]
    by_reason: list[ReasonCount]
    success_sources: list[str]
    """Sources that logged on after failures."""


class LogonSuccess(Facts, frozen=True, kw_only=True, tag="logon_success"):
    """A Windows logon after failures from the same source; of several, the one with the longest streak."""

    source: str
    account: str
    time: str | None
    record: int
    """Line or record of the logon."""
    logon_type: str
    failures_before: int
    """Of the source."""
    account_failures_before: int
    """Of this account from this source."""
    streak: int
    """Consecutive failures of the source before this logon."""


class Logon(Facts, frozen=True, kw_only=True, tag="logon"):
    """Successful Windows logons of one account, by type, source and host."""

    account: str
    logon_type: str
    """The number of the type."""
    type_words: str
    source: str
    host: str
    count: int
    first: str | None
    last: str | None
    is_privileged: bool
    failures_before: int
    """Failed logons of the source before the first of them."""


class WeakTickets(Facts, frozen=True, kw_only=True, tag="weak_tickets"):
    """Kerberos service tickets that an account requested with RC4 or DES."""

    account: str
    source: str
    services: list[str]
    count: int
    first: str | None
    last: str | None


class RemoteAccess(Facts, frozen=True, kw_only=True, tag="remote_access"):
    """One way in which a host was reached from another, or reached another."""

    way: str
    weight: int
    """From 1 (everyday) to 4 (rarely legitimate)."""
    account: str | None
    source: str | None
    host: str
    detail: str | None
    count: int
    first: str | None
    last: str | None


class ProcessNode(msgspec.Struct, frozen=True):
    """A process of a tree; ``time`` is "" and ``record`` None if it started before the log begins."""

    depth: int
    pid: str
    image: str
    command: str
    user: str
    time: str
    record: int | None
    severity: Severity
    rules: list[str]


class ProcessTree(Facts, frozen=True, kw_only=True, tag="process_tree"):
    """A process and its descendants."""

    host: str
    processes: int
    flagged: int
    """Processes that a rule matched."""
    nodes: list[ProcessNode]
    """Parents before their children; of a large tree the flagged ones with their parents and children."""


class RareValue(Facts, frozen=True, kw_only=True, tag="rare"):
    """A value seen once or twice among hundreds of its type."""

    what: str
    """Type of the value."""
    value: str
    count: int
    total: int
    first: str | None
    host: str


class StatusCount(msgspec.Struct, frozen=True):
    """An HTTP status and its number of responses."""

    status: str
    count: int


class MethodCount(msgspec.Struct, frozen=True):
    """An HTTP method and its number of requests."""

    method: str
    count: int


class PathCount(msgspec.Struct, frozen=True):
    """A path and its number of requests."""

    path: str
    count: int


class ClientTraffic(msgspec.Struct, frozen=True):
    """A client's requests, those answered with 4xx or 5xx, and the bytes sent to it."""

    client: str
    requests: int
    failed: int
    bytes: int


class WebSummary(Facts, frozen=True, kw_only=True, tag="web_summary"):
    """Totals of a web server's log."""

    requests: int
    errors: int
    """Lines of an error log."""
    clients: int
    first: str | None
    last: str | None
    by_status: list[StatusCount]
    by_method: list[MethodCount]
    by_path: list[PathCount]
    by_client: list[ClientTraffic]
    not_listed: int
    """Requests of clients beyond the limit, which are counted in the totals only."""


class AttackCount(msgspec.Struct, frozen=True):
    """A type of attack and its number of requests."""

    attack: str
    count: int


class WebClient(Facts, frozen=True, kw_only=True, tag="web_client"):
    """A client that attacks or probes a web server."""

    client: str
    what: list[str]
    """What it did: attacks, probing, password guessing."""
    by_attack: list[AttackCount]
    answered: int
    """Attacks with a 2xx response."""
    requests: int
    failed: int
    missing: int
    """Different paths that do not exist."""
    refused: int
    """Responses 401 and 403."""
    denied: int
    """Rejected logins in the error log."""
    accounts: list[str]
    """Accounts of the rejected logins."""
    bytes: int
    first: str | None
    last: str | None
    agents: list[str]


class ProgramCount(msgspec.Struct, frozen=True):
    """A program and its number of log lines."""

    program: str
    count: int


class CommandCount(msgspec.Struct, frozen=True):
    """A command, who ran it, and how often."""

    user: str
    command: str
    count: int


class SudoCommand(msgspec.Struct, frozen=True):
    """A command run with sudo, the user it ran as, how often, and its first line."""

    user: str
    target: str
    command: str
    count: int
    line: int


class UnixSummary(Facts, frozen=True, kw_only=True, tag="unix_summary"):
    """Totals of a Unix host's audit log or syslog."""

    events: int
    by_program: list[ProgramCount]
    commands: list[CommandCount]
    rare_commands: list[str]
    """Commands that ran once."""
    sudo: list[SudoCommand]
    not_listed: int
    """Commands and changes beyond the limit, which are not listed."""


class UnixChange(Facts, frozen=True, kw_only=True, tag="unix_change"):
    """A change or action on a Unix host."""

    what: str
    whom: str
    """The account, group, module or program it is about."""
    host: str
    count: int
    first: str | None
    last: str | None


class CloudCall(Facts, frozen=True, kw_only=True, tag="cloud_call"):
    """Risky AWS API calls of one identity."""

    identity: str
    call: str
    """``service:Name``."""
    what: str
    is_refused: bool
    count: int
    addresses: list[str]
    first: str | None
    last: str | None


class CloudLogin(Facts, frozen=True, kw_only=True, tag="cloud_login"):
    """Logins of one identity to the AWS console."""

    identity: str
    result: str
    mfa: str
    """As logged: ``Yes``, ``No`` or ""."""
    count: int
    first: str | None
    last: str | None


class CloudRefusals(Facts, frozen=True, kw_only=True, tag="cloud_refused"):
    """An identity that was denied many different calls."""

    identity: str
    count: int
    calls: list[str]
    addresses: list[str]


class CloudIdentity(Facts, frozen=True, kw_only=True, tag="cloud_identity"):
    """An identity of an AWS account with its most frequent calls."""

    identity: str
    count: int
    calls: list[str]
    addresses: list[str]
    errors: int
    first: str | None
    last: str | None
