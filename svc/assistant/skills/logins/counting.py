"""Count login attempts once each: connections, and per source and account what was tried, when, and what was let in.

sshd, its error log and PAM write about the same attempt; a connection's failures are the largest of what each counted.
PAM may do so from a process of its own (keyboard-interactive), so a PAM failure also pairs with the server's line of
the same source within PAIR_SECONDS. A connection that only named an account (keys, scanners) is an attempt, and no
failure.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping

from svc.assistant.skills.logins.lines import Event, EventKind

BURST = 5  # failures, fail2ban's maxretry
BURST_SECONDS = 600.0  # fail2ban's findtime
MANY = 20  # failures at any pace: low and slow
SPRAYED_ACCOUNTS = 5
SPRAYED_TRIES = 5.0  # failures an account, up to which many accounts are sprayed rather than forced
PAIR_SECONDS = 10.0  # between PAM's line and the server's about one attempt; PAM delays a failure by about 2 s
SAME_PORT_SECONDS = 300.0  # within which one source port is one connection
SAME_PID_SECONDS = 3_600.0  # after which a process id is another process
OPEN_CONNECTIONS = 20_000  # kept apart; older ones are closed
MOST_NAMES = 100_000  # pairs of source and account told apart
LISTED = 5_000
OTHERS = "(all others)"  # stands for every name beyond those that are told apart
EXCERPT_CHARS = 300


class Tally:
    """What one source did, or what one account suffered."""

    __slots__ = (
        "attempts", "entered", "failures", "first_excerpt", "first_line", "first_seconds", "first_text", "is_burst",
        "last_excerpt", "last_line", "last_seconds", "last_text", "name", "others", "recent", "streak", "successes",
    )  # fmt: skip

    def __init__(self, name: str | None) -> None:
        self.name = name
        self.failures = self.attempts = self.successes = self.streak = 0
        self.is_burst = False
        self.first_text: str | None = None
        self.last_text: str | None = None
        self.first_seconds = self.last_seconds = 0.0
        self.first_line = self.last_line = 0
        self.first_excerpt = self.last_excerpt = ""
        self.others: dict[str | None, int] = {}
        self.entered: frozenset[str] = frozenset()  # small: there may be 100,000 tallies
        self.recent: list[float] = []

    @property
    def is_many(self) -> bool:
        """Twenty failures or more, at any pace."""
        return self.failures >= MANY

    @property
    def is_attack(self) -> bool:
        """Whether a person who mistypes would not do this."""
        return self.is_burst or self.failures + self.attempts >= MANY or len(self.others) >= SPRAYED_ACCOUNTS

    @property
    def pattern(self) -> str:
        """The attack's kind, or "few failures"."""
        if not self.is_attack:
            return "few failures"
        is_sprayed = self.failures + self.attempts <= SPRAYED_TRIES * len(self.others)
        return "password spraying" if is_sprayed and len(self.others) >= SPRAYED_ACCOUNTS else "brute force"

    @property
    def per_minute(self) -> float | None:
        """Failures a minute from the first to the last; None without two different times."""
        seconds = self.last_seconds - self.first_seconds
        return round(self.failures / seconds * 60, 2) if seconds > 0 else None

    def ranked_others(self) -> list[tuple[str | None, int]]:
        """The accounts of a source or the sources of an account, most failures first."""
        return sorted(self.others.items(), key=lambda item: (-item[1], item[0] or ""))

    def see(self, event: Event, number: int, line: str) -> None:
        """Widen the time and the evidence by this line."""
        stamp = event.stamp
        if stamp is not None:
            if self.first_text is None or stamp.seconds < self.first_seconds:
                self.first_seconds, self.first_text = stamp.seconds, stamp.text
            if self.last_text is None or stamp.seconds >= self.last_seconds:
                self.last_seconds, self.last_text = stamp.seconds, stamp.text
        if not self.first_line:
            self.first_line, self.first_excerpt = number, line[:EXCERPT_CHARS]
        self.last_line, self.last_excerpt = number, line[:EXCERPT_CHARS]

    def fail(self, event: Event, count: int) -> None:
        """Count so many failures at this time."""
        self.failures += count
        self.streak += count
        if self.is_burst:
            return
        if event.stamp is None:
            self.is_burst = count >= BURST
            return
        self.recent = (self.recent + [event.stamp.seconds] * min(count, BURST))[-BURST:]
        self.is_burst = len(self.recent) == BURST and abs(self.recent[-1] - self.recent[0]) <= BURST_SECONDS


class Entry:
    """A success of an account from a source that had failed before; kept once, with its longest streak."""

    __slots__ = (
        "account", "account_failures_before", "excerpt", "failures_before", "line", "method", "service", "source",
        "streak", "time",
    )  # fmt: skip

    def __init__(self, event: Event, tally: Tally, number: int, line: str) -> None:
        self.source = event.source
        self.account = event.account
        self.method, self.service = event.method, event.service
        self.time = event.stamp.text if event.stamp else None
        self.line, self.excerpt = number, line[:EXCERPT_CHARS]
        self.failures_before, self.streak = tally.failures, tally.streak
        self.account_failures_before = tally.others.get(event.account, 0)


