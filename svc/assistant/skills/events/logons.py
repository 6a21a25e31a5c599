"""Windows logons: who failed, from where, how often, who got in after that, who asked for many tickets. Pure.

A failed attempt counts once, though the computer (4625) and who checked the credentials (NTLM: 4776; Kerberos: 4771,
4768) may both write about it: a refused check of the same account within PAIR_SECONDS of a 4625 is the same attempt,
and the 4625 tells its source. What is an attack: as for ``auth_log``. Codes: Microsoft's pages on 4625, 4768 and 4776.
Finding kinds: see ``events``.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator

from svc.assistant.findings import Evidence, Scalar, Severity
from svc.assistant.findings import LooseFinding as Finding
from svc.assistant.log_readers.login_counting import BURST, BURST_SECONDS, MANY, SPRAYED_ACCOUNTS, SPRAYED_TRIES
from svc.assistant.sigma.event import Event, seconds_of
from svc.assistant.skills.events.evidence import Place, Span, account_of

PAIR_SECONDS = 3.0  # between the check and the 4625 of one attempt, which may stand in the logs of two hosts
MAX_TALLIES = 50_000  # sources, accounts and pairs told apart; a bigger flood is counted under OTHERS
MAX_WAITING = 200  # checks within PAIR_SECONDS that wait; a faster flood is counted as it comes
MAX_LISTED = 1_000  # findings of a kind, those with the most failures
MAX_NAMES = 50  # in one finding's lists
SURE_STREAK = 5  # as in auth_log: people mistype once or twice
DOUBTFUL_STREAK = 3
MANY_TICKETS = 3  # services whose tickets one account asked for in a weak cipher
OTHERS = "(all others)"
LOCAL = "local"
TYPES = {
    "0": "system", "2": "interactive", "3": "network", "4": "batch", "5": "service", "7": "unlock",
    "8": "network, clear text", "9": "new credentials", "10": "remote desktop", "11": "cached interactive",
    "12": "cached remote desktop", "13": "cached unlock",
}  # fmt: skip
_QUIET_TYPES = frozenset({"0", "4", "5"})  # services and tasks log on all day
_REASONS = {
    "0xc0000064": "no such account", "0xc000006a": "wrong password", "0xc000006d": "wrong name or password",
    "0xc000006e": "account restriction", "0xc000006f": "outside of allowed hours", "0xc0000070": "not from here",
    "0xc0000071": "password expired", "0xc0000072": "account disabled", "0xc0000133": "clocks differ",
    "0xc000015b": "logon type not granted", "0xc0000193": "account expired", "0xc0000224": "password must change",
    "0xc0000234": "account locked out", "0xc0000413": "authentication firewall",
    "0x6": "no such account", "0x12": "account disabled, expired or locked out", "0x17": "password expired",
    "0x18": "wrong password", "0x25": "clocks differ",
}  # fmt: skip
_GUESSES = frozenset(
    ["0xc0000064", "0xc000006a", "0xc000006d", "0xc0000072", "0xc0000234", "0xc0000193", "0x6", "0x12", "0x18", ""]
)
_WEAK_CIPHERS = frozenset({"0x17", "0x18", "0x1", "0x3"})  # RC4 and DES
_NOBODY = frozenset({"", "-"})


class _Tally:
    """What one source did, or what one account suffered."""

    __slots__ = (
        "entered",
        "failures",
        "is_burst",
        "last_event",
        "others",
        "reasons",
        "recent",
        "span",
        "streak",
        "types",
    )

    def __init__(self) -> None:
        self.span = Span(limit=1)
        self.last_event: Event | None = None
        self.failures = self.streak = 0
        self.is_burst = False
        self.others: Counter[str] = Counter()
        self.types: Counter[str] = Counter()
        self.reasons: Counter[str] = Counter()
        self.entered: set[str] = set()
        self.recent: list[float] = []

    @property
    def is_attack(self) -> bool:
        return self.is_burst or self.failures >= MANY or len(self.others) >= SPRAYED_ACCOUNTS

    @property
    def pattern(self) -> str:
        if not self.is_attack:
            return "few failures"
        is_wide = len(self.others) >= SPRAYED_ACCOUNTS and self.failures <= SPRAYED_TRIES * len(self.others)
        return "password spraying" if is_wide else "brute force"

    @property
    def per_minute(self) -> float | None:
        first, last = seconds_of(self.span.first), seconds_of(self.span.last)
        if first is None or last is None or last <= first:
            return None
        return round(self.failures / (last - first) * 60, 2)

    def fail(self, event: Event, other: str, logon_type: str, reason: str) -> None:
        self.span.add(event)
        self.last_event = event
        self.failures += 1
        self.streak += 1
        self.others[other] += 1
        self.types[logon_type] += 1
        self.reasons[reason] += 1
        seconds = seconds_of(event.time)
        if seconds is not None and not self.is_burst:
            self.recent = [*self.recent, seconds][-BURST:]
            self.is_burst = len(self.recent) == BURST and abs(self.recent[-1] - self.recent[0]) <= BURST_SECONDS


class _Check:
    """A refused check of credentials that waits for its 4625."""

    __slots__ = ("account", "event", "is_paired", "logon_type", "reason", "seconds", "source")

    def __init__(self, event: Event, account: str, source: str, logon_type: str, reason: str) -> None:
        self.event, self.account, self.source = event, account, source
        self.logon_type, self.reason = logon_type, reason
        self.seconds = seconds_of(event.time)
        self.is_paired = False


class _Entry:
    """A success after failures: the one with the longest streak of this account from this source."""

    __slots__ = ("account", "account_failures", "event", "failures", "logon_type", "source", "streak")

    def __init__(self, event: Event, tally: _Tally, account: str, source: str, logon_type: str) -> None:
        self.event, self.account, self.source, self.logon_type = event, account, source, logon_type
        self.failures, self.streak, self.account_failures = tally.failures, tally.streak, tally.others[account]


class Logons:
    """Reads the events about logons; others pass by."""

    def __init__(self) -> None:
        self.failures = 0
        self.sources: dict[str, _Tally] = {}
        self.accounts: dict[str, _Tally] = {}
        self.entries: dict[tuple[str, str], _Entry] = {}
        self.paired = 0
        self._logons: dict[tuple[str, str, str, str], Span] = {}
        self._privileged: set[str] = set()
        self._tickets: dict[tuple[str, str], tuple[Span, Counter[str]]] = {}
        self._checks: deque[_Check] = deque()
        self._unmatched: dict[str, tuple[int, float]] = {}
        self._lockouts: Counter[str] = Counter()
        self._readers = {
            4624: self._logged_on, 4625: self._failed, 4672: self._privileges, 4740: self._locked_out,
            4768: self._kerberos, 4769: self._ticket, 4771: self._kerberos, 4776: self._checked,
        }  # fmt: skip

    def add(self, event: Event) -> None:
        """Read it where it is about a logon."""
        reader = self._readers.get(event.event_id or 0) if event.service == "security" else None
        if reader is not None:
            self._settle(seconds_of(event.time))
            reader(event)

    def finish(self) -> None:
        """Count the checks that no 4625 tells of, after the last event."""
        self._settle(None)

    def _failed(self, event: Event) -> None:
        fields = event.fields
        status = fields.get("SubStatus", "").lower()
        if status in ("0x0", "0x00000000", ""):
            status = fields.get("Status", "").lower()
        account = _plain_account(event)
        seconds = seconds_of(event.time)
        waiting = next((check for check in self._checks if check.account == account and not check.is_paired), None)
        if waiting is not None:
            waiting.is_paired = True
            self.paired += 1
        elif seconds is not None and len(self._unmatched) < MAX_TALLIES:
            count, before = self._unmatched.get(account, (0, seconds))
            self._unmatched[account] = (count + 1 if seconds - before <= PAIR_SECONDS else 1), seconds
        self._count(event, account, _source(event), _type(event), _reason(status))

    def _checked(self, event: Event) -> None:
        account, status = _plain_account(event), event.fields.get("Status", "").lower()
        source = event.fields.get("Workstation", "").strip("\\ ") or LOCAL
        if int_of(status) == 0:
            self._entered(event, account, source.lower(), "NTLM")
        else:
            self._refused(_Check(event, account, source.lower(), "NTLM", _reason(status)))

    def _kerberos(self, event: Event) -> None:
        status = event.fields.get("Status", "").lower()
        account = _plain_account(event)
        if event.event_id == 4768 and int_of(status) == 0:
            self._entered(event, account, _source(event), "Kerberos")
        elif status in _GUESSES:
            self._refused(_Check(event, account, _source(event), "Kerberos", _reason(status)))

    def _refused(self, check: _Check) -> None:
        """A check that a 4625 may tell of, too: wait for it, unless it came before."""
        count, before = self._unmatched.get(check.account, (0, 0.0))
        if check.seconds is None or len(self._checks) >= MAX_WAITING:
            self._count(check.event, check.account, check.source, check.logon_type, check.reason)
        elif count and abs(check.seconds - before) <= PAIR_SECONDS:
            self._unmatched[check.account] = count - 1, before
            self.paired += 1
        else:
            self._checks.append(check)

    def _settle(self, now: float | None) -> None:
        """Count what no 4625 told of in time; everything where ``now`` is None."""
        while self._checks and (now is None or abs(now - (self._checks[0].seconds or 0.0)) > PAIR_SECONDS):
            check = self._checks.popleft()
            if not check.is_paired:
                self._count(check.event, check.account, check.source, check.logon_type, check.reason)

    def _count(self, event: Event, account: str, source: str, logon_type: str, reason: str) -> None:
        self.failures += 1
        _tally(self.sources, source).fail(event, account, logon_type, reason)
        _tally(self.accounts, account).fail(event, source, logon_type, reason)

    def _logged_on(self, event: Event) -> None:
        account, logon_type = _plain_account(event), event.fields.get("LogonType", "")
        if logon_type in _QUIET_TYPES or not account:
            return
        source = _source(event)
        key = account, logon_type, source, event.host
        span = self._logons.get(key)
        if span is None and len(self._logons) < MAX_TALLIES:
            span = self._logons[key] = Span(limit=1)
        if span is not None:
            span.add(event)
        self._entered(event, account, source, TYPES.get(logon_type, logon_type))

    def _entered(self, event: Event, account: str, source: str, logon_type: str) -> None:
        if any(check.account == account for check in self._checks):
            self._settle(None)
        tally = self.sources.get(source)
        if tally is None or not tally.failures or not account or account.endswith("$"):
            return
        if tally.streak >= DOUBTFUL_STREAK or tally.others[account]:
            entry = _Entry(event, tally, account, source, logon_type)
            known = self.entries.get((source, account))
            if known is None or known.streak < entry.streak:
                self.entries[source, account] = entry
        tally.entered.add(account)
        if (suffered := self.accounts.get(account)) is not None:
            suffered.entered.add(source)
        tally.streak = 0

    def _privileges(self, event: Event) -> None:
        name = event.fields.get("SubjectUserName", "").lower()
        if len(self._privileged) < MAX_TALLIES:
            self._privileged.add(name)

    def _locked_out(self, event: Event) -> None:
        self._lockouts[_plain_account(event)] += 1

    def _ticket(self, event: Event) -> None:
        fields = event.fields
        service = fields.get("ServiceName", "")
        is_weak = fields.get("TicketEncryptionType", "").lower() in _WEAK_CIPHERS
        if (
            not is_weak
            or service.endswith("$")
            or service.lower() in ("krbtgt", "-", "")
            or len(self._tickets) > MAX_LISTED
        ):
            return
        key = fields.get("TargetUserName", "").partition("@")[0].lower(), _source(event)
        span, services = self._tickets.setdefault(key, (Span(), Counter()))
        span.add(event)
        if len(services) < MAX_NAMES:
            services[service] += 1

    def findings(self, place: Place) -> Iterator[Finding]:
        """Successes after failures, sources, accounts, tickets, then who logged on remotely and how often."""
        for entry in sorted(self.entries.values(), key=lambda one: -one.streak)[:MAX_LISTED]:
            if (found := self._success(entry, place)) is not None:
                yield found
        for name, tally in _ranked(self.sources):
            yield self._source_finding(name, tally, place)
        for name, tally in _ranked(self.accounts):
            yield self._account_finding(name, tally, place)
        for (account, source), (span, services) in self._tickets.items():
            yield _tickets_finding(account, source, span, services, place)
        spans = sorted(self._logons.items(), key=lambda item: (item[0][1] not in ("3", "10"), item[1].first))
        for key, span in spans[:MAX_LISTED]:
            yield self._logon_finding(key, span, place)

    def _success(self, entry: _Entry, place: Place) -> Finding | None:
        tally = self.sources[entry.source]
        is_sure = tally.is_attack and (entry.account_failures or entry.streak >= SURE_STREAK)
        if not is_sure and entry.streak < DOUBTFUL_STREAK:
            return None
        return Finding(
            kind="logon_success",
            title=f"{entry.account} logged on from {entry.source} after {entry.streak:,} failures in a row",
            severity=Severity.CRITICAL if is_sure else Severity.MEDIUM,
            why="a source that guessed passwords was let in: treat the account as taken over"
            if is_sure
            else "some failures and then a success: ask the user",
            evidence=(place.evidence(entry.event),),
            techniques=("T1110", "T1078") if is_sure else (),
            attributes={
                "source": entry.source,
                "account": entry.account,
                "time": entry.event.time or None,
                "record": entry.event.number,
                "logon_type": entry.logon_type,
                "failures_before": entry.failures,
                "account_failures_before": entry.account_failures,
                "streak": entry.streak,
            },
        )

    def _source_finding(self, name: str, tally: _Tally, place: Place) -> Finding:
        severity = Severity.INFO
        if tally.is_attack:
            is_in = any((name, account) in self.entries for account in tally.entered)
            severity = Severity.CRITICAL if is_in else Severity.HIGH
        return Finding(
            kind="logon_source",
            title=f"{tally.pattern} from {name}: {tally.failures:,} failures, {len(tally.others):,} accounts",
            severity=severity,
            evidence=_evidence(tally, place),
            techniques={"password spraying": ("T1110.003",), "brute force": ("T1110.001",)}.get(tally.pattern, ()),
            attributes=_figures(tally)
            | _names("account", tally)
            | {
                "source": name,
                "pattern": tally.pattern,
                "per_minute": tally.per_minute,
                "success_accounts": [*sorted(tally.entered)[:MAX_NAMES]],
            },
        )

    def _account_finding(self, name: str, tally: _Tally, place: Place) -> Finding:
        is_forced = tally.is_burst or tally.failures >= MANY
        return Finding(
            kind="logon_account",
            title=f"{name or '(not named)'}: {tally.failures:,} failures from {len(tally.others):,} sources",
            severity=Severity.MEDIUM if is_forced else Severity.INFO,
            evidence=_evidence(tally, place),
            attributes=_figures(tally)
            | _names("source", tally)
            | {
                "account": name,
                "is_brute_forced": is_forced,
                "lockouts": self._lockouts[name],
                "success_sources": [*sorted(tally.entered)[:MAX_NAMES]],
            },
        )

    def _logon_finding(self, key: tuple[str, str, str, str], span: Span, place: Place) -> Finding:
        account, logon_type, source, host = key
        words = TYPES.get(logon_type, logon_type)
        return Finding(
            kind="logon",
            title=f"{account} logged on to {host} from {source} ({words}), {span.count:,} times",
            evidence=(place.evidence(span.events[0]),),
            attributes={
                "account": account,
                "logon_type": logon_type,
                "type_words": words,
                "source": source,
                "host": host,
                "count": span.count,
                "first": span.first or None,
                "last": span.last or None,
                "is_privileged": account in self._privileged,
            },
        )


def _tickets_finding(account: str, source: str, span: Span, services: Counter[str], place: Place) -> Finding:
    is_many = len(services) >= MANY_TICKETS
    return Finding(
        kind="weak_tickets",
        title=f"{account} asked for tickets of {len(services):,} services in a weak cipher",
        severity=Severity.HIGH if is_many else Severity.LOW,
        why="tickets in RC4 or DES can be cracked offline; an account that asks for many is likely roasting them",
        evidence=tuple(place.evidence(event) for event in span.events),
        techniques=("T1558.003",),
        attributes={
            "account": account,
            "source": source,
            "services": [*services],
            "count": span.count,
            "first": span.first or None,
            "last": span.last or None,
        },
    )


def _tally(tallies: dict[str, _Tally], name: str) -> _Tally:
    tally = tallies.get(name)
    if tally is None:
        if len(tallies) >= MAX_TALLIES:
            name = OTHERS
        tally = tallies.setdefault(name, _Tally())
    return tally


def _ranked(tallies: dict[str, _Tally]) -> list[tuple[str, _Tally]]:
    return sorted(tallies.items(), key=lambda item: (-item[1].failures, item[0]))[:MAX_LISTED]


def _figures(tally: _Tally) -> dict[str, Scalar | list[Scalar]]:
    return {
        "failures": tally.failures,
        "first": tally.span.first or None,
        "last": tally.span.last or None,
        "logon_types": [*tally.types],
        "reasons": [reason for reason, _ in tally.reasons.most_common(MAX_NAMES)],
        "reason_counts": [count for _, count in tally.reasons.most_common(MAX_NAMES)],
    }


def _names(what: str, tally: _Tally) -> dict[str, Scalar | list[Scalar]]:
    """How many accounts or sources, the first of them by name, and their failures."""
    ranked = sorted(tally.others.items(), key=lambda item: (-item[1], item[0]))
    return {
        f"{what}s": len(ranked),
        f"{what}_names": [name for name, _ in ranked[:MAX_NAMES]],
        f"{what}_failures": [count for _, count in ranked[:MAX_NAMES]],
    }


def _evidence(tally: _Tally, place: Place) -> tuple[Evidence, ...]:
    first = tally.span.events[0]
    events = [first] if tally.last_event is None or tally.last_event is first else [first, tally.last_event]
    return tuple(place.evidence(event) for event in events)


def _plain_account(event: Event) -> str:
    """The account's name without its domain, lower case: a guess may carry any domain, or none."""
    return account_of(event, "Target").rpartition("\\")[2].partition("@")[0].lower()


def _source(event: Event) -> str:
    """The address, the workstation where there is none, or LOCAL."""
    fields = event.fields
    address = fields.get("IpAddress", "-").removeprefix("::ffff:")
    if address not in _NOBODY and address not in ("::1", "127.0.0.1"):
        return address.lower()
    name = fields.get("WorkstationName", "-").strip("\\ ").lower()
    is_here = name in _NOBODY or name == event.host.partition(".")[0].lower()
    return LOCAL if is_here else name


def _reason(status: str) -> str:
    return _REASONS.get(status, status or "not stated")


def _type(event: Event) -> str:
    logon_type = event.fields.get("LogonType", "")
    return TYPES.get(logon_type, logon_type or "not stated")


def int_of(code: str) -> int | None:
    """``0`` for ``0x0``, ``0``, ``0x00000000``; None for what is no number."""
    try:
        return int(code, 0) if code else None
    except ValueError:
        return None
