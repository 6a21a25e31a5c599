"""Count the login attempts of an auth.log once each, per source and per account.

sshd, its error log and PAM all write about the same attempt; a connection's failures are the largest of their counts.
PAM may write from a process of its own (keyboard-interactive), so a connection of which only PAM wrote is merged with
the server's for the same source and account within PAIR_SECONDS. A connection that only named an account (keys,
scanners) is an attempt, not a failure. Host names are addresses already where the log allows (``joining``).
"""

from __future__ import annotations

import itertools

from svc.assistant.log_readers.login_counting import BURST, LoginTally, tally_for
from svc.assistant.log_readers.timestamps import Stamp
from svc.assistant.sigma.event import Event
from svc.assistant.skills.asked.chosen import ChosenCollector
from svc.assistant.skills.logins.accepted import AcceptedLogins, FailuresBefore
from svc.assistant.skills.logins.joining import PAIR_SECONDS, SAME_PID_SECONDS, LoginJoiner
from svc.assistant.skills.logins.lines import LoginEvent, LoginEventKind

SAME_PORT_SECONDS = 300.0  # within which one source port is one connection
OPEN_CONNECTIONS = 20_000  # tracked at once; the older half is closed beyond that
MAX_TRACKED_NAMES = 100_000  # pairs of source and account counted separately
MAX_HOSTS = 5_000
EXCERPT_CHARS = 300


class AuthTally(LoginTally):
    """The failed logins of one source or account, with their first and last lines."""

    first_excerpt: str
    first_line: int
    first_seconds: float
    last_excerpt: str
    last_line: int
    last_seconds: float

    __slots__ = (
        "first_excerpt", "first_line", "first_seconds", "first_text", "last_excerpt", "last_line", "last_seconds",
        "last_text", "name",
    )  # fmt: skip

    def __init__(self, name: str | None) -> None:
        super().__init__()
        self.name: str | None = name
        self.first_text: str | None = None
        self.last_text: str | None = None
        self.first_seconds = self.last_seconds = 0.0
        self.first_line = self.last_line = 0
        self.first_excerpt = self.last_excerpt = ""

    @property
    def per_minute(self) -> float | None:
        """Failures per minute from the first to the last; None without two different times."""
        return self.rate_per_minute(self.first_seconds, self.last_seconds)

    def extend(self, stamp: Stamp | None, number: int, line: str) -> None:
        """Extend the period and the evidence to include this line."""
        if stamp is not None:
            seconds = stamp[0]
            if seconds >= self.last_seconds or self.last_text is None:
                self.last_seconds, self.last_text = seconds, stamp[1]
            if seconds < self.first_seconds or self.first_text is None:
                self.first_seconds, self.first_text = seconds, stamp[1]
        self.last_line, self.last_excerpt = number, line[:EXCERPT_CHARS]
        if not self.first_line:
            self.first_line, self.first_excerpt = number, self.last_excerpt


_OWN, _PAM, _ERROR, _SUCCESS = LoginEventKind.OWN, LoginEventKind.PAM, LoginEventKind.ERROR, LoginEventKind.SUCCESS
_FAILURES = (_OWN, _PAM, _ERROR)
_Key = tuple[str, str, str]
"""Host, service, and process ID or source."""


class _Connection:
    """One connection of one source, with the failures that each log counted in it."""

    own = error = counted = unnamed = pam_line = 0
    account: str | None = None
    nameless: tuple[LoginEvent, int, str] | None = None
    attempt: tuple[LoginEvent, int, str] | None = None
    has_success = False
    last = 0.0
    pam: dict[str, int] | None = None
    port = ""

    def __init__(self, source: str, key: _Key) -> None:
        self.source, self.key = source, key

    @property
    def pam_count(self) -> int:
        return max(self.pam.values()) if self.pam else 0

    @property
    def logged(self) -> int:
        if self.pam is None and not self.error:
            return self.own
        return max(self.own, self.error, self.pam_count)

    def add_pam(self, module: str, count: int) -> None:
        """Count failures as PAM's module logs them."""
        if self.pam is None:
            self.pam = {}
        self.pam[module] = self.pam.get(module, 0) + count

    def merge(self, other: _Connection) -> None:
        """Take over what PAM wrote from another process about this connection's attempts."""
        for module, count in (other.pam or {}).items():
            self.add_pam(module, count)
        self.counted += other.counted
        self.unnamed += other.unnamed
        self.nameless = self.nameless or other.nameless
        self.pam_line = self.pam_line or other.pam_line
        self.account = self.account or other.account


