"""Answer further questions from what is known: who got in, when, what somebody did, is it there, what next. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from svc.assistant.analyst.follow_up import by_skill
from svc.assistant.analyst.follow_ups import times
from svc.assistant.analyst.follow_ups.figures import compared, figure_words, how_many, most
from svc.assistant.analyst.follow_ups.reading import Ask, AskKind, qualifier_of
from svc.assistant.analyst.follow_ups.scene import (
    Scene,
    ShortAnswer,
    cannot_tell,
    hit_lines,
    mention_words,
    missing_words,
    searched_words,
)
from svc.assistant.analyst.follow_ups.wording import (
    LINES,
    ROWS,
    bulleted,
    line_of,
    listed,
    place,
    place_of,
    row_words,
    severity_words,
    titled,
    value_words,
    when,
)
from svc.assistant.analyst.questions.states import is_negated
from svc.assistant.analyst.questions.things import (
    NOUNS,
    SUMMARIES,
    NamedThing,
    Noun,
    about,
    facts_of,
    is_cut,
    named_as,
    own_of,
    subject_field,
    things_in,
    things_of,
    worst,
)
from svc.assistant.analyst.short_prose import facts_in_sentences
from svc.assistant.analyst.yes_or_no import is_yes_no_question
from svc.assistant.findings import AnyFinding, Severity
from svc.assistant.skills.catalogue import section_of
from svc.assistant.skills.events.findings import CloudLogin
from svc.assistant.skills.logins.findings import AuthSuccess, AuthSummary, LoginAccess
from svc.assistant.skills.pcap.findings import PcapCredential
from svc.assistant.spool import worst_first
from svc.messages import AnswerStatus
from svc.untrusted.markup import code_span, escape, plural

TIMELINE_ROWS = 15
_SOURCE = next(one for one in NOUNS if one.one == "source")
STEPS = 6
BRIEF_FINDINGS = 3
EXCERPTS = 6
_LOGIN_READERS = (
    "auth_summary",
    "logon_source",
    "logon_account",
    "logon",
    "logon_success",
    "cloud_login",
    "pcap_credential",
)
_SEEN_TWICE = {"auth_account": "auth_source", "logon_account": "logon_source", "pcap_flow": "pcap_talker"}
NOTABLE = (Severity.CRITICAL, Severity.HIGH, Severity.MEDIUM)


def reply_to(ask: Ask, scene: Scene) -> ShortAnswer:
    """The answer to a further question, or what must be searched for first."""
    return _REPLIES[ask.kind](ask, scene)


def _who(ask: Ask, scene: Scene) -> ShortAnswer:
    findings = scene.known.findings
    found = _without_repetitions([one for one in worst_first(findings) if _is_success(one)])
    if ask.names:
        return _who_of(ask, scene, found)
    if found and _ATTACK.search(ask.text):
        severe = [one for one in found if one.severity in NOTABLE]
        if not severe:
            text = f"**No sign of it:** no accepted login in {_inputs(scene)} follows an attack."
            return ShortAnswer(markdown="\n".join([text, "", *bulleted(found)]), findings=found)
        found = severe
    if not found:
        kinds = {one.kind for one in findings}
        reads = any(one.facts.records_logins for one in findings if isinstance(one.facts, AuthSummary))
        if reads or kinds.intersection(_LOGIN_READERS[1:]):
            text = f"**No accepted login** is recorded in {_inputs(scene)}."
            return ShortAnswer(markdown=text)
        read_as = ", ".join(dict.fromkeys(f"{one.read_as}" for one in scene.known.read))
        answered = [one for one in findings if getattr(one.facts, "answered", 0)]
        extra = f" Closest to it: {'; '.join(map(titled, answered[:3]))}" if answered else ""
        return cannot_tell(
            ask.text, f"{_inputs(scene)} records no logins (read as {escape(read_as)}).{extra}".rstrip(".")
        )
    lead = ", ".join(dict.fromkeys(_winner(one) for one in found[:5]))
    more = f" and {len(found) - 5:,} more" if len(found) > 5 else ""
    count = plural(len(found), "accepted login") if len(found) > 1 else "One accepted login"
    yes = "Yes: " if is_yes_no_question(ask.text) and not is_negated(ask.text) else ""
    lines = bulleted(found)
    return ShortAnswer(markdown=f"**{yes}{count}:** {lead}{more}.\n\n" + "\n".join(lines), findings=found)


_ATTACK = re.compile(r"\battack\w*|\bbrut\w*|\bguess\w*|\bspray\w*|\bcompromis\w*", re.IGNORECASE)


def _who_of(ask: Ask, scene: Scene, accepted: Sequence[AnyFinding]) -> ShortAnswer:
    """Whether the names that a question has got in."""
    unknown = [name for name in ask.names if not about(scene.known.findings, name)]
    if needed := scene.needs(unknown):
        return needed
    lines, used = [], []
    for name in ask.names:
        own = [one for one in accepted if any(named_as(thing.value, name) for thing in things_in(one))]
        known = about(scene.known.findings, name)
        if own:
            yes = "Accepted login" if is_negated(ask.text) else "Yes"
            lines += [f"**{yes}:** {', '.join(map(_winner, own[:5]))}.", *bulleted(own)]
        else:
            figures = ", ".join(figure_words(known, name)) or (mention_words(scene, name) if not known else "")
            lines.append(
                f"**No accepted login of {value_words(name)}** is recorded in {_inputs(scene)}"
                + (f" ({figures})." if figures else ".")
            )
            own = [one for one in known if one.kind not in SUMMARIES]
            lines += bulleted(own, 3)
        used += own
    return ShortAnswer(markdown="\n".join(lines), findings=used)


def accepted_logins(findings: Sequence[AnyFinding]) -> list[AnyFinding]:
    """The findings that are accepted logins."""
    return [one for one in findings if _is_success(one)]


def asks_for_logins(text: str) -> bool:
    """Whether a question is about accepted logins, not about failed ones."""
    return _LOGINS.search(text) is not None and _FAILED.search(text) is None


_LOGINS = re.compile(r"\b(?:log|sign)(?:ged|ging|s|ed)?[- ]?(?:in|on)s?\b|\bg[eo]t in\b", re.IGNORECASE)
_FAILED = re.compile(r"\bfail\w*|\battempt\w*|\btr(?:y|ied)\b|\breject\w*|\battack\w*", re.IGNORECASE)


def _is_success(finding: AnyFinding) -> bool:
    match finding.facts:
        case AuthSuccess(access=access):
            return access in (LoginAccess.NETWORK, LoginAccess.CONSOLE)
        case CloudLogin(result=result):
            return result.lower() == "success"
        case PcapCredential(accepted=accepted):
            return accepted > 0
        case _:
            return finding.kind in ("logon_success", "logon")


def _without_repetitions(findings: Sequence[AnyFinding]) -> list[AnyFinding]:
    """The logins, each account and source once: the worst finding of it."""
    kept: dict[tuple[str, ...], AnyFinding] = {}
    for one in findings:
        facts = facts_of(one)
        values = (facts.get(name) for name in ("account", "identity", "user", "source", "client"))
        kept.setdefault(tuple(str(value).lower() for value in values if value), one)
    return list(kept.values())


def _winner(finding: AnyFinding) -> str:
    facts = facts_of(finding)
    who = next((str(facts[name]) for name in ("account", "identity", "user") if facts.get(name)), "")
    source = next((str(facts[name]) for name in ("source", "client") if facts.get(name)), "")
    return value_words(who) + (f" from {value_words(source)}" if source else "")


def _start(ask: Ask, scene: Scene) -> ShortAnswer:
    return _times(ask, scene, is_end=False)


def _end(ask: Ask, scene: Scene) -> ShortAnswer:
    return _times(ask, scene, is_end=True)


def _times(ask: Ask, scene: Scene, *, is_end: bool) -> ShortAnswer:
    """When something, or all of it, began and ended."""
    findings = scene.known.findings
    if ask.names:
        return _times_of(ask, scene)
    noun_findings = [one for one in findings if one.severity in NOTABLE and one.kind not in SUMMARIES]
    notable = [one for one in noun_findings if times.span_of(one)]
    whole = times.whole_span(findings)
    if whole is None:
        return cannot_tell(ask.text, f"no time is recorded in the findings of {_inputs(scene)}")
    remark = times.zone_remark(whole)
    extent = f"The times in {_inputs(scene)} go from {times.shown(whole[0])} to {times.shown(whole[1])}{remark}."
    if not notable:
        return ShortAnswer(
            markdown=f"**{'Last' if is_end else 'First'} time: {times.shown(whole[is_end])}{remark}.** {extent}"
        )
    spans = {id(one): times.span_of(one) or ("", "") for one in notable}
    chosen = (max if is_end else min)(notable, key=lambda one: times.order(spans[id(one)][is_end]))
    moment = times.shown(spans[id(chosen)][is_end])
    lead = "The last notable activity ended" if is_end else "It started"
    text = (
        f"**{lead} at {moment}{remark}:** {titled(chosen)} "
        f"({'; '.join(filter(None, (severity_words(chosen), place_of(chosen))))})."
    )
    return ShortAnswer(markdown=f"{text}\n\n{extent}", findings=[chosen])


def _duration(ask: Ask, scene: Scene) -> ShortAnswer:
    """How long something, or the notable activity, lasted."""
    findings = scene.known.findings
    if ask.names:
        used = [one for name in ask.names for one in own_of(findings, name) if times.span_of(one)]
        of = listed(ask.names)
    else:
        severe = [one for one in findings if one.severity in NOTABLE and one.kind not in SUMMARIES]
        used, of = [one for one in severe if times.span_of(one)], "the notable activity"
    span = times.whole_span(used)
    if span is None:
        return cannot_tell(ask.text, f"no finding about {of} has a time")
    text = f"**{times.length_words(*span)}:** {of} went from {times.shown(span[0])} to {times.shown(span[1])}"
    return ShortAnswer(markdown=f"{text}{times.zone_remark(span)}.", findings=used)


def _times_of(ask: Ask, scene: Scene) -> ShortAnswer:
    lines, used, unknown = [], [], []
    for name in ask.names:
        found = [one for one in about(scene.known.findings, name) if times.span_of(one) and one.kind not in SUMMARIES]
        own = own_of(found, name) or found
        span = times.whole_span(own)
        if span is None:
            unknown.append(name)
            continue
        first = min(own, key=lambda one: times.order((times.span_of(one) or ("~", ""))[0]))
        lines.append(
            f"**{value_words(name)}: {times.span_words(*span)}{times.zone_remark(span)}**, first {place_of(first)}."
        )
        used += own
    if needed := scene.needs(unknown):
        return needed
    for name in unknown:
        hits = [one for one in scene.hits_of(name) if one.facts.first]
        if hits:
            begun, ended = hits[0].facts.first or "", hits[-1].facts.last or ""
            lines.append(
                f"**{value_words(name)}: {times.span_words(begun, ended)}** ({mention_words(scene, name)}; files "
                f"searched again)."
            )
        else:
            reason = mention_words(scene, name)
            lines.append(
                f"**Cannot tell** when {value_words(name)} was seen: {reason}, and no finding has a time for it."
            )
            lines += hit_lines(scene, name)
    return ShortAnswer(markdown="\n\n".join(lines), findings=used)


def _timeline(ask: Ask, scene: Scene) -> ShortAnswer:
    findings = scene.known.findings
    of = ""
    if ask.names:
        findings = [one for name in ask.names for one in about(findings, name)]
        of = f" of {listed(ask.names)}"
    dated = [one for one in findings if times.span_of(one) and one.kind not in SUMMARIES]
    kinds = {one.kind for one in dated}
    dated = [one for one in dated if ask.names or _SEEN_TWICE.get(one.kind) not in kinds]
    if not ask.names and any(one.severity in NOTABLE for one in dated):
        dated = [one for one in dated if one.severity is not Severity.INFO or _is_success(one)]
    if not dated:
        if ask.names and (needed := scene.needs(ask.names)):
            return needed
        reason = f"no finding{of} has a time"
        extra = "; ".join(mention_words(scene, name) for name in ask.names if scene.hits_of(name))
        reply = cannot_tell(ask.text, reason + (f"; {extra}" if extra else ""))
        places = [f"- {line_of(one)}" for one in findings[:3]] if ask.names else []
        return ShortAnswer(
            markdown="\n".join([reply.markdown, "", *places]).rstrip(),
            findings=findings if ask.names else (),
            status=reply.status,
        )
    span = times.whole_span(dated) or ("", "")
    head = (
        f"**Timeline{of}: {plural(len(dated), 'entry', 'entries')}, "
        f"{times.span_words(*span)}{times.zone_remark(span)}.**"
    )
    extent = "" if ask.names else _extent(scene)
    return ShortAnswer(markdown="\n".join([head + extent, "", *bulleted(dated, TIMELINE_ROWS)]), findings=dated)


def _extent(scene: Scene) -> str:
    whole = times.whole_span(scene.known.findings)
    return f" All times seen: {times.span_words(*whole)}." if whole else ""


def _contains(ask: Ask, scene: Scene) -> ShortAnswer:
    lines, used = [], []
    unknown = [name for name in ask.names if not _valued(scene, name)]
    if needed := scene.needs(unknown):
        return needed
    status = AnswerStatus.ANSWERED
    for name in ask.names:
        found = _valued(scene, name)
        hits = scene.hits_of(name)
        if found:
            places = next((place_of(one) for one in found if one.evidence), "")
            lines.append(
                f"**Yes:** {value_words(name)} is in {plural(len(found), 'finding')}"
                + (f", first {places}." if places else ".")
            )
            lines += bulleted(found, 3)
            used += found
        elif any(one.facts.count for one in hits):
            lines.append(
                f"**Yes:** {mention_words(scene, name)}. No finding is about it; the files were searched again."
            )
            lines += hit_lines(scene, name)
        elif any(one.facts.within for one in hits):
            lines.append(f"**Only within longer words:** {mention_words(scene, name)}. The files were searched again.")
            lines += hit_lines(scene, name)
        elif hits and not scene.missing:
            lines.append(
                f"**No:** {mention_words(scene, name)}. This holds for what was searched: "
                f"{searched_words(scene, name)} of {_inputs(scene)}."
            )
        else:
            lines.append(
                f"**Cannot tell** whether {value_words(name)} is in it: "
                f"{mention_words(scene, name)}.{missing_words(scene)}"
            )
            status = AnswerStatus.NOT_ANSWERED
    return ShortAnswer(markdown="\n".join(lines), findings=used, status=status)


def _valued(scene: Scene, name: str) -> list[AnyFinding]:
    """The findings that have the name as a value or in their evidence; not those that only sum up."""
    return [one for one in about(scene.known.findings, name) if one.evidence]


def _about(ask: Ask, scene: Scene) -> ShortAnswer:
    unknown = [name for name in ask.names if not about(scene.known.findings, name)]
    if needed := scene.needs(unknown):
        return needed
    blocks, used = [], []
    is_told = False
    for name in ask.names:
        found = about(scene.known.findings, name)
        if found:
            blocks.append("\n".join(_told(scene, name, found)))
            used += found
        else:
            lines = [
                f"**No finding is about {value_words(name)}**: {mention_words(scene, name)}.{missing_words(scene)}"
            ]
            lines += hit_lines(scene, name)
            blocks.append("\n".join(lines))
        is_told = is_told or bool(found) or any(one.facts.count for one in scene.hits_of(name))
    status = AnswerStatus.ANSWERED if is_told else AnswerStatus.NOT_ANSWERED
    return ShortAnswer(markdown="\n\n".join(blocks), findings=used, status=status)


def _told(scene: Scene, name: str, found: Sequence[AnyFinding]) -> list[str]:
    """What is known of a name: its figures, then the findings about it."""
    own = [one for one in found if one.kind not in SUMMARIES]
    span = times.whole_span(own_of(found, name))
    figures = figure_words(found, name)
    facts = [*figures, times.span_words(*span) + times.zone_remark(span)] if span else figures
    level = worst(own) if own else Severity.INFO
    severity = f"; worst finding: {level.value}" if level is not Severity.INFO else ""
    lines = [f"**{value_words(name)}:** {', '.join(facts) or plural(len(own), 'finding')}{severity}.", ""]
    lines += bulleted(own) if own else []
    lines += [f"- {words}" for words in _rows_with(found, name)][: LINES - min(len(own), LINES - 2)]
    return lines


def _rows_with(findings: Sequence[AnyFinding], name: str) -> list[str]:
    """The rows of summaries that are about a name."""
    rows: dict[str, None] = {}
    for one in findings:
        for thing in things_in(one):
            is_table = (
                one.kind in SUMMARIES
                and thing.row is not None
                and not thing.field.startswith(("moments", "indicators"))
            )
            if is_table and thing.row and named_as(thing.value, name) and (words := row_words(thing.row)):
                rows[f"{words} ({escape(thing.field.partition('.')[0].replace('_', ' '))}, {titled(one)})"] = None
    return list(rows)


def _evidence(ask: Ask, scene: Scene) -> ShortAnswer:
    found = [one for name in ask.names for one in about(scene.known.findings, name)]
    unknown = [name for name in ask.names if not any(one.evidence for one in about(scene.known.findings, name))]
    if needed := scene.needs(unknown):
        return needed
    if not ask.names:
        found = [one for one in worst_first(scene.known.latest or scene.known.findings) if one.evidence][:EXCERPTS]
    shown: dict[str, None] = {}
    for one in found:
        for evidence in one.evidence:
            words = f"- {place(evidence)}: {code_span(evidence.excerpt, limit=200)} ({titled(one)})"
            shown.setdefault(words, None)
    lines = list(shown)[:EXCERPTS]
    lines += [line for name in unknown for line in hit_lines(scene, name)]
    if not lines:
        reasons = "; ".join(mention_words(scene, name) for name in ask.names) or "no finding has evidence"
        return cannot_tell(ask.text, reasons)
    of = f" for {listed(ask.names)}" if ask.names else ""
    more = f"\n- … and {len(shown) - EXCERPTS:,} more places." if len(shown) > EXCERPTS else ""
    return ShortAnswer(
        markdown=f"**Evidence{of}** (first {len(lines)} of {max(len(shown), len(lines)):,} places):\n\n"
        + "\n".join(lines)
        + more,
        findings=found,
    )


def _steps(findings: Sequence[AnyFinding]) -> list[str]:
    """The next steps of all tools, each once."""
    steps = (step for skill, found in by_skill(findings) for step in section_of(skill).next_steps(found))
    return list(dict.fromkeys(steps))


def _next(ask: Ask, scene: Scene) -> ShortAnswer:
    steps = _steps(scene.known.findings)
    if not steps:
        severe = [one for one in scene.known.findings if one.severity in NOTABLE]
        if severe:
            steps = [f"Check {titled(one)} ({place_of(one)})." for one in worst_first(severe)][:3]
        else:
            steps = [
                "Search your logs for these values, and check what matching hosts did before and after.",
                "Check what was not examined: no finding requires action by itself.",
            ]
    return ShortAnswer(markdown="**What to do next**\n\n" + "\n".join(f"- {step}" for step in steps[:STEPS]))


def verdicts(findings: Sequence[AnyFinding]) -> list[str]:
    """The verdict of each tool on its findings."""
    texts = (section_of(skill).verdict(found) for skill, found in by_skill(findings))
    return [_ANSWER_WORD.sub(lambda match: f"{match[1]}{match[2].upper()}", text) for text in texts if text]


_ANSWER_WORD = re.compile(r"\A(\*\*)(?:Yes|No): (\w)")
"""The word with which a verdict answers the first question; it answers no other."""


def brief(known_findings: Sequence[AnyFinding], names: Sequence[str]) -> str:
    """Plain sentences, the most important first: the verdicts, what was found where and when, what to do first."""
    severe = [one for one in worst_first(known_findings) if one.severity in NOTABLE and one.kind not in SUMMARIES]
    sentences = []
    if severe := _distinct(severe):
        span = times.whole_span(severe)
        where = f"in {listed(names, 2)}" + (f", {times.span_words(*span)}" if span else "")
        titles = "; ".join(dict.fromkeys(titled(one) for one in severe[:BRIEF_FINDINGS]))
        actors = list(things_of(severe, _SOURCE))[:2]
        by = f" (most involved: {listed(actors)})" if actors else ""
        sentences.append(f"{severe[0].severity.value.capitalize()} findings {where}: {titles}{by}.")
        sentences += [f"First step: {step}" for step in _steps(known_findings)[:1]]
    return " ".join([*verdicts(known_findings), *sentences])


def _summary(ask: Ask, scene: Scene) -> ShortAnswer:
    findings = scene.known.findings
    if ask.number:
        sentences = facts_in_sentences(by_skill(findings), brief(findings, scene.known.names), count=ask.number)
        return ShortAnswer(markdown=" ".join(sentences), findings=findings)
    severe = _distinct([one for one in worst_first(findings) if one.severity in NOTABLE and one.kind not in SUMMARIES])
    lead = verdicts(findings)
    head = lead[0] if len(lead) == 1 else "\n".join(f"- {one}" for one in lead)
    lines = [f"- {line_of(one)}" for one in severe[:3]] if len(lead) < 2 else []
    blocks = [head, "\n".join(lines), f"Read: {_inputs(scene)}."]
    return ShortAnswer(markdown="\n\n".join(block for block in blocks if block), findings=severe)


def _distinct(findings: Sequence[AnyFinding]) -> list[AnyFinding]:
    kinds = {one.kind for one in findings}
    return [one for one in findings if _SEEN_TWICE.get(one.kind) not in kinds]


def _why(ask: Ask, scene: Scene) -> ShortAnswer:
    pool = [one for name in ask.names for one in about(scene.known.findings, name)] or scene.known.latest
    severe = [one for one in worst_first(pool) if one.severity in NOTABLE and one.kind not in SUMMARIES]
    severe = severe or [
        one for one in worst_first(scene.known.findings) if one.severity in NOTABLE and one.kind not in SUMMARIES
    ]
    if not severe:
        return cannot_tell(ask.text, f"no finding in {_inputs(scene)} is rated above info")
    lines = []
    for one in _distinct(severe)[:4]:
        why = f" {escape(one.why[:1].upper() + one.why[1:])}" if one.why else ""
        lines.append(
            f"- **{titled(one)}** ({one.severity.value}, {one.confidence.value} confidence; {place_of(one)}).{why}"
        )
    return ShortAnswer(markdown="**Because of these findings:**\n\n" + "\n".join(lines), findings=severe)


def _origin(ask: Ask, scene: Scene) -> ShortAnswer:
    severe = [one for one in worst_first(scene.known.findings) if one.severity in NOTABLE]
    return things_listed(_SOURCE, severe, scene, ask)


def origin_of(question: str, scene: Scene) -> ShortAnswer:
    """The sources of the notable findings."""
    return _origin(Ask(kind=AskKind.ORIGIN, text=question), scene)


def _list(ask: Ask, scene: Scene) -> ShortAnswer:
    assert ask.noun is not None
    findings: Sequence[AnyFinding] = scene.known.findings
    if ask.names:
        findings = [one for name in ask.names for one in about(findings, name)]
    findings = [one for one in findings if _qualifies(one, qualifier_of(ask.text))]
    return things_listed(ask.noun, findings, scene, ask)


def _qualifies(finding: AnyFinding, qualifier: str) -> bool:
    """Whether a finding is about things of the kind that a list is asked for."""
    match qualifier:
        case "attacked":
            return bool(getattr(finding.facts, "failures", 0)) and finding.kind not in SUMMARIES
        case "compromised":
            return _is_success(finding) and finding.severity in NOTABLE
        case "succeeded":
            return _is_success(finding)
        case "notable":
            return finding.severity in NOTABLE and finding.kind not in SUMMARIES
        case _:
            return True


def items_of(
    noun: Noun, findings: Sequence[AnyFinding], names: Sequence[str] = ()
) -> list[tuple[str, list[NamedThing]]]:
    """The things of a list in its order: those of the worst findings first, then those with the largest figures.

    ``names``: of what they are. A finding that sums up a log lists things of others, too.
    """
    order = list(Severity)
    findings = [one for one in findings if not (names and one.kind in SUMMARIES)]
    found = [
        (value, things)
        for value, things in things_of(findings, noun).items()
        if not any(named_as(value, name) for name in names)
    ]

    def rank(item: tuple[str, list[NamedThing]]) -> int:
        own = [thing for thing in item[1] if thing.finding.kind not in SUMMARIES]
        return min((order.index(thing.finding.severity) for thing in own), default=len(order))

    return sorted(found, key=rank)


def things_listed(noun: Noun, findings: Sequence[AnyFinding], scene: Scene, ask: Ask) -> ShortAnswer:
    """The list of the things of a sort in findings, with their figures."""
    items = items_of(noun, findings, ask.names)
    of = f" of {listed(ask.names)}" if ask.names else ""
    if not items:
        return cannot_tell(ask.text, f"no finding in {_inputs(scene)} names {escape(noun.many)}{of}")
    at_least = "At least " if is_cut(thing for _, things in items for thing in things) else ""
    head = f"**{at_least}{plural(len(items), noun.one, noun.many)}{of}** in {_inputs(scene)}"
    head += " (the findings list only the first of a table):" if at_least else ":"
    lines = [_item_line(value, things) for value, things in items[:ROWS]]
    more = [f"- … and {listed([value for value, _ in items[ROWS:]], 30)}."] if len(items) > ROWS else []
    left = (
        [f"{scene.known.left_out:,} more findings were not listed; they are in the findings of the first answer."]
        if scene.known.left_out
        else []
    )
    used = list({id(thing.finding): thing.finding for _, things in items for thing in things}.values())
    return ShortAnswer(markdown="\n".join([head, "", *lines, *more, *left]), findings=used)


def _item_line(value: str, things: Sequence[NamedThing]) -> str:
    """A thing with its figures and the place of its first mention."""
    findings = [thing.finding for thing in things]
    own = own_of(findings, value) or [one for one in findings if one.kind not in SUMMARIES]
    figures = figure_words(findings, value)[:2]
    is_own = bool(own) and named_as(str(facts_of(own[0]).get(subject_field(own[0]))), value)
    remarks = [*figures, when(own[0]) if is_own else "", place_of(own[0]) if own else ""]
    return f"- {value_words(value)}" + (f": {', '.join(one for one in remarks if one)}" if any(remarks) else "")


def filtered_reply(findings: Sequence[AnyFinding], conditions: Sequence[str], total: int) -> ShortAnswer:
    """The answer to a question that keeps some of the latest findings."""
    terms = ", ".join(escape(one) for one in conditions)
    head = f"**{len(findings):,} of {plural(total, 'finding')}**" + (f" ({terms})" if terms else "")
    if not findings:
        return ShortAnswer(markdown=f"{head}: none of the findings of the last answer is {terms or 'meant'}.")
    return ShortAnswer(markdown="\n".join([f"{head}:", "", *bulleted(findings, ROWS)]), findings=findings)


def _inputs(scene: Scene) -> str:
    return listed(scene.known.names, 3) or "what was read"


_REPLIES: dict[AskKind, Callable[[Ask, Scene], ShortAnswer]] = {
    AskKind.WHO: _who,
    AskKind.START: _start,
    AskKind.END: _end,
    AskKind.DURATION: _duration,
    AskKind.TIMELINE: _timeline,
    AskKind.CONTAINS: _contains,
    AskKind.ABOUT: _about,
    AskKind.EVIDENCE: _evidence,
    AskKind.NEXT: _next,
    AskKind.SUMMARY: _summary,
    AskKind.WHY: _why,
    AskKind.ORIGIN: _origin,
    AskKind.LIST: _list,
    AskKind.HOW_MANY: how_many,
    AskKind.MOST: most,
    AskKind.COMPARE: compared,
}
