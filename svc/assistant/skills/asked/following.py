"""Collect what a log records after a login: "what did the attacker do after getting in?".

The login is the first accepted one that the question can mean. One that failures came before counts more than one
from another host, and that more than one at the host itself; among equals, the first.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from svc.assistant.findings import Confidence, Facts, Finding, Severity
from svc.assistant.sigma.event import Event, without_fields
from svc.assistant.skills.asked.chosen import login_state
from svc.assistant.skills.asked.evidence import Place, account_of
from svc.assistant.skills.asked.findings import FollowingRecords
from svc.assistant.skills.asked.records import word_pattern
from svc.untrusted.markup import plural

AFTER_FAILURES = 3  # failures of the source or the account before a login
MAX_SHOWN = 12  # records as evidence, of each sort
MAX_NAMES = 50_000  # sources and accounts whose failures are counted
_OF_SERVICES = frozenset({"4", "5"})  # Windows' logon types of batch jobs and services
_SYSTEM = frozenset({"system", "local service", "network service", "anonymous logon"})
_COMES_AND_GOES = re.compile(
    r"\bsession (?:opened|closed)|\b[Dd]isconnect|\bConnection (?:closed|reset)|\b(?:New|Removed) session\b"
)
_WINDOWS_SESSIONS = frozenset({4624, 4625, 4634, 4647, 4648, 4672, 4776, 4768, 4769, 4770, 4771})
_ADDRESS = re.compile(r"[\da-f]{0,4}[.:][\da-f.:]{3,}\Z")


class FollowingQuestion(msgspec.Struct, frozen=True):
    """A clause that asks what came after a login, and the account or the address of the login if it names them."""

    clause: str
    names: tuple[str, ...] = ()


class Login(NamedTuple):
    """What a record says about a login; ``account`` and ``source`` are "" if it does not name them."""

    is_accepted: bool
    account: str
    source: str


class _Start(NamedTuple):
    """The login after which records are collected; ``rank``: how likely the question means it."""

    rank: int
    login: Login
    event: Event
    failures: int


class FollowingCollector:
    """Collects for one clause; records come in the order of the log."""

    def __init__(self, question: FollowingQuestion) -> None:
        self._question = question
        self._names = frozenset(name.lower() for name in question.names)
        self._failures: Counter[str] = Counter()
        self._total = self._accepted = 0
        self._has_logins = False
        self._previous = ""
        self._order = 0  # above zero, the oldest come first
        self._start: _Start | None = None
        self._is_own = re.compile(r"(?!)")
        self._begin_again()

    def _begin_again(self) -> None:
        self._own: list[Event] = []
        self._others: list[Event] = []
        self._own_count = self._others_count = self._sessions = 0
        self._last = ""

    def add(self, event: Event, times: int = 1) -> None:
        """Look at a record of an event log."""
        is_session = event.event_id in _WINDOWS_SESSIONS and event.product == "windows"
        self.look(event, _login_of(event), is_session=is_session, times=times)

    def look(self, event: Event, login: Login | None, *, is_session: bool, times: int = 1) -> None:
        """Look at a record with what it says about a login; ``is_session``: it is about sessions alone."""
        self._total += times
        if event.time:
            self._order += (event.time >= self._previous) - (event.time < self._previous)
            self._previous = event.time
        if login is not None:
            self._has_logins = True
            self._accepted += login.is_accepted
            if self._may_start(event, login):
                return
        if self._start is None:
            return
        if event.time:
            self._last = event.time
        if login is not None or is_session or _COMES_AND_GOES.search(event.excerpt):
            self._sessions += times
        elif self._is_own.search("\n".join((*event.fields.values(), event.excerpt))):
            self._own_count += times
            if len(self._own) < MAX_SHOWN:
                self._own.append(without_fields(event))
        else:
            self._others_count += times
            if len(self._others) < MAX_SHOWN:
                self._others.append(without_fields(event))

    def _may_start(self, event: Event, login: Login) -> bool:
        """Count a failure, or begin again with a login that the question means more likely than the one before."""
        failures = max(self._failures[name] for name in (f"a {login.account}", f"s {login.source}"))
        if not login.is_accepted:
            for name in (f"a {login.account}", f"s {login.source}"):
                if len(name) > len("a ") and (name in self._failures or len(self._failures) < MAX_NAMES):
                    self._failures[name] += 1
            return False
        if self._names and self._names.isdisjoint((login.account.lower(), login.source.lower(), event.host.lower())):
            return False
        is_remote = _ADDRESS.match(login.source) is not None
        rank = 2 if failures >= AFTER_FAILURES else int(is_remote)
        if self._start is not None and rank <= self._start.rank:
            return False
        self._start = _Start(rank, login, without_fields(event), failures)
        patterns = [word_pattern(name).pattern for name in (login.account, login.source) if len(name) > 1]
        self._is_own = re.compile("|".join(patterns) or r"(?!)", re.IGNORECASE)
        self._begin_again()
        return True

    def findings(self, place: Place) -> Iterator[Finding[Facts]]:
        """Yield what followed, or that there was no such login; nothing of a log that records no logins."""
        if not self._has_logins:
            return
        start = self._start
        kept = [start.event, *self._own, *self._others] if start is not None else []
        yield Finding(
            title=f"{plural(self._own_count + self._others_count, 'record')} after the login",
            severity=Severity.INFO,
            confidence=Confidence.HIGH,
            why="the question asks for these records",
            evidence=tuple(place.evidence(event) for event in kept),
            facts=FollowingRecords(
                clause=self._question.clause,
                names=list(self._question.names),
                total=self._total,
                is_newest_first=self._order < 0,
                accepted=self._accepted,
                is_found=start is not None,
                account=start.login.account if start is not None else "",
                source=start.login.source if start is not None else "",
                failures=start.failures if start is not None else 0,
                first=(start.event.time if start is not None else "") or None,
                last=self._last or None,
                own=self._own_count,
                own_shown=len(self._own),
                others=self._others_count,
                sessions=self._sessions,
            ),
        )


def _login_of(event: Event) -> Login | None:
    """What an event says about a login; None for those of services and of the system itself."""
    state = login_state(event)
    if not state:
        return None
    account = account_of(event, "Target").rpartition("\\")[2].partition("@")[0]
    if event.fields.get("LogonType") in _OF_SERVICES or account.lower() in _SYSTEM or account.endswith("$"):
        return None
    source = event.fields.get("IpAddress", "").removeprefix("::ffff:").strip("-")
    return Login(state == "accepted", account, source)


def following_in(text: str) -> list[FollowingQuestion]:
    """The questions in the option of a tool."""
    return msgspec.json.decode(text, type=list[FollowingQuestion]) if text else []