def _record(event: LoginEvent, account: str | None, number: int, line: str, outcome: str) -> Event:
    """A login as the records of other logs are."""
    held = {"TargetUserName": account or "", "IpAddress": event.source, "Outcome": outcome, "Method": event.method}
    return Event(
        number=number, offset=None, time=event.stamp.text if event.stamp is not None else "", product="linux",
        service=event.service, category="authentication", host=event.host, event_id=None, excerpt=line.strip(),
        fields={name: value for name, value in held.items() if value},
    )  # fmt: skip


class LoginCounts:
    """Counts of a whole log. Feed it the events in the log's order, then call ``finish`` once."""

    failures: int
    attempts: int
    login_lines: int
    jobs: int
    key_refusals: int
    unnamed: int
    double_lines: int
    unattributed: int

    max_names = MAX_TRACKED_NAMES

    def __init__(self) -> None:
        self.failures = self.attempts = self.login_lines = self.jobs = 0
        self.key_refusals = self.unnamed = self.double_lines = self.unattributed = 0
        self.all: AuthTally = AuthTally("")
        self.sources: dict[str | None, AuthTally] = {}
        self.accounts: dict[str | None, AuthTally] = {}
        self.accepted: AcceptedLogins = AcceptedLogins(limit=self.max_names)
        self.hosts: set[str] = set()
        self.validity: dict[str, bool] = {}
        self._names = 0
        self._joiner = LoginJoiner()
        self._open: dict[_Key, _Connection] = {}
        self._unpaired_pam: dict[str, list[_Connection]] = {}
        self._ports: dict[tuple[str, str], float] = {}
        self.asked: tuple[ChosenCollector, ...] = ()
        """Collect the logins that the question asks for, each once."""

    def add(self, event: LoginEvent, number: int, line: str) -> None:
        """Take one line's event; it may be counted only after later ones."""
        if event.kind is LoginEventKind.JOB:
            self.jobs += event.count
            return
        self.login_lines += 1
        self.all.extend(event.stamp, number, "")
        if len(self.hosts) < MAX_HOSTS and event.host:
            self.hosts.add(event.host)
        if self._joiner.passes(event):
            self._add(event, number, line)
            return
        for read in self._joiner.add(event, number, line):
            self._add(*read)

    def finish(self) -> None:
        """Count what waits, and close every connection; attempts without a failure are counted now."""
        for read in self._joiner.finish():
            self._add(*read)
        for connection in self._open.values():
            self._close(connection)
        self._open.clear()

    def _add(self, event: LoginEvent, number: int, line: str) -> None:
        kind = event.kind
        if kind in _FAILURES:
            self._failure(event, number, line)
        elif kind is _SUCCESS:
            self._success(event, number, line)
        elif kind is LoginEventKind.ATTEMPT:
            self._attempt(event, number, line)
        elif kind is LoginEventKind.KEY_REFUSED:
            self.key_refusals += event.count
        elif kind is LoginEventKind.NO_ACCOUNT:
            self.unnamed += event.count

    def _failure(self, event: LoginEvent, number: int, line: str) -> None:
        connection, kind = self._connection(event), event.kind
        if kind is _OWN:
            connection.own += event.count
        elif kind is _PAM:
            connection.add_pam(event.module, event.count)
        else:
            connection.error += event.count
        if event.account is not None:
            connection.account = event.account
        if self._unpaired_pam and kind is not _PAM and event.source in self._unpaired_pam:
            self._merge_pam(event, connection)
        logged = connection.logged
        new = logged - connection.counted
        if new > 0:
            connection.counted = logged
        else:
            self.double_lines += 1
            self._confirm(connection, event, number, line)
        if connection.unnamed and event.account is not None:
            self._attribute_unnamed(connection, event, event.account, number, line)
        if new > 0:
            self._count(event, connection, new, number, line)
        if kind is _PAM and not (connection.own or connection.error):
            connection.pam_line = connection.pam_line or number
            unpaired = self._unpaired_pam.setdefault(event.source, [])
            if not unpaired or unpaired[-1] is not connection:
                unpaired.append(connection)
        if connection.port:
            self._ports[event.source, connection.port] = connection.last

    def _confirm(self, connection: _Connection, event: LoginEvent, number: int, line: str) -> None:
        """Prefer the server's line to PAM's earlier line about the same failure: it is the better evidence."""
        if event.kind is LoginEventKind.PAM:
            return
        for tally in (self.sources.get(event.source), self.accounts.get(event.account)):
            if tally is None or not tally.failures:
                continue
            if tally.first_line == connection.pam_line:
                tally.first_line, tally.first_text = 0, None
            tally.extend(event.stamp, number, line)

    def _merge_pam(self, event: LoginEvent, connection: _Connection) -> None:
        """Merge connections of which only PAM wrote, while the server has logged more failures than PAM."""
        waiting = [
            other
            for other in self._unpaired_pam[event.source]
            if other is not connection
            and self._open.get(other.key) is other
            and not (other.own or other.error)
            and self._is_near(event, other)
        ]
        while waiting and connection.logged > connection.pam_count:
            named = (None, event.account)
            index = next((n for n, other in enumerate(waiting) if other.account in named or not event.account), None)
            if index is None:
                break
            other = waiting.pop(index)
            connection.merge(other)
            if event.service == "sshd":  # its processes serve one connection; other servers' serve many
                self._open[other.key] = connection
            else:
                del self._open[other.key]
        if waiting:
            self._unpaired_pam[event.source] = waiting
        else:
            self._unpaired_pam.pop(event.source, None)

    @staticmethod
    def _is_near(event: LoginEvent, other: _Connection) -> bool:
        return event.stamp is None or abs(event.stamp.seconds - other.last) <= PAIR_SECONDS + event.span

    def _attribute_unnamed(
        self, connection: _Connection, event: LoginEvent, account: str, number: int, line: str
    ) -> None:
        """Move failures that PAM reported without an account to the account that the server names after it."""
        moved, connection.unnamed = connection.unnamed, 0
        self._ask(event, account, number, line, "failure", moved)
        source = self._tally(self.sources, event.source)
        source.others[None] = source.others.get(None, 0) - moved
        if source.others[None] <= 0:
            del source.others[None]
        nobody = self._tally(self.accounts, None)
        nobody.failures -= moved
        nobody.others[event.source] = nobody.others.get(event.source, 0) - moved
        if nobody.others[event.source] <= 0:
            del nobody.others[event.source]
        self._count_pair(event, source, account, moved, number, line)

    def _count(self, event: LoginEvent, connection: _Connection, new: int, number: int, line: str) -> None:
        self.failures += new
        if connection.account is None:
            connection.nameless = connection.nameless or (event, number, line)
        else:
            self._ask(event, connection.account, number, line, "failure", new)
        source = self._tally(self.sources, event.source)
        if not source.failures:
            source.successes = self.accepted.by_source[event.source]
        source.extend(event.stamp, number, line)
        source.add_failures(event.stamp[0] if event.stamp else None, new)
        if connection.account is None:
            connection.unnamed += new
        self._count_pair(event, source, connection.account, new, number, line)

    def _count_pair(
        self, event: LoginEvent, source: AuthTally, name: str | None, new: int, number: int, line: str
    ) -> None:
        account = self._tally(self.accounts, name)
        if not account.failures:
            account.successes = self.accepted.of_account(name)
        account.extend(event.stamp, number, line)
        account.add_failures(event.stamp[0] if event.stamp else None, new)
        self._count_together(source, account, new)
        if event.kind is _OWN and event.service == "sshd" and name is not None:
            self.validity[name] = self.validity.get(name, False) or " invalid user " not in line

    def _count_together(self, source: AuthTally, account: AuthTally, new: int) -> None:
        if account.name not in source.others:
            if self._names >= self.max_names:
                self.unattributed += new
                return
            self._names += 1
        source.add_other(account.name, new)
        account.add_other(source.name, new)

    def _tally(self, tallies: dict[str | None, AuthTally], name: str | None) -> AuthTally:
        return tallies.get(name) or tally_for(tallies, name, AuthTally, limit=self.max_names)

    def _attempt(self, event: LoginEvent, number: int, line: str) -> None:
        connection = self._connection(event)
        if connection.account is None:
            connection.account = event.account
        if connection.attempt is None:
            connection.attempt = (event, number, line)

    def _success(self, event: LoginEvent, number: int, line: str) -> None:
        self._connection(event).has_success = True
        if event.service not in ("sudo", "su"):  # who uses these is logged in already
            self._ask(event, event.account, number, line, "success", event.count)
        source, account = self.sources.get(event.source), self.accounts.get(event.account)
        before = FailuresBefore()
        if source is not None:
            before = FailuresBefore(
                of_source=source.failures,
                of_pair=source.others.get(event.account, 0),
                of_account=account.failures if account else 0,
                streak=source.streak,
            )
            source.add_success(event.count)
            is_after_attack = source.is_attack and (before.streak or before.of_source >= BURST)
            if is_after_attack and event.account is not None:
                source.add_entered(event.account)
                self._tally(self.accounts, event.account).add_entered(event.source)
        elif account is not None:
            before = FailuresBefore(of_account=account.failures)
        if account is not None:
            account.add_success(event.count)
        self.accepted.add(event, before, number, line)

    def _connection(self, event: LoginEvent) -> _Connection:
        """Return the open connection of the event, found by its process id, otherwise by its source."""
        source, stamp = event.source, event.stamp
        key = (event.host, event.service, event.pid or source)
        seconds = stamp[0] if stamp else 0.0
        connection = self._open.get(key)
        if connection is not None and (
            connection.source != source or abs(seconds - connection.last) > SAME_PID_SECONDS
        ):
            self._close(self._open.pop(key))
            connection = None
        if connection is None:
            if len(self._open) >= OPEN_CONNECTIONS:
                self._close_older()
            connection = self._open[key] = _Connection(source, key)
        connection.last = seconds
        if event.port:
            connection.port = event.port
        return connection

    def _ask(self, event: LoginEvent, account: str | None, number: int, line: str, outcome: str, count: int) -> None:
        if not self.asked:
            return
        record = _record(event, account, number, line, outcome)
        for collector in self.asked:
            collector.add(record, count)

    def _close_older(self) -> None:
        for key in list(itertools.islice(self._open, OPEN_CONNECTIONS // 2)):
            self._close(self._open.pop(key))
        self._unpaired_pam.clear()
        if len(self._ports) > self.max_names:
            self._ports.clear()

    def _close(self, connection: _Connection) -> None:
        """Count an attempt unless a failure, a success or another line of its port already covers it."""
        if connection.nameless is not None and connection.unnamed:
            unnamed, number, line = connection.nameless
            self._ask(unnamed, None, number, line, "failure", connection.unnamed)
        if connection.attempt is None or connection.counted or connection.has_success:
            return
        event, number, line = connection.attempt
        if connection.port:
            known = self._ports.get((connection.source, connection.port))
            self._ports[connection.source, connection.port] = connection.last
            if known is not None and abs(known - connection.last) <= SAME_PORT_SECONDS:
                return
        self.attempts += 1
        source = self._tally(self.sources, event.source)
        account = self._tally(self.accounts, connection.account)
        for tally in (source, account):
            tally.attempts += 1
            if not tally.failures:
                tally.extend(event.stamp, number, line)
        self._count_together(source, account, 0)
