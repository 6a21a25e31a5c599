"""Collect what the detection rules matched in a log, one finding per rule."""

from __future__ import annotations

from collections.abc import Iterator

from svc.assistant.findings import Finding, Severity
from svc.assistant.sigma.engine import Hit, Rule
from svc.assistant.sigma.event import Event
from svc.assistant.skills.events.evidence import Place, Span
from svc.assistant.skills.events.findings import RuleHit

MAX_EVIDENCE = 5  # records per rule
MAX_HOSTS = 20
RANK = {severity: place for place, severity in enumerate(Severity)}
"""Position of each severity, the most severe first."""


class _RuleMatches:
    __slots__ = ("hosts", "rule", "span")

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self.span = Span(limit=MAX_EVIDENCE)
        self.hosts: set[str] = set()


class RuleHits:
    """Counts the hits of each rule."""

    def __init__(self) -> None:
        self._by_rule: dict[str, _RuleMatches] = {}
        self.covered: set[tuple[str, int | None]] = set()

    def add(self, hit: Hit) -> None:
        """Count a hit."""
        key = hit.rule.id or hit.rule.title
        matched = self._by_rule.get(key)
        if matched is None:
            matched = self._by_rule[key] = _RuleMatches(hit.rule)
        matched.span.add(hit.event)
        self.covered.add((hit.event.service, hit.event.event_id))
        if len(matched.hosts) < MAX_HOSTS:
            matched.hosts.add(hit.event.host)

    def __len__(self) -> int:
        return len(self._by_rule)

    @property
    def events(self) -> list[tuple[Event, Rule]]:
        """The first events that each rule matched, for the timeline."""
        return [(event, matched.rule) for matched in self._by_rule.values() for event in matched.span.events]

    def findings(self, place: Place) -> Iterator[Finding[RuleHit]]:
        """Yield a finding per rule, the most severe first, then by first match."""
        ranked = sorted(self._by_rule.values(), key=lambda one: (RANK[one.rule.severity], one.span.first))
        for matched in ranked:
            rule, span = matched.rule, matched.span
            yield Finding(
                title=rule.title,
                severity=rule.severity,
                why=rule.description,
                evidence=tuple(place.evidence(event) for event in span.events),
                techniques=rule.techniques,
                facts=RuleHit(
                    rule=rule.id,
                    level=rule.level,
                    author=rule.author,
                    license=rule.license,
                    tactics=list(rule.tactics),
                    false_positives=list(rule.false_positives),
                    count=span.count,
                    first=span.first or None,
                    last=span.last or None,
                    hosts=sorted(matched.hosts),
                    event_ids=sorted({event.event_id for event in span.events if event.event_id is not None}),
                ),
            )
