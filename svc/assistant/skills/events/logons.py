"""Count Windows logons: failures by source and account, logons after failures, requests for weak tickets.

A failed attempt counts once, although the host (4625) and the server that checked the credentials (NTLM: 4776;
Kerberos: 4771, 4768) may both log it: a rejected check of the same account within PAIR_SECONDS of a 4625 is the same
attempt, and the 4625 names its source. So is the same check on another server, to which the first passed it on. A
workstation and its address are one source if the log has them together in one event, and no other address with that
name. What is an attack: ``log_readers/login_counting.py``; failures of people at the
console (typed or to unlock, through Windows' own logon programs) and a few of one account that then logs on are not.
Codes: Microsoft's pages on 4625, 4768 and 4776.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator

from svc.assistant.findings import Evidence, Facts, Finding, Severity
from svc.assistant.log_readers.login_counting import (
    DOUBTFUL_STREAK,
    MANY,
    MAX_NAMES,
    NO_ACCOUNT,
    SPRAYED_ACCOUNTS,
    TECHNIQUES,
    WHY_DOUBTFUL,
    LoginTally,
    ranked,
    source_severity,
    success_severity,
    tally_for,
)
from svc.assistant.sigma.event import Event, seconds_of
from svc.assistant.skills.asked.evidence import Place, Span, account_of, base_name
from svc.assistant.skills.events.findings import (
    Logon,
    LogonAccount,
    LogonSource,
    LogonSuccess,
    ReasonCount,
    WeakTickets,
)
from svc.assistant.skills.logins.findings import AccountFailures, SourceFailures
from svc.untrusted.markup import plural

PAIR_SECONDS = 3.0  # between the check and the 4625 of one attempt, which may be in the logs of two hosts
MAX_TALLIES = 50_000  # sources, accounts and pairs counted separately; more are counted under OTHERS
MAX_WAITING = 200  # checks within PAIR_SECONDS that wait for a 4625; of a faster flood the rest is counted at once
MAX_TICKETS = 1_000  # accounts and sources with requests for weak tickets
MANY_MISTYPED = 8  # failures of one account before its logon; fewer are a forgotten or changed password
MANY_TICKETS = 3  # services for which one account requested weak tickets
LOCAL = "local"
TYPES = {
    "0": "system", "2": "interactive", "3": "network", "4": "batch", "5": "service", "7": "unlock",
    "8": "network, clear text", "9": "new credentials", "10": "remote desktop", "11": "cached interactive",
    "12": "cached remote desktop", "13": "cached unlock",
}  # fmt: skip
REMOTE_TYPES = frozenset({"3", "8", "10"})
_CONSOLE_TYPES = frozenset({"2", "7", "11", "13"})
_CONSOLE_PROGRAMS = frozenset(
    {"svchost.exe", "winlogon.exe", "lsass.exe", "logonui.exe", "consent.exe", "credentialuibroker.exe", "", "-"}
)
"""What people type passwords into; a program of any other name that tries passwords here is no console."""
_CHECKS = frozenset({"Kerberos", "NTLM"})
"""Checks by a domain controller, which also sees each automatic retry of a program with an old password."""
_QUIET_TYPES = frozenset({"0", "4", "5"})  # services and tasks log on all the time
_REASONS = {
    "0xc0000064": "no such account", "0xc000006a": "wrong password", "0xc000006d": "wrong user name or password",
    "0xc000006e": "account restriction", "0xc000006f": "outside allowed hours", "0xc0000070": "workstation not allowed",
    "0xc0000071": "password expired", "0xc0000072": "account disabled", "0xc0000133": "clock skew",
    "0xc000015b": "logon type not granted", "0xc0000193": "account expired", "0xc0000224": "password must be changed",
    "0xc0000234": "account locked out", "0xc0000413": "authentication firewall",
    "0x6": "no such account", "0x12": "account disabled, expired or locked out", "0x17": "password expired",
    "0x18": "wrong password", "0x25": "clock skew",
}  # fmt: skip
_GUESSES = frozenset(
    ["0xc0000064", "0xc000006a", "0xc000006d", "0xc0000072", "0xc0000234", "0xc0000193", "0x6", "0x12", "0x18", ""]
)
_WEAK_CIPHERS = frozenset({"0x17", "0x18", "0x1", "0x3"})  # RC4 and DES
_NOBODY = frozenset({"", "-"})
_HERE = frozenset({"", "-", "127.0.0.1", "::1"})


class _LogonTally(LoginTally):
    """The failed logons of one source or account, with their period, logon types and reasons."""

    __slots__ = ("at_console", "last_event", "reasons", "span", "types")

    def __init__(self, _name: str | None = None) -> None:
        super().__init__()
        self.at_console = 0
        self.span = Span(limit=1)
        self.last_event: Event | None = None
        self.types: Counter[str] = Counter()
        self.reasons: Counter[str] = Counter()

    @property
    def per_minute(self) -> float | None:
        return self.rate_per_minute(seconds_of(self.span.first), seconds_of(self.span.last))

    @property
    def is_attack(self) -> bool:
        """Whether it is more than people who mistype; at the console only many accounts or very many failures are."""
        if self.at_console == self.failures:
            return len(self.others) >= SPRAYED_ACCOUNTS or self.longest >= MANY
        return super().is_attack

    @property
    def is_brute_forced(self) -> bool:
        """Whether an account was the target of an attack, by the same measure."""
        return self.longest >= MANY if self.at_console == self.failures else super().is_brute_forced

    def add(self, event: Event, other: str, logon_type: str, reason: str, *, at_console: bool) -> None:
        self.at_console += at_console
        self.span.add(event)
        self.last_event = event
        self.add_failures(seconds_of(event.time))
        self.add_other(other)
        self.types[logon_type] += 1
        self.reasons[reason] += 1

    def merge(self, other: LoginTally) -> None:
        """Add the counts of the same source under another name."""
        super().merge(other)
        if isinstance(other, _LogonTally):
            self.at_console += other.at_console
            self.types += other.types
            self.reasons += other.reasons
            self.span.merge(other.span)
            if other.last_event is not None and (
                self.last_event is None or other.last_event.time > self.last_event.time
            ):
                self.last_event = other.last_event

    def reason_counts(self) -> list[ReasonCount]:
        return [ReasonCount(*item) for item in self.reasons.most_common(MAX_NAMES)]


class _RejectedCheck:
    """A rejected check of credentials that waits for its 4625."""

    __slots__ = ("account", "event", "hosts", "is_paired", "logon_type", "reason", "seconds", "source")

    def __init__(self, event: Event, account: str, source: str, logon_type: str, reason: str) -> None:
        self.event, self.account, self.source = event, account, source
        self.logon_type, self.reason = logon_type, reason
        self.seconds = seconds_of(event.time)
        self.is_paired = False
        self.hosts = {event.host}

    def is_passed_on(self, other: _RejectedCheck) -> bool:
        """Whether ``other`` is this check on another server."""
        return (other.account, other.source, other.event.event_id) == (
            self.account,
            self.source,
            self.event.event_id,
        ) and other.event.host not in self.hosts


class _LogonAfterFailures:
    """A logon after failures: the one with the longest streak of this account from this source."""

    __slots__ = ("account", "account_failures", "earlier", "event", "failures", "logon_type", "source", "streak")

    def __init__(
        self, event: Event, tally: _LogonTally, account: str, source: str, logon_type: str, *, earlier: int
    ) -> None:
        self.event, self.account, self.source, self.logon_type = event, account, source, logon_type
        self.failures, self.streak, self.earlier = tally.failures, tally.streak, earlier
        self.account_failures = tally.others.get(account, 0)

    @property
    def is_mistyped(self) -> bool:
        """Whether only this account failed from the source, not often: its owner or a service with an old password."""
        limit = MANY if self.logon_type in _CHECKS else MANY_MISTYPED
        return self.failures == self.account_failures < limit


class _Logons:
    """Accepted logons of one account by type, source and host, with the source's failures before the first."""

    __slots__ = ("failures_before", "span")

    def __init__(self, failures_before: int) -> None:
        self.failures_before = failures_before
        self.span = Span(limit=1)


