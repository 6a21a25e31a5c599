"""Read a question for the time between two things: "how long between the first failure and the login?". Pure."""

from __future__ import annotations

import re

import msgspec

from svc.assistant.analyst.questions.conditions import side_conditions
from svc.assistant.analyst.questions.states import is_polar
from svc.assistant.skills.asked.findings import RecordConditions

MAX_CLAUSE_CHARS = 300
_UNIT = r"(?:seconds?|secs?|minutes?|mins?|hours?|days?)"
_HEAD = (
    rf"\b(?:how (?:long|much time|many {_UNIT})|what(?:'s| is| was) the (?:time|gap|delay|interval)|time|{_UNIT}|gap"
    r"|delay|interval|time (?:span|gap|difference|delta)|difference|dwell time)\b"
)
_AUXILIARY = r"(?:was|were|did|had|has|is|does|do)"
_BETWEEN = re.compile(
    rf"{_HEAD}[^?;]{{0,40}}?\b(?:in )?between\b (?P<first>[^?;]{{2,120}}?),? (?P<and>and) (?P<second>[^?;]{{2,120}})",
    re.IGNORECASE,
)
_FROM_TO = re.compile(
    rf"{_HEAD}[^?;]{{0,40}}?\b(?:from|since)\b (?P<first>[^?;]{{2,120}}?) (?:up to|to|until|till?)"
    r" (?P<second>[^?;]{2,120})",
    re.IGNORECASE,
)
_AFTER = re.compile(
    rf"{_HEAD} (?P<order>after|before) (?P<first>[^?;]{{2,120}}) {_AUXILIARY} (?P<second>[^?;]{{2,120}})", re.IGNORECASE
)
_TOOK = re.compile(
    rf"\bhow (?:long|many {_UNIT}) did it take (?P<second>[^?;]{{2,120}}?) (?:after|from|since)"
    r" (?P<first>[^?;]{2,120})",
    re.IGNORECASE,
)
_ONE_SIDED = re.compile(rf"\A\W*(?:and )?{_HEAD} (?P<order>after|before|until|till)\b", re.IGNORECASE)
_WITHIN = re.compile(
    rf"\b(?:within|in (?:less|under) than|less than) (?P<number>\d{{1,6}}) ?(?P<unit>{_UNIT})"
    r" (?:of|after|from|before) (?P<second>[^?;]{2,120})",
    re.IGNORECASE,
)
_LEAD = re.compile(rf"\A\W*(?:(?:and|so|then) )*{_AUXILIARY} ", re.IGNORECASE)
_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}


class SpanSide(msgspec.Struct, frozen=True):
    """One end of the time that is asked for: its words, and the records that are meant."""

    text: str
    conditions: RecordConditions


class SpanQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """The two ends in the order of the question.

    ``is_reversed``: the second is expected to come before the first ("how long before X was Y"). ``limit``: the most
    seconds that lie between them for a "yes"; negative if the time itself is asked for.
    """

    first: SpanSide
    second: SpanSide
    is_reversed: bool = False
    limit: float = -1.0


def span_of(clause: str) -> SpanQuestion | None:
    """The time that a clause asks for; None if it asks for none, or names only one end of it."""
    if len(clause) > MAX_CLAUSE_CHARS:
        return None
    if is_polar(clause):
        return _within(clause)
    for pattern in (_BETWEEN, _FROM_TO, _TOOK, _AFTER):
        match = pattern.search(clause)
        if match is not None and (pattern is not _AFTER or " " in match["second"].strip(" .!")):
            first, second = _sides(match["first"], match["second"])
            is_reversed = pattern is _AFTER and match["order"].lower() == "before"
            return SpanQuestion(first=first, second=second, is_reversed=is_reversed)
    return None


def lacks_an_end(clause: str) -> bool:
    """Whether a clause asks for the time after or before one thing, and does not say up to which other."""
    return _ONE_SIDED.match(clause) is not None and span_of(clause) is None


def joining_and(text: str) -> list[tuple[int, int]]:
    """Where the words stand that join the two ends of a time, and do not begin another question."""
    return [match.span("and") for match in _BETWEEN.finditer(text)]


def _within(clause: str) -> SpanQuestion | None:
    match = _WITHIN.search(clause)
    if match is None:
        return None
    first, second = _sides(_LEAD.sub("", clause[: match.start()]), match["second"])
    limit = float(match["number"]) * _SECONDS[match["unit"][0].lower()]
    return SpanQuestion(first=first, second=second, limit=limit) if first.text else None


def _sides(first: str, second: str) -> tuple[SpanSide, SpanSide]:
    """Both ends, with what one leaves to the other: "between her login and that of bob", "the first and the last"."""
    sides = [SpanSide(" ".join(text.split()).strip(" ,.!"), side_conditions(text)) for text in (first, second)]
    for here, there in ((0, 1), (1, 0)):
        own, other = sides[here].conditions, sides[there].conditions
        if not (own.logins or own.outcome) and (not own.words or _SAME.match(sides[here].text)):
            own = msgspec.structs.replace(own, logins=other.logins, outcome=other.outcome)
        is_of_both = own.logins and other.logins
        if not own.words and other.words and (is_of_both or _PRONOUN.search(sides[here].text)):
            own = msgspec.structs.replace(own, words=other.words)
        sides[here] = SpanSide(sides[here].text, own)
    return sides[0], sides[1]


_SAME = re.compile(r"\W*(?:that|those|the (?:one|first|last)|one)\b", re.IGNORECASE)
_PRONOUN = re.compile(r"\b(?:he|she|they|his|her|their|it|its)\b", re.IGNORECASE)
