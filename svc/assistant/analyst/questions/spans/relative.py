"""Questions for records after or before something: "who logged in after backup2 was created?". Pure.

The records are kept with their times; what they are compared with is found as an end of a time is.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import msgspec

from svc.assistant.analyst.questions.conditions import side_conditions, timed_conditions
from svc.assistant.analyst.questions.following import following_question
from svc.assistant.analyst.questions.orders import order_of
from svc.assistant.analyst.questions.spans.answers import (
    HeldRecords,
    SpanMoment,
    held_records,
    is_before,
    moment_of_side,
    shown_moment,
)
from svc.assistant.analyst.questions.spans.reading import SpanSide, lacks_an_end, span_of
from svc.assistant.analyst.questions.time_words import window_of
from svc.assistant.findings import AnyFinding
from svc.assistant.skills.answer_parts import place_words
from svc.assistant.skills.asked.findings import RecordConditions
from svc.assistant.skills.asked.moments import KEPT
from svc.untrusted.defang import defang_text
from svc.untrusted.markup import code_span, plural

MAX_CLAUSE_CHARS = 300
SHOWN = 8
SHOWN_RECORDS = 4
EXCERPT_CHARS = 160
_OPEN = re.compile(r"\A\W*(?:(?:and|so|then) )*(?:who\w*|which|what|how many|list|show|any\w*)\b", re.IGNORECASE)
_KEYWORD = re.compile(
    r" (?:(?:right|directly|just|immediately|shortly) )?"
    r"(?:(?P<after>after|since|once|following)|(?P<before>before|prior to))"
    r" (?!that\b|this\b|it\b|which\b|what\b)(?P<side>[^?]{3,120})",
    re.IGNORECASE,
)


_FAILURES = re.compile(
    r"\W*(?:[a-z]{2,12} ){0,3}(?:failures?|fail(?:ed|ing)(?: [a-z-]{2,12})?|(?:failed )?(?:attempts?|tries))\W*",
    re.IGNORECASE,
)
"""Failures in general, which a report on logins relates to the accepted ones by itself."""


class RelativeQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """The records that are asked for, and what they come after or before."""

    conditions: RecordConditions
    side: SpanSide
    is_after: bool


def relative_of(clause: str) -> RelativeQuestion | None:
    """What a clause asks for after or before something else; None if it does not, or if another way answers it."""
    if len(clause) > MAX_CLAUSE_CHARS or _OPEN.match(clause) is None:
        return None
    if any(read(clause) for read in (window_of, order_of, span_of, lacks_an_end, following_question)):
        return None
    match = _KEYWORD.search(clause)
    conditions = timed_conditions(clause[: match.start()]) if match is not None else None
    if match is None or conditions is None or _FAILURES.fullmatch(match["side"]):
        return None
    side = SpanSide(" ".join(match["side"].split()).strip(" ,.!"), side_conditions(match["side"]))
    return RelativeQuestion(conditions=conditions, side=side, is_after=match["after"] is not None)


def relative_answer(clause: str, findings: Sequence[AnyFinding]) -> tuple[str, bool] | None:
    """The sentence about the records after or before something; None if a clause does not ask for them."""
    asked, quoted = relative_of(clause), code_span(clause, limit=160)
    if asked is None:
        return None
    main = SpanSide(clause, asked.conditions)
    held = list(held_records(main, findings))
    if not held:
        return None
    moment = moment_of_side(asked.side, findings, after="")
    if moment is None:
        side = code_span(asked.side.text, limit=80)
        return f"**Cannot tell** {quoted}: nothing with a time that was read is about {side}.", False
    if moment.time.endswith("Z") is not held[0][0].endswith("Z"):
        return f"**Cannot tell** {quoted}: the zone of one of the times is not stated.", False
    order = "after" if asked.is_after else "before"
    kept = [
        one for one in held if (is_before(moment.time, one[0]) if asked.is_after else is_before(one[0], moment.time))
    ]
    is_cut = len(held) >= 2 * KEPT
    if not kept:
        return f"**None** {order} {shown_moment(moment)}; {_not_of_that(held)}.", not is_cut
    return _listed(kept, moment, order, is_cut=is_cut), not is_cut


def _listed(kept: HeldRecords, moment: SpanMoment, order: str, *, is_cut: bool) -> str:
    labels = Counter(label for _, label, _ in kept if label)
    values = "; ".join(
        f"{code_span(defang_text(value), limit=80)}{f' ({count:,})' if count > 1 else ''}"
        for value, count in labels.most_common(SHOWN)
    )
    more = f" and {len(labels) - SHOWN:,} more" if len(labels) > SHOWN else ""
    records = "; ".join(
        f"{code_span(defang_text(one.excerpt), limit=EXCERPT_CHARS)} ({place_words(one)})"
        for _, _, one in kept[:SHOWN_RECORDS]
    )
    rest = f" and {len(kept) - SHOWN_RECORDS:,} more" if len(kept) > SHOWN_RECORDS else ""
    lead = f"**{values}{more}**: {plural(len(kept), 'record')}" if values else f"**{plural(len(kept), 'record')}**"
    cut = f" Only the {KEPT} earliest and the {KEPT} latest records were compared." if is_cut else ""
    return f"{lead} {order} {shown_moment(moment)}. {records}{rest}.{cut}"


def _not_of_that(held: HeldRecords) -> str:
    return f"{plural(len(held), 'such record is', 'such records are')} on the other side of it"
