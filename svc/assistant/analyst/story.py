"""One timeline and one story across several inputs, from the findings that say when something happened. Pure.

A finding with a time of its own is a moment; its title says what happened. Times are compared in UTC where they state a
zone; others are placed as if they were UTC and marked, and a time without a year gets the year of the other inputs.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import msgspec

from svc.assistant.analyst.contract import SkillResult
from svc.assistant.findings import AnyFinding, Evidence, Severity, kind_of, with_facts
from svc.assistant.skills.answer_parts import Fold
from svc.assistant.skills.events.findings import LogonSuccess
from svc.assistant.skills.logins.findings import AuthSuccess, AuthSummary
from svc.assistant.skills.mail.findings import MailVerdict
from svc.assistant.spool import of_kind
from svc.untrusted.markup import code_span, escape, plural

STORY_LINES = 5
TOLD = (Severity.CRITICAL, Severity.HIGH, Severity.MEDIUM)
_RANK = {severity: rank for rank, severity in enumerate(Severity)}
_ISO = re.compile(
    r"(?P<year>\d{4}|-)-(?P<month>\d\d)-(?P<day>\d\d)[T ](?P<clock>\d\d:\d\d(?::\d\d)?)(?:[.,]\d{1,9})?"
    r"(?P<zone>Z|[+-]\d\d:?\d\d)?"
)
_UNKNOWN_ZONES = ("", "not stated")
_SUMMED_UP = ("auth_account", "logon_account", "event_tactics", "process_tree", "timeline")
"""Findings that see the same moments from another side: by account, by tactic, by process."""


class Moment(msgspec.Struct, frozen=True, kw_only=True):
    """Something that happened: when, in which input, and where in it. ``at`` is in UTC as far as the zone is known.

    ``at`` is None if the finding has no time. ``remark`` says what the input leaves open about the time.
    """

    at: datetime | None
    until: datetime | None = None
    remark: str
    severity: Severity
    what: str
    source: str
    place: str
    skill: str
    is_entry: bool = False
    """Whether somebody got in, which comes before equally severe attempts."""
    also_in: int = 0
    """How many other inputs have the same moment: a log is often exported twice."""


class _Time(msgspec.Struct, frozen=True):
    at: datetime | None = None
    until: datetime | None = None
    has_year: bool = False
    has_zone: bool = False


class Story(msgspec.Struct, frozen=True, kw_only=True):
    """What happened across inputs: a line above the moments, the worst moments in their order, and the timeline."""

    lead: str = ""
    lines: str = ""
    folds: tuple[Fold, ...] = ()


def story(results: Sequence[SkillResult]) -> Story:
    """The story and the timeline; empty unless findings of several inputs belong together."""
    moments = timeline(results)
    names = {name for result in results for name in result.inputs}
    if len({_input_of(moment.source, names) for moment in moments}) < 2:
        return Story()
    told = _told(moments)
    inputs = len({_input_of(moment.source, names) for moment in told})
    lines = [f"{number}. {_line(moment)}" for number, moment in enumerate(told, start=1)]
    more = len(moments) - len(told)
    extent = f" ({plural(more, 'further moment')} below)" if more else ""
    left = [moment for moment in moments if moment not in told]
    return Story(
        lead=f"**What happened, across {plural(inputs, 'input')}**{extent}:",
        lines="\n".join(lines),
        folds=(_fold(left),) if left else (),
    )


def _input_of(source: str, inputs: set[str]) -> str:
    """The input that a source is a part of: ``note.js`` of ``note.js, stage 2``."""
    whole = source
    while whole and whole not in inputs:
        whole = whole.rpartition(", ")[0]
    return whole or source


def _told(moments: Sequence[Moment]) -> list[Moment]:
    """The moments of the story, in the order of time: the worst of each kind of evidence, then the worst of all.

    Of equally severe moments, the first of each input goes before the second of another.
    """
    of_input: Counter[str] = Counter()
    order: list[tuple[int, int, int]] = []

    def rank(index: int) -> tuple[int, bool, int]:
        return _RANK[moments[index].severity], not moments[index].is_entry, index

    for index in sorted(range(len(moments)), key=rank):
        moment = moments[index]
        order.append((_RANK[moment.severity], of_input[moment.source], index))
        of_input[moment.source] += 1
    worst = [index for _, _, index in sorted(order)]
    first = {moments[index].skill: index for index in reversed(worst)}
    chosen = list(dict.fromkeys([*first.values(), *worst]))[:STORY_LINES]
    return [moments[index] for index in sorted(chosen)]


def _line(moment: Moment) -> str:
    when = f"{_shown(moment)} " if moment.at is not None else ""
    place = f" {moment.place}" if moment.place else ""
    undated = "" if moment.at is not None else "; time not known"
    undated += f"; also in {plural(moment.also_in, 'other input')}" if moment.also_in else ""
    return (
        f"{when}{escape(moment.what)} ({moment.severity.value}; {code_span(moment.source, limit=120)}{place}{undated})"
    )


def _shown(moment: Moment) -> str:
    assert moment.at is not None
    clock = moment.at.strftime("%Y-%m-%d %H:%M:%S")
    if moment.until is not None and moment.until > moment.at:
        is_same_day = moment.until.date() == moment.at.date()
        clock += moment.until.strftime(" to %H:%M:%S" if is_same_day else " to %Y-%m-%d %H:%M:%S")
    return f"{clock} {moment.remark}"


def _fold(moments: Sequence[Moment]) -> Fold:
    """The moments that the story leaves out."""
    rows = [
        (
            _shown(moment) if moment.at is not None else "not known",
            moment.severity.value,
            escape(moment.what),
            code_span(moment.source, limit=120),
            moment.place,
        )
        for moment in moments
    ]
    headers = ("Time (UTC if known)", "Severity", "What", "Input", "Where")
    return Fold(title=plural(len(rows), "further moment"), headers=headers, rows=rows)


def timeline(results: Sequence[SkillResult]) -> list[Moment]:
    """Every moment of medium severity or above, in the order of time; those without a time come last."""
    examined = [result for result in results if result.is_examined]
    zones = {
        source.source: finding.facts.zone
        for result in examined
        for finding in with_facts(of_kind(result.findings, kind_of(AuthSummary)), AuthSummary)
        for source in finding.evidence[:1]
    }
    raw = [
        moment
        for result in examined
        for finding in result.findings
        for moment in _moments(finding, result.skill.name, zones)
    ]
    dated = {moment.source for moment, time in raw if time.at is not None}
    raw = [one for one in raw if one[1].at is not None or one[0].source not in dated]  # details of what has a time
    year = _usual_year([time for _, time in raw])
    placed = _together([_placed(moment, time, year) for moment, time in raw])
    return sorted(placed, key=lambda one: (one.at is None, one.at or datetime.max.replace(tzinfo=UTC)))


def _together(moments: Sequence[Moment]) -> list[Moment]:
    """The moments without repetitions: the same at the same time in several inputs is one."""
    first: dict[tuple[object, ...], Moment] = {}
    sources: dict[tuple[object, ...], set[str]] = {}
    for one in moments:
        key = (one.at, one.until, one.what, one.severity) if one.at is not None else (one.source, one.what, one.place)
        first.setdefault(key, one)
        sources.setdefault(key, set()).add(one.source)
    return [msgspec.structs.replace(one, also_in=len(sources[key]) - 1) for key, one in first.items()]


def _moments(finding: AnyFinding, skill: str, zones: dict[str, str]) -> Iterator[tuple[Moment, _Time]]:
    """The moment of one finding, if it is one, with its time as it is written."""
    source = finding.evidence[0].source if finding.evidence else ""
    zone = zones.get(source, "")
    if finding.severity not in TOLD or not source:
        return
    moment = Moment(
        at=None,
        remark="",
        severity=finding.severity,
        what=_with_host(finding),
        source=source,
        place=_place(finding.evidence[0]),
        skill=skill,
        is_entry=isinstance(finding.facts, AuthSuccess | LogonSuccess),
    )
    if isinstance(finding.facts, MailVerdict):
        yield moment, _mail_time(finding.facts.date)
    elif finding.kind not in _SUMMED_UP:
        yield moment, _written(finding, zone)


def _written(finding: AnyFinding, zone: str) -> _Time:
    """The time of a finding: when it happened, or when it began and ended."""
    facts = finding.facts
    values = [getattr(facts, name, None) for name in ("time", "first", "last")]
    time, first, last = [_time(value, zone) if isinstance(value, str) else _Time() for value in values]
    return time if time.at is not None else msgspec.structs.replace(first, until=last.at)


def _with_host(finding: AnyFinding) -> str:
    """The title, with the host that a rule matched on."""
    hosts = getattr(finding.facts, "hosts", None)
    return f"{finding.title} on {hosts[0]}" if isinstance(hosts, list) and len(hosts) == 1 else finding.title


def _place(evidence: Evidence) -> str:
    if evidence.line is not None:
        return f"line {evidence.line:,}"
    return "" if evidence.record is None else f"record {evidence.record:,}"


def _time(written: str, zone: str) -> _Time:
    match = _ISO.match(written)
    if match is None:
        return _Time()
    has_year = match["year"] != "-"
    own = match["zone"] or ("" if zone in _UNKNOWN_ZONES else zone)
    own = "+00:00" if own in ("Z", "UTC") else own
    text = f"{match['year'] if has_year else '2000'}-{match['month']}-{match['day']}T{match['clock']}{own or '+00:00'}"
    try:
        at = datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError):
        return _Time()
    return _Time(at=at, has_year=has_year, has_zone=bool(own))


def _mail_time(written: str) -> _Time:
    try:
        at = parsedate_to_datetime(written)
    except (ValueError, TypeError, IndexError):
        return _Time()
    has_zone = at.tzinfo is not None
    at = at.astimezone(UTC) if has_zone else at.replace(tzinfo=UTC)
    return _Time(at=at, has_year=True, has_zone=has_zone)


def _usual_year(times: Sequence[_Time]) -> int | None:
    """The year that the most dated moments are in."""
    years = [time.at.year for time in times if time.at is not None and time.has_year]
    return max(set(years), key=years.count) if years else None


def _placed(moment: Moment, time: _Time, year: int | None) -> Moment:
    at, until, remarks = time.at, time.until, []
    if at is not None and not time.has_year:
        remarks.append("year not stated")
        if year is not None:
            at, until = _in_year(at, year), until and _in_year(until, year)
    if at is not None and not time.has_zone:
        remarks.append("zone not stated")
    remark = f"({', '.join(remarks)})" if remarks else "UTC"
    return msgspec.structs.replace(moment, at=at, until=until, remark=remark if at is not None else "")


def _in_year(at: datetime, year: int) -> datetime:
    try:
        return at.replace(year=year)
    except ValueError:  # 29 February
        return at.replace(year=year, day=28)
