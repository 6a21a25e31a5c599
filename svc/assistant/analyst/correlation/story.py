"""One timeline and one story across several inputs, from the findings that say when something happened. Pure.

A finding with a time of its own is a moment; its title says what happened. Times are compared in UTC where they state a
zone; others are placed as if they were UTC and marked, and a time without a year gets the year of the other inputs.

There is a story only if something connects inputs: the same account, address, host, hash, domain or process. Moments of
inputs that nothing connects are listed in the same timeline, but not told as one story.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import msgspec

from svc.assistant.analyst.contract import SkillResult
from svc.assistant.analyst.correlation.picture import shared_picture, timeline_picture
from svc.assistant.analyst.correlation.shared import SAME_NAME, Shared, SharedPlace, connected, shared_things
from svc.assistant.findings import AnyFinding, Evidence, Severity, kind_of, with_facts
from svc.assistant.skills.answer_parts import Fold, listed
from svc.assistant.skills.charts import ChartMark
from svc.assistant.skills.events.findings import LogonSuccess
from svc.assistant.skills.logins.findings import AuthSuccess, AuthSummary
from svc.assistant.skills.mail.findings import MailVerdict
from svc.assistant.skills.skill import Picture
from svc.assistant.spool import of_kind
from svc.untrusted.defang import defang_text
from svc.untrusted.markup import code_span, escape, plural

STORY_LINES = 5
LINKS = 4  # named above the story
LINKED_INPUTS = 3  # of each
LINKED_ROWS = 50
ALIKE = 2  # names that only look alike
SHOWN_ALIASES = 2
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
    also_in: tuple[str, ...] = ()
    """The other inputs that have the same moment: a log is often exported twice."""


class _Time(msgspec.Struct, frozen=True):
    at: datetime | None = None
    until: datetime | None = None
    has_year: bool = False
    has_zone: bool = False


class Story(msgspec.Struct, frozen=True, kw_only=True):
    """What happened across inputs: a line above the moments, the worst moments in their order, and the timeline.

    ``links`` names what connects the inputs: the same account, address, host, hash, domain or process. ``times`` says
    how times without a zone were taken. ``pictures`` show what the inputs share and the moments of the story.
    """

    lead: str = ""
    links: str = ""
    lines: str = ""
    times: str = ""
    folds: tuple[Fold, ...] = ()
    pictures: tuple[Picture, ...] = ()


def story(results: Sequence[SkillResult], *, is_one_case: bool = False) -> Story:
    """The story and the timeline; empty unless findings of several inputs belong together.

    ``is_one_case``: the inputs were collected together (an archive), so that their moments are one story in any case.
    """
    names = {name for result in results for name in result.inputs}
    if len(names) < 2:
        return Story()
    moments = timeline(results)
    shared = _shared(results, names)
    links, linked = _links(shared), _linked_fold(shared)
    groups = connected(shared)
    together = names if is_one_case else _worst_group(moments, groups, names)
    own = [moment for moment in moments if _input_of(moment.source, names) in together]
    own = sorted([*own, *_first_records(own, shared, together, moments)], key=_order)
    if len({_input_of(moment.source, names) for moment in own}) < 2:
        separate = (_fold(moments, "moment"),) if len({moment.source for moment in moments}) > 1 else ()
        has_several = len({_input_of(moment.source, names) for moment in moments}) > 1
        apart = NOTHING_CONNECTS if has_several and not any(one.connects for one in shared) else ""
        return Story(
            links="\n\n".join(filter(None, (links, apart))),
            folds=(*separate, *linked),
            pictures=_pictures(shared, [], names),
        )
    told = _told(own)
    inputs = len({_input_of(moment.source, names) for moment in told})
    lines = [f"{number}. {_line(moment)}" for number, moment in enumerate(told, start=1)]
    left = [moment for moment in [*own, *(one for one in moments if one not in own)] if moment not in told]
    more = len(left)
    extent = f" ({plural(more, 'further moment')} below)" if more else ""
    return Story(
        lead=f"**What happened, across {plural(inputs, 'input')}**{extent}:",
        lines="\n".join(lines),
        links=links,
        times=_how_taken([*own, *moments]),
        folds=(*((_fold(sorted(left, key=_order), "further moment"),) if left else ()), *linked),
        pictures=_pictures(shared, own, names),
    )


def _worst_group(moments: Sequence[Moment], groups: Mapping[str, frozenset[str]], names: set[str]) -> frozenset[str]:
    """The connected inputs with the worst moment; of equally severe ones those with the most inputs."""
    worst: dict[frozenset[str], int] = {group: len(_RANK) for group in groups.values()}
    for moment in moments:
        group = groups.get(_input_of(moment.source, names))
        if group is not None:
            worst[group] = min(worst[group], _RANK[moment.severity])
    return min(worst, key=lambda group: (worst[group], -len(group), sorted(group)), default=frozenset())


def _first_records(
    own: Sequence[Moment], shared: Sequence[Shared], together: Iterable[str], moments: Sequence[Moment]
) -> list[Moment]:
    """For each connected input without a moment of its own, the first record about what connects it."""
    missing = set(together).difference(*((moment.source, *moment.also_in) for moment in own))
    usual = Counter(moment.at.year for moment in moments if moment.at is not None and "year" not in moment.remark)
    year = usual.most_common(1)[0][0] if usual else None
    found: dict[str, Moment] = {}
    for one in shared:
        for name, place in one.places.items():
            if not one.connects or name not in missing or name in found or not (time := _time(place.time, "")).at:
                continue
            bare = Moment(
                at=None, remark="", severity=place.severity, what=f"record with the {one.noun} {one.value}",
                source=name, place=_place(place.evidence), skill=f"{one.noun} in {name}",
            )  # fmt: skip
            found[name] = _placed(bare, time, year)
    return list(found.values())


NOTHING_CONNECTS = (
    "**Nothing connects the inputs**: no account, address, host, hash, domain or process that a finding is about is in "
    "another input, apart from what every network has."
)
"""Said if several inputs have findings of their own."""


def _how_taken(moments: Sequence[Moment]) -> str:
    """How the times of inputs were taken that state no zone or no year."""
    zones = dict.fromkeys(moment.source for moment in moments if "zone not stated" in moment.remark)
    years = {
        moment.source: moment.at.year for moment in moments if moment.at is not None and "year not" in moment.remark
    }
    said = []
    if zones:
        named = listed([code_span(name, limit=60) for name in zones], limit=LINKED_INPUTS)
        verb = "states" if len(zones) == 1 else "state"
        said.append(
            f"{named} {verb} no zone, and was taken as UTC"
            if len(zones) == 1
            else f"{named} {verb} no zone, and were taken as UTC"
        )
    if years:
        named = listed([code_span(name, limit=60) for name in years], limit=LINKED_INPUTS)
        verb, were = ("states", "was") if len(years) == 1 else ("state", "were")
        said.append(f"{named} {verb} no year, and {were} placed in {next(iter(years.values()))}")
    return f"Times are in UTC; {'; '.join(said)}." if said else ""


def _pictures(shared: Sequence[Shared], moments: Sequence[Moment], names: set[str]) -> tuple[Picture, ...]:
    """What the inputs share, and the moments of the story by input."""
    marks = [
        ChartMark(
            time=moment.at,
            lane=_input_of(moment.source, names),
            label=" ".join(filter(None, (moment.what, moment.place, "" if moment.remark == "UTC" else moment.remark))),
            severity=moment.severity,
        )
        for moment in moments
        if moment.at is not None
    ]
    taken = "times without a zone taken as UTC" if any("zone" in one.remark for one in moments) else ""
    return (*shared_picture(shared), *timeline_picture(marks, note=taken))


def _shared(results: Sequence[SkillResult], names: set[str]) -> list[Shared]:
    """What connects the inputs."""
    return shared_things(results, lambda source: _input_of(source, names))


def _links(shared: Sequence[Shared]) -> str:
    """The first things that connect inputs, each with its inputs, as one line."""
    things = [one for one in shared if one.noun != SAME_NAME]
    names = [one for one in shared if one.noun == SAME_NAME]
    said = [f"{one.noun} {_value(one)}{_also(one)} ({_places(one.places)})" for one in things[:LINKS]]
    more = f"; {len(things) - LINKS:,} more below" if len(things) > LINKS else ""
    blocks = [f"**The same in several inputs**: {'; '.join(said)}{more}."] if said else []
    if names:
        alike = "; ".join(f"{_value(one)}{_also(one)} ({_places(one.places)})" for one in names[:ALIKE])
        rest = f"; {len(names) - ALIKE:,} more below" if len(names) > ALIKE else ""
        blocks.append(f"**The same name, which no record shows to be the same account or host**: {alike}{rest}.")
    return "\n\n".join(blocks)


def _value(one: Shared) -> str:
    return code_span(defang_text(one.value), limit=80)


def _also(one: Shared) -> str:
    """The other names of a thing, and what shows that they are the same."""
    if not one.aliases:
        return ""
    named = ", ".join(code_span(defang_text(alias), limit=60) for alias in one.aliases[:SHOWN_ALIASES])
    proven = "; ".join(
        f"{proof.why}: {code_span(proof.evidence.source, limit=60)} {_place(proof.evidence)}"
        for proof in one.proofs[:SHOWN_ALIASES]
    )
    return f", also {named}" + (f" by {proven}" if proven else "")


def _places(places: Mapping[str, SharedPlace]) -> str:
    named = [f"{code_span(name, limit=60)} {_place(place.evidence)}".strip() for name, place in places.items()]
    return listed(named, limit=LINKED_INPUTS)


def _linked_fold(shared: Sequence[Shared]) -> tuple[Fold, ...]:
    """All things that connect inputs, if the line has not named them all."""
    names = sum(one.noun == SAME_NAME for one in shared)
    if len(shared) - names <= LINKS and names <= ALIKE:
        return ()
    rows = [
        ("the same name" if one.noun == SAME_NAME else one.noun, f"{_value(one)}{_also(one)}", _places(one.places),
         one.severity.value)
        for one in shared
    ]  # fmt: skip
    headers = ("What", "Value", "Worst record in each input", "Worst severity")
    title = plural(len(rows), "thing in several inputs", "things in several inputs")
    return (Fold(title=title, headers=headers, rows=rows, limit=LINKED_ROWS),)


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
    undated += f"; also in {plural(len(moment.also_in), 'other input')}" if moment.also_in else ""
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


def _fold(moments: Sequence[Moment], noun: str) -> Fold:
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
    return Fold(title=plural(len(rows), noun), headers=headers, rows=rows)


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
    return sorted(placed, key=_order)


def _order(moment: Moment) -> tuple[bool, datetime]:
    """By time; moments without one come last."""
    return moment.at is None, moment.at or datetime.max.replace(tzinfo=UTC)


def _together(moments: Sequence[Moment]) -> list[Moment]:
    """The moments without repetitions: the same at the same time in several inputs is one."""
    first: dict[tuple[object, ...], Moment] = {}
    sources: dict[tuple[object, ...], set[str]] = {}
    for one in moments:
        key = (one.at, one.until, one.what, one.severity) if one.at is not None else (one.source, one.what, one.place)
        first.setdefault(key, one)
        sources.setdefault(key, set()).add(one.source)
    return [
        msgspec.structs.replace(one, also_in=tuple(sorted(sources[key] - {one.source}))) for key, one in first.items()
    ]


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
