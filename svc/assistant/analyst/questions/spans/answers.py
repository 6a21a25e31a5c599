"""Answer how much time is between two records, with both of them, so that a misread end is seen. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import product
from typing import NamedTuple

from svc.assistant.analyst.questions.orders import moment_of
from svc.assistant.analyst.questions.spans.reading import SpanQuestion, SpanSide, lacks_an_end, span_of
from svc.assistant.findings import AnyFinding, Evidence, kind_of, with_facts
from svc.assistant.skills.answer_parts import place_words
from svc.assistant.skills.asked.findings import ChosenRecords, RecordConditions
from svc.assistant.skills.events.answer_tables import time_words
from svc.assistant.spool import of_kind
from svc.untrusted.defang import defang_text
from svc.untrusted.markup import code_span

EXCERPT_CHARS = 140
_LEAP_YEAR = "2000"  # for times of a log without years: it has every day
_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"))


class SpanMoment(NamedTuple):
    """When something happened, what shows it, in Markdown, and which of how many it is, in words."""

    time: str
    shown: str
    source: str
    which: str = ""


HeldRecords = Sequence[tuple[str, str, Evidence]]
"""The time, the label and the place of records."""


def span_answer(clause: str, findings: Sequence[AnyFinding]) -> tuple[str, bool] | None:
    """The sentence with the time between the ends of a clause, and whether it is known; None if it asks for none."""
    asked, quoted = span_of(clause), code_span(clause, limit=160)
    if asked is None:
        if not lacks_an_end(clause):
            return None
        return f"**Cannot tell** {quoted}: it names one end of the time. Ask “how long between … and …?”.", False
    first, second = _ends(asked, findings)
    if first is None or second is None:
        missing = " and ".join(
            code_span(side.text, limit=80)
            for side, held in ((asked.first, first), (asked.second, second))
            if held is None
        )
        known = next((held for held in (first, second) if held is not None), None)
        also = f" Known is {shown_moment(known)}." if known is not None else ""
        return f"**Cannot tell** {quoted}: nothing with a time that was read is about {missing}.{also}", False
    start, end = _parsed(first.time, second.time)
    both = f"{shown_moment(first)}; {shown_moment(second)}"
    if start is None or end is None or (start.tzinfo is None) is not (end.tzinfo is None):
        return f"**Cannot tell** {quoted}: one of the times states no zone, or is only a date: {both}.", False
    difference = start - end if asked.is_reversed else end - start
    return _told(asked.limit, difference, both) + _assumed(first, second), True


def _ends(asked: SpanQuestion, findings: Sequence[AnyFinding]) -> tuple[SpanMoment | None, SpanMoment | None]:
    """What the two ends mean; the nearest two records, if they must lie within a limit."""
    if asked.limit >= 0:
        firsts, seconds = _moments(asked.first, findings), _moments(asked.second, findings)
        if not (firsts and seconds):
            return next(iter(firsts), None), next(iter(seconds), None)
        return min(product(firsts, seconds), key=lambda pair: _distance(*pair))
    first = moment_of_side(asked.first, findings, after="")
    return first, moment_of_side(asked.second, findings, after=first.time if first and not asked.is_reversed else "")


def _moments(side: SpanSide, findings: Sequence[AnyFinding]) -> list[SpanMoment]:
    """Each of the records that one end means; the one moment that is found otherwise, if no record is."""
    if held := held_records(side, findings):
        return [_of_record(time, evidence, "") for time, _, evidence in held]
    found = moment_of_side(side, findings, after="")
    return [found] if found is not None else []


def _distance(first: SpanMoment, second: SpanMoment) -> float:
    start, end = _parsed(first.time, second.time)
    is_known = start is not None and end is not None and (start.tzinfo is None) is (end.tzinfo is None)
    return abs((end - start).total_seconds()) if is_known and start and end else float("inf")


def _told(limit: float, difference: timedelta, both: str) -> str:
    seconds = difference.total_seconds()
    words = span_words(abs(seconds))
    direction = "" if seconds >= 0 or limit >= 0 else ", but in the opposite order"
    if limit < 0:
        return f"**{words}**{direction}: {both}."
    is_within = 0 <= abs(seconds) <= limit
    return f"**{'Yes' if is_within else 'No'}: {words}**{direction}: {both}."


def span_words(seconds: float) -> str:
    """A time in words: ``7 min 15 s (435 seconds)``."""
    whole, rest = divmod(round(seconds, 3), 1)
    parts, left = [], int(whole)
    for size, unit in _UNITS:
        count, left = divmod(left, size)
        if count:
            parts.append(f"{count:,} {unit}")
    shown = f"{left}{f'{rest:.3f}'[1:].rstrip('0').rstrip('.') if rest and not parts else ''}"
    if shown != "0" or not parts:
        parts.append(f"{shown} s")
    total = f" ({int(whole):,} seconds)" if whole >= 60 else ""
    return " ".join(parts) + total


def _parsed(*times: str) -> list[datetime | None]:
    year = next((time[:4] for time in times if not time.startswith("--")), _LEAP_YEAR)
    return [_datetime(f"{year}-{time[2:]}" if time.startswith("--") else time) for time in times]


def _datetime(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:  # not a date
        return None


def _assumed(first: SpanMoment, second: SpanMoment) -> str:
    """What the two times do not state, and is taken for granted."""
    without_year = first.time.startswith("--") is not second.time.startswith("--")
    if without_year:
        return " One of the logs states no year and no zone: it holds if both clocks agree."
    is_known = first.source == second.source or first.time.endswith("Z")
    return "" if is_known else " The logs state no zone: it holds if both clocks agree."


def shown_moment(moment: SpanMoment) -> str:
    """What happened and when, in Markdown."""
    return f"{moment.shown}{f' ({moment.which})' if moment.which else ''}"


def moment_of_side(side: SpanSide, findings: Sequence[AnyFinding], *, after: str) -> SpanMoment | None:
    """The record that one end of a time means, else the finding or the row that is about its words."""
    if held := held_records(side, findings):
        return _chosen(side.conditions, held, after, _count(side, findings))
    found = moment_of(side.text, findings)
    if found is None or (found.start != found.end and not side.conditions.ends):
        return None
    return SpanMoment(found.end if side.conditions.ends == "last" else found.start, found.shown, "")


def _chosen(asked: RecordConditions, held: HeldRecords, after: str, count: int) -> SpanMoment | None:
    """The first or the last of the records; the first one after the other end if neither is asked for."""
    later = [number for number, (time, *_) in enumerate(held) if not is_before(time, after)]
    if asked.ends == "last":
        index, which = len(held) - 1, f"the last of {count:,}"
    elif asked.ends or not after or later[:1] == [0]:
        index, which = 0, f"the first of {count:,}"
    elif later:
        index, which = later[0], f"the first after it, of {count:,}"
    elif count > len(held):
        return None  # of so many, not all times are kept
    else:
        index, which = len(held) - 1, f"the last of {count:,}"
    time, _, evidence = held[index]
    return _of_record(time, evidence, which if count > 1 else "")


def is_before(time: str, other: str) -> bool:
    """Whether a time is before another; of which one states no year, both are taken for the same year."""
    if time.startswith("--") is not other.startswith("--") and time and other:
        time, other = (one.removeprefix("--") if one.startswith("--") else one[5:] for one in (time, other))
    return time < other


def _of_record(time: str, evidence: Evidence, which: str) -> SpanMoment:
    excerpt = code_span(defang_text(evidence.excerpt), limit=EXCERPT_CHARS)
    zone = "UTC" if time.endswith("Z") else "(zone not stated)"
    return SpanMoment(time, f"{excerpt} at {time_words(time)} {zone}, {place_words(evidence)}", evidence.source, which)


def held_records(side: SpanSide, findings: Sequence[AnyFinding]) -> HeldRecords:
    """The time, the label and the record of each that one end means, in order; one that several tools read once."""
    found: dict[tuple[str, str], tuple[str, str, Evidence]] = {}
    for one in with_facts(of_kind(findings, kind_of(ChosenRecords)), ChosenRecords):
        if one.facts.clause == side.text and one.facts.conditions.is_timed:
            for record in zip(one.facts.times, one.facts.labels, one.evidence, strict=True):
                found.setdefault((record[0], place_words(record[2])), record)
    return [found[key] for key in sorted(found)]


def _count(side: SpanSide, findings: Sequence[AnyFinding]) -> int:
    """How many records there are; an input that several tools read counts once."""
    counts: dict[str, int] = {}
    for one in with_facts(of_kind(findings, kind_of(ChosenRecords)), ChosenRecords):
        if one.facts.clause == side.text and one.evidence:
            source = one.evidence[0].source
            counts[source] = max(counts.get(source, 0), one.facts.count)
    return sum(counts.values())
