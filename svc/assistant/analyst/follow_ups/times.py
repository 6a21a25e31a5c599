"""Times of findings as people read them, and their order. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from svc.assistant.findings import AnyFinding
from svc.assistant.log_readers.shown_times import time_words, zone_of
from svc.assistant.skills.mail.findings import MailVerdict

_FRACTION = re.compile(r"\.\d+(?=Z|[+-]|$)")
_OFFSET = re.compile(r"T[\d:.]+[+-]\d\d:?\d\d\Z")
_CLOCK = re.compile(r"\d\d:\d\d:\d\d")


def span_of(finding: AnyFinding) -> tuple[str, str] | None:
    """The first and the last time of a finding as it writes them; None if it has none."""
    facts = finding.facts
    if isinstance(facts, MailVerdict):
        sent = _of_mail(facts.date)
        return (sent, sent) if sent else None
    named = [getattr(facts, name, None) for name in ("first", "time", "last", "start", "end")]
    times = [_in_utc(value) for value in named if isinstance(value, str) and _CLOCK.search(value)]
    return (min(times, key=order), max(times, key=order)) if times else None


def _of_mail(written: str) -> str:
    """The time of a Date field as ISO 8601; "" if it is invalid."""
    try:
        return _in_utc(parsedate_to_datetime(written).isoformat())
    except (ValueError, TypeError, IndexError):
        return ""


def _in_utc(time: str) -> str:
    """A time with an offset in UTC; others unchanged."""
    if not _OFFSET.search(time):
        return time
    try:
        return f"{datetime.fromisoformat(time).astimezone(UTC):%Y-%m-%dT%H:%M:%S}Z"
    except (ValueError, OverflowError):
        return time


def order(time: str) -> str:
    """What times are ordered by: the year only if both have one."""
    return _FRACTION.sub("", time.removeprefix("--") if time.startswith("--") else time[5:])


def shown(time: str) -> str:
    """A time without its fraction: ``2026-11-20 03:00:00 UTC``, ``Nov 20 03:12:45``."""
    words = _FRACTION.sub("", time_words(time) if time[:2] == "--" or time[4:5] == "-" else time)
    return f"{words[:-1]} UTC" if words.endswith("Z") else words


def span_words(first: str, last: str) -> str:
    """``02:10:00 to 02:13:15`` with one date if both are on the same day."""
    start, end = shown(first), shown(last)
    if start == end:
        return start
    day, clock = end[: _clock_at(end)], end[_clock_at(end) :]
    zone = " UTC" if start.endswith(" UTC") and end.endswith(" UTC") else ""
    start = start.removesuffix(" UTC") if zone else start
    return f"{start} to {clock if start.startswith(day) else end}"


def _clock_at(words: str) -> int:
    match = _CLOCK.search(words)
    return match.start() if match else 0


def whole_span(findings: Iterable[AnyFinding]) -> tuple[str, str] | None:
    """From the first to the last time of all findings."""
    spans = [span for finding in findings for span in [span_of(finding)] if span is not None]
    if not spans:
        return None
    return min((first for first, _ in spans), key=order), max((last for _, last in spans), key=order)


def zone_remark(times: Iterable[str]) -> str:
    """`` (zone not stated)`` if none of the times has a zone."""
    return (
        " (zone not stated)"
        if zone_of([time for time in times if time[:4].isdigit() or time[:2] == "--"]) == "zone not stated"
        else ""
    )


def length_words(first: str, last: str) -> str:
    """How long it is from one time to the other: ``3 min 15 s``."""
    start, end = (_moment(time) for time in (first, last))
    if start is None or end is None:
        return "Length not known"
    seconds = int((end - start).total_seconds())
    parts = [(seconds // 86_400, "d"), (seconds // 3_600 % 24, "h"), (seconds // 60 % 60, "min"), (seconds % 60, "s")]
    return " ".join(f"{count} {unit}" for count, unit in parts if count) or "0 s"


def _moment(time: str) -> datetime | None:
    """A time for a difference; the year is a leap year if it is not stated."""
    written = f"2000-{time[2:]}" if time.startswith("--") else time
    try:
        at = datetime.fromisoformat(written)
    except ValueError:
        return None
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def clock_of(time: str) -> str:
    """The time of day, ``HH:MM:SS``; "" if there is none."""
    match = _CLOCK.search(time)
    return match[0] if match else ""
