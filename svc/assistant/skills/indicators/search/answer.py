"""The answer to "are any of these in the logs?": which indicators, where and when, and what was not searched."""

from __future__ import annotations

from collections.abc import Sequence

from svc.assistant.findings import AnyFinding, Finding, InputKind, with_facts
from svc.assistant.log_readers.shown_times import time_words
from svc.assistant.skills.answer_parts import MAX_FACTS, Fold, listed
from svc.assistant.skills.indicators.search.findings import IndicatorMatch, IndicatorSearch
from svc.assistant.skills.indicators.search.matcher import EXACT
from svc.assistant.skills.indicators.tables import type_name
from svc.assistant.skills.skill import NEVER, READABLE_LABELS, Section, Skill
from svc.untrusted.markup import code_span, escape, plural

VALUE_CHARS = 90
NAMED = 5
WHOLE = "file"  # of a file of which only the name and the hashes were compared, such as an archive


def verdict(findings: Sequence[AnyFinding]) -> str:
    """Yes with the inputs, or no with what was read; always with what was not read."""
    searches = [one.facts for one in with_facts(findings, IndicatorSearch)]
    read = [one for one in searches if one.searched and one.unit != WHOLE]
    matches = [one.facts for one in with_facts(findings, IndicatorMatch) if not one.facts.is_partial]
    if not read and not matches:
        return f"**Not examined:** no input could be searched for the indicators.{_limits(searches)}"
    total = max(one.indicators for one in searches)
    names = [f"{code_span(one.input, limit=60)} ({plural(one.searched, one.unit)})" for one in read]
    if not matches:
        none = "The indicator is not" if total == 1 else f"None of the {total:,} indicators is"
        return (
            f"**{none} in the {plural(len(read), 'input')} searched: {listed(names, limit=NAMED)}.**{_limits(searches)}"
        )
    found = len({(one.type, one.value) for one in matches})
    where = listed([code_span(name, limit=60) for name in dict.fromkeys(one.input for one in matches)], limit=NAMED)
    verb = "is" if found == 1 else "are"
    inputs = {one.input for one in matches}
    rest = [
        f"{code_span(one.input, limit=60)} ({plural(one.searched, one.unit)})"
        for one in read
        if one.input not in inputs
    ]
    none = f" None in {listed(rest, limit=NAMED)}." if rest else ""
    return f"**Yes: {found:,} of {plural(total, 'indicator')} {verb} in {where}.**{none}{_limits(searches)}"


def _limits(searches: Sequence[IndicatorSearch]) -> str:
    """What was not searched, and what of the lists could not be looked for."""
    unread = [escape(one) for one in dict.fromkeys(text for one in searches for text in one.unread)]
    unread += [code_span(one.input, limit=60) for one in searches if not one.searched and not one.unread]
    said = f" Not searched: {listed(unread, limit=NAMED)}." if unread else ""
    lost = max((one.unsearchable for one in searches), default=0)
    noun = "entry" if lost == 1 else "entries"
    return said + (f" {lost:,} {noun} of the list cannot be looked for." if lost else "")


def facts(findings: Sequence[AnyFinding]) -> list[str]:
    """The matches, the indicators that are in most inputs first."""
    matches = with_facts(findings, IndicatorMatch)
    ranked = sorted(matches, key=lambda one: (one.facts.is_partial, -len(_inputs(one.facts, matches)), one.facts.first))
    return [_fact(one.facts) for one in ranked[:MAX_FACTS]]


def _inputs(match: IndicatorMatch, matches: Sequence[Finding[IndicatorMatch]]) -> set[str]:
    return {one.facts.input for one in matches if one.facts.value == match.value}


def _fact(match: IndicatorMatch) -> str:
    first = match.places[0]
    value = code_span(match.defanged, limit=VALUE_CHARS)
    how = "" if match.how == EXACT else f" ({match.how}: {code_span(first.matched, limit=VALUE_CHARS)})"
    count = f", {plural(match.count, match.unit)}" if match.count > 1 else ""
    times = dict.fromkeys(escape(time_words(time)) for time in (match.first, match.last) if time)
    when = f", {' to '.join(times)}" if times else ""
    zone = "" if not match.first or match.first.endswith("Z") or "+" in match.first[10:] else " (zone not stated)"
    return (
        f"**{type_name(match.type, count=1)} {value}**{how}: {code_span(match.input, limit=60)} "
        f"{escape(first.place)}{count}{when}{zone}"
    )


def folds(findings: Sequence[AnyFinding]) -> list[Fold]:
    """Every place of every match, then what was searched for in which input."""
    matches = with_facts(findings, IndicatorMatch)
    rows = [
        (
            code_span(one.facts.defanged, limit=VALUE_CHARS),
            code_span(one.facts.input, limit=60),
            escape(place.place),
            escape(time_words(place.time)),
            code_span(place.matched, limit=VALUE_CHARS),
            one.facts.how,
        )
        for one in matches
        for place in one.facts.places
    ]
    searched = [
        (
            code_span(one.facts.input, limit=60),
            plural(one.facts.searched, one.facts.unit),
            f"{one.facts.found:,} of {one.facts.indicators:,}",
            ", ".join(one.facts.by_type),
        )
        for one in with_facts(findings, IndicatorSearch)
    ]
    headers = ("Indicator", "Input", "Where", "Time", "As in the input", "How")
    extent = ("Input", "Searched", "Indicators found", "Looked for")
    return [
        Fold(title=plural(len(rows), "match", "matches"), headers=headers, rows=rows),
        Fold(title=plural(len(searched), "input searched", "inputs searched"), headers=extent, rows=searched),
    ]


def next_steps(findings: Sequence[AnyFinding]) -> list[str]:
    """What to do about a match."""
    if not any(not one.facts.is_partial for one in with_facts(findings, IndicatorMatch)):
        return []
    return [
        "Check in each match what the host or account did before and after it.",
        "Confirm with the list's source that the indicator is still valid: a match alone is no proof of compromise.",
    ]


SECTION = Section(
    skill=Skill(
        name="indicator_search",
        tool="svc.assistant.analyst.follow_ups.indicator_search:inspect",
        input=InputKind.BINARY,
        title="Search for indicators",
        can="look for the indicators of a list, a STIX bundle or a MISP event in all other files",
        facts=(IndicatorMatch, IndicatorSearch),
        strong=NEVER,
        labels=READABLE_LABELS,
        leads=frozenset({"threat_intel"}),
    ),
    verdict=verdict,
    facts=facts,
    folds=folds,
    next_steps=next_steps,
)