class _Connection:
    """One connection of one source: what each log counted of it."""

    __slots__ = (
        "account", "attempt", "counted", "error", "has_success", "last", "own", "paired", "pam", "pam_line", "port",
        "source", "unnamed",
    )  # fmt: skip

    def __init__(self, source: str) -> None:
        self.source = source
        self.own = self.error = self.counted = self.paired = self.unnamed = self.pam_line = 0
        self.pam: dict[str, int] = {}
        self.account: str | None = None
        self.port = ""
        self.attempt: tuple[Event, int, str] | None = None
        self.has_success = False
        self.last = 0.0

    @property
    def pam_count(self) -> int:
        return max(self.pam.values(), default=0)

    @property
    def logged(self) -> int:
        return max(self.own, self.error, self.pam_count)


class Counts:
    """All that was counted. Feed it the events in the log's order, then call ``finish`` once."""

    most_names = MOST_NAMES

    def __init__(self) -> None:
        self.failures = self.attempts = self.successes = self.login_lines = 0
        self.key_refusals = self.unnamed = self.double_lines = self.untold = 0
        self.all = Tally("")
        self.sources: dict[str | None, Tally] = {}
        self.accounts: dict[str | None, Tally] = {}
        self.entries: dict[tuple[str, str | None], Entry] = {}
        self.hosts: set[str] = set()
        self.validity: dict[str, bool] = {}
        self._names = 0
        self._open: dict[tuple[str, str, str], _Connection] = {}
        self._loose: dict[str, list[_Connection]] = {}
        self._ports: dict[tuple[str, str], float] = {}

    def add(self, event: Event, number: int, line: str) -> None:
        """Count what one line says."""
        self.login_lines += 1
        self.all.see(event, number, "")
        if len(self.hosts) < LISTED and event.host:
            self.hosts.add(event.host)
        match event.kind:
            case EventKind.KEY_REFUSED:
                self.key_refusals += event.count
            case EventKind.NO_ACCOUNT:
                self.unnamed += event.count
            case EventKind.SUCCESS:
                self._success(event, number, line)
            case EventKind.ATTEMPT:
                self._attempt(event, number, line)
            case _:
                self._failure(event, number, line)

    def finish(self) -> None:
        """Close every connection; attempts that came to no failure count now."""
        for connection in self._open.values():
            self._close(connection)
        self._open.clear()

    def ranked(self, tallies: Mapping[str | None, Tally]) -> list[Tally]:
        """Those that failed or tried, worst first."""
        tried = [tally for tally in tallies.values() if tally.failures or tally.attempts]
        return sorted(tried, key=lambda tally: (-tally.failures, -tally.attempts, tally.name or ""))[:LISTED]

    def _failure(self, event: Event, number: int, line: str) -> None:
        connection = self._connection(event)
        before = connection.counted
        if event.kind is EventKind.PAM:
            connection.pam[event.module] = connection.pam.get(event.module, 0) + event.count
        elif event.kind is EventKind.ERROR:
            connection.error += event.count
        else:
            connection.own += event.count
        if event.account is not None:
            connection.account = event.account
        new = connection.logged - before
        if event.kind is not EventKind.PAM:
            new = self._unpaired(event, connection, new)
        connection.counted = connection.logged
        if new <= 0:
            self.double_lines += 1
            self._confirm(connection, event, number, line)
        self._name_unnamed(connection, event, number, line)
        if new > 0:
            self._count(event, connection, new, number, line)
        if event.kind is EventKind.PAM and not (connection.own or connection.error):
            connection.pam_line = connection.pam_line or number
            self._loose.setdefault(event.source, []).append(connection)
        if connection.port:
            self._ports[event.source, connection.port] = connection.last

    def _confirm(self, connection: _Connection, event: Event, number: int, line: str) -> None:
        """The server's own line tells of a failure that PAM told first: the better evidence, and the later time."""
        if event.kind is EventKind.PAM:
            return
        for tally in (self.sources.get(event.source), self.accounts.get(event.account)):
            if tally is None or not tally.failures:
                continue
            if tally.first_line == connection.pam_line:
                tally.first_line, tally.first_text = 0, None
            tally.see(event, number, line)

    def _unpaired(self, event: Event, connection: _Connection, new: int) -> int:
        """How many of ``new`` failures no PAM line of another process has told already; also undoes a wrong pair."""
        if connection.paired:
            new += connection.paired
            connection.paired = 0
        if new <= 0 or connection.pam or event.source not in self._loose:
            return new
        waiting = [
            other
            for other in self._loose[event.source]
            if other is not connection and not other.own and not other.error and self._is_near(event, other)
        ]
        for other in waiting:
            taken = min(new, other.pam_count - other.paired)
            other.paired += taken
            new -= taken
            if taken and other.unnamed and event.account is not None:
                connection.unnamed += other.unnamed
                other.unnamed = 0
        if waiting:
            self._loose[event.source] = waiting
        else:
            del self._loose[event.source]
        return new

    @staticmethod
    def _is_near(event: Event, other: _Connection) -> bool:
        return event.stamp is None or abs(event.stamp.seconds - other.last) <= PAIR_SECONDS

    def _name_unnamed(self, connection: _Connection, event: Event, number: int, line: str) -> None:
        """Failures that PAM told without an account belong to the account that the server names after it."""
        if not connection.unnamed or event.account is None:
            return
        moved, connection.unnamed = connection.unnamed, 0
        source = self._tally(self.sources, event.source)
        source.others[None] = source.others.get(None, 0) - moved
        if source.others[None] <= 0:
            del source.others[None]
        nobody = self._tally(self.accounts, None)
        nobody.failures -= moved
        nobody.others[event.source] = nobody.others.get(event.source, 0) - moved
        if nobody.others[event.source] <= 0:
            del nobody.others[event.source]
        self._count_pair(event, event.account, moved, number, line)

    def _count(self, event: Event, connection: _Connection, new: int, number: int, line: str) -> None:
        self.failures += new
        source = self._tally(self.sources, event.source)
        source.see(event, number, line)
        source.fail(event, new)
        if connection.account is None:
            connection.unnamed += new
        self._count_pair(event, connection.account, new, number, line)

    def _count_pair(self, event: Event, name: str | None, new: int, number: int, line: str) -> None:
        account = self._tally(self.accounts, name)
        account.see(event, number, line)
        account.fail(event, new)
        self._meet(self._tally(self.sources, event.source), account, new)
        if event.kind is EventKind.OWN and event.service == "sshd" and name is not None:
            self.validity[name] = self.validity.get(name, False) or " invalid user " not in line

    def _meet(self, source: Tally, account: Tally, new: int) -> None:
        if account.name not in source.others:
            if self._names >= self.most_names:
                self.untold += new
                return
            self._names += 1
        source.others[account.name] = source.others.get(account.name, 0) + new
        account.others[source.name] = account.others.get(source.name, 0) + new

    def _tally(self, tallies: dict[str | None, Tally], name: str | None) -> Tally:
        tally = tallies.get(name)
        if tally is None:
            if len(tallies) >= self.most_names:
                name = OTHERS
            tally = tallies.setdefault(name, Tally(name))
        return tally

    def _attempt(self, event: Event, number: int, line: str) -> None:
        connection = self._connection(event)
        if connection.account is None:
            connection.account = event.account
        if connection.attempt is None:
            connection.attempt = (event, number, line)

    def _success(self, event: Event, number: int, line: str) -> None:
        self.successes += event.count
        connection = self._connection(event)
        connection.has_success = True
        source = self.sources.get(event.source)
        if source is None:
            return
        source.successes += event.count
        if source.streak:
            self._enter(Entry(event, source, number, line), source)
        source.streak = 0

    def _enter(self, entry: Entry, source: Tally) -> None:
        """A source that failed was let in. An account counts as entered where it was more than a mistyped password."""
        key = (entry.source, entry.account)
        known = self.entries.get(key)
        if known is None and len(self.entries) >= self.most_names:
            return
        if known is None or entry.streak > known.streak:
            self.entries[key] = entry
        if source.is_attack and entry.account is not None:
            source.entered |= {entry.account}
            self._tally(self.accounts, entry.account).entered |= {entry.source}

    def _connection(self, event: Event) -> _Connection:
        """The open connection that the event belongs to; the process id tells, else the source."""
        key = (event.host, event.service, event.pid or event.source)
        seconds = event.stamp.seconds if event.stamp else 0.0
        connection = self._open.get(key)
        if connection is not None and (
            connection.source != event.source or abs(seconds - connection.last) > SAME_PID_SECONDS
        ):
            self._close(self._open.pop(key))
            connection = None
        if connection is None:
            if len(self._open) >= OPEN_CONNECTIONS:
                self._close_older()
            connection = self._open[key] = _Connection(event.source)
        connection.last = seconds
        connection.port = event.port or connection.port
        return connection

    def _close_older(self) -> None:
        for key in list(itertools.islice(self._open, OPEN_CONNECTIONS // 2)):
            self._close(self._open.pop(key))
        self._loose.clear()
        if len(self._ports) > self.most_names:
            self._ports.clear()

    def _close(self, connection: _Connection) -> None:
        """An attempt counts where neither a failure, a success nor another line of its port tells of it."""
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
                tally.see(event, number, line)
        self._meet(source, account, 0)
