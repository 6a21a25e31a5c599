"""Words for a part of the day or of the week in a question: "after 3 am", "at night", "outside office hours". Pure.

What a word means is ours and is stated in the answer: night is 22:00 to 06:00, office hours are 08:00 to 18:00 on
Monday to Friday, all in the log's own time.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from svc.assistant.log_readers.time_window import TimeWindow

_CLOCK = r"(\d{1,2})(?::(\d\d))?(?::(\d\d))?\s*(am|pm|h|o'clock)?"
_ENDS = r"(?=\s*(?:\Z|[?.!,;]|(?:in the|at|on|hours|hrs)\b))"  # "between 2 and 4", not "between 2 and 4 failures"
_BETWEEN = re.compile(rf"\b(?:between|from) {_CLOCK} ?(?:and|to|until|till|-) ?{_CLOCK}", re.IGNORECASE)
_BARE_BETWEEN = re.compile(
    rf"\b(?:between|from) (\d{{1,2}}) ?(?:and|to|until|till|-) ?(\d{{1,2}}){_ENDS}", re.IGNORECASE
)
_AFTER = re.compile(rf"\b(?:after|since|from) {_CLOCK}(?![\d./])", re.IGNORECASE)
_BEFORE = re.compile(rf"\b(?:before|until|till) {_CLOCK}(?![\d./])", re.IGNORECASE)
_OFFICE = r"(?:office|business|working|work|regular|normal|usual|core)"
_OFFICE_HOURS = {"after": "08:00:00", "before": "18:00:00", "days": "01234"}


def _part(words: str, after: str, before: str = "") -> tuple[re.Pattern[str], dict[str, str]]:
    options = {"after": f"{after}:00", "before": f"{before}:00"} if before else {"after": f"{after}:00"}
    return re.compile(words, re.IGNORECASE), options


_OUTSIDE = re.compile(
    r"\b(?:outside|out|off|after|beyond|non)[- ]?(?:of[- ])?(?:the |our |my )?"
    rf"(?:{_OFFICE}[- ]|opening )?(?:{_OFFICE}[- ])?hours\b",
    re.IGNORECASE,
)
_INSIDE = re.compile(
    rf"\b(?:during|in|within|at|inside) (?:the |our |my )?(?:{_OFFICE}[- ]){{1,2}}(?:hours|time)\b"
    rf"|\b{_OFFICE}[- ]hours\b",
    re.IGNORECASE,
)
_PARTS = (
    (_OUTSIDE, _OFFICE_HOURS | {"outside": "yes"}),
    (_INSIDE, _OFFICE_HOURS),
    _part(r"\b(?:around|about|near|at) midnight\b", "23:00", "01:00"),
    _part(r"\b(?:after|past|since) midnight\b", "00:00", "06:00"),
    _part(r"\bbefore midnight\b", "18:00"),
    _part(r"\b(?:small|early|wee) (?:morning )?hours\b|\bearly (?:in the )?morning\b", "00:00", "06:00"),
    _part(
        r"\b(?:at|by|in the|during(?: the)?|over|late|last|each|every|that|the|of the) night(?:-?time)?s?\b"
        r"|\bovernight\b|\bnight-?time\b|\bnightly\b|\bnocturnal\b|\bnights\b"
        r"|\bnight (?:log|sign|activit|access|hours)",
        "22:00",
        "06:00",
    ),
    _part(r"(?<!good )\bmornings?\b", "06:00", "12:00"),
    _part(r"\b(?:around|at) (?:noon|midday)\b|\blunch ?-?(?:time|break|hour)\b", "11:00", "13:00"),
    _part(r"(?<!good )\bafternoons?\b", "12:00", "18:00"),
    _part(r"(?<!good )\bevenings?\b", "18:00", "22:00"),
)
"""In this order; the first that a question has counts."""
_LATE = re.compile(r"\bin the (?:afternoon|evening)\b", re.IGNORECASE)
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_DAY = re.compile(
    rf"\b({'|'.join(_DAYS)})s?\b|\b(week-?ends?)\b|\b(week-?days?|working days?|work-?days?)\b", re.IGNORECASE
)


def window_of(question: str) -> dict[str, str]:
    """The options of a tool for the part of the time that a question is about; empty if it is about all of it.

    ``after`` and ``before`` are ``HH:MM:SS``, ``days`` digits (0 for Monday), ``outside`` is ``yes`` for the rest.
    """
    options = _clocks(question)
    if not options:
        options = next((dict(found) for words, found in _PARTS if words.search(question)), {})
    if days := _days(question):
        options["days"] = days
    return options


def says_when(options: dict[str, str]) -> str:
    """The part of the time in words: ``from 22:00 to 06:00``."""
    return TimeWindow(**options).words


def without_time(question: str) -> str:
    """A question without its words for a part of the time."""
    patterns = (_BETWEEN, _BARE_BETWEEN, _AFTER, _BEFORE, *(words for words, _ in _PARTS), _DAY)
    for pattern in patterns:
        question = pattern.sub(" ", question)
    return question


def between_times(question: str) -> list[tuple[int, int]]:
    """Begin and end of each part of a question that names two times of day: "between 2 and 3 am"."""
    return [found.span() for pattern in (_BETWEEN, _BARE_BETWEEN) for found in pattern.finditer(question)]


def _days(question: str) -> str:
    found: set[int] = set()
    for match in _DAY.finditer(question):
        if match[1]:
            found.add(_DAYS.index(match[1].lower()))
        else:
            found.update((5, 6) if match[2] else range(5))
    return "".join(map(str, sorted(found)))


def _clocks(question: str) -> dict[str, str]:
    """The times of day that are stated as numbers."""
    half = "pm" if _LATE.search(question) else ""
    if (bare := _BARE_BETWEEN.search(question)) is not None:
        pair = {
            name: _clock((hour, "00", None, half))
            for name, hour in zip(("after", "before"), bare.groups(), strict=True)
        }
        return pair if all(pair.values()) else {}
    if (between := _BETWEEN.search(question)) is not None:
        groups = between.groups()
        first = groups[:4] if groups[1] or groups[3] else (groups[0], None, None, groups[7])  # "between 2 and 4 pm"
        pair = {"after": _clock(first), "before": _clock(groups[4:])}
    else:
        after, before = _AFTER.search(question), _BEFORE.search(question)
        pair = {"after": _clock(after.groups()) if after else "", "before": _clock(before.groups()) if before else ""}
    return {name: clock for name, clock in pair.items() if clock}


def _clock(groups: Sequence[str | None]) -> str:
    """``HH:MM:SS``, or "" if the words give no time of day ("after 5 failures")."""
    hour, minute, second, half = int(groups[0] or 0), groups[1], groups[2], (groups[3] or "").lower()
    if minute is None and not half:
        return ""
    if half == "pm" and hour < 12:
        hour += 12
    if half == "am" and hour == 12:
        hour = 0
    return f"{hour:02}:{minute or '00'}:{second or '00'}" if hour < 24 and int(minute or 0) < 60 else ""