class LogonCounts:
    """Counts the events about logons; others are ignored."""

    def __init__(self) -> None:
        self.failures: int = 0
        self.sources: dict[str | None, _LogonTally] = {}
        self.accounts: dict[str | None, _LogonTally] = {}
        self.entries: dict[tuple[str, str], _LogonAfterFailures] = {}
        self.paired: int = 0
        self._logons: dict[tuple[str, str, str, str], _Logons] = {}
        self._accepted: Counter[str] = Counter()
        self._accepted_pairs: Counter[tuple[str, str]] = Counter()
        self._addresses: dict[str, str | None] = {}
        self._privileged: set[str] = set()
        self._tickets: dict[tuple[str, str], tuple[Span, Counter[str]]] = {}
        self._checks: deque[_RejectedCheck] = deque()
        self._unmatched: dict[str, tuple[int, float]] = {}
        self._lockouts: Counter[str] = Counter()
        self._readers = {
            4624: self._logged_on, 4625: self._failed, 4672: self._privileges, 4740: self._locked_out,
            4768: self._kerberos, 4769: self._ticket, 4771: self._kerberos, 4776: self._checked,
        }  # fmt: skip

    def add(self, event: Event) -> None:
        """Count an event if it is about a logon: one of Windows, or a login in a table or raw line."""
        if event.category == "authentication":
            self._table_login(event)
            return
        reader = self._readers.get(event.event_id or 0) if event.service == "security" else None
        if reader is not None:
            self._learn_address(event)
            self._settle(seconds_of(event.time))
            reader(event)

    def finish(self) -> None:
        """Count the checks without a 4625 and merge workstations with their addresses, after the last event."""
        self._settle(None)
        for name, address in self._addresses.items():
            if address is None or (named := self.sources.pop(name, None)) is None:
                continue
            tally_for(self.sources, address, _LogonTally, limit=MAX_TALLIES).merge(named)
            for account in named.others:
                others = self.accounts[account].others if account in self.accounts else {}
                if name in others:
                    others[address] = others.get(address, 0) + others.pop(name)

    def _learn_address(self, event: Event) -> None:
        """Remember the address of a workstation; None if it has several."""
        name = event.fields.get("WorkstationName", "-").strip("\\ ").lower()
        address = _source(event)
        if name in _NOBODY or address in (LOCAL, name) or len(self._addresses) >= MAX_TALLIES:
            return
        if self._addresses.setdefault(name, address) != address:
            self._addresses[name] = None

    def _workstation(self, event: Event) -> str:
        """Return the address of the workstation of a check, if it is known, otherwise its name."""
        name = (event.fields.get("Workstation", "").strip("\\ ") or LOCAL).lower()
        if name == event.host.partition(".")[0].lower():
            return LOCAL
        return self._addresses.get(name) or name

    def _table_login(self, event: Event) -> None:
        """Count a login that states its outcome, as ``log_readers/tables`` makes it."""
        match event.fields.get("Outcome"):
            case "failure":
                reason = event.fields.get("Reason", "").partition("\n")[0][:80] or "not stated"
                self._count(event, _plain_account(event), _source(event), _type(event), reason)
            case "success" if _plain_account(event):
                self._logged_on(event)
            case "success":  # a network sensor sees the login, but not the account
                self._entered(event, "", _source(event), _type(event), is_named=False)

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
        source = self._workstation(event)
        if _code_number(status) == 0:
            self._entered(event, account, source, "NTLM")
        else:
            self._rejected(_RejectedCheck(event, account, source, "NTLM", _reason(status)))

    def _kerberos(self, event: Event) -> None:
        status = event.fields.get("Status", "").lower()
        account = _plain_account(event)
        if event.event_id == 4768 and _code_number(status) == 0:
            self._entered(event, account, _source(event), "Kerberos")
        elif status in _GUESSES:
            self._rejected(_RejectedCheck(event, account, _source(event), "Kerberos", _reason(status)))

    def _rejected(self, check: _RejectedCheck) -> None:
        """Wait for the 4625 of a rejected check, unless it came before or another server passed the check on."""
        for other in self._checks:
            if other.is_passed_on(check):
                other.hosts.add(check.event.host)
                self.paired += 1
                return
        count, before = self._unmatched.get(check.account, (0, 0.0))
        if check.seconds is None or len(self._checks) >= MAX_WAITING:
            self._count(check.event, check.account, check.source, check.logon_type, check.reason)
        elif count and abs(check.seconds - before) <= PAIR_SECONDS:
            self._unmatched[check.account] = count - 1, before
            self.paired += 1
        else:
            self._checks.append(check)

    def _settle(self, now: float | None) -> None:
        """Count the checks for which no 4625 came in time; all of them if ``now`` is None."""
        while self._checks and (now is None or abs(now - (self._checks[0].seconds or 0.0)) > PAIR_SECONDS):
            check = self._checks.popleft()
            if not check.is_paired:
                self._count(check.event, check.account, check.source, check.logon_type, check.reason)

    def _count(self, event: Event, account: str, source: str, logon_type: str, reason: str) -> None:
        self.failures += 1
        at_console = _is_at_console(event)
        for tallies, name, other in ((self.sources, source, account), (self.accounts, account, source)):
            tally = tally_for(tallies, name, _LogonTally, limit=MAX_TALLIES)
            if tallies is self.sources and not tally.failures:
                tally.successes = self._accepted[source]
            tally.add(event, other, logon_type, reason, at_console=at_console)

    def _logged_on(self, event: Event) -> None:
        account, logon_type = _plain_account(event), event.fields.get("LogonType", "")
        if logon_type in _QUIET_TYPES or not account:
            return
        source = _source(event)
        key = account, logon_type, source, event.host
        logons = self._logons.get(key)
        if logons is None and len(self._logons) < MAX_TALLIES:
            tally = self.sources.get(source)
            logons = self._logons[key] = _Logons(tally.failures if tally else 0)
        if logons is not None:
            logons.span.add(event)
        self._entered(event, account, source, TYPES.get(logon_type, logon_type))

    def _entered(self, event: Event, account: str, source: str, logon_type: str, *, is_named: bool = True) -> None:
        if any(check.account == account for check in self._checks):
            self._settle(None)
        if (is_named and not account) or account.endswith("$"):
            return
        earlier = self._accepted_pairs[account, source]
        if len(self._accepted_pairs) < MAX_TALLIES:
            self._accepted[source] += 1
            self._accepted_pairs[account, source] += 1
        tally = self.sources.get(source)
        if tally is None or not tally.failures:
            return
        if tally.streak >= DOUBTFUL_STREAK or tally.others.get(account):
            entry = _LogonAfterFailures(event, tally, account, source, logon_type, earlier=earlier)
            known = self.entries.get((source, account))
            if known is None or known.streak < entry.streak:
                self.entries[source, account] = entry
        tally.add_entered(account)
        if (target := self.accounts.get(account)) is not None:
            target.add_entered(source)
            target.add_success()
        tally.add_success()

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
            or len(self._tickets) > MAX_TICKETS
        ):
            return
        key = fields.get("TargetUserName", "").partition("@")[0].lower(), _source(event)
        span, services = self._tickets.setdefault(key, (Span(), Counter()))
        span.add(event)
        if len(services) < MAX_NAMES:
            services[service] += 1

    def findings(self, place: Place) -> Iterator[Finding[Facts]]:
        """Yield logons after failures, sources, accounts, tickets, then successful logons, remote ones first."""
        for entry in sorted(self.entries.values(), key=lambda one: -one.streak):
            if (found := self._success(entry, place)) is not None:
                yield found
        for name, tally in ranked(self.sources, limit=MAX_TALLIES + 1):
            yield self._source_finding(name or "", tally, place)
        for name, tally in ranked(self.accounts, limit=MAX_TALLIES + 1):
            yield self._account_finding(name or "", tally, place)
        for (account, source), (span, services) in self._tickets.items():
            yield _tickets_finding(account, source, span, services, place)
        logons = sorted(self._logons.items(), key=lambda item: (item[0][1] not in REMOTE_TYPES, item[1].span.first))
        for key, one in logons:
            yield self._logon_finding(key, one, place)

    def _success(self, entry: _LogonAfterFailures, place: Place) -> Finding[LogonSuccess] | None:
        tally = self.sources.get(self._addresses.get(entry.source) or entry.source)
        severity, why = success_severity(
            entry.streak, is_attack=tally is not None and tally.is_attack, earlier=entry.earlier
        )
        if entry.is_mistyped and severity in (Severity.CRITICAL, Severity.HIGH):
            severity, why = Severity.MEDIUM, WHY_DOUBTFUL
        if severity is Severity.LOW:
            return None
        who = entry.account or NO_ACCOUNT
        return Finding(
            title=f"{who} logged on from {entry.source} after {entry.streak:,} consecutive failures",
            severity=severity,
            why=why,
            evidence=(place.evidence(entry.event),),
            techniques=("T1110", "T1078") if severity in (Severity.CRITICAL, Severity.HIGH) else (),
            facts=LogonSuccess(
                source=entry.source,
                account=entry.account,
                time=entry.event.time or None,
                record=entry.event.number,
                logon_type=entry.logon_type,
                failures_before=entry.failures,
                account_failures_before=entry.account_failures,
                streak=entry.streak,
            ),
        )

    def _source_finding(self, name: str, tally: _LogonTally, place: Place) -> Finding[LogonSource]:
        entries = [one for account in tally.entered if (one := self.entries.get((name, account))) is not None]
        is_in = tally.is_attack and any(not entry.is_mistyped for entry in entries)
        severity = Severity.CRITICAL if is_in else source_severity(tally, tally.per_minute)
        accounts = tally.ranked_others()
        tried = f"{plural(tally.failures, 'failure')}, {plural(len(accounts), 'account')}"
        return Finding(
            title=f"{tally.pattern} from {name}: {tried}",
            severity=severity,
            evidence=_evidence(tally, place),
            techniques=TECHNIQUES[tally.pattern],
            facts=LogonSource(
                source=name,
                failures=tally.failures,
                accounts=len(accounts),
                by_account=[AccountFailures(account or "", count) for account, count in accounts[:MAX_NAMES]],
                first=tally.span.first or None,
                last=tally.span.last or None,
                per_minute=tally.per_minute,
                pattern=tally.pattern,
                logon_types=list(tally.types),
                by_reason=tally.reason_counts(),
                success_accounts=tally.entered_names(),
            ),
        )

    def _account_finding(self, name: str, tally: _LogonTally, place: Place) -> Finding[LogonAccount]:
        sources = tally.ranked_others()
        return Finding(
            title=f"{name or NO_ACCOUNT}: {plural(tally.failures, 'failure')} from {plural(len(sources), 'source')}",
            severity=Severity.MEDIUM if tally.is_brute_forced else Severity.INFO,
            evidence=_evidence(tally, place),
            facts=LogonAccount(
                account=name,
                failures=tally.failures,
                sources=len(sources),
                by_source=[SourceFailures(source or "", count) for source, count in sources[:MAX_NAMES]],
                first=tally.span.first or None,
                last=tally.span.last or None,
                is_brute_forced=tally.is_brute_forced,
                lockouts=self._lockouts[name],
                logon_types=list(tally.types),
                by_reason=tally.reason_counts(),
                success_sources=tally.entered_names(),
            ),
        )

    def _logon_finding(self, key: tuple[str, str, str, str], logons: _Logons, place: Place) -> Finding[Logon]:
        account, logon_type, source, host = key
        span = logons.span
        words = TYPES.get(logon_type, logon_type)
        where = f" to {host}" if host else ""
        how = f" ({words})" if words else ""
        times = "once" if span.count == 1 else f"{span.count:,} times"
        return Finding(
            title=f"{account or NO_ACCOUNT} logged on{where} from {source or 'an unknown source'}{how}, {times}",
            evidence=(place.evidence(span.events[0]),),
            facts=Logon(
                account=account,
                logon_type=logon_type,
                type_words=words,
                source=source,
                host=host,
                count=span.count,
                first=span.first or None,
                last=span.last or None,
                is_privileged=account in self._privileged,
                failures_before=logons.failures_before,
            ),
        )


