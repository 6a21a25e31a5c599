"""Parse the times of exports: ISO 8601, numbers since an epoch, dates of many orders, syslog and Apache stamps."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache
from typing import Protocol
from zoneinfo import ZoneInfo

from svc.assistant.log_readers.timestamps import MONTHS, Stamps

MAX_CHARS = 60
_EPOCH_TIME = datetime(1970, 1, 1, tzinfo=UTC)
_ISO = re.compile(
    r"(\d{4})[-/](\d\d?)[-/](\d\d?)[T ,]{1,2}(\d\d?):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)? ?(Z|UTC|GMT|[+-]\d\d:?\d\d)?"
)
_DAY_FIRST = re.compile(
    r"(\d\d?)[/.-](\d\d?)[/.-](\d{4}|\d\d),? +(\d\d?):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)? ?([AaPp][Mm])? ?"
    r"(Z|UTC|GMT|[+-]\d\d:?\d\d)?"
)
_NAMED = re.compile(
    r"(?:[A-Za-z]{3,9},? )?([A-Z][a-z]{2})[a-z]* (\d\d?),? (\d{4})(?: @|,)? "
    r"(\d\d?):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)? ?"
    r"([AaPp][Mm])? ?(Z|UTC|GMT|[+-]\d\d:?\d\d)?"
)
_CTIME = re.compile(r"(?:[A-Z][a-z]{2} )?([A-Z][a-z]{2}) +(\d\d?) (\d\d):(\d\d):(\d\d) (?:([A-Z]{3}) )?(\d{4})")
_CLF = re.compile(r"\[?(\d\d)/([A-Z][a-z]{2})/(\d{4}):(\d\d):(\d\d):(\d\d) ([+-]\d\d:?\d\d)\]?")
_NAMED_DAY = re.compile(
    r"(?:[A-Z][a-z]{2}, )?(\d\d?)[- /]([A-Z][a-z]{2})[- /](\d{4})[ ,T:]{1,2}"
    r"(\d\d?):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)? ?(Z|UTC|GMT|[+-]\d\d:?\d\d)?"
)
_YEAR_DIGITS = 4  # a year of two is of this century
_NUMBER = re.compile(r"\d{9,19}(?:\.\d{1,9})?")
_ANY_NUMBER = re.compile(r"\d{1,20}(?:\.\d{1,9})?")
_OFFSET = re.compile(r"(?:UTC|GMT)?([+-])(\d{1,2}):?(\d\d)?")
_DAYS = re.compile(r"(\d{4})-(\d\d)-(\d\d)")
_SCALES = ((11, 1.0), (14, 1e3), (17, 1e6), (20, 1e9))  # digits before the point, and units in a second
_UNITS = {
    "seconds": (1970, 1.0), "milliseconds": (1970, 1e3), "microseconds": (1970, 1e6), "nanoseconds": (1970, 1e9),
    "filetime": (1601, 1e7), "webkit": (1601, 1e6), "cocoa": (2001, 1.0),
}  # fmt: skip
"""By unit: the year at whose beginning it counts zero, and units in a second."""


class Clock(Protocol):
    """Reads the cells of a column of times."""

    def __call__(self, cell: str, zone: str = "") -> str:
        """Return a cell as ISO 8601: in UTC with ``Z``, or without a zone if neither it nor ``zone`` states one."""


def clock(sample: Iterable[str], *, unit: str = "") -> Clock:
    """Return how to read a column of times.

    Args:
        sample: Some of its values; they decide whether 11/12/2026 is in November or December.
        unit: The unit of numbers, a key of ``_UNITS``; "" for what their size tells.
    """
    is_day_first = _is_day_first(sample)
    stamps = Stamps()

    @lru_cache(maxsize=8_192)
    def read(cell: str, zone: str = "") -> str:
        text = cell.strip()[:MAX_CHARS]
        if unit and _ANY_NUMBER.fullmatch(text):
            return _since(*_UNITS[unit], text)
        is_utc = zone == "UTC"
        found = _read(text, stamps, is_utc=is_utc, is_day_first=is_day_first)
        return _in_utc(found, zone) if zone and not is_utc and found and not found.endswith("Z") else found

    return read


@lru_cache(maxsize=256)
def zone_named(text: str) -> ZoneInfo | timedelta | None:
    """Return the zone that a text names: an offset (``+0100``, ``UTC+2``) or a place (``Europe/Berlin``)."""
    name = text.strip()[:MAX_CHARS]
    if name in ("Z", "UTC", "GMT"):
        return timedelta()
    if (found := _OFFSET.fullmatch(name)) is not None:
        minutes = int(found[2]) * 60 + int(found[3] or 0)
        return timedelta(minutes=-minutes if found[1] == "-" else minutes) if minutes < 24 * 60 else None
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # not known to this system, or no name
        return None


def _in_utc(time: str, zone: str) -> str:
    """Return a time without a zone in UTC; as it is if its zone is not known."""
    known = zone_named(zone)
    try:
        moment = datetime.fromisoformat(time)
        if known is None or len(time) <= len("2026-11-22"):
            return time
        offset = known if isinstance(known, timedelta) else moment.replace(tzinfo=known).utcoffset() or timedelta()
        return (moment - offset).isoformat(timespec="milliseconds") + "Z"
    except (ValueError, OverflowError):  # without a year, or before year 1
        return time


def looks_like_time(cell: str) -> bool:
    """Return whether a cell is a time with a date."""
    if _DAYS.match(cell) is not None:
        return True
    text = cell.strip()[:MAX_CHARS]
    return any(_read(text, Stamps(), is_utc=True, is_day_first=is_day_first) for is_day_first in (False, True))


def _is_day_first(sample: Iterable[str]) -> bool:
    """Return whether the first number is the day: if one is over 12, or if dots separate them."""
    found = [match for value in sample if (match := _DAY_FIRST.match(value.strip()[:MAX_CHARS])) is not None]
    if any(int(match[1]) > 12 for match in found):
        return True
    if any(int(match[2]) > 12 for match in found):
        return False
    return any("." in match[0][:3] for match in found)


def _read(cell: str, stamps: Stamps, *, is_utc: bool, is_day_first: bool) -> str:
    if (found := _ISO.match(cell)) is not None:
        year, month, day, hour, minute, second, fraction, zone = found.groups()
        return _stamp(year, month, day, hour, minute, second, fraction, zone or ("Z" if is_utc else ""))
    if _NUMBER.fullmatch(cell):
        return _epoch(cell)
    if (found := _DAY_FIRST.match(cell)) is not None:
        one, two, year, hour, minute, second, fraction, half, zone = found.groups()
        day, month = (one, two) if is_day_first else (two, one)
        year = year if len(year) == _YEAR_DIGITS else f"20{year}"
        return _stamp(year, month, day, _hour(hour, half), minute, second, fraction, zone or ("Z" if is_utc else ""))
    if (found := _NAMED.match(cell)) is not None and found[1] in MONTHS:
        name, day, year, hour, minute, second, fraction, half, zone = found.groups()
        hour = _hour(hour, half)
        return _stamp(year, str(MONTHS[name]), day, hour, minute, second, fraction, zone or ("Z" if is_utc else ""))
    if (found := _CLF.match(cell)) is not None and found[2] in MONTHS:
        day, name, year, hour, minute, second, zone = found.groups()
        return _stamp(year, str(MONTHS[name]), day, hour, minute, second, None, zone)
    if (found := _NAMED_DAY.match(cell)) is not None and found[2] in MONTHS:
        day, name, year, hour, minute, second, fraction, zone = found.groups()
        return _stamp(year, str(MONTHS[name]), day, hour, minute, second, fraction, zone or ("Z" if is_utc else ""))
    if (text := _ctime(cell, is_utc=is_utc)) is not None:
        return text
    if (found := _DAYS.fullmatch(cell)) is not None:
        return cell if _stamp(found[1], found[2], found[3], "0", "0", "0", None, "") else ""
    stamp, _ = stamps.read(cell)
    return stamp.text if stamp is not None else ""


def _ctime(cell: str, *, is_utc: bool) -> str | None:
    """Read ``Fri Nov 20 02:00:00 2026``; None if it is in another form."""
    found = _CTIME.match(cell)
    if found is None or found[1] not in MONTHS:
        return None
    name, day, hour, minute, second, zone, year = found.groups()
    zone = zone if zone in ("UTC", "GMT") else "Z" if is_utc else ""
    return _stamp(year, str(MONTHS[name]), day, hour, minute, second, None, zone)


def _hour(hour: str, half: str | None) -> str:
    """Return an hour of the 12-hour clock as one of 24."""
    return hour if not half else str(int(hour) % 12 + (12 if half.lower() == "pm" else 0))


def _epoch(cell: str) -> str:
    whole = len(cell.partition(".")[0])
    for digits, scale in _SCALES:
        if whole < digits:
            return _since(1970, scale, cell)
    return ""


@cache
def _start_of(year: int) -> datetime:
    return _EPOCH_TIME.replace(year=year)


def _since(year: int, scale: float, cell: str) -> str:
    seconds = float(cell) / scale
    whole = int(seconds)
    microseconds = round((seconds - whole) * 1_000_000)  # as timedelta rounds
    if microseconds == 1_000_000:
        whole, microseconds = whole + 1, 0
    minute = _minute(year, whole // 60)
    return f"{minute}{whole % 60:02}.{microseconds // 1_000:03}Z" if minute else ""


@lru_cache(maxsize=4_096)  # the records of a log are mostly of few minutes
def _minute(year: int, minutes: int) -> str:
    """Return the minute so long after the beginning of a year, as ``2026-11-22T03:12:``; "" if it is no likely time."""
    try:
        moment = _start_of(year) + timedelta(minutes=minutes)
    except OverflowError:
        return ""
    return f"{moment:%Y-%m-%dT%H:%M:}" if 1980 < moment.year < 2100 else ""


def _stamp(
    year: str, month: str, day: str, hour: str, minute: str, second: str | None, fraction: str | None, zone: str
) -> str:
    try:
        moment = datetime(  # noqa: DTZ001 - the zone is added below, if there is one
            int(year), int(month), int(day), int(hour), int(minute), int(second or 0),
            int((fraction or "0")[:6].ljust(6, "0")),
        )  # fmt: skip
        if not zone:
            return moment.isoformat(timespec="milliseconds" if fraction else "seconds")
        minutes = 0
        if zone[0] in "+-":
            minutes = (int(zone[1:3]) * 60 + int(zone[-2:])) * (-1 if zone[0] == "-" else 1)
        return (moment - timedelta(minutes=minutes)).isoformat(timespec="milliseconds") + "Z"
    except (ValueError, OverflowError):
        return ""
