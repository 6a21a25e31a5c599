"""Answer further questions about figures: how many, which has the most, how two compare. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from svc.assistant.analyst.follow_ups import times
from svc.assistant.analyst.follow_ups.reading import Ask
from svc.assistant.analyst.follow_ups.scene import (
    Scene,
    ShortAnswer,
    cannot_tell,
    hit_lines,
    mention_words,
    missing_words,
)
from svc.assistant.analyst.follow_ups.wording import listed, place_of, value_words, when
from svc.assistant.analyst.questions.things import (
    ACCOUNT,
    ADDRESS,
    MEASURES,
    NOUNS,
    SUMMARIES,
    Measure,
    NamedThing,
    Noun,
    about,
    facts_of,
    figures,
    is_cut,
    named_as,
    own_of,
    things_in,
    things_of,
    worst,
)
from svc.assistant.findings import AnyFinding
from svc.messages import AnswerStatus
from svc.untrusted.markup import escape, plural, table

NONE = "\N{EN DASH}"  # in a cell without a value
MAX_NAMES = 4  # compared, or counted in one answer
_MENTION = next(one for one in MEASURES if one.one == "mention")
_LINES = next(one for one in MEASURES if one.one == "event")


class _Figure:
    """A figure of one name in one input, and the finding that has it."""

    def __init__(self, count: int, finding: AnyFinding) -> None:
        self.count = count
        self.finding = finding


def figures_of(findings: Iterable[AnyFinding], name: str) -> dict[str, tuple[Measure, list[_Figure]]]:
    """The figures that belong to a name, by unit: one for each input, the largest that the findings have.

    A source's failures are also in the rows of its accounts, as parts: the largest is the whole.
    """
    found: dict[str, tuple[Measure, dict[str, _Figure]]] = {}
    for finding in findings:
        source = finding.evidence[0].source if finding.evidence else ""
        for thing in things_in(finding):
            if not named_as(thing.value, name):
                continue
            for measure, count in figures(thing):
                by_input = found.setdefault(measure.one, (measure, {}))[1]
                known = by_input.get(source)
                is_own = thing.is_subject and known is not None and known.count == count
                if known is None or known.count < count or is_own:
                    by_input[source] = _Figure(count, finding)
    return {unit: (measure, _without_unnamed(by_input)) for unit, (measure, by_input) in found.items()}


def _without_unnamed(by_input: dict[str, _Figure]) -> list[_Figure]:
    """Findings without evidence sum up an input that others name."""
    named = [figure for source, figure in by_input.items() if source]
    return named or list(by_input.values())


def figure_words(findings: Iterable[AnyFinding], name: str) -> list[str]:
    """``40 failed logins``, for each unit."""
    known = {**figures_of(findings, name), **_links_of(findings, name)}
    return [plural(_sum(found), measure.one, measure.many) for measure, found in known.values() if _sum(found)]


_LINK = next(one for one in NOUNS if one.one == "link")
_LINK_MEASURE = Measure(one="link", many="links", words=_LINK.words, fields=frozenset())


def _links_of(findings: Iterable[AnyFinding], name: str) -> dict[str, tuple[Measure, list[_Figure]]]:
    """The links of a mail that lead to a host."""
    found = [
        _Figure(1, one)
        for one in findings
        if one.kind == "mail_url"
        and any(named_as(str(facts_of(one).get(field)), name) for field in ("host", "org", "url"))
    ]
    return {"link": (_LINK_MEASURE, found)} if found else {}


def _sum(found: Sequence[_Figure]) -> int:
    return sum(one.count for one in found)


def how_many(ask: Ask, scene: Scene) -> ShortAnswer:
    """Answer how many there are: of a name, or in all."""
    if ask.names:
        return _of_names(ask, scene)
    findings = scene.known.findings
    if ask.measure is not None and (total := _total(findings, ask.measure)):
        count, used = total
        text = f"**{plural(count, ask.measure.one, ask.measure.many)}** in {listed(scene.known.names, 3)}."
        return ShortAnswer(markdown=text + _breakdown(findings, ask.measure), findings=used)
    noun = ask.noun
    if noun is None:
        reason = f"no finding counts {escape(ask.measure.many)}" if ask.measure else "it is unclear what to count"
        return cannot_tell(ask.text, reason)
    things = things_of(findings, noun)
    used = list({id(thing.finding): thing.finding for found in things.values() for thing in found}.values())
    stated = _stated_total(findings, noun)
    if not things:
        return cannot_tell(ask.text, f"no finding names {escape(noun.many)}")
    more = f" The tool counted {stated:,} in all; it lists the first ones." if stated > len(things) else ""
    is_least = stated <= len(things) and is_cut(one for found in things.values() for one in found)
    counted = plural(max(len(things), stated), noun.one, noun.many)
    lead = f"**{'At least ' if is_least else ''}{counted}** in {listed(scene.known.names, 3)}"
    text = f"{lead}: {listed(things, 10)}.{more}"
    return ShortAnswer(markdown=text, findings=used)


def _stated_total(findings: Sequence[AnyFinding], noun: Noun) -> int:
    """How many of them a tool counted, if its lists have a limit."""
    field = {"source": "clients"}.get(noun.one, "")
    if not field:
        return 0
    return max(
        (value for one in findings if one.kind == "web_summary" and isinstance(value := facts_of(one).get(field), int)),
        default=0,
    )


def _total(findings: Sequence[AnyFinding], measure: Measure) -> tuple[int, list[AnyFinding]] | None:
    """The total of a figure: as the summaries state it, else the sum over the subjects of one kind."""
    stated = [
        (value, one)
        for one in findings
        if one.kind in SUMMARIES
        for field in measure.fields
        if isinstance(value := facts_of(one).get(field), int)
    ]
    if stated:
        return sum(value for value, _ in stated), [one for _, one in stated]
    sums: dict[str, list[tuple[int, AnyFinding]]] = {}
    for one in findings:
        for thing in things_in(one):
            if thing.is_subject and one.kind not in SUMMARIES:
                sums.setdefault(one.kind, []).extend((count, one) for unit, count in figures(thing) if unit is measure)
    best = max(sums.values(), key=lambda pairs: sum(count for count, _ in pairs), default=[])
    return (sum(count for count, _ in best), [one for _, one in best]) if best else None


def _breakdown(findings: Sequence[AnyFinding], measure: Measure) -> str:
    """The names with the most of it."""
    ranked = _ranked(findings, measure, None)
    if not ranked:
        return ""
    return (
        " Most: "
        + ", ".join(f"{value_words(value)} ({figure.count:,})" for value, figure in ranked[:3] if figure.count)
        + "."
    )


def _of_names(ask: Ask, scene: Scene) -> ShortAnswer:
    findings = scene.known.findings
    lines: list[str] = []
    used: list[AnyFinding] = []
    unknown = [name for name in ask.names[:MAX_NAMES] if not _figure_of(ask, findings, name)]
    if needed := scene.needs(unknown):
        return needed
    is_told = True
    for name in ask.names[:MAX_NAMES]:
        line, found = _count_line(ask, scene, name)
        lines += line
        used += found
        is_told = is_told and (bool(found) or bool(scene.hits_of(name)))
    status = AnswerStatus.ANSWERED if is_told else AnswerStatus.NOT_ANSWERED
    return ShortAnswer(markdown="\n".join(lines), findings=used, status=status)


def _figure_of(
    ask: Ask, findings: Sequence[AnyFinding], name: str
) -> tuple[Measure, list[_Figure]] | list[NamedThing] | None:
    """The figure that is asked for of a name: by its unit, else the things of a sort related to it, else its own."""
    known = {**figures_of(findings, name), **_links_of(findings, name)}
    if ask.measure is not None and ask.measure.one in known:
        return known[ask.measure.one]
    if ask.noun is not None and ask.noun.one in known:
        return known[ask.noun.one]
    if ask.noun is not None:
        related = [one for one in about(findings, name) if one.kind not in SUMMARIES]
        things = {value: found for value, found in things_of(related, ask.noun).items() if not named_as(value, name)}
        return [found[0] for found in things.values()] or None
    if ask.measure is None and known:
        return next(iter(known.values()))
    return None


def _count_line(ask: Ask, scene: Scene, name: str) -> tuple[list[str], list[AnyFinding]]:
    figure = _figure_of(ask, scene.known.findings, name)
    if isinstance(figure, list) and ask.noun is not None:
        values = [thing.value for thing in figure]
        text = f"**{plural(len(figure), ask.noun.one, ask.noun.many)}** of {value_words(name)}: {listed(values, 10)}."
        return [text], [thing.finding for thing in figure]
    if figure is not None and not isinstance(figure, list):
        measure, found = figure
        places = "; ".join(_where(one.finding) for one in found[:3])
        text = f"**{plural(_sum(found), measure.one, measure.many)}** of {value_words(name)} ({places})."
        return [text], [one.finding for one in found]
    if ask.measure in (_MENTION, _LINES) or ask.measure is None:
        lead = (
            f"**{_hit_count(scene, name):,} mentions** of {value_words(name)}: "
            if scene.hits_of(name)
            else "**Cannot tell:** "
        )
        return [lead + mention_words(scene, name) + f"; the files were searched again.{missing_words(scene)}"], []
    text = (
        f"**No finding counts {escape(ask.measure.many)} of {value_words(name)}**; "
        f"{mention_words(scene, name)}.{missing_words(scene)}"
    )
    return [text, *hit_lines(scene, name)], []


def _where(finding: AnyFinding) -> str:
    """When and where a figure is from; of a summary only which input: its time and place are those of the whole."""
    if finding.kind in SUMMARIES:
        sources = [one.source for one in finding.evidence[:1]]
        return f"counted in all of {listed(sources)}" if sources else "counted in all of it"
    return ", ".join(filter(None, (when(finding), place_of(finding))))


def _hit_count(scene: Scene, name: str) -> int:
    return sum(one.facts.count for one in scene.hits_of(name))


def _ranked(findings: Sequence[AnyFinding], measure: Measure, noun: Noun | None) -> list[tuple[str, _Figure]]:
    """Names with their figure, the largest first; of one sort only, if it is given, else of the sort with the most."""
    best: dict[str, _Figure] = {}
    for one in findings:
        for thing in things_in(one):
            if noun is not None and thing.field not in noun.fields:
                continue
            for unit, count in figures(thing):
                value = thing.value
                if unit is measure and (value not in best or best[value].count < count):
                    best[value] = _Figure(count, one)
    return sorted(best.items(), key=lambda item: -item[1].count)


def most(ask: Ask, scene: Scene) -> ShortAnswer:
    """Answer which has the most, or the least."""
    findings = scene.known.findings
    ranked = _ranked(findings, ask.measure, ask.noun) if ask.measure else []
    unit = ask.measure
    if not ranked and ask.measure is not None:
        ranked = _ranked(findings, ask.measure, None)
    if not ranked and ask.noun is not None:
        ranked, unit = _by_number(findings, ask.noun)
    if not ranked or unit is None:
        reason = f"no finding counts {escape((ask.measure or ask.noun or _LINES).many)} by name"
        return cannot_tell(ask.text, reason)
    if ask.is_least:
        ranked = ranked[::-1]
    lines = [
        f"- {value_words(value)}: {plural(figure.count, unit.one, unit.many)}"
        + (f" ({place_of(figure.finding)})" if figure.finding.evidence else "")
        for value, figure in ranked[1:5]
    ]
    value, figure = ranked[0]
    head = (
        f"**{value_words(value)}** has the {'fewest' if ask.is_least else 'most'}: "
        f"{plural(figure.count, unit.one, unit.many)}"
    )
    remarks = _where(figure.finding)
    return ShortAnswer(
        markdown="\n".join([f"{head} ({remarks})." if remarks else f"{head}.", *(["", *lines] if lines else [])]),
        findings=[one.finding for _, one in ranked[:5]],
    )


def _by_number(findings: Sequence[AnyFinding], noun: Noun) -> tuple[list[tuple[str, _Figure]], Measure | None]:
    """What has the most things of a sort: the host with the most links; else the thing with the largest figure."""
    if noun is _LINK:
        hosts: dict[str, _Figure] = {}
        for one in findings:
            host = facts_of(one).get("host")
            if one.kind == "mail_url" and isinstance(host, str):
                hosts[host] = _Figure(hosts[host].count + 1 if host in hosts else 1, one)
        return sorted(hosts.items(), key=lambda item: -item[1].count), _LINK_MEASURE
    for measure in MEASURES:
        if ranked := _ranked(findings, measure, noun):
            return ranked, measure
    return [], None


def compared(ask: Ask, scene: Scene) -> ShortAnswer:
    """Two or more names side by side: figures, times, severity, and what each has to do with."""
    findings = scene.known.findings
    names = list(ask.names[:MAX_NAMES])
    if len(names) < 2 and ask.noun is not None:
        names += [value for value in things_of(findings, ask.noun) if value not in names][: 2 - len(names)]
    if len(names) < 2:
        return cannot_tell(ask.text, "name the two values to compare")
    unknown = [name for name in names if not about(findings, name)]
    if needed := scene.needs(unknown):
        return needed
    found = {name: about(findings, name) for name in names}
    known = {name: {**figures_of(found[name], name), **_links_of(found[name], name)} for name in names}
    units = {unit: measure for figures_by_unit in known.values() for unit, (measure, _) in figures_by_unit.items()}
    rows = [
        (
            measure.many[:1].upper() + measure.many[1:],
            *(f"{_sum(known[name][unit][1]):,}" if unit in known[name] else NONE for name in names),
        )
        for unit, measure in units.items()
    ]
    rows += _other_rows(scene, names, found)
    used = list({id(one): one for name in names for one in found[name]}.values())
    head = f"**{' and '.join(value_words(name) for name in names)} compared**"
    return ShortAnswer(markdown=f"{head}\n\n" + table(("", *map(value_words, names)), rows), findings=used)


def _other_rows(scene: Scene, names: Sequence[str], found: dict[str, list[AnyFinding]]) -> list[tuple[str, ...]]:
    """Time, severity, relations and first place of each name."""
    columns: list[tuple[str, ...]] = []
    for name in names:
        own = own_of(found[name], name) or [one for one in found[name] if one.kind not in SUMMARIES]
        span = times.whole_span(own)
        related = [value for noun in (ACCOUNT, ADDRESS) for value in things_of(own, noun) if not named_as(value, name)]
        columns.append((
            times.shown(span[0]) if span else NONE,
            times.shown(span[1]) if span else NONE,
            worst(own).value if own else NONE,
            listed(related, 4) or NONE,
            place_of(own[0]) if own else (mention_words(scene, name) if scene.hits_of(name) else NONE),
        ))  # fmt: skip
    labels = ("First", "Last", "Worst finding", "Together with", "First place")
    return [(label, *(column[number] for column in columns)) for number, label in enumerate(labels)]
