"""Join the lines about one connection before they are counted: host names to addresses, sessions to logins.

sshd writes a source's address, PAM its host name: a name is replaced by the address that another line of the same
process gives, or of a server process that logs a failure of the same account within PAIR_SECONDS (PAM may run in a
process of its own). A session that PAM opens is a login only if no line of the server reports that login. Events are
held back until that is known, for HOLD_SECONDS of the log at most, and keep their order.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterable, Iterator
from typing import TypeVar

import msgspec

from svc.assistant.skills.logins.lines import NO_SOURCE, LoginEvent, LoginEventKind, is_address

PAIR_SECONDS = 10.0  # between PAM's line and the server's for one attempt; PAM delays a failure by about 2 s
HOLD_SECONDS = 60.0
SAME_PID_SECONDS = 3_600.0  # after which a process id belongs to another process
MAX_HELD = 5_000  # events; a log without times is held by this number only
MAX_PIDS = 20_000  # remembered processes; the older half is forgotten beyond that
_SEARCHED = 50  # held events that one server line is compared with
_FAMILIES = dict.fromkeys(["smtp", "imap", "pop", "pop3", "sieve", "dovecot", "postfix", "exim"], "mail")
_OWN = (LoginEventKind.OWN, LoginEventKind.ERROR)
_REMOTE_SERVICES = frozenset(["sshd", "remote", "rlogin", "rsh", "telnet", "ftp", "vsftpd", "proftpd", "pure-ftpd"])

Read = tuple[LoginEvent, int, str]
"""An event with the number and the text of its line."""


class _Held:
    """An event that waits for an address or for the login of its session; a dropped one is not counted."""

    __slots__ = ("event", "is_dropped", "is_waiting", "line", "number")

    def __init__(self, event: LoginEvent, number: int, line: str) -> None:
        self.event, self.number, self.line = event, number, line
        self.is_waiting = self.is_dropped = False


class LoginJoiner:
    """Feed it the events in the log's order; it returns those that can be counted, in the same order."""

    def __init__(self) -> None:
        self._held: deque[_Held] = deque()
        self._waiting: dict[tuple[str, str], list[_Held]] = {}
        self._named: dict[str, deque[_Held]] = {}
        self._sessions: deque[_Held] = deque()
        self._addresses: dict[tuple[str, str], tuple[str, float]] = {}
        self._pam_processes: dict[tuple[str, str], float] = {}
        self._logins: dict[tuple[str, str], tuple[str | None, float]] = {}
        self._last_login: dict[tuple[str, str, str | None], float] = {}

    def passes(self, event: LoginEvent) -> bool:
        """Take an event that need not wait, as most; False for any other, which ``add`` takes."""
        if self._held or event.kind is LoginEventKind.SESSION or not is_address(event.source):
            return False
        now = event.stamp[0] if event.stamp else 0.0
        self._learn(event, now)
        if event.kind is LoginEventKind.SUCCESS:
            self._login(event, now)
        return True

    def add(self, event: LoginEvent, number: int, line: str) -> Iterable[Read]:
        """Take one event, and return what can be counted now."""
        now = event.stamp[0] if event.stamp else None
        held = _Held(event, number, line)
        if event.kind is LoginEventKind.SESSION:
            self._session(held, now or 0.0)
        elif is_address(event.source):
            self._learn(event, now or 0.0)
        elif (event.pid or event.source == NO_SOURCE) and not event.source.startswith("local "):
            self._name(held, now or 0.0)
        if event.kind is LoginEventKind.SUCCESS:
            self._login(event, now or 0.0)
        if not (self._held or held.is_waiting or held.is_dropped) and event.kind is not LoginEventKind.SESSION:
            return ((held.event, number, line),)
        self._held.append(held)
        return list(self._release(now))

    def finish(self) -> Iterator[Read]:
        """Yield the events that still wait, after the last line."""
        for held in self._held:
            yield from _settled(held)
        self._held.clear()

    def _release(self, now: float | None) -> Iterator[Read]:
        while self._held:
            first = self._held[0]
            if first.is_waiting and len(self._held) <= MAX_HELD:
                stamp = first.event.stamp
                if now is None or stamp is None or abs(now - stamp.seconds) <= HOLD_SECONDS:
                    return
            self._held.popleft()
            first.is_waiting = False
            yield from _settled(first)

    def _learn(self, event: LoginEvent, now: float) -> None:
        """Remember the address of the event's process, and give it to the events that wait for it."""
        process = event.host, event.pid
        if event.pid:
            _remember(self._addresses, process, (event.source, now))
            if event.kind is LoginEventKind.PAM:
                _remember(self._pam_processes, process, now)
            if self._waiting:
                for held in self._waiting.pop(process, ()):
                    _resolve(held, event.source)
        if not self._named or event.kind not in _OWN:
            return
        if now - self._pam_processes.get(process, -SAME_PID_SECONDS) >= SAME_PID_SECONDS:
            self._learn_other_process(event, now)

    def _learn_other_process(self, event: LoginEvent, now: float) -> None:
        """Give the address to the PAM event of another process that is about the same attempt."""
        named = self._named.get(event.host)
        if not named:
            return
        _drop_settled(named)
        for held in itertools.islice(named, _SEARCHED):
            other = held.event
            is_near = other.stamp is None or abs(now - other.stamp.seconds) <= PAIR_SECONDS + event.span
            is_same = _family(other) == _family(event) and (other.account in (None, event.account) or not event.account)
            if held.is_waiting and is_near and is_same and other.kind is LoginEventKind.PAM:
                if other.source != NO_SOURCE:
                    _remember(self._addresses, (other.host, other.pid), (event.source, now))
                for one in self._waiting.pop((other.host, other.pid), ()):
                    _resolve(one, event.source)
                return

    def _name(self, held: _Held, now: float) -> None:
        """Replace the event's host name by the address of its process, or wait for it."""
        event = held.event
        process = event.host, event.pid
        known = self._addresses.get(process)
        if event.kind is LoginEventKind.PAM:
            _remember(self._pam_processes, process, now)
        if known is not None and abs(now - known[1]) <= SAME_PID_SECONDS:
            _resolve(held, known[0])
            return
        held.is_waiting = True
        if len(self._waiting) > MAX_PIDS or len(self._named) > MAX_PIDS:
            self._waiting.clear()
            self._named.clear()
        waiting = self._waiting.setdefault(process, [])
        if waiting and not waiting[0].is_waiting:
            waiting.clear()
        waiting.append(held)
        named = self._named.setdefault(event.host, deque())
        _drop_settled(named)
        named.append(held)

    def _session(self, held: _Held, now: float) -> None:
        """Drop a session whose login the server has logged; otherwise wait for that line."""
        event = held.event
        of_process = self._logins.get((event.host, event.pid)) if event.pid else None
        before = self._last_login.get((event.host, event.service, event.account))
        if (
            of_process is not None and of_process[0] == event.account and abs(now - of_process[1]) <= SAME_PID_SECONDS
        ) or (before is not None and abs(now - before) <= PAIR_SECONDS):
            held.is_dropped = True
            self._last_login.pop((event.host, event.service, event.account), None)
            return
        held.is_waiting = True
        _drop_settled(self._sessions)
        self._sessions.append(held)

    def _login(self, event: LoginEvent, now: float) -> None:
        """Remember a login, and drop the session that PAM opened for it just before."""
        _drop_settled(self._sessions)
        for held in itertools.islice(self._sessions, _SEARCHED):
            session = held.event
            is_same = (session.host, session.service, session.account) == (event.host, event.service, event.account)
            is_near = session.stamp is None or abs(now - session.stamp.seconds) <= PAIR_SECONDS
            if held.is_waiting and is_same and is_near:
                held.is_waiting, held.is_dropped = False, True
                return
        if event.pid:
            _remember(self._logins, (event.host, event.pid), (event.account, now))
        _remember(self._last_login, (event.host, event.service, event.account), now)