def _tickets_finding(
    account: str, source: str, span: Span, services: Counter[str], place: Place
) -> Finding[WeakTickets]:
    return Finding(
        title=f"{account} requested RC4 or DES tickets for {len(services):,} services",
        severity=Severity.HIGH if len(services) >= MANY_TICKETS else Severity.LOW,
        why="RC4 and DES tickets can be cracked offline; requests for many services suggest Kerberoasting.",
        evidence=tuple(place.evidence(event) for event in span.events),
        techniques=("T1558.003",),
        facts=WeakTickets(
            account=account,
            source=source,
            services=list(services),
            count=span.count,
            first=span.first or None,
            last=span.last or None,
        ),
    )


def _evidence(tally: _LogonTally, place: Place) -> tuple[Evidence, ...]:
    first = tally.span.events[0]
    events = [first] if tally.last_event is None or tally.last_event is first else [first, tally.last_event]
    return tuple(place.evidence(event) for event in events)


def _plain_account(event: Event) -> str:
    """Return the account's name without its domain, in lower case: a guess may use any domain, or none."""
    return account_of(event, "Target").rpartition("\\")[2].partition("@")[0].lower()


def _source(event: Event) -> str:
    """Return the address, otherwise the workstation, otherwise LOCAL."""
    fields = event.fields
    if fields.get("LogonType") in _CONSOLE_TYPES and fields.get("IpAddress", "-") in _HERE:
        return LOCAL  # its workstation is this host, even under an earlier name
    address = fields.get("IpAddress", "-").removeprefix("::ffff:")
    if address not in _NOBODY and address not in ("::1", "127.0.0.1"):
        return address.lower()
    name = fields.get("WorkstationName", "-").strip("\\ ").lower()
    is_here = name in _NOBODY or name == event.host.partition(".")[0].lower()
    return LOCAL if is_here else name


def _is_at_console(event: Event) -> bool:
    """Whether a failure was typed at the host itself, into Windows' own logon screen or prompt."""
    fields = event.fields
    if event.event_id == 4776:
        is_typed = fields.get("Workstation", "").strip("\\ ").lower() == event.host.partition(".")[0].lower() != ""
    else:
        is_typed = (
            event.event_id == 4625
            and fields.get("LogonType") in _CONSOLE_TYPES
            and base_name(fields.get("ProcessName", "")) in _CONSOLE_PROGRAMS
        )
    return is_typed and _source(event) == LOCAL


def _reason(status: str) -> str:
    return _REASONS.get(status, status or "not stated")


def _type(event: Event) -> str:
    logon_type = event.fields.get("LogonType", "")
    return TYPES.get(logon_type, logon_type or "not stated")


def _code_number(code: str) -> int | None:
    """Return a code as a number (``0x0``, ``0``, ``0x00000000`` are 0); None if it is not one."""
    try:
        return int(code, 0) if code else None
    except ValueError:
        return None
