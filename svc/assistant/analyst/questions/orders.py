"""Questions about the order of two things: "was the log cleared before or after the login?". Pure.

Each side is looked for by itself, in the records and in what was found. Only times that were read decide; a side
without one makes the answer "cannot tell".
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from svc.assistant.analyst.clause_words import stems
from svc.assistant.analyst.questions.states import is_polar
from svc.assistant.analyst.questions.things import SUMMARIES
from svc.assistant.analyst.questions.time_words import window_of
from svc.assistant.findings import AnyFinding, columns, kind_of, with_facts
from svc.assistant.skills.answer_parts import place_words
from svc.assistant.skills.asked.findings import AskedRecords, ChosenRecords, FollowingRecords
from svc.assistant.skills.events.answer_tables import time_words
from svc.assistant.skills.host_artefacts.findings import HostActivity, HostSummary
from svc.assistant.spool import of_kind, worst_first
from svc.untrusted.defang import defang_text
from svc.untrusted.markup import code_span

MAX_FINDINGS = 500
MIN_SHARE = 0.6  # of the words of a side that a finding must contain
_EITHER = r"(?:before or after|after or before|earlier or later than|later or earlier than)"
_KEYWORD = re.compile(
    rf"\b(?P<either>{_EITHER})\b|\b(?P<after>after|later than|following|once)\b"
    r"|\b(?P<before>before|earlier than|prior to)\b",
    re.IGNORECASE,
)
_FIRST_OF = re.compile(
    r"\b(?:what|which|who) (?:was|came|happened|is|did \w+ come)? ?first\b[,:]? (?P<one>.{3,100}?),? or"
    r" (?P<other>.{3,100})",
    re.IGNORECASE,
)
_LEAD = re.compile(
    r"^\W*(?:(?:and|so|then|but|also|please) )*(?:(?:tell me|check|know) )?(?:if |whether )?"
    r"(?:did|was|were|is|are|has|have|had|do|does|when|happened?|came?)\b",
    re.IGNORECASE,
)
_FILLING = re.compile(
    r"\b(?:the|a|an|any|that|this|it|they|he|she|really|actually|happen(?:ed|s)?|occur(?:red)?|come|came"
    r"|take place|took place|done|made|start(?:ed)?|begin|began|be|been|shortly|directly|right|just|only"
    r"|in the logs?)\b",
    re.IGNORECASE,
)
_LOGIN = re.compile(r"\b(?:log(?:ged)?[- ]?(?:in|on)s?|sign(?:ed)?[- ]?(?:in|on)s?|get in|got in)\b", re.IGNORECASE)
_LOGIN_KINDS = ("auth_success", "logon_success", "logon", "cloud_login")
_STARTS, _ENDS = ("first", "time", "last"), ("last", "time", "first")
_VALUE = re.compile(r"[\d@\\/:_.-]")
_FOLLOWED = re.compile(r"\bfollowed by\b", re.IGNORECASE)  # of two things at once
_OF_QUESTIONS = (AskedRecords, ChosenRecords, FollowingRecords, HostSummary, HostActivity)
_NO_MOMENTS = SUMMARIES | {"beacon_search", "proxy_summary", *map(kind_of, _OF_QUESTIONS)}


class Order(msgspec.Struct, frozen=True):
    """The two sides of a question, and the order that it asks about: ``after``, ``before`` or ``either``."""

    first: str
    second: str
    asked: str


class SideMoment(msgspec.Struct, frozen=True):
    """When a side happened, from the first to the last time, and what shows it, in Markdown."""

    start: str
    end: str
    shown: str


def order_of(clause: str) -> Order | None:
    """The order that a clause asks about; None if it asks about none, or about a time of day."""
    if (match := _FIRST_OF.search(clause)) is not None:
        return _order(match["one"], match["other"], "either")
    match = _KEYWORD.search(clause)
    if match is None or window_of(clause):
        return None
    if not match["either"] and not is_polar(clause):
        return None  # "what happened after the login?" asks what, not whether
    asked = "either" if match["either"] else "after" if match["after"] else "before"
    return _order(_LEAD.sub(" ", clause[: match.start()]), clause[match.end() :], asked)


def _order(one: str, other: str, asked: str) -> Order | None:
    first, second = (" ".join(_FILLING.sub(" ", side).split()).strip(" ,.?!") for side in (one, other))
    return Order(first, second, asked) if stems(first) | _values(first) and stems(second) | _values(second) else None


def _values(text: str) -> frozenset[str]:
    return frozenset(word.strip(".,?!'\"`").lower() for word in text.split() if _VALUE.search(word))


def order_answer(clause: str, findings: Sequence[AnyFinding]) -> tuple[str, bool] | None:
    """The sentence that says what came first, and whether it is known; None if the clause asks about no order."""
    order = order_of(clause)
    if order is None:
        return None
    quoted = code_span(clause, limit=160)
    first, second = (moment_of(side, findings) for side in (order.first, order.second))
    if first is None or second is None:
        missing = " or ".join(
            code_span(side, limit=80) for side, held in ((order.first, first), (order.second, second)) if held is None
        )
        known = next((held.shown for held in (first, second) if held is not None), "")
        also = f" Known is {known}." if known else ""
        return f"**Cannot tell** {quoted}: nothing with a time that was read is about {missing}.{also}", False
    if first.start.endswith("Z") != second.start.endswith("Z"):
        return f"**Cannot tell** {quoted}: the zone of one of the times is not stated. {_both(first, second)}.", False
    if first.start > second.end:
        found = "after"
    elif first.end < second.start:
        found = "before"
    else:
        return f"**Cannot tell** {quoted} in one word: the times overlap. {_both(first, second)}.", False
    lead = (
        f"**{found.capitalize()}:**" if order.asked == "either" else "**Yes:**" if order.asked == found else "**No:**"
    )
    names = f"{code_span(order.first, limit=80)} came {found} {code_span(order.second, limit=80)}"
    return f"{lead} {names}. {_both(first, second)}.", True


def _both(first: SideMoment, second: SideMoment) -> str:
    return f"{first.shown[:1].upper()}{first.shown[1:]}; {second.shown}"


def moment_of(side: str, findings: Sequence[AnyFinding]) -> SideMoment | None:
    """When what the words of a side describe happened, by findings, records or rows; None if nothing is about them."""
    return _of_findings(side, findings) or _of_records(side, findings) or _of_rows(side, findings)


def _of_rows(side: str, findings: Sequence[AnyFinding]) -> SideMoment | None:
    """By the rows of a host artefact that have all words of a side, of which one may name the kind of activity."""
    values, wanted = _values(side), stems(side)
    found: list[tuple[str, str]] = []
    for one in with_facts(of_kind(findings, kind_of(HostActivity)), HostActivity):
        for row in one.facts.rows:
            held = f"{one.facts.activity} {row.time_means} {row.what} {row.where} {row.detail}".lower()
            has_words = wanted <= stems(re.sub(r"[^a-z]+", " ", held))
            if row.time and has_words and all(value in held for value in values):
                found.append((row.time, row.what))
    if not found:
        return None
    found.sort()
    return SideMoment(
        found[0][0], found[-1][0], f"{code_span(defang_text(found[0][1]), limit=120)} {_when(found[0][0])}"
    )


def _of_findings(side: str, findings: Sequence[AnyFinding]) -> SideMoment | None:
    """By the findings that are about the words of a side, and hold all its values."""
    is_login = _LOGIN.search(side) is not None
    values, wanted = _values(side), stems(" ".join(_LOGIN.sub(" ", side).split()))
    wanted = frozenset(word for word in wanted if not any(word in value for value in values))
    kinds = of_kind(findings, *_LOGIN_KINDS) if is_login else findings
    best: list[AnyFinding] = []
    share = 0.0
    for number, one in enumerate(worst_first(kinds)):
        if number >= MAX_FINDINGS:
            break
        if one.kind in _NO_MOMENTS or _FOLLOWED.search(one.title) or not _start(one):
            continue
        text = _text(one)
        if not all(value in text for value in values):
            continue
        mine = len(wanted & stems(text)) / len(wanted) if wanted else 1.0
        if mine > share:
            best, share = [], mine
        if mine == share:
            best.append(one)
    if not best or share < MIN_SHARE:
        return None
    best.sort(key=_start)
    return SideMoment(_start(best[0]), max(map(_end, best)), _named(best[0]))


def _text(finding: AnyFinding) -> str:
    held = [str(value) for value in columns(finding).values()]
    return " ".join([finding.title, finding.why, *held, *(one.excerpt for one in finding.evidence[:3])]).lower()


def _start(finding: AnyFinding) -> str:
    return _first_of(finding, _STARTS)


def _end(finding: AnyFinding) -> str:
    return _first_of(finding, _ENDS)


def _first_of(finding: AnyFinding, names: Sequence[str]) -> str:
    held = columns(finding)
    return next((str(held[name]) for name in names if held.get(name)), "")


def _named(finding: AnyFinding) -> str:
    place = f", {place_words(finding.evidence[0])}" if finding.evidence else ""
    return f"{code_span(defang_text(finding.title), limit=120)} {_when(_start(finding))}{place}"


def _of_records(side: str, findings: Sequence[AnyFinding]) -> SideMoment | None:
    """By the records with the words of a side, if these have all its values and most of its words."""
    held = with_facts(of_kind(findings, kind_of(AskedRecords)), AskedRecords)
    for one in held:
        facts = one.facts
        if facts.clause != side or not facts.count or not facts.first or not facts.words:
            continue
        if len(facts.words) < MIN_SHARE * (len(facts.words) + len(facts.absent)) or any(
            map(_VALUE.search, facts.absent)
        ):
            continue
        words = ", ".join(code_span(defang_text(word), limit=80) for word in facts.words)
        place = f", {place_words(one.evidence[0])}" if one.evidence else ""
        shown = f"{facts.count:,} of {facts.total:,} records with {words} {_when(facts.first)}{place}"
        return SideMoment(facts.first, facts.last or facts.first, shown)
    return None


def _when(time: str) -> str:
    zone = "UTC" if time.endswith("Z") else "(zone not stated)"
    return f"at {time_words(time)} {zone}"
