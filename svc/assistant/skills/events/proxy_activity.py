"""Summarise a proxy's log: the hosts that clients asked for, how often, and what was refused."""

from __future__ import annotations

from collections import Counter

from svc.assistant.findings import Facts, Finding
from svc.assistant.sigma.event import Event, without_fields
from svc.assistant.skills.asked.evidence import Place, Span
from svc.assistant.skills.events.activity_findings import HostRequests, ProxySummary

MAX_HOSTS = 50_000
MAX_LISTED = 50


class ProxyActivity:
    """Counts the requests of a proxy's log; other events are ignored."""

    count: int
    refused: int
    left_out: int

    def __init__(self) -> None:
        self.count = self.refused = self.left_out = 0
        self._hosts: Counter[str] = Counter()
        self._firsts: dict[str, Event] = {}
        self._clients: set[str] = set()
        self._all = Span(limit=1)

    def add(self, event: Event) -> None:
        """Count a request."""
        if event.category != "proxy":
            return
        fields = event.fields
        self.count += 1
        self._all.add(event)
        self.refused += fields.get("sc-status", "") in ("403", "407")
        if len(self._clients) < MAX_HOSTS:
            self._clients.add(fields.get("c-ip", ""))
        host = fields.get("cs-host", "").lower()
        if host in self._hosts or len(self._hosts) < MAX_HOSTS:
            self._hosts[host] += 1
            if host not in self._firsts:
                self._firsts[host] = without_fields(event)
        else:
            self.left_out += 1

    def findings(self, place: Place) -> list[Finding[Facts]]:
        """Return the summary."""
        if not self.count:
            return []
        ranked = self._hosts.most_common()
        rare = [name for name, count in reversed(ranked) if count == 1 and name][:MAX_LISTED]
        return [
            Finding(
                title=f"{self.count:,} requests of {len(self._clients):,} clients to {len(self._hosts):,} hosts",
                evidence=tuple(
                    place.evidence(event) for event in [*self._all.events, *(self._firsts[name] for name in rare[:2])]
                ),
                facts=ProxySummary(
                    requests=self.count,
                    refused=self.refused,
                    clients=len(self._clients),
                    hosts=len(self._hosts),
                    first=self._all.first or None,
                    last=self._all.last or None,
                    by_host=[HostRequests(*item) for item in ranked[:MAX_LISTED]],
                    once=rare,
                    untold=self.left_out,
                ),
            )
        ]
