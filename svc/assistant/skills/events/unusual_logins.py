"""Find successful logins that differ from the account's others: a new source or country, an hour without others.

It is judged within one log, and only if the account has enough logins. Failures and attacks are counted in
``logons.py``. Applies to logins of tables and services, which state who logged in from where.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import msgspec

from svc.assistant.findings import Confidence, Finding, Severity
from svc.assistant.sigma.event import Event, seconds_of
from svc.assistant.skills.asked.evidence import Place
from svc.assistant.skills.events.activity_findings import UnusualLogin

MIN_LOGINS = 5  # of an account before a source of it can be new
RARE_LOGINS = 2  # from a source that is unusual for the account
MIN_FOR_HOURS = 20  # logins on MIN_DAYS days before an hour can be unusual
MIN_DAYS = 3
QUIET_HOURS = 3  # without any other login on both sides
MAX_ACCOUNTS = 20_000
MAX_SOURCES = 100  # kept for an account
MAX_LISTED = 200


class _Account(msgspec.Struct):
    logins: int = 0
    sources: Counter[str] = msgspec.field(default_factory=Counter)
    countries: Counter[str] = msgspec.field(default_factory=Counter)
    hours: Counter[int] = msgspec.field(default_factory=Counter)
    days: set[int] = msgspec.field(default_factory=set)
    unusual: dict[str, tuple[Event, list[str]]] = msgspec.field(default_factory=dict)
    at_hour: dict[int, Event] = msgspec.field(default_factory=dict)


class UnusualLogins:
    """Looks at the logins of tables and services; other events are ignored."""

    def __init__(self) -> None:
        self._accounts: dict[str, _Account] = {}

    def add(self, event: Event) -> None:
        """Count a login."""
        fields = event.fields
        if event.category != "authentication" or fields.get("Outcome") != "success":
            return
        name = fields.get("TargetUserName", "").rpartition("\\")[2].partition("@")[0].lower()
        account = self._accounts.get(name)
        if account is None:
            if not name or len(self._accounts) >= MAX_ACCOUNTS:
                return
            account = self._accounts[name] = _Account()
        source, country = fields.get("IpAddress") or fields.get("WorkstationName", ""), fields.get("Country", "")
        reasons = []
        if account.logins >= MIN_LOGINS:
            if source and source not in account.sources:
                reasons.append("new source for the account")
            if country and account.countries and country not in account.countries:
                reasons.append(f"new country for the account: {country[:60]}")
        if reasons and len(account.unusual) < MAX_SOURCES:
            account.unusual[source] = event, reasons
        account.logins += 1
        for counter, value in ((account.sources, source), (account.countries, country)):
            if value and (value in counter or len(counter) < MAX_SOURCES):
                counter[value] += 1
        _add_hour(account, event)

    def findings(self, place: Place) -> Iterator[Finding[UnusualLogin]]:
        """Yield the unusual logins, those with the most reasons first."""
        found = [
            self._finding(name, account, event, reasons, place)
            for name, account in self._accounts.items()
            for event, reasons in _unusual(account)
        ]
        found.sort(key=lambda one: (-len(one.facts.reasons), one.facts.time or ""))
        yield from found[:MAX_LISTED]

    @staticmethod
    def _finding(name: str, account: _Account, event: Event, reasons: list[str], place: Place) -> Finding[UnusualLogin]:
        source = event.fields.get("IpAddress") or event.fields.get("WorkstationName", "")
        return Finding(
            title=f"unusual login of {name} from {source or 'an unnamed source'}: {', '.join(reasons)}",
            severity=Severity.MEDIUM if len(reasons) > 1 else Severity.LOW,
            confidence=Confidence.MEDIUM if len(reasons) > 1 else Confidence.LOW,
            why="It differs from the account's other logins in this log: ask the user.",
            evidence=(place.evidence(event),),
            techniques=("T1078",),
            facts=UnusualLogin(
                account=name,
                source=source,
                reasons=reasons,
                time=event.time or None,
                record=event.number,
                usual_sources=[one for one, _ in account.sources.most_common(10) if one != source],
                logins=account.logins,
            ),
        )


def _add_hour(account: _Account, event: Event) -> None:
    seconds = seconds_of(event.time)
    if seconds is None:
        return
    hour = int(seconds // 3_600 % 24)
    account.hours[hour] += 1
    account.at_hour[hour] = event
    if len(account.days) <= MIN_DAYS:
        account.days.add(int(seconds // 86_400))


def _unusual(account: _Account) -> list[tuple[Event, list[str]]]:
    found = {
        event.number: (event, list(reasons))
        for source, (event, reasons) in account.unusual.items()
        if account.sources[source] <= RARE_LOGINS
    }
    if account.hours.total() >= MIN_FOR_HOURS and len(account.days) >= MIN_DAYS:
        for hour, count in account.hours.items():
            around = [(hour + step) % 24 for step in range(-QUIET_HOURS, QUIET_HOURS + 1) if step]
            if count == 1 and not any(account.hours[one] for one in around):
                event = account.at_hour[hour]
                found.setdefault(event.number, (event, []))[1].append(f"the account's only login around {hour:02}:00")
    return list(found.values())
