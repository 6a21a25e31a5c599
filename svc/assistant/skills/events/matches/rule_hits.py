"""Collect what the detection rules matched in a log, one finding per rule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from svc.assistant.findings import Finding, Severity
from svc.assistant.knowledge.attack_names import current_tactics
from svc.assistant.log_readers.windows import words_for
from svc.assistant.sigma.correlator import Episode, Losses
from svc.assistant.sigma.engine import Hit, Rule
from svc.assistant.sigma.event import Event
from svc.assistant.skills.asked.evidence import Place, Span
from svc.assistant.skills.events.findings import CorrelatedGroup, RuleHit
from svc.assistant.skills.events.matches.actors import Actors, SidNames
from svc.assistant.skills.events.matches.attempts import Milder, milder
from svc.untrusted.markup import plural

MAX_EVIDENCE = 5  # records per rule
MAX_HOSTS = 20
MAX_GROUPS = 50
MAX_TITLE_CHARS = 60  # of the values in a title
COMMAND_SERVICES = frozenset({"sudo", "cron"})  # their lines state commands
RANK = {severity: place for place, severity in enumerate(Severity)}
"""Position of each severity, the most severe first."""

REFUSED = frozenset(["400", "401", "403", "404", "405", "406", "410", "414", "429", "444"])
"""Answers of a web server by which an attack cannot have worked."""
_WHY_COMMAND = "An administrator may have given the command."
_WHY_REFUSED = "The server refused every one of these requests."


class _RuleMatches:
    __slots__ = (
        "_severe",
        "_severity",
        "_techniques",
        "actors",
        "episodes",
        "hosts",
        "logged_commands",
        "milder",
        "refused",
        "rule",
        "span",
    )

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self.span = Span(limit=MAX_EVIDENCE)
        self.hosts: set[str] = set()
        self.actors = Actors()
        self.refused = self.logged_commands = 0
        self.milder: dict[Milder | None, int] = {}
        self.episodes: list[Episode] = []
        self._severe: list[Event] = []
        self._severity = rule.severity
        self._techniques: Counter[str] = Counter()

    def add(self, hit: Hit) -> None:
        """Count a hit; a stretch of related events counts once."""
        self._severity = min(self._severity, hit.rule.severity, key=RANK.__getitem__)
        self._techniques.update(hit.rule.techniques)
        self.refused += hit.event.fields.get("sc-status", "") in REFUSED
        self.logged_commands += hit.event.service in COMMAND_SERVICES
        if hit.episode is None:
            why = milder(self.rule, hit.event)
            self.milder[why] = self.milder.get(why, 0) + 1
            self.span.add(hit.event)
            if why is None and len(self._severe) < MAX_EVIDENCE:
                self._severe.append(hit.event)
            return
        self.episodes.append(hit.episode)
        self.span.count += 1
        times = [time for time in (hit.episode.first, hit.episode.last, self.span.first, self.span.last) if time]
        self.span.first, self.span.last = min(times, default=""), max(times, default="")
        self.span.events += hit.episode.events[: MAX_EVIDENCE - len(self.span.events)]

    @property
    def techniques(self) -> tuple[str, ...]:
        """The techniques that the events show, most frequent first, then in the rule's order."""
        return tuple(one for one, _ in self._techniques.most_common())

    @property
    def title(self) -> str:
        """The rule's title, with the largest group of a correlation rule."""
        groups = self.groups()
        shared = ", ".join(one.partition("=")[2] for one in groups[0].shared)[:MAX_TITLE_CHARS] if groups else ""
        more = f" and {len(self.episodes) - 1:,} more" if len(self.episodes) > 1 else ""
        return f"{self.rule.title}: {shared}{more}" if shared else self.rule.title

    @property
    def shown(self) -> list[Event]:
        """The events that are shown as evidence: those that are no milder than their action first."""
        rest = [event for event in self.span.events if all(event is not one for one in self._severe)]
        return [*self._severe, *rest][:MAX_EVIDENCE]

    def groups(self) -> list[CorrelatedGroup]:
        """The related events, those with most events first."""
        ranked = sorted(self.episodes, key=lambda one: (-one.count, one.first))
        return [
            CorrelatedGroup(
                shared=[f"{field}={value}" for field, value in one.group],
                events=one.count,
                figure=one.figure,
                first=one.first or None,
                last=one.last or None,
            )
            for one in ranked[:MAX_GROUPS]
        ]

    @property
    def severity(self) -> Severity:
        """The worst of its hits, but limited if no event was as bad as its action.

        Medium at most if a web server refused every request, because each host on the Internet has those, and if sudo
        or cron logged every command, because administrators give the same ones; low at most if every action failed or
        made something safer.
        """
        limit = Severity.CRITICAL
        if self.span.count in (self.refused, self.logged_commands):
            limit = Severity.MEDIUM
        elif self.milder and None not in self.milder:
            limit = Severity.LOW
        return max(self._severity, limit, key=RANK.__getitem__)

    @property
    def why(self) -> str:
        """The rule's description, and why its severity is limited."""
        if self.severity is self._severity:
            return self.rule.description
        if self.span.count in (self.refused, self.logged_commands):
            reasons = [_WHY_REFUSED if self.refused else _WHY_COMMAND]
        else:
            reasons = [why.value for why in self.milder if why]
        return " ".join([self.rule.description, *reasons])


class RuleHits:
    """Counts the hits of each rule."""

    def __init__(self) -> None:
        self._by_rule: dict[str, _RuleMatches] = {}
        self.covered: set[tuple[str, int | None]] = set()
        self._sids = SidNames()

    def add(self, hit: Hit) -> None:
        """Count a hit."""
        key = hit.rule.id or hit.rule.title
        matched = self._by_rule.get(key)
        if matched is None:
            matched = self._by_rule[key] = _RuleMatches(hit.rule)
        matched.add(hit)
        self.covered.add((hit.event.service, hit.event.event_id))
        if len(matched.hosts) < MAX_HOSTS:
            matched.hosts.add(hit.event.host)
        matched.actors.add(hit.event)
        self._sids.add(hit.event)

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
                title=matched.title,
                severity=matched.severity,
                why=matched.why,
                evidence=tuple(place.evidence(event) for event in matched.shown),
                techniques=matched.techniques,
                facts=RuleHit(
                    rule=rule.id,
                    level=rule.level,
                    author=rule.author,
                    license=rule.license,
                    tactics=list(current_tactics(rule.tactics, rule.techniques)),
                    false_positives=list(rule.false_positives),
                    count=span.count,
                    first=span.first or None,
                    last=span.last or None,
                    hosts=sorted(matched.hosts),
                    accounts=list(matched.actors.accounts),
                    addresses=list(matched.actors.addresses),
                    actions=list(matched.actors.actions),
                    targets=list(dict.fromkeys(map(self._sids.name, matched.actors.targets))),
                    event_ids=ids,
                    event_names=[named[event_id] for event_id in ids],
                    groups=matched.groups(),
                ),
            )


def not_correlated(losses: Mapping[str, Losses]) -> Iterator[str]:
    """Yield in words which events correlation rules could not judge."""
    if untimed := max((one.untimed for one in losses.values()), default=0):
        yield f"{plural(untimed, 'event has', 'events have')} no usable time, so correlation rules did not examine them"
    if left_out := max((one.left_out for one in losses.values()), default=0):
        yield f"{left_out:,} events were beyond the memory limit of correlation rules, which may miss what they relate"
