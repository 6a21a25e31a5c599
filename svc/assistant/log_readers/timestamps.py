"""Parse the time at the start of a log line: syslog with and without a year, ISO 8601, journalctl. Reads no clock.

A syslog timestamp (RFC 3164) has no year: years are counted from the log's order, so that December precedes January.
A time is shown as in the log, in the log's own time zone; without a year as ISO 8601's ``--11-20T03:12:45``.
"""

from __future__ import annotations

import re
from datetime import date
from itertools import accumulate
from typing import NamedTuple

MONTH_NAMES = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
MONTHS = {name: number for number, name in enumerate(MONTH_NAMES, start=1)}
_DAYS_BEFORE = tuple(accumulate((0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30)))  # of a leap year, by month - 1
_LONGEST_YEAR = 366
_HALF_YEAR = 183  # days: a step back by more than this is a new year, not a late line
SEARCH_CHARS = 120  # where a timestamp may begin: after a file name printed by grep

_TIME = r"(?P<h>[01]\d|2[0-3]):(?P<m>[0-5]\d):(?P<s>[0-5]\d|60)(?P<fraction>[.,]\d{1,9})?"
_BSD = re.compile(
    rf"(?P<month>[A-Z][a-z]{{2}}) {{1,2}}(?P<day>\d{{1,2}}) (?:(?P<year>\d{{4}}) )?{_TIME}(?: (?P<late>\d{{4}})(?= ))?"
)
_ISO = re.compile(
    rf"(?P<year>\d{{4}})-(?P<month>\d\d)-(?P<day>\d\d)[T ]{_TIME}(?: ?(?P<zone>Z\b|UTC\b|[+-]\d\d:?\d\d))?"
)
_ZONE_NAME = re.compile(r" ([A-Z]{3,5})(?= )")  # after a timestamp with a weekday: journalctl's short-full
_BSD_CHARS = 15  # of "Nov 20 03:12:45"
_CLOCK_AT = 7  # where the clock begins there
_MINUTES = {f"{minute // 60:02}:{minute % 60:02}:": minute * 60 for minute in range(1_440)}
_SECONDS = {f"{second:02}": second for second in range(61)}
_LEAD = re.compile(r"\s*(?:<\d{1,3}>)?(?:1 )?((?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) )?")


class Stamp(NamedTuple):
    """A time: ``seconds`` orders the stamps of one log, ``text`` is shown, ``of_day`` is seconds since midnight."""

    seconds: float
    text: str
    of_day: int