def _family(event: LoginEvent) -> str:
    """The kind of server: a mail server asks PAM by the name of its protocol."""
    return _FAMILIES.get(event.service, event.service)


def _drop_settled(waiting: deque[_Held]) -> None:
    """Forget the events at the head that wait no longer."""
    while waiting and not waiting[0].is_waiting:
        waiting.popleft()


def _resolve(held: _Held, address: str) -> None:
    held.event = msgspec.structs.replace(held.event, source=address)
    held.is_waiting = False


def _settled(held: _Held) -> Iterator[Read]:
    """Yield the event as it is counted: a session without a server's line is a login from a source not stated."""
    if held.is_dropped:
        return
    event = held.event
    if event.kind is LoginEventKind.SESSION:
        source = NO_SOURCE if event.service in _REMOTE_SERVICES else "local console"
        event = msgspec.structs.replace(event, kind=LoginEventKind.SUCCESS, source=source)
    yield event, held.number, held.line


KeyT = TypeVar("KeyT")
ValueT = TypeVar("ValueT")


def _remember(known: dict[KeyT, ValueT], key: KeyT, value: ValueT) -> None:
    """Keep a value as the latest; forget the older half of too many."""
    known.pop(key, None)
    if len(known) >= MAX_PIDS:
        for old in list(itertools.islice(known, MAX_PIDS // 2)):
            del known[old]
    known[key] = value
