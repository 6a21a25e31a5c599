"""What a log shows as a whole: the tactics, ranked, and what matters in the order of time. Pure.

A tactic's score is the sum over what points to it: a rule's severity, a way of access's weight, an event id that is
worth a look and that no rule speaks about. Often does not count as often, but with its logarithm. Clearing a log before
anything else is how a collection begins, and weighs little beside other findings. Finding kinds: see ``events``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from svc.assistant.findings import Evidence, Scalar, Severity
from svc.assistant.findings import LooseFinding as Finding
from svc.assistant.knowledge.attack_names import attack_version, tactic, tactics_of
from svc.assistant.log_readers.windows import Notable, notable, words_for
from svc.assistant.sigma.event import Event
from svc.assistant.skills.events.evidence import Place, Span
from svc.assistant.skills.events.rule_hits import RANK

WEIGHTS = {
    Severity.CRITICAL: 20.0,
    Severity.HIGH: 10.0,
    Severity.MEDIUM: 4.0,
    Severity.LOW: 1.5,
    Severity.INFO: 0.5,
}
NOTABLE_WEIGHT = 1.0  # times the table's weight (1 to 4)
ACCESS_WEIGHTS = (0.0, 0.3, 1.5, 3.0, 8.0)  # by a way's weight; everyday network logons say little
CLEARED_SHARE = 0.15  # of its score, where the clearing is what the log begins with
NAMED_SHARE = 0.4  # of the best score, from which a tactic is named beside it
MAX_NAMED = 3
MAX_ROWS = 300  # of the timeline
MAX_NOTABLE = 2_000  # kinds of event
_ACCESS_TACTIC = "lateral-movement"
_CLEARED = "T1070.001"
_LOGON_KINDS = ("logon_source", "logon_success", "weak_tickets")
_POINTING = (*_LOGON_KINDS, "web_client", "unix_deed", "cloud_call", "cloud_login", "cloud_refused")
"""Kinds that point to a tactic by their techniques, beside rules."""


class Sign(msgspec.Struct, frozen=True):
    """One thing that points to a tactic."""

    tactic: str
    techniques: tuple[str, ...]
    what: str
    score: float
    severity: Severity
    count: int
    first: str
    evidence: Evidence


class NotableEvents:
    """Events whose id alone is worth a look."""

    def __init__(self) -> None:
        self._spans: dict[tuple[str, int | None], Span] = {}

    def add(self, event: Event) -> None:
        """Count it, where its id is notable."""
        if notable(event.service, event.event_id) is None:
            return
        key = event.service, event.event_id
        span = self._spans.get(key)
        if span is None and len(self._spans) < MAX_NOTABLE:
            span = self._spans[key] = Span()
        if span is not None:
            span.add(event)

    def uncovered(self, covered: set[tuple[str, int | None]]) -> Iterator[tuple[Notable, str, Span]]:
        """Those of which no rule speaks: what the id says, the event in words."""
        for (service, event_id), span in self._spans.items():
            entry = notable(service, event_id)
            if entry is not None and (service, event_id) not in covered:
                yield entry, f"{words_for(service, event_id)} ({event_id})", span


def signs(
    findings: Iterable[Finding],
    uncovered: Iterable[tuple[Notable, str, Span]],
    place: Place,
    *,
    begins_cleared: bool,
) -> list[Sign]:
    """Everything that points to a tactic, the strongest first."""
    found: list[Sign] = []
    ways: dict[str, list[Finding]] = {}
    for finding in findings:
        if finding.kind == "remote_access":
            ways.setdefault(str(finding.attributes["way"]), []).append(finding)
        else:
            found += _of_finding(finding, begins_cleared=begins_cleared)
    found += [_of_way(way, uses) for way, uses in ways.items()]
    for entry, what, span in uncovered:
        score = entry.weight * NOTABLE_WEIGHT * _often(span.count)
        if begins_cleared and entry.technique == _CLEARED:
            score *= CLEARED_SHARE
        severity = Severity.LOW if entry.weight >= 3 else Severity.INFO
        evidence = place.evidence(span.events[0])
        found.append(Sign(entry.tactic, (entry.technique,), what, score, severity, span.count, span.first, evidence))
    return sorted(found, key=lambda sign: (-sign.score, sign.first))


def _often(count: int) -> float:
    return 1.0 + min(1.0, 0.25 * math.log10(max(1, count)))


def _of_finding(finding: Finding, *, begins_cleared: bool) -> Iterator[Sign]:
    attributes = finding.attributes
    count, first = attributes.get("count") or attributes.get("failures") or 1, attributes.get("first")
    score, tactics = WEIGHTS[finding.severity], _tactics(finding)
    if finding.kind != "rule_hit" and not (finding.kind in _POINTING and finding.techniques):
        return
    if begins_cleared and _CLEARED in finding.techniques:
        score *= CLEARED_SHARE
    number = count if isinstance(count, int) else 1
    for name in tactics:
        yield Sign(
            tactic=name,
            techniques=finding.techniques,
            what=finding.title,
            score=score * _often(number) / math.sqrt(len(tactics)),
            severity=finding.severity,
            count=number,
            first=str(first or ""),
            evidence=finding.evidence[0],
        )


def _of_way(way: str, uses: list[Finding]) -> Sign:
    """One way in from elsewhere with all its uses, which are ranked already: the weightiest first."""
    first = min((str(use.attributes["first"] or "") for use in uses), default="")
    count = sum(int(str(use.attributes["count"])) for use in uses)
    score = ACCESS_WEIGHTS[int(str(uses[0].attributes["weight"]))] * _often(count)
    what = uses[0].title if len(uses) == 1 else f"{way}: {len(uses):,} uses that differ"
    evidence = uses[0].evidence[0]
    return Sign(_ACCESS_TACTIC, uses[0].techniques, what, score, uses[0].severity, count, first, evidence)


def _tactics(finding: Finding) -> tuple[str, ...]:
    """The rule's own, by their short names; else the technique's first."""
    if finding.kind in _LOGON_KINDS:
        return ("credential-access",)
    named = finding.attributes.get("tactics")
    own = [str(name) for name in named] if isinstance(named, list) else []
    if not own:
        own = [tactics_of(technique)[0] for technique in finding.techniques[:1] if tactics_of(technique)]
    return tuple(dict.fromkeys(known.short if (known := tactic(name)) else name for name in own))


def tactics_finding(found: Sequence[Sign], place: Place) -> Finding | None:
    """The one ``event_tactics``; None where nothing points anywhere."""
    scores: dict[str, float] = {}
    for sign in found:
        scores[sign.tactic] = scores.get(sign.tactic, 0.0) + sign.score
    ranked = sorted(scores.items(), key=lambda item: -item[1])
    if not ranked:
        return None
    named = [name for name, score in ranked if score >= NAMED_SHARE * ranked[0][1]][:MAX_NAMED]
    worst = min((sign.severity for sign in found if sign.tactic in named), key=RANK.__getitem__)
    rows = found[:MAX_ROWS]
    best = [next(sign for sign in found if sign.tactic == name) for name in named]
    attributes: dict[str, Scalar | list[Scalar]] = {
        "named": [*named],
        "tactics": [name for name, _ in ranked],
        "scores": [round(score, 1) for _, score in ranked],
        "row_tactics": [sign.tactic for sign in rows],
        "row_techniques": [", ".join(sign.techniques) for sign in rows],
        "row_whats": [sign.what for sign in rows],
        "row_counts": [sign.count for sign in rows],
        "row_firsts": [sign.first for sign in rows],
        "row_severities": [sign.severity.value for sign in rows],
        "row_numbers": [sign.evidence.record or sign.evidence.line for sign in rows],
        "row_excerpts": [sign.evidence.excerpt for sign in rows],
        "attack_version": attack_version(),
    }
    return Finding(
        kind="event_tactics",
        title=f"{place.source} shows {', '.join(named)}",
        severity=worst,
        evidence=tuple(sign.evidence for sign in best),
        techniques=tuple(dict.fromkeys(one for sign in best for one in sign.techniques)),
        attributes=attributes,
    )


class _Row(msgspec.Struct, frozen=True):
    time: str
    severity: Severity
    host: str
    what: str
    number: int | None
    excerpt: str
    count: int = 1


def _joined(rows: Iterable[_Row]) -> list[_Row]:
    """The same on the same host within a minute as one row with its count."""
    joined: dict[tuple[str, str, str], _Row] = {}
    for row in rows:
        key = row.time[:16], row.host, row.what
        known = joined.get(key)
        joined[key] = msgspec.structs.replace(known, count=known.count + 1) if known else row
    return list(joined.values())


def timeline(hits: Iterable[tuple[Event, Severity, str]], findings: Iterable[Finding], place: Place) -> Finding | None:
    """What matters in the order of time: the worst MAX_ROWS of what rules and counts found; None where nothing does."""
    rows = [_Row(event.time, severity, event.host, what, event.number, event.excerpt) for event, severity, what in hits]
    for finding in findings:
        if finding.kind in ("logon_success", "log_gap") and finding.evidence and finding.severity is not Severity.INFO:
            mark = finding.evidence[-1]
            time = str(finding.attributes.get("time") or finding.attributes.get("to") or "")
            host = str(finding.attributes.get("host") or "")
            rows.append(_Row(time, finding.severity, host, finding.title, mark.record or mark.line, mark.excerpt))
    rows = _joined(sorted(rows, key=lambda row: row.time))
    kept = sorted(rows, key=lambda row: (RANK[row.severity], row.time))[:MAX_ROWS]
    kept.sort(key=lambda row: row.time)
    if not kept:
        return None
    attributes: dict[str, Scalar | list[Scalar]] = {
        "times": [row.time for row in kept],
        "severities": [row.severity.value for row in kept],
        "hosts": [row.host for row in kept],
        "whats": [row.what for row in kept],
        "counts": [row.count for row in kept],
        "numbers": [row.number for row in kept],
        "excerpts": [row.excerpt for row in kept],
        "left_out": len(rows) - len(kept),
    }
    return Finding(kind="timeline", title=f"{len(kept):,} moments of {place.source}", attributes=attributes)
