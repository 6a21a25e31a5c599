"""The part of each day or week that a question is about: the night, the weekend, outside office hours. Pure."""

from __future__ import annotations

import re
from datetime import date

from svc.assistant.log_readers.timestamps import second_of_day

OPTIONS = frozenset({"after", "before", "days", "outside"})
"""The options of a tool that reads a log for a part of the time."""
WITHOUT_DAY = "it states no year, so the day of the week is not known; lines of all days are counted"
_NAMES = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_CLOCK = re.compile(r"(?<!\d)\d\d:\d\d:\d\d")


class TimeWindow:
    """A time of day, on some days of the week or on all of them; ``has`` says whether a moment is in it.

    Args:
        after: The first time of day in it, ``22:00:00``; "" for none.
        before: The time of day at which it ends; earlier than ``after`` if it goes over midnight.
        days: The days of the week as digits, 0 for Monday; "" for all.
        outside: ``yes`` for all other times.
    """

    def __init__(self, after: str = "", before: str = "", days: str = "", outside: str = "") -> None:
        self._start, self._stop = second_of_day(after), second_of_day(before)
        self._days = frozenset(int(digit) for digit in days if digit in "0123456")
        self._is_outside = outside == "yes"
        self._lacks_day = False
        self._clock = after[:5], before[:5]

    @property
    def is_whole(self) -> bool:
        """Whether it leaves nothing out."""
        return self._start is None and self._stop is None and not self._days

    @property
    def words(self) -> str:
        """What is counted, in words; without the days of the week if the log does not let them be known."""
        days = [] if self._lacks_day else sorted(self._days)
        return _words(*self._clock, days, is_outside=self._is_outside)

    @property
    def lacks_day(self) -> bool:
        """Whether a moment had no date with a year although days of the week were asked for."""
        return self._lacks_day

    def has(self, time: str, of_day: int | None = None) -> bool:
        """Whether a time in ISO 8601 is in the window; ``of_day`` is its second of the day, if that is known."""
        if self.is_whole:
            return True
        if of_day is None:
            clock = _CLOCK.search(time)
            of_day = second_of_day(clock[0]) if clock else None
        if of_day is None:
            return False
        is_in = self._has_clock(of_day)
        if self._days:
            weekday = _weekday(time)
            self._lacks_day = self._lacks_day or weekday is None
            is_in = is_in and (weekday is None or weekday in self._days)
        return is_in is not self._is_outside

    def _has_clock(self, of_day: int) -> bool:
        start, stop = self._start, self._stop
        if start is not None and stop is not None and start > stop:  # over midnight
            return of_day >= start or of_day < stop
        return (start is None or of_day >= start) and (stop is None or of_day < stop)


def _weekday(time: str) -> int | None:
    found = _DATE.match(time)
    try:
        return date.fromisoformat(found[0]).weekday() if found else None
    except ValueError:
        return None


def _words(after: str, before: str, days: list[int], *, is_outside: bool) -> str:
    """``from 22:00 to 06:00``, ``on Saturday and Sunday``, ``outside 08:00 to 18:00 on Monday to Friday``."""
    clock = f"from {after} to {before}" if after and before else f"from {after}" if after else ""
    clock = clock or (f"before {before}" if before else "")
    if days and days == list(range(days[0], days[-1] + 1)) and len(days) > 2:
        named = f"on {_NAMES[days[0]]} to {_NAMES[days[-1]]}"
    else:
        named = f"on {' and '.join(_NAMES[day] for day in days)}" if days else ""
    words = f"{clock} {named}".strip()
    return f"outside {words.removeprefix('from ')}" if is_outside and words else words
