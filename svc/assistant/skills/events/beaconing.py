"""Find regular contacts in logs: connections, proxy requests, DNS queries, EDR's network events. One pass, bounded.

What regular is, ``pcap/regularity.py`` decides; here LEAST_CONTACTS of a source and a destination are needed. Contacts
that are regular without an attacker (clocks, mail, updates: ``network.toml``), within the network, made by many
clients, or by a host that polls many others, are low, and the finding says why. A web server's own log is not read so:
its clients are not ours.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from ipaddress import ip_address
from typing import Literal

import msgspec

from svc.assistant.findings import Confidence, Facts, Finding, Severity
from svc.assistant.knowledge.network import regular_by_nature
from svc.assistant.sigma.event import Event, seconds_of
from svc.assistant.skills.asked.evidence import Place
from svc.assistant.skills.events.activity_findings import Beaconing, BeaconSearch
from svc.assistant.skills.pcap.addresses import is_internal
from svc.assistant.skills.pcap.regularity import Regularity, regularity

LEAST_CONTACTS = 10  # of a pair: a log covers hours, so chance makes more series than in a capture
LEAST_SECONDS = 300.0  # that the contacts take: shorter series are one piece of work
MAX_PAIRS = 100_000
MAX_TIMES = 1_000  # of a pair: enough to tell
MAX_ALL_TIMES = 5_000_000  # 40 MB
MAX_LISTED = 100
COMMON_CLIENTS = 5  # that contact the same destination regularly …
COMMON_SHARE = 0.2  # … and this share of all clients: a service of the network
POLLED = 10  # destinations that one source contacts regularly: it monitors them
_SENSORS = frozenset({"zeek", "suricata"})
_LOW_PORT = 1_024
_DNS_PORT = 53
_PINGS = frozenset({"icmp", "icmp6", "ipv6-icmp", "icmpv6", "1", "58"})


class _ContactPair:
    """Contacts of a source with a destination."""

    __slots__ = ("first", "last", "sample", "times")

    def __init__(self) -> None:
        self.times: array[float] = array("d")
        self.first = self.last = ""
        self.sample: Event | None = None  # only of a pair with enough contacts: an event is large


class _Contact(msgspec.Struct, frozen=True, cache_hash=True):
    """Who contacts whom. ``kind``: connections, requests or queries."""

    source: str
    destination: str
    port: int | None
    kind: Literal["connections", "requests", "queries"]
    protocol: str = "tcp"


class BeaconSeries:
    """Collects the times of contacts by source and destination; other events are ignored."""

    left_out: int

    def __init__(self) -> None:
        self.left_out = 0
        self._pairs: dict[_Contact, _ContactPair] = {}
        self._sample: Event | None = None
        self._times = 0
        self._clients: set[str] = set()

    def add(self, event: Event) -> None:
        """Note the time of a contact."""
        contact, time = _contact(event), event.time
        if contact is None or not time:
            return
        seconds = seconds_of(time.replace("--", "2000-", 1) if time.startswith("--") else time)
        if seconds is None:
            return
        pair = self._pairs.get(contact)
        if pair is None:
            if len(self._pairs) >= MAX_PAIRS:
                self.left_out += 1
                return
            pair = self._pairs[contact] = _ContactPair()
            self._clients.add(contact.source)
        self._sample = self._sample or event
        if time < pair.first or not pair.first:
            pair.first = time
        if time > pair.last:
            pair.last = time
        if len(pair.times) < MAX_TIMES and self._times < MAX_ALL_TIMES:
            pair.times.append(seconds)
            self._times += 1
        if pair.sample is None and len(pair.times) >= LEAST_CONTACTS:
            pair.sample = event

    def findings(self, place: Place) -> list[Finding[Facts]]:
        """Return what was searched, then the regular contacts: those without an ordinary reason first."""
        if self._sample is None:
            return []
        regular = [
            (contact, pair, found)
            for contact, pair in self._pairs.items()
            if len(pair.times) >= LEAST_CONTACTS
            and (found := regularity(pair.times)) is not None
            and found.count >= LEAST_CONTACTS
            and found.last - found.first >= LEAST_SECONDS
        ]
        clients = Counter(contact.destination for contact, _, _ in regular)
        polled = Counter(contact.source for contact, _, _ in regular)
        listed = [self._finding(one, place, clients, polled) for one in regular]
        listed.sort(key=lambda one: (one.severity is Severity.LOW, one.facts.jitter, -one.facts.count))
        judged = sum(1 for pair in self._pairs.values() if len(pair.times) >= LEAST_CONTACTS)
        searched = Finding(
            title=f"{len(self._pairs):,} pairs of hosts, {judged:,} with {LEAST_CONTACTS} or more contacts, "
            f"{len(listed):,} regular",
            evidence=(place.evidence(self._sample),),
            facts=BeaconSearch(
                pairs=len(self._pairs), judged=judged, regular=len(listed), least=LEAST_CONTACTS, untold=self.left_out
            ),
        )
        return [searched, *listed[:MAX_LISTED]]

    def _finding(
        self,
        found: tuple[_Contact, _ContactPair, Regularity],
        place: Place,
        clients: Mapping[str, int],
        polled: Mapping[str, int],
    ) -> Finding[Beaconing]:
        contact, pair, series = found
        inside = _is_inside(contact.destination)
        reason = self._reason(contact, clients[contact.destination], polled[contact.source], is_inside=inside)
        where = f"{contact.destination}:{contact.port}" if contact.port else contact.destination
        return Finding(
            title=f"possible beaconing: {contact.source} → {where} every {series.pause_seconds:,.0f} s "
            f"({series.count:,} {contact.kind})",
            severity=Severity.LOW if reason else Severity.MEDIUM,
            confidence=Confidence.LOW if reason else Confidence.MEDIUM,
            why=f"A program makes intervals of {series.pause_seconds:,.1f} s with a jitter of {series.jitter:.0%}: "
            + (f"most likely {reason}." if reason else "an implant that polls its server, or a program's own timer."),
            evidence=() if pair.sample is None else (place.evidence(pair.sample),),
            techniques=_techniques(contact),
            facts=Beaconing(
                source=contact.source,
                destination=contact.destination,
                port=contact.port,
                contacts=contact.kind,
                program=pair.sample.fields.get("Image", "") if pair.sample is not None else "",
                is_internal=inside,
                count=series.count,
                pause_seconds=series.pause_seconds,
                jitter=series.jitter,
                reason=reason,
                first=pair.first or None,
                last=pair.last or None,
                offsets=series.offsets,
            ),
        )

    def _reason(self, contact: _Contact, clients: int, polled: int, *, is_inside: bool) -> str:
        """Why the contacts are ordinary, or ""."""
        # a connection's name comes from the client (SNI); a proxy and a name server have resolved it themselves
        name = contact.destination if contact.kind != "connections" else ""
        if found := regular_by_nature(contact.protocol, contact.port, name, is_inside=is_inside):
            return found
        if clients >= COMMON_CLIENTS and clients >= COMMON_SHARE * len(self._clients):
            return f"a common service, as {clients:,} clients do the same (if they should not, an outbreak)"
        if polled >= POLLED:
            return f"monitoring, as the same host contacts {polled:,} destinations regularly"
        return "monitoring or another service of the network" if is_inside else ""


def _techniques(contact: _Contact) -> tuple[str, ...]:
    if contact.kind == "queries":
        return ("T1071.004",)
    return ("T1071.001",) if contact.kind == "requests" or contact.port in (80, 443, 8080, 8443) else ("T1071",)


def _contact(event: Event) -> _Contact | None:
    """Who contacts whom in an event; None for any other event, and for contacts from outside to inside."""
    fields, category = event.fields, event.category
    if category in ("network_connection", "firewall"):
        return _connection(event)
    if category == "proxy" or (category == "webserver" and event.product in _SENSORS):
        source, host = fields.get("c-ip", "") or fields.get("cs-username", ""), fields.get("cs-host", "").lower()
        return _Contact(source, host, None, "requests") if source and host else None
    if category == "dns_query":
        source, name = fields.get("SourceIp", "") or event.host, fields.get("QueryName", "").lower().rstrip(".")
        is_named = "." in name and not name.endswith((".arpa", ".local", ".lan", ".home", ".internal"))
        return _Contact(source, name, None, "queries") if source and is_named else None
    return None


def _connection(event: Event) -> _Contact | None:
    fields = event.fields
    contact = _between(
        fields.get("SourceIp", ""),
        fields.get("DestinationIp", ""),
        fields.get("DestinationPort"),
        fields.get("Protocol", ""),
    )
    if contact is None:
        return None
    from_port = _port(fields.get("SourcePort"))
    is_reply = from_port is not None and from_port < _LOW_PORT <= (contact.port or 0)
    return None if is_reply else contact


@lru_cache(maxsize=20_000)  # the same hosts meet again and again
def _between(source: str, address: str, port_text: str | None, protocol: str) -> _Contact | None:
    """Return whom a connection contacts, unless it is a reply; None for connections that are not looked at."""
    port, protocol = _port(port_text), protocol.lower()
    if not source or not address or port == _DNS_PORT or protocol in _PINGS:
        return None
    if not _is_inside(source) and _is_inside(address):
        return None
    kind = "udp" if protocol in ("udp", "17") else "tcp"
    return _Contact(source, address, port, "connections", kind)


@lru_cache(maxsize=100_000)
def _is_inside(address: str) -> bool:
    """Whether it is an internal address or a name without a domain."""
    try:
        return is_internal(ip_address(address.partition("%")[0]).packed)
    except ValueError:
        return "." not in address


def _port(text: str | None) -> int | None:
    return int(text) if text and text.isdecimal() and len(text) <= 5 else None
