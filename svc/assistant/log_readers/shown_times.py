"""Times and time zones of a log as people read them."""

from __future__ import annotations

from collections.abc import Iterable

from svc.assistant.log_readers.timestamps import MONTH_NAMES

_UTC = ("Z", "UTC", "+00:00")
NOT_STATED = "not stated"


def time_words(value: str | None) -> str:
    """A time; one without a year as in the log: ``Nov 20 03:12:45``."""
    if not value:
        return NOT_STATED
    if value.startswith("--"):
        return f"{MONTH_NAMES[int(value[2:4]) - 1]} {value[5:7]} {value[8:]}"
    return value.replace("T", " ")


def zone_of(times: Iterable[str | None]) -> str:
    """The zone of ISO 8601 times in UTC or without a zone: ``UTC``, ``zone not stated``, or both."""
    is_utc = {time.endswith("Z") for time in times if time}
    if not is_utc:
        return ""
    return " or ".join(word for word, flag in (("UTC", True), ("zone not stated", False)) if flag in is_utc)


def zone_words(zones: Iterable[str]) -> str:
    """``UTC``, ``zone not stated``, or "" if the times carry their zone or the logs have different ones."""
    known = {"UTC" if zone in _UTC else zone for zone in zones}
    if known == {"UTC"}:
        return "UTC"
    return "zone not stated" if known == {NOT_STATED} else ""


def zoned(heading: str, zone: str) -> str:
    """A column's heading with the zone of its times: ``First (UTC)``, ``First (zone not stated)``."""
    return f"{heading} ({zone})" if zone else heading