class Stamps:
    """Reads the timestamps of one log in order; records whether they have years and which time zones they state."""

    def __init__(self) -> None:
        self.zones: set[str] = set()
        self.lacks_year: bool = False
        self._year = 0
        self._latest_day = -1  # in the year, of the last line without a year
        self._latest_days = 0  # since the start of the log's first year
        self._latest_text = ""
        self._latest_stamp: Stamp | None = None
        self._yearless: dict[str, tuple[int, str]] = {}
        self._days: dict[tuple[str | None, str, str], tuple[int, str] | None] = {}

    def read(self, line: str) -> tuple[Stamp | None, int]:
        """Return the timestamp of ``line`` and where it ends; ``(None, 0)`` if it has none that can be a time."""
        if line[_BSD_CHARS : _BSD_CHARS + 1] == " " and not line[_BSD_CHARS + 1 : _BSD_CHARS + 2].isdecimal():
            if line[:_BSD_CHARS] == self._latest_text:  # many lines of a log are of the same second
                return self._latest_stamp, _BSD_CHARS
            if (known := self._known(line)) is not None:
                return known, _BSD_CHARS
        self._latest_text = ""
        lead = _LEAD.match(line)
        start = lead.end() if lead else 0
        found = _BSD.match(line, start) or _ISO.match(line, start)
        if found is None:
            found = _ISO.search(line, 0, SEARCH_CHARS) or _BSD.search(line, 0, SEARCH_CHARS)
        if found is None:
            return None, 0
        stamp = self._stamp(found)
        if stamp is None:
            return None, 0
        if found.re is _BSD and found.span() == (0, _BSD_CHARS):
            self._latest_text, self._latest_stamp = found[0], stamp
            self._learn(found)
        named = _ZONE_NAME.match(line, found.end()) if lead and lead[1] and found.re is _ISO else None
        if named is None:
            return stamp, found.end()
        self.zones.add(named[1])
        return stamp, named.end()

    def _known(self, line: str) -> Stamp | None:
        """A stamp like "Nov 20 03:12:45" of a day that was read before, which needs no pattern."""
        day = self._yearless.get(line[:_CLOCK_AT])
        if day is None:
            return None
        minutes, seconds = _MINUTES.get(line[_CLOCK_AT:13]), _SECONDS.get(line[13:_BSD_CHARS])
        if minutes is None or seconds is None:
            return None
        number, text = day
        days = self._latest_days if number == self._latest_day else self._with_year(number)
        of_day = minutes + seconds
        self._latest_text = line[:_BSD_CHARS]
        self._latest_stamp = Stamp(days * 86_400.0 + of_day, f"{text}T{line[_CLOCK_AT:_BSD_CHARS]}", of_day)
        return self._latest_stamp

    def _learn(self, found: re.Match[str]) -> None:
        """Remember the day of a stamp like "Nov 20 03:12:45"."""
        day = self._days[None, found["month"], found["day"]]
        if day is not None:
            if len(self._yearless) > _LONGEST_YEAR:
                self._yearless.clear()
            self._yearless[found[0][:_CLOCK_AT]] = day

    def _stamp(self, found: re.Match[str]) -> Stamp | None:
        month = found["month"]
        year = found["year"] or (found["late"] if found.re is _BSD else None)
        key = (year, month, found["day"])
        if key not in self._days:
            if len(self._days) > _LONGEST_YEAR * 20:  # a log with forged timestamps may have any number of days
                self._days.clear()
            self._days[key] = _day(*key)
        day = self._days[key]
        if day is None:
            return None
        number, text = day
        if year is None:
            number = self._with_year(number)
        of_day = int(found["h"]) * 3600 + int(found["m"]) * 60 + int(found["s"])
        fraction = found["fraction"] or ""
        seconds = number * 86_400 + of_day + (float(f"0.{fraction[1:]}") if fraction else 0.0)
        zone = (found["zone"] or "") if found.re is _ISO else ""
        if zone:
            self.zones.add(zone)
            seconds -= _offset_seconds(zone)
        shown_zone = "+00:00" if zone in ("Z", "UTC") else zone
        return Stamp(
            seconds, f"{text}T{found['h']}:{found['m']}:{found['s']}{fraction.replace(',', '.')}{shown_zone}", of_day
        )

    def _with_year(self, day: int) -> int:
        """Return the days since the start of the log's first year, whichever year that is."""
        self.lacks_year = True
        if self._latest_day >= 0:
            if self._latest_day - day > _HALF_YEAR:
                self._year += 1
            elif day - self._latest_day > _HALF_YEAR:
                self._year -= 1
        self._latest_day, self._latest_days = day, self._year * _LONGEST_YEAR + day
        return self._latest_days


def _day(year: str | None, month: str, day: str) -> tuple[int, str] | None:
    """Return a number that orders days, and the day in ISO 8601; None if there is no such day."""
    number = MONTHS.get(month) or (int(month) if month.isdigit() else 0)
    try:
        known = date(int(year) if year else 2000, number, int(day))
    except ValueError:
        return None
    if year is None:
        return _DAYS_BEFORE[number - 1] + known.day, f"--{number:02}-{known.day:02}"
    return known.toordinal(), known.isoformat()


def _offset_seconds(zone: str) -> int:
    if zone in ("Z", "UTC"):
        return 0
    sign = -1 if zone[0] == "-" else 1
    return sign * (int(zone[1:3]) * 3600 + int(zone[-2:]) * 60)


def second_of_day(text: str) -> int | None:
    """Return ``"03:00"`` or ``"03:00:30"`` as seconds since midnight; None if it is not a time of day."""
    found = re.fullmatch(r"([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?", text.strip())
    return None if found is None else int(found[1]) * 3600 + int(found[2]) * 60 + int(found[3] or 0)
