"""Say how far a log was searched for a behaviour that no event shows alone: beaconing, a scan, spraying … Pure.

Used if nothing was found: the answer names what was looked at, what would be a finding, and what is missing to judge.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from svc.assistant.findings import AnyFinding, kind_of, with_facts
from svc.assistant.log_readers.login_counting import MANY, SPRAYED_ACCOUNTS
from svc.assistant.skills.events.activity_findings import BeaconSearch, NetworkSummary
from svc.assistant.skills.events.beaconing import LEAST_CONTACTS, LEAST_SECONDS
from svc.assistant.skills.events.findings import EventsSummary, Logon, LogonSource
from svc.assistant.skills.events.network_activity import ANY_PORTS, SCANNED_HOSTS, SCANNED_PORTS, WELL_KNOWN_PORTS
from svc.assistant.spool import of_kind
from svc.untrusted.markup import plural

_CONNECTIONS = frozenset({"network_connection", "firewall"})
_LOGINS = frozenset({"authentication"})


class Searched(NamedTuple):
    """What was looked at, in words; ``missing`` is what the log lacks to judge, "" if it was judged."""

    words: str
    missing: str = ""


_Seen = Callable[[Sequence[AnyFinding], int], Searched]


class Behaviour(NamedTuple):
    """A behaviour, the categories of events that show it, and how far a log with such events was searched."""

    name: str
    asked: re.Pattern[str]
    found: re.Pattern[str]
    techniques: tuple[str, ...]
    categories: frozenset[str]
    needs: str
    seen: _Seen


def _beacons(findings: Sequence[AnyFinding], _count: int) -> Searched:
    searches = [one.facts for one in with_facts(findings, BeaconSearch)]
    pairs, judged = sum(one.pairs for one in searches), sum(one.judged for one in searches)
    least = f"{LEAST_CONTACTS} contacts over {LEAST_SECONDS / 60:.0f} minutes"
    looked = f"looked for contacts at regular intervals in {plural(pairs, 'pair')} of a source and a destination"
    if not pairs:
        return Searched("", "its events name no source with a destination and a time")
    if not judged:
        return Searched(
            looked, f"none of them has {least}, which are needed to judge; a longer part of the log is needed"
        )
    rest = f"; {pairs - judged:,} more have fewer than {least} and cannot be judged" if pairs > judged else ""
    return Searched(f"{looked}; {judged:,} of them had enough contacts to judge{rest}")


def _scans(findings: Sequence[AnyFinding], count: int) -> Searched:
    summaries = [one.facts for one in with_facts(findings, NetworkSummary)]
    connections = sum(one.connections for one in summaries) or count
    refused, sources = sum(one.denied for one in summaries), sum(one.sources for one in summaries)
    scan = (
        f"{SCANNED_PORTS} such ports of a host or {SCANNED_HOSTS} hosts on a port; with other outcomes "
        f"{WELL_KNOWN_PORTS} ports below 1,024 or {ANY_PORTS}"
    )
    return Searched(
        f"looked for sources that tried many ports or hosts in {plural(connections, 'connection')} from "
        f"{plural(sources, 'source')}, {refused:,} of them denied or unanswered (a scan is {scan})"
    )


def _tunnels(_findings: Sequence[AnyFinding], count: int) -> Searched:
    looked = (
        "looked for 40 different long names of one domain within 30 minutes in "
        f"{plural(count, 'DNS query', 'DNS queries')}"
    )
    missing = "so few queries cannot show a tunnel" if count < 40 else ""
    return Searched(looked, missing)


def _uploads(findings: Sequence[AnyFinding], count: int) -> Searched:
    looked = (
        "looked for more than 500 MB from one source to one external address within an hour in "
        f"{plural(count, 'connection')}"
    )
    columns = {one for summary in with_facts(findings, EventsSummary) for one in summary.facts.columns}
    unused = {one for summary in with_facts(findings, EventsSummary) for one in summary.facts.unused_columns}
    has_sizes = any("byte" in one.lower() or "sent" in one.lower() for one in columns | unused)
    return Searched(looked, "" if has_sizes or not columns else "the log has no column with the bytes that were sent")


def _logins_of(findings: Sequence[AnyFinding]) -> tuple[int, int, int]:
    """Failed logins, their sources, and accepted logins."""
    sources = [one.facts for one in with_facts(findings, LogonSource)]
    accepted = sum(one.facts.count for one in with_facts(findings, Logon))
    return sum(one.failures for one in sources), len(sources), accepted


def _guesses(what: str) -> _Seen:
    def seen(findings: Sequence[AnyFinding], count: int) -> Searched:
        failures, sources, accepted = _logins_of(findings)
        looked = (
            f"looked for {what} in {plural(max(count, failures + accepted), 'login')}: {plural(failures, 'failure')} "
            f"from {plural(sources, 'source')}"
        )
        return Searched(
            looked, "" if failures else "no failed login is recorded; the log may record accepted ones only"
        )

    return seen


def _travel(findings: Sequence[AnyFinding], count: int) -> Searched:
    accepted = [one.facts for one in with_facts(findings, Logon)]
    logins = sum(one.count for one in accepted)
    accounts = len({one.account for one in accepted})
    addresses = len({(one.account, one.source) for one in accepted})
    looked = (
        "looked for accepted logins of one account from two countries within an hour in "
        f"{plural(logins, 'accepted login')} of {plural(accounts, 'account')} "
        f"({plural(addresses, 'account and source', 'accounts and sources')})"
    )
    columns = {one.partition("=")[0] for each in with_facts(findings, EventsSummary) for one in each.facts.columns}
    if not logins:
        return Searched("", f"no accepted login is among its {plural(count, 'login event')}")
    if "country" not in columns:
        return Searched(looked, "the log states no country, and the country of an address is not known offline")
    return Searched(looked)


def _fatigue(_findings: Sequence[AnyFinding], count: int) -> Searched:
    return Searched(
        f"looked for five denied MFA requests of one account within ten minutes in {plural(count, 'login event')}",
        "no account has as many in the log, which may not record each request",
    )


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE)


BEHAVIOURS = (
    Behaviour(
        "beaconing",
        _pattern(r"\bbeacon\w*|\b(?:call|phon)(?:s|e|es|ed|ing)? home\b|\bregular (?:contacts|intervals)"),
        _pattern(r"\bbeacon"),
        ("T1071",),
        _CONNECTIONS | {"proxy", "dns_query"},
        "connections, requests through a proxy, or DNS queries",
        _beacons,
    ),
    Behaviour(
        "a port scan",
        _pattern(
            r"\bport ?-?scan\w*|\bports?\b[^?]{0,30}\bscan\w*|\bscan\w*\b[^?]{0,30}\bports?\b|\b(?:network|host) sweep"
        ),
        _pattern(r"\bscan|\bsweep"),
        ("T1046",),
        _CONNECTIONS,
        "connections",
        _scans,
    ),
    Behaviour(
        "DNS tunnelling",
        _pattern(r"\b(?:dns )?tunnell?(?:ing|ed|s)?\b|\bdata over dns\b"),
        _pattern(r"\btunnel"),
        ("T1071.004", "T1572"),
        frozenset({"dns_query"}),
        "DNS queries",
        _tunnels,
    ),
    Behaviour(
        "a large upload",
        _pattern(r"\b(?:large|big|huge|mass\w*|unusual) (?:data )?(?:upload|transfer)\w*|\buploaded? (?:a )?lot"),
        _pattern(r"\bupload|\btransfer"),
        ("T1048", "T1041", "T1567"),
        _CONNECTIONS,
        "connections with the bytes that were sent",
        _uploads,
    ),
    Behaviour(
        "impossible travel",
        _pattern(r"\bimpossible travel\w*|\bsuperman\b|\btwo (?:countries|places) at once\b"),
        _pattern(r"\bimpossible travel|\bseveral countries"),
        (),
        _LOGINS,
        "logins with their country",
        _travel,
    ),
    Behaviour(
        "password spraying",
        _pattern(r"\bspray\w*"),
        _pattern(r"\bspray"),
        ("T1110.003",),
        _LOGINS,
        "logins",
        _guesses(f"sources that failed on {SPRAYED_ACCOUNTS} or more accounts"),
    ),
    Behaviour(
        "a brute-force attack",
        _pattern(r"\bbrut\w*|\bpasswords?[- ]guess\w*|\bcredential stuffing"),
        _pattern(r"\bbrute|\bguess"),
        ("T1110",),
        _LOGINS,
        "logins",
        _guesses(f"many failed logins of one source ({MANY} or more, or many within a minute)"),
    ),
    Behaviour(
        "MFA fatigue",
        _pattern(r"\bmfa (?:fatigue|bombing|spam\w*)|\bpush (?:bombing|fatigue|spam\w*)|\bprompt bombing"),
        _pattern(r"\bmfa (?:push|fatigue|bomb)|\bpush\b"),
        ("T1621",),
        _LOGINS,
        "logins with their MFA requests",
        _fatigue,
    ),
)


def searched_for(text: str, findings: Sequence[AnyFinding]) -> tuple[Behaviour, Searched] | None:
    """Return how far event logs were searched for the behaviour that a question is about.

    None if it is about none, if something was found, or if no event log was read.
    """
    behaviour = next((one for one in BEHAVIOURS if one.asked.search(text)), None)
    summaries = [one.facts for one in with_facts(of_kind(findings, kind_of(EventsSummary)), EventsSummary)]
    if behaviour is None or not summaries or any(_is_about(one, behaviour) for one in findings):
        return None
    counts: Counter[str] = Counter()
    for summary in summaries:
        for source in summary.by_log_source:
            counts[source.category or source.service] += source.events
    count = sum(counts[category] for category in behaviour.categories)
    failures, _, accepted = _logins_of(findings)
    if behaviour.categories == _LOGINS:
        count = max(count, failures + accepted)  # logons of Windows and sshd have no category
    if not count:
        events = plural(sum(summary.events for summary in summaries), "event")
        return behaviour, Searched("", f"it shows in {behaviour.needs}, and the {events} read have none")
    return behaviour, behaviour.seen(findings, count)


def _is_about(finding: AnyFinding, behaviour: Behaviour) -> bool:
    if isinstance(finding.facts, BeaconSearch | EventsSummary | NetworkSummary):
        return False
    return behaviour.found.search(finding.title) is not None or any(
        technique in behaviour.techniques for technique in finding.techniques
    )
