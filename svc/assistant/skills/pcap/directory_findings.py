"""Findings about Kerberos tickets and the directory: roasting, guessing, stolen hashes, searches, changes. Pure.

Decides by numbers and by what Windows itself does not do: asking for RC4 first, or for a ticket without proof. Tickets
are encrypted, so whether one is forged is not visible.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from svc.assistant.findings import Confidence, Facts, Finding, Severity
from svc.assistant.knowledge.network import mark_of_change, mark_of_search
from svc.assistant.skills.pcap.activity import ActivityJudgement, Sighting, activity, is_dense, listing
from svc.assistant.skills.pcap.capture import Capture
from svc.assistant.skills.pcap.dns import address_text
from svc.assistant.skills.pcap.findings import PcapActivity
from svc.assistant.skills.pcap.flows import Flow
from svc.assistant.skills.pcap.labels import CaptureNames
from svc.assistant.skills.pcap.windows.kerberos import (
    AES,
    LOCKED,
    NO_SUCH_ETYPE,
    RC4,
    UNKNOWN_USER,
    WRONG_PASSWORD,
    TicketRequest,
)

GUESSES = 5  # wrong passwords of one account from one client
SPRAYED_USERS = 5  # accounts with a wrong password from one client
UNKNOWN_USERS = 5  # names from one client that do not exist
MANY_USERS = 10  # that one client asks tickets for …
MANY_PAUSE_SECONDS = 3.0  # … with a mean pause below this
ROASTED_SERVICES = 4  # with RC4, of one client: people's sessions need few services that are so old
MAX_SEARCHES = 100
_Requests = list[tuple[Flow, TicketRequest]]


def directory_findings(capture: Capture, names: CaptureNames) -> Iterator[Finding[Facts]]:
    """Yield what tickets and the directory show."""
    clients: dict[tuple[bytes, bytes], _Requests] = {}
    for flow, request in capture.tickets.items:
        clients.setdefault((flow.client[0], flow.server[0]), []).append((flow, request))
    for ends, requests in clients.items():
        for judged, seen in (*_first_tickets(ends, requests), *_service_tickets(ends, requests)):
            client, server = ends
            yield activity("tickets", judged, seen, names, protocol="Kerberos", client=client, server=server, port=88)
    yield from _directory(capture, names)


def _seen(requests: Iterable[tuple[Flow, TicketRequest]], *, by_service: bool = False) -> list[Sighting]:
    return [
        Sighting(one.reply_number or one.number, one.seconds, flow, one.service if by_service else one.user)
        for flow, one in requests
    ]


def _where(ends: tuple[bytes, bytes]) -> str:
    return f"{address_text(ends[0])} → {address_text(ends[1])}"


_Judged = tuple[ActivityJudgement, list[Sighting]]


def _first_tickets(ends: tuple[bytes, bytes], requests: _Requests) -> Iterator[_Judged]:
    """AS-REQ: guessing, names that do not exist, accounts without pre-authentication, hashes used for tickets."""
    asked = [(flow, one) for flow, one in requests if one.kind == "AS"]
    yield from _guesses(ends, asked)
    unknown = _seen((flow, one) for flow, one in asked if one.error == UNKNOWN_USER)
    if len({one.name for one in unknown}) >= UNKNOWN_USERS:
        title = f"{len({one.name for one in unknown}):,} account names that do not exist were tried: {_where(ends)}"
        why = f"Kerberos tells which names exist without a password. Tried: {listing(unknown)}."
        yield ActivityJudgement(title, Severity.HIGH, ("T1087.002", "T1589.001"), why), unknown
    bare = [(flow, one) for flow, one in asked if one.is_granted and not one.has_proof]
    if bare:
        is_old = any(one.prefers_rc4 or one.part_etype in RC4 for _, one in bare)
        seen = _seen(bare)
        why = "The reply can be used to guess the account's password; the account needs no pre-authentication."
        title = f"a ticket without proof of the password (AS-REP roasting) for {listing(seen)}: {_where(ends)}"
        yield ActivityJudgement(title, Severity.HIGH if is_old else Severity.MEDIUM, ("T1558.004",), why), seen
    hashes = [(flow, one) for flow, one in asked if one.proof_etype in RC4 and one.is_granted and _is_rc4_only(one)]
    if hashes:
        seen = _seen(hashes)
        why = "The client offered only RC4 and proved the account with it: so a ticket is made with an NTLM hash. "
        why += "Very old systems do that, too."
        title = f"a ticket by an NTLM hash (overpass the hash) for {listing(seen)}: {_where(ends)}"
        yield ActivityJudgement(title, Severity.MEDIUM, ("T1550.002",), why), seen
    yield from _downgrades(ends, asked)


def _is_rc4_only(one: TicketRequest) -> bool:
    return bool(one.offered) and all(etype in RC4 for etype in one.offered)


def _guesses(ends: tuple[bytes, bytes], asked: _Requests) -> Iterator[_Judged]:
    wrong = _seen((flow, one) for flow, one in asked if one.error in (WRONG_PASSWORD, LOCKED))
    users = {one.name.lower() for one in wrong}
    entered = [one.user for _, one in asked if one.is_granted and one.user.lower() in users and one.has_proof]
    then = f"; {entered[0]} then got a ticket" if entered else ""
    is_spray = len(users) >= SPRAYED_USERS
    if is_spray or any(sum(1 for one in wrong if one.name.lower() == user) >= GUESSES for user in users):
        what = "password spraying" if is_spray else "password guessing"
        title = f"{what} over Kerberos: {_where(ends)}, {len(wrong):,} wrong passwords of {len(users):,} accounts{then}"
        severity = Severity.CRITICAL if entered and is_spray else Severity.HIGH
        why = f"The controller refused the passwords of {listing(wrong)}."
        yield (
            ActivityJudgement(title, severity, ("T1110.003",) if is_spray else ("T1110.001",), why, Confidence.HIGH),
            wrong,
        )
    elif len({one.user.lower() for _, one in asked}) >= MANY_USERS:
        firsts = {one.user.lower(): (flow, one) for flow, one in reversed(asked)}
        seen = _seen(firsts.values())
        if is_dense([one.seconds for one in seen], MANY_USERS, MANY_PAUSE_SECONDS):
            title = f"tickets for {len(seen):,} accounts in a row: {_where(ends)}"
            why = f"A spraying of passwords looks so, and a server on which many people log in. Tried: {listing(seen)}."
            yield ActivityJudgement(title, Severity.MEDIUM, ("T1110.003", "T1087.002"), why, Confidence.LOW), seen


def _downgrades(ends: tuple[bytes, bytes], asked: _Requests) -> Iterator[_Judged]:
    """A controller that refuses AES, which all have since 2008."""
    refused = [
        (flow, one) for flow, one in asked if one.error == NO_SUCH_ETYPE and any(etype in AES for etype in one.offered)
    ]
    if refused:
        seen = _seen(refused)
        why = "The controller has no such key of the account: the account is old, or a skeleton key was put in."
        title = f"a domain controller refused AES for {listing(seen)}: {_where(ends)}"
        yield ActivityJudgement(title, Severity.MEDIUM, ("T1556.001",), why, Confidence.LOW), seen


def _service_tickets(ends: tuple[bytes, bytes], requests: _Requests) -> Iterator[_Judged]:
    """TGS-REQ: tickets with RC4, whose key is the password of the service's account."""
    old = [
        (flow, one)
        for flow, one in requests
        if one.kind == "TGS" and one.etype in RC4 and not one.service.lower().startswith(("krbtgt", "kadmin"))
        and not one.service.endswith("$")
    ]  # fmt: skip
    seen = _seen(old, by_service=True)
    services = {one.name.lower() for one in seen}
    is_asked = any(one.prefers_rc4 for _, one in old)
    if not services or not (is_asked or len(services) >= ROASTED_SERVICES):
        return
    many = f"{len(services):,} services" if len(services) > 1 else listing(seen)
    asked = "The client asked for RC4 first, which Windows does not. " if is_asked else ""
    judged = ActivityJudgement(
        title=f"tickets with RC4 for {many} (Kerberoasting): {_where(ends)}",
        severity=Severity.HIGH,
        techniques=("T1558.003",),
        why=f"{asked}The password of a service's account can be guessed with such a ticket. Services: {listing(seen)}.",
    )
    yield judged, seen


def _directory(capture: Capture, names: CaptureNames) -> Iterator[Finding[PcapActivity]]:
    groups: dict[tuple[bytes, bytes, str], tuple[ActivityJudgement, list[Sighting]]] = {}
    for flow, call in capture.directory.items:
        mark = {"search": mark_of_search, "change": mark_of_change}.get(call.what, lambda _: None)(call.detail)
        if mark is None:
            continue
        verb = "searched the directory for " if call.what == "search" else ""
        ends = flow.client[0], flow.server[0]
        judged = ActivityJudgement(
            title=f"{verb}{mark.what}: {_where(ends)}",
            severity=mark.severity,
            techniques=tuple(mark.techniques),
            why="Administrators' tools ask for this as well."
            if call.what == "search"
            else "Check who changed it, and why.",
        )
        seen = groups.setdefault((*ends, mark.what), (judged, []))[1]
        if len(seen) < MAX_SEARCHES:
            seen.append(Sighting(call.number, call.seconds, flow, call.detail[:300]))
    for (client, server, _), (judged, seen) in groups.items():
        yield activity("directory", judged, seen, names, protocol="LDAP", client=client, server=server, port=389)
