"""Count accepted logins by account, source, method and service, and find the unusual ones.

Every accepted login is counted, whether or not failures came before it. What people do who are logged in already (sudo,
su) is kept apart from logins. A login is unusual for its account if it is the only one from its source, by its method,
or at its time of day, among enough others to compare it with.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import msgspec

from svc.assistant.skills.logins.findings import LoginAccess
from svc.assistant.skills.logins.lines import NO_SOURCE, LoginEvent

COMPARED = 6  # other logins of an account from which one login can differ
COMPARED_HOURS = 10  # the same for the time of day
ODD_HOURS = 3  # from every other login of the account, at any day's same time
MANY_SOURCES = 3  # logins per source below which an account is used from ever new sources
_BIN_SECONDS = 900
_BINS = 86_400 // _BIN_SECONDS
EXCERPT_CHARS = 300
_LOCAL_ACCESS = {"sudo": LoginAccess.SUDO, "su": LoginAccess.SU}

_Key = tuple[str | None, str, str, str]


class FailuresBefore(msgspec.Struct, frozen=True):
    """Failed logins before an accepted one."""

    of_source: int = 0
    of_pair: int = 0
    """Of this account from this source."""
    of_account: int = 0
    """Of this account from any source."""
    streak: int = 0
    """Of the source, consecutive."""


class LoginRow:
    """The accepted logins of one account from one source by one method.

    ``line``, ``time``, ``excerpt``, ``before`` and ``earlier`` are those of the login after the most consecutive
    failures; of the first one if there were none.
    """

    account: str | None
    count: int
    earlier: int
    first: str | None
    first_line: int
    last: str | None
    last_line: int
    line: int
    method: str
    service: str
    source: str
    time: str | None

    __slots__ = (
        "access", "account", "before", "count", "earlier", "excerpt", "first", "first_line", "last", "last_line",
        "line", "method", "service", "source", "time",
    )  # fmt: skip

    def __init__(self, event: LoginEvent, number: int) -> None:
        self.account, self.source = event.account, event.source
        self.method, self.service = event.method, event.service
        self.access: LoginAccess = _access(event)
        self.count = self.earlier = self.line = 0
        self.before: FailuresBefore = FailuresBefore()
        self.excerpt: str = ""
        self.first = self.last = self.time = event.stamp.text if event.stamp else None
        self.first_line = self.last_line = number


class LoginDeviation(msgspec.Struct, frozen=True):
    """A login that differs from the others of its account, and in what."""

    row: LoginRow
    reasons: tuple[str, ...]
    time: str | None
    line: int
    excerpt: str


class _Moment(msgspec.Struct):
    """The logins of an account in one quarter of an hour of the day, and the last of them."""

    count: int
    key: _Key
    time: str | None
    line: int
    excerpt: str


class _Habits:
    """How one account logs in."""

    __slots__ = ("methods", "moments", "sources", "total")

    def __init__(self) -> None:
        self.total = 0
        self.sources: Counter[str] = Counter()
        self.methods: Counter[str] = Counter()
        self.moments: dict[int, _Moment] = {}


class AcceptedLogins:
    """Accepted logins of a whole log; beyond ``limit`` rows they are counted only."""

    total: int
    local: int
    not_listed: int

    def __init__(self, *, limit: int) -> None:
        self.rows: dict[_Key, LoginRow] = {}
        self.total = self.local = self.not_listed = 0
        self._limit = limit
        self._habits: dict[str | None, _Habits] = {}
        self.by_source: Counter[str] = Counter()
        self._source_users: dict[str, set[str | None]] = {}

    def add(self, event: LoginEvent, before: FailuresBefore, number: int, line: str) -> None:
        """Count one accepted login."""
        access = _access(event)
        if access in (LoginAccess.SUDO, LoginAccess.SU):
            self.local += event.count
        else:
            self.total += event.count
        key = event.account, event.source, event.method, event.service
        row = self.rows.get(key)
        if row is None:
            if len(self.rows) >= self._limit:
                self.not_listed += event.count
                return
            row = self.rows[key] = LoginRow(event, number)
        is_login = access in (LoginAccess.NETWORK, LoginAccess.CONSOLE)
        earlier = self._habit(event, key, number, line) if is_login else row.count
        if not row.count or before.streak > row.before.streak:
            row.before, row.earlier = before, earlier
            row.line, row.excerpt = number, line[:EXCERPT_CHARS]
            row.time = event.stamp.text if event.stamp else None
        row.count += event.count
        row.last_line, row.last = number, event.stamp.text if event.stamp else row.last

    def _habit(self, event: LoginEvent, key: _Key, number: int, line: str) -> int:
        """Remember how the account logged in; return its earlier logins from this source."""
        habits = self._habits.setdefault(event.account, _Habits())
        earlier = habits.sources[event.source]
        habits.total += event.count
        habits.sources[event.source] += event.count
        habits.methods[event.method] += event.count
        self.by_source[event.source] += event.count
        self._source_users.setdefault(event.source, set()).add(event.account)
        if event.stamp is not None:
            slot = event.stamp.of_day // _BIN_SECONDS % _BINS
            known = habits.moments.get(slot)
            count = event.count + (known.count if known else 0)
            habits.moments[slot] = _Moment(count, key, event.stamp.text, number, line[:EXCERPT_CHARS])
        return earlier

    def of_account(self, account: str | None) -> int:
        """How many logins of an account were accepted so far."""
        habits = self._habits.get(account)
        return habits.total if habits else 0

    def logins(self) -> list[LoginRow]:
        """The rows of network and console logins."""
        return [row for row in self.rows.values() if row.access in (LoginAccess.NETWORK, LoginAccess.CONSOLE)]

    @property
    def compared(self) -> int:
        """Logins of the accounts that have enough of them to compare."""
        return sum(habits.total for habits in self._habits.values() if habits.total > COMPARED)

    def unusual(self) -> Iterator[LoginDeviation]:
        """Yield the logins that differ from the others of their account, in the log's order."""
        found: dict[int, LoginDeviation] = {}
        for row in self.logins():
            habits = self._habits[row.account]
            if row.count == 1 and (reasons := self._differences(row, habits)):
                found[row.line] = LoginDeviation(row, reasons, row.time, row.line, row.excerpt)
        for habits in self._habits.values():
            for moment in _odd_moments(habits):
                before = found[moment.line].reasons if moment.line in found else ()
                reasons = *before, f"no other login of the account within {ODD_HOURS} hours of this time of day"
                found[moment.line] = LoginDeviation(
                    self.rows[moment.key], reasons, moment.time, moment.line, moment.excerpt
                )
        yield from (found[line] for line in sorted(found))

    def _differences(self, row: LoginRow, habits: _Habits) -> tuple[str, ...]:
        """How the only login of a row differs from the account's other logins."""
        others = habits.total - 1
        reasons = []
        if others >= COMPARED:
            is_roaming = habits.total < MANY_SOURCES * len(habits.sources)
            if habits.sources[row.source] == 1 and row.source != NO_SOURCE and not is_roaming:
                reasons.append(f"only login from this source; {others:,} others of the account are from elsewhere")
            if habits.methods[row.method] == 1 and row.method != "session":
                usual = habits.methods.most_common(1)[0][0]
                reasons.append(f"only login by {row.method}; the others of the account are by {usual}")
        elif not others and self.total > 2 * COMPARED and len(self._source_users[row.source]) == 1:
            reasons.append(f"only login of this account and of this source among {self.total:,}")
        return tuple(reasons)


def _odd_moments(habits: _Habits) -> list[_Moment]:
    """The logins at a time of day at which the account does not log in otherwise."""
    if habits.total <= COMPARED_HOURS:
        return []
    far = ODD_HOURS * 3600 // _BIN_SECONDS
    slots = sorted(habits.moments)
    odd = []
    for index, slot in enumerate(slots):
        moment = habits.moments[slot]
        gaps = (slot - slots[index - 1]) % _BINS, (slots[(index + 1) % len(slots)] - slot) % _BINS
        if moment.count == 1 and len(slots) > 1 and min(gaps) > far:
            odd.append(moment)
    return odd


def _access(event: LoginEvent) -> LoginAccess:
    """How the login reached the host."""
    known = _LOCAL_ACCESS.get(event.method)
    if known is not None:
        return known
    return LoginAccess.CONSOLE if event.source.startswith("local ") else LoginAccess.NETWORK
