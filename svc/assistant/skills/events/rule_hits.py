"""Collect what the detection rules matched in a log, one finding per rule."""

from __future__ import annotations

from collections.abc import Iterator

from svc.assistant.findings import Finding, Severity
from svc.assistant.log_readers.windows import words_for
from svc.assistant.sigma.engine import Hit, Rule
from svc.assistant.sigma.event import Event
from svc.assistant.skills.events.evidence import Place, Span
from svc.assistant.skills.events.findings import RuleHit

MAX_EVIDENCE = 5  # records per rule
MAX_HOSTS = 20
RANK = {severity: place for place, severity in enumerate(Severity)}
"""Position of each severity, the most severe first."""

REFUSED = frozenset(["400", "401", "403", "404", "405", "406", "410", "414", "429", "444"])
"""Answers of a web server by which an attack cannot have worked."""
_WHY_REFUSED = " The server refused every one of these requests."


class _RuleMatches:
    __slots__ = ("hosts", "refused", "rule", "span")

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self.span = Span(limit=MAX_EVIDENCE)
        self.hosts: set[str] = set()
        self.refused = 0

    @property
    def severity(self) -> Severity:
        """The rule's, but medium at most if a web server refused every request: each host on the Internet has those."""
        is_refused = self.refused == self.span.count
        return max(self.rule.severity, Severity.MEDIUM, key=RANK.__getitem__) if is_refused else self.rule.severity


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
        matched.refused += hit.event.fields.get("sc-status", "") in REFUSED
        self.covered.add((hit.event.service, hit.event.event_id))
        if len(matched.hosts) < MAX_HOSTS:
            matched.hosts.add(hit.event.host)

    def __len__(self) -> int:
        return len(self._by_rule)

    @property
    def events(self) -> list[tuple[Event, Severity, str]]:
        """The first events that each rule matched, with the severity and title of the rule, for the timeline."""
        return [
            (event, matched.severity, matched.rule.title)
            for matched in self._by_rule.values()
            for event in matched.span.events
        ]

    def findings(self, place: Place) -> Iterator[Finding[RuleHit]]:
        """Yield a finding per rule, the most severe first, then by first match."""
        ranked = sorted(self._by_rule.values(), key=lambda one: (RANK[one.severity], one.span.first))
        for matched in ranked:
            rule, span = matched.rule, matched.span
            named = {event.event_id: words_for(event.service, event.event_id) for event in span.events}
            ids = sorted(event_id for event_id in named if event_id is not None)
            yield Finding(
                title=rule.title,
                severity=matched.severity,
                why=rule.description + (_WHY_REFUSED if matched.severity is not rule.severity else ""),
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
                    event_ids=ids,
                    event_names=[named[event_id] for event_id in ids],
                ),
            )
