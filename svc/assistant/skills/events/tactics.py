"""Rank the tactics that a log points to, and put the most severe moments in chronological order.

What points to a tactic is a rule, a way of access, or a notable event ID that no rule covers. A tactic is ranked by its
strongest sign: severity first, then how specific the sign is. Each further sign of the same tactic adds a quarter of
what the one before added, so that many weak signs or a frequent event never outrank a severe one. A rule's first tactic
is what it is about; its other tactics get a part. Clearing a log before anything else is how many collections begin, so
it weighs little beside other findings.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from svc.assistant.findings import AnyFinding, Evidence, Facts, Finding, Severity, with_facts
from svc.assistant.knowledge.attack_names import attack_version, current_tactics, tactics_of
from svc.assistant.log_readers.windows import Notable, notable, words_for
from svc.assistant.sigma.event import Event
from svc.assistant.skills.asked.evidence import Place, Span
from svc.assistant.skills.events.findings import (
    CloudCall,
    CloudLogin,
    CloudRefusals,
    EventTactics,
    LogGap,
    LogonSource,
    LogonSuccess,
    RemoteAccess,
    RuleHit,
    TacticIndicator,
    TacticScore,
    Timeline,
    TimelineMoment,
    UnixChange,
    WeakTickets,
    WebClient,
)
from svc.assistant.skills.events.matches.rule_hits import RANK

WEIGHTS = {
    Severity.CRITICAL: 20.0,
    Severity.HIGH: 10.0,
    Severity.MEDIUM: 4.0,
    Severity.LOW: 1.5,
    Severity.INFO: 0.5,
}
NOTABLE_WEIGHT = 1.0  # times the table's weight (1 to 4)
ACCESS_WEIGHTS = (0.0, 0.3, 1.5, 3.0, 8.0)  # by the weight of a way of access; everyday network logons say little
OTHER_TACTIC_SHARE = 0.6  # of a rule's score, for its tactics after the first
FURTHER_SHARE = 0.25  # of each sign of a tactic, compared with the one before
VAGUE_SHARE = 0.9  # of the score of a sign that does not tell which of several techniques it shows
CLEARED_SHARE = 0.15  # of its score, if the log begins with the clearing
NAMED_SHARE = 0.4  # of the best score; tactics from there on are named, too
MAX_NAMED = 3
MAX_ROWS = 300  # of the timeline
MAX_NOTABLE = 2_000  # kinds of event
_ACCESS_TACTIC = "lateral-movement"
_CLEARED = "T1070.001"
_LOGON_FACTS = (LogonSource, LogonSuccess, WeakTickets)
_SCORED_FACTS = (*_LOGON_FACTS, WebClient, UnixChange, CloudCall, CloudLogin, CloudRefusals)
"""Facts that point to a tactic by the techniques of their finding, as rules do."""


class ScoredIndicator(msgspec.Struct, frozen=True):
    """One finding or event that points to a tactic, with its score."""

    tactic: str
    techniques: tuple[str, ...]
    what: str
    score: float
    severity: Severity
    count: int
    first: str
    evidence: Evidence


class NotableEvents:
    """Collects events whose ID alone is notable."""

    def __init__(self) -> None:
        self._spans: dict[tuple[str, int | None], Span] = {}

    def add(self, event: Event) -> None:
        """Count an event if its ID is notable."""
        if notable(event.service, event.event_id) is None:
            return
        key = event.service, event.event_id
        span = self._spans.get(key)
        if span is None and len(self._spans) < MAX_NOTABLE:
            span = self._spans[key] = Span()
        if span is not None:
            span.add(event)

    def uncovered(self, covered: set[tuple[str, int | None]]) -> Iterator[tuple[Notable, str, Span]]:
        """Yield the notable events that no rule covers, with their meaning."""
        for (service, event_id), span in self._spans.items():
            entry = notable(service, event_id)
            if entry is not None and (service, event_id) not in covered:
                yield entry, f"{words_for(service, event_id)} ({event_id})", span


def scored_indicators(
    findings: Sequence[AnyFinding],
    uncovered: Iterable[tuple[Notable, str, Span]],
    place: Place,
    *,
    begins_cleared: bool,
) -> list[ScoredIndicator]:
    """Return everything that points to a tactic, the strongest first."""
    found: list[ScoredIndicator] = []
    ways: dict[str, list[Finding[RemoteAccess]]] = {}
    for use in with_facts(findings, RemoteAccess):
        ways.setdefault(use.facts.way, []).append(use)
    for finding in findings:
        if isinstance(finding, Finding):
            found += _from_finding(finding, begins_cleared=begins_cleared)
    found += [_from_way(way, uses) for way, uses in ways.items()]
    for entry, what, span in uncovered:
        score = entry.weight * NOTABLE_WEIGHT
        if begins_cleared and entry.technique == _CLEARED:
            score *= CLEARED_SHARE
        found.append(
            ScoredIndicator(
                tactic=next(iter(current_tactics((entry.tactic,), (entry.technique,))), entry.tactic),
                techniques=(entry.technique,),
                what=what,
                score=score,
                severity=Severity.LOW if entry.weight >= 3 else Severity.INFO,
                count=span.count,
                first=span.first,
                evidence=place.evidence(span.events[0]),
            )
        )
    return sorted(found, key=lambda indicator: (-indicator.score, indicator.first))


def _from_finding(finding: Finding[Facts], *, begins_cleared: bool) -> Iterator[ScoredIndicator]:
    facts = finding.facts
    if not isinstance(facts, RuleHit) and not (isinstance(facts, _SCORED_FACTS) and finding.techniques):
        return
    score, tactics = WEIGHTS[finding.severity], _tactics(finding)
    if begins_cleared and _CLEARED in finding.techniques:
        score *= CLEARED_SHARE
    if len({technique.partition(".")[0] for technique in finding.techniques}) > 1:
        score *= VAGUE_SHARE
    count, first = _count_and_first(facts)
    for place, name in enumerate(tactics):
        yield ScoredIndicator(
            tactic=name,
            techniques=finding.techniques,
            what=finding.title,
            score=score * OTHER_TACTIC_SHARE if place else score,
            severity=finding.severity,
            count=count,
            first=first,
            evidence=finding.evidence[0],
        )


def _count_and_first(facts: Facts) -> tuple[int, str]:
    """How often it happened, and when first; 1 and "" if the facts do not say."""
    match facts:
        case RuleHit() | WeakTickets() | UnixChange() | CloudCall() | CloudLogin():
            return facts.count, facts.first or ""
        case LogonSource():
            return facts.failures, facts.first or ""
        case WebClient():
            return 1, facts.first or ""
        case CloudRefusals():
            return facts.count, ""
        case _:
            return 1, ""


def _from_way(way: str, uses: Sequence[Finding[RemoteAccess]]) -> ScoredIndicator:
    """Join all uses of one way of access; they are ranked already, the highest weight first."""
    count = sum(use.facts.count for use in uses)
    return ScoredIndicator(
        tactic=_ACCESS_TACTIC,
        techniques=uses[0].techniques,
        what=uses[0].title if len(uses) == 1 else f"{way}: {len(uses):,} different uses",
        score=ACCESS_WEIGHTS[uses[0].facts.weight],
        severity=uses[0].severity,
        count=count,
        first=min((use.facts.first or "" for use in uses), default=""),
        evidence=uses[0].evidence[0],
    )


def _tactics(finding: Finding[Facts]) -> tuple[str, ...]:
    """The tactics of a rule by their short names; otherwise the first tactic of the first technique."""
    if isinstance(finding.facts, _LOGON_FACTS):
        return ("credential-access",)
    own = finding.facts.tactics if isinstance(finding.facts, RuleHit) else []
    if not own:
        own = [tactics_of(technique)[0] for technique in finding.techniques[:1] if tactics_of(technique)]
    return current_tactics(own, finding.techniques)


def tactics_finding(found: Sequence[ScoredIndicator], place: Place) -> Finding[EventTactics] | None:
    """Return the ranked tactics; None if nothing points to any."""
    scores: dict[str, float] = {}
    shares: dict[str, float] = {}
    for indicator in found:  # the strongest first
        share = shares.get(indicator.tactic, 1.0)
        scores[indicator.tactic] = scores.get(indicator.tactic, 0.0) + indicator.score * share
        shares[indicator.tactic] = share * FURTHER_SHARE
    by_score = sorted(scores.items(), key=lambda item: -item[1])
    if not by_score:
        return None
    named = [name for name, score in by_score if score >= NAMED_SHARE * by_score[0][1]][:MAX_NAMED]
    best = [next(indicator for indicator in found if indicator.tactic == name) for name in named]
    return Finding(
        title=f"{place.source} shows {', '.join(named)}",
        severity=min((one.severity for one in found if one.tactic in named), key=RANK.__getitem__),
        evidence=tuple(indicator.evidence for indicator in best),
        techniques=tuple(dict.fromkeys(technique for indicator in best for technique in indicator.techniques)),
        facts=EventTactics(
            named=named,
            by_tactic=[TacticScore(name, round(score, 1)) for name, score in by_score],
            indicators=[
                TacticIndicator(
                    tactic=one.tactic,
                    techniques=list(one.techniques),
                    what=one.what,
                    count=one.count,
                    first=one.first,
                    severity=one.severity,
                    number=one.evidence.record or one.evidence.line,
                    excerpt=one.evidence.excerpt,
                )
                for one in found[:MAX_ROWS]
            ],
            attack_version=attack_version(),
        ),
    )


def timeline(
    hits: Iterable[tuple[Event, Severity, str]], findings: Sequence[AnyFinding], place: Place
) -> Finding[Timeline] | None:
    """Return the MAX_ROWS most severe moments in chronological order; None if there are none.

    Args:
        hits: Events that rules matched, with the severity and title of the rule.
        findings: Logons after failures and log gaps are taken from them.
        place: The log.
    """
    moments = [
        TimelineMoment(event.time, severity, event.host, what, 1, event.number, event.excerpt)
        for event, severity, what in hits
    ]
    for logon in with_facts(findings, LogonSuccess):
        moments += _moment(logon, logon.facts.time, "")
    for gap in with_facts(findings, LogGap):
        moments += _moment(gap, gap.facts.end, gap.facts.host)
    joined = _join_repeats(sorted(moments, key=lambda moment: moment.time))
    kept = sorted(joined, key=lambda moment: (RANK[moment.severity], moment.time))[:MAX_ROWS]
    kept.sort(key=lambda moment: moment.time)
    if not kept:
        return None
    facts = Timeline(moments=kept, left_out=len(joined) - len(kept))
    return Finding(title=f"{len(kept):,} moments of {place.source}", facts=facts)


def _moment(finding: Finding[Facts], time: str | None, host: str) -> list[TimelineMoment]:
    if not finding.evidence or finding.severity is Severity.INFO:
        return []
    last = finding.evidence[-1]
    number = last.record or last.line
    return [TimelineMoment(time or "", finding.severity, host, finding.title, 1, number, last.excerpt)]


def _join_repeats(moments: Iterable[TimelineMoment]) -> list[TimelineMoment]:
    """Join the same on the same host within a minute into one row with its count."""
    joined: dict[tuple[str, str, str], TimelineMoment] = {}
    for moment in moments:
        key = moment.time[:16], moment.host, moment.what
        known = joined.get(key)
        joined[key] = msgspec.structs.replace(known, count=known.count + 1) if known else moment
    return list(joined.values())
