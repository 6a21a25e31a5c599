"""Find port scans, repeated denials and connections allowed after denials in firewall logs and tables of connections.

Thresholds of scans: 15 ports of a host and 25 hosts on a port, the defaults of Zeek's ``policy/misc/scan.zeek``, for
attempts that were denied or not answered. Without such an outcome, a scan needs 30 ports below 1,024 or 100 ports.
Those of denials are ours. Replies, from a port below 1,024 to one above, are not attempts. One pass, bounded memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from svc.assistant.findings import Confidence, Facts, Finding, Severity
from svc.assistant.sigma.event import Event, seconds_of, without_fields
from svc.assistant.skills.asked.evidence import Place, Span
from svc.assistant.skills.events.activity_findings import (
    MAX_HOSTS,
    AddressConnections,
    DeniedTraffic,
    NetworkSummary,
    PortConnections,
    PortScan,
    hosts_words,
)

SCANNED_PORTS = 15
SCANNED_HOSTS = 25
WELL_KNOWN_PORTS = 30
ANY_PORTS = 100
REPEATED = 50  # denials between two addresses: more than retries of one program
DENIED_BEFORE = 5  # denials before an allowed connection is worth a finding
MAX_PAIRS = 100_000
MAX_SWEEPS = 100_000  # sources with a port
FEW_PORTS = 200  # of a pair, kept as numbers; more are kept as bits
MAX_PORT = 65_535
MAX_LISTED = 100
_WELL_KNOWN = 1_024
_CATEGORIES = frozenset({"firewall", "network_connection"})


_Ports = set[int] | frozenset[int] | bytearray  # a bytearray has a bit for each port
_NO_PORTS: frozenset[int] = frozenset()


def _with(ports: _Ports, port: int) -> _Ports:
    if isinstance(ports, frozenset):
        return {port}
    if isinstance(ports, set):
        ports.add(port)
        if len(ports) <= FEW_PORTS:
            return ports
        known, ports = ports, bytearray(MAX_PORT // 8 + 1)
        for one in known:
            ports[one >> 3] |= 1 << (one & 7)
    ports[port >> 3] |= 1 << (port & 7)
    return ports


def _numbers(ports: _Ports) -> set[int] | frozenset[int]:
    if isinstance(ports, bytearray):
        return {port for port in range(MAX_PORT + 1) if ports[port >> 3] & 1 << (port & 7)}
    return ports


class _Pair:
    """Connections from one address to another."""

    __slots__ = ("_failed", "_others", "allowed", "allowed_after", "allowed_port", "denied", "span")

    def __init__(self) -> None:
        self._failed: _Ports = _NO_PORTS  # most pairs need one of the sets
        self._others: _Ports = _NO_PORTS
        self.denied = self.allowed = 0
        self.allowed_after: Event | None = None
        self.allowed_port: int | None = None
        self.span = Span(limit=2, is_slim=True)

    def add_port(self, port: int, *, is_failed: bool) -> None:
        """Remember a port that was tried."""
        if is_failed:
            self._failed = _with(self._failed, port)
        else:
            self._others = _with(self._others, port)

    @property
    def failed(self) -> set[int] | frozenset[int]:
        """The ports that were denied, or that a rule logged."""
        return _numbers(self._failed)

    @property
    def tried(self) -> set[int] | frozenset[int]:
        """All ports that were tried."""
        return self.failed | _numbers(self._others)

    @property
    def is_scanned(self) -> bool:
        """Whether so many ports were tried that it is a scan."""
        if len(self._others) + len(self._failed) < SCANNED_PORTS:
            return False
        tried = self.tried
        known = sum(1 for port in tried if port < _WELL_KNOWN)
        return len(self.failed) >= SCANNED_PORTS or known >= WELL_KNOWN_PORTS or len(tried) >= ANY_PORTS


class _Sweep:
    """Hosts on which one source tried one port."""

    __slots__ = ("hosts", "span")

    def __init__(self) -> None:
        self.hosts: set[str] = set()
        self.span = Span(limit=2, is_slim=True)


class NetworkActivity:
    """Counts connections; other events are ignored."""

    count: int
    allowed: int
    denied: int
    left_out: int

    def __init__(self) -> None:
        self.count = self.allowed = self.denied = self.left_out = 0
        self._pairs: dict[tuple[str, str], _Pair] = {}
        self._sweeps: dict[tuple[str, int], _Sweep] = {}
        self._sources: Counter[str] = Counter()
        self._denied_sources: Counter[str] = Counter()
        self._ports: Counter[int] = Counter()
        self._destinations: set[str] = set()
        self._all = Span(limit=1)

    def add(self, event: Event) -> None:
        """Count a connection."""
        if event.category not in _CATEGORIES:
            return
        fields = event.fields
        source, destination = fields.get("SourceIp", ""), fields.get("DestinationIp", "")
        if not source or not destination:
            return
        port, from_port = _port(fields.get("DestinationPort")), _port(fields.get("SourcePort"))
        outcome = fields.get("Outcome", "" if event.category == "network_connection" else "logged")
        self.count += 1
        self.allowed += outcome == "success"
        self.denied += outcome == "failure"
        self._all.add(event)
        self._total(source, destination, port, is_denied=outcome == "failure")
        if port is None or (from_port is not None and from_port < _WELL_KNOWN <= port):
            return
        is_failed = outcome in ("failure", "logged")
        self._count_pair(event, (source, destination), port, outcome, is_failed=is_failed)
        if is_failed:
            self._count_sweep(event, source, destination, port)

    def _total(self, source: str, destination: str, port: int | None, *, is_denied: bool) -> None:
        if source in self._sources or len(self._sources) < MAX_PAIRS:
            self._sources[source] += 1
            if is_denied:
                self._denied_sources[source] += 1
        if len(self._destinations) < MAX_PAIRS:
            self._destinations.add(destination)
        if port is not None:
            self._ports[port] += 1

    def _count_pair(self, event: Event, key: tuple[str, str], port: int, outcome: str, *, is_failed: bool) -> None:
        pair = self._pairs.get(key)
        if pair is None:
            if len(self._pairs) >= MAX_PAIRS:
                self.left_out += 1
                return
            pair = self._pairs[key] = _Pair()
        pair.span.add(event)
        pair.add_port(port, is_failed=is_failed)
        if outcome == "failure":
            pair.denied += 1
        elif outcome == "success":
            pair.allowed += 1
            if pair.denied >= DENIED_BEFORE and pair.allowed_after is None:
                pair.allowed_after = without_fields(event)
                pair.allowed_port = port

    def _count_sweep(self, event: Event, source: str, destination: str, port: int) -> None:
        sweep = self._sweeps.get((source, port))
        if sweep is None:
            if len(self._sweeps) >= MAX_SWEEPS:
                return
            sweep = self._sweeps[source, port] = _Sweep()
        sweep.span.add(event)
        if len(sweep.hosts) < MAX_HOSTS:
            sweep.hosts.add(destination)

    def findings(self, place: Place) -> list[Finding[Facts]]:
        """Return the summary, scans, connections allowed after denials, then repeated denials."""
        if not self.count:
            return []
        scans = [*self._vertical(place), *self._horizontal(place)]
        scanners = {scan.facts.source for scan in scans}
        scans.sort(key=lambda scan: -scan.facts.attempts)
        return [self._summary(place), *scans[:MAX_LISTED], *self._denials(place, scanners)]

    def _vertical(self, place: Place) -> Iterator[Finding[PortScan]]:
        by_source: dict[str, list[tuple[str, _Pair]]] = {}
        for (source, destination), pair in self._pairs.items():
            if pair.is_scanned:
                by_source.setdefault(source, []).append((destination, pair))
        for source, targets in by_source.items():
            targets.sort(key=lambda item: -len(item[1].tried))
            target, pair = targets[0]
            tried, failed = sorted(pair.tried), pair.failed
            denied, allowed = sum(one.denied for _, one in targets), sum(one.allowed for _, one in targets)
            what = f"{len(tried):,} ports of {target}" + (f" and {len(targets) - 1:,} more" if targets[1:] else "")
            yield Finding(
                title=f"port scan by {source}: {what}",
                severity=Severity.MEDIUM if failed else Severity.LOW,
                confidence=Confidence.HIGH if len(failed) >= SCANNED_PORTS else Confidence.MEDIUM,
                why="One address tried many ports of a host, to find services that it can reach.",
                evidence=tuple(place.evidence(event) for event in pair.span.events),
                techniques=("T1046",),
                facts=PortScan(
                    source=source,
                    shape="vertical",
                    hosts=len(targets),
                    targets=[name for name, _ in targets[:20]],
                    ports=len(tried),
                    tried=tried[:50],
                    attempts=sum(one.span.count for _, one in targets),
                    denied=denied,
                    allowed=allowed,
                    first=pair.span.first or None,
                    last=pair.span.last or None,
                    per_minute=_per_minute(pair.span),
                ),
            )

    def _horizontal(self, place: Place) -> Iterator[Finding[PortScan]]:
        widest: dict[str, tuple[int, _Sweep]] = {}
        for (source, port), sweep in self._sweeps.items():
            known = widest.get(source)
            if len(sweep.hosts) >= SCANNED_HOSTS and (known is None or len(known[1].hosts) < len(sweep.hosts)):
                widest[source] = port, sweep
        for source, (port, sweep) in widest.items():
            yield Finding(
                title=f"port scan by {source}: port {port} on {hosts_words(len(sweep.hosts))}",
                severity=Severity.MEDIUM,
                why="One address tried the same port on many hosts, to find those that offer a service.",
                evidence=tuple(place.evidence(event) for event in sweep.span.events),
                techniques=("T1046",),
                facts=PortScan(
                    source=source,
                    shape="horizontal",
                    hosts=len(sweep.hosts),
                    targets=sorted(sweep.hosts)[:20],
                    ports=1,
                    tried=[port],
                    attempts=sweep.span.count,
                    denied=sweep.span.count,
                    allowed=0,
                    first=sweep.span.first or None,
                    last=sweep.span.last or None,
                    per_minute=_per_minute(sweep.span),
                ),
            )

    def _denials(self, place: Place, scanners: set[str]) -> list[Finding[DeniedTraffic]]:
        found: list[Finding[DeniedTraffic]] = []
        for (source, destination), pair in self._pairs.items():
            if pair.allowed_after is None and (pair.denied < REPEATED or source in scanners):
                continue
            after = pair.allowed_after
            port = pair.allowed_port
            counted = f"{pair.denied:,} connections from {source} to {destination} were denied"
            events = [*pair.span.events[:1], *([after] if after is not None else pair.span.events[1:])]
            found.append(
                Finding(
                    title=f"{counted}, then one to port {port} was allowed" if after is not None else counted,
                    severity=Severity.MEDIUM if after is not None else Severity.LOW,
                    confidence=Confidence.MEDIUM,
                    why="A source that was denied got through: check the rule that allowed it."
                    if after is not None
                    else "The source kept trying: an attacker, or a misconfigured program.",
                    evidence=tuple(place.evidence(event) for event in events),
                    techniques=("T1046",) if source in scanners else (),
                    facts=DeniedTraffic(
                        source=source,
                        destination=destination,
                        denied=pair.denied,
                        ports=sorted(pair.failed)[:20],
                        allowed_port=port,
                        allowed_time=(after.time or None) if after is not None else None,
                        first=pair.span.first or None,
                        last=pair.span.last or None,
                    ),
                )
            )
        found.sort(key=lambda one: (one.facts.allowed_port is None, -one.facts.denied))
        return found[:MAX_LISTED]

    def _summary(self, place: Place) -> Finding[NetworkSummary]:
        return Finding(
            title=f"{self.count:,} connections from {len(self._sources):,} addresses, {self.denied:,} denied",
            evidence=tuple(place.evidence(event) for event in self._all.events),
            facts=NetworkSummary(
                connections=self.count,
                allowed=self.allowed,
                denied=self.denied,
                sources=len(self._sources),
                destinations=len(self._destinations),
                first=self._all.first or None,
                last=self._all.last or None,
                by_source=[
                    AddressConnections(address, count, self._denied_sources[address])
                    for address, count in self._sources.most_common(20)
                ],
                by_port=[PortConnections(*item) for item in self._ports.most_common(20)],
                untold=self.left_out,
            ),
        )


def _port(text: str | None) -> int | None:
    return port if text and text.isdecimal() and len(text) <= 5 and (port := int(text)) <= MAX_PORT else None


def _per_minute(span: Span) -> float | None:
    first, last = seconds_of(span.first.replace("--", "2000-")), seconds_of(span.last.replace("--", "2000-"))
    return (
        round(span.count / (last - first) * 60, 2) if first is not None and last is not None and last > first else None
    )
