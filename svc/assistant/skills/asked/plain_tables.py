"""Count the rows of a table whose columns describe no events, for a question about them: "how many by ann?"."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import BinaryIO

from svc.assistant.findings import Coverage, ToolEvent
from svc.assistant.log_readers.tables.reader import records_of
from svc.assistant.sigma.event import Event
from svc.assistant.skills.asked.chosen import ChosenCollector
from svc.assistant.skills.asked.evidence import Place
from svc.assistant.skills.asked.following import FollowingCollector
from svc.assistant.skills.asked.records import AskedCollector


def counted_rows(
    content: BinaryIO, collectors: Sequence[AskedCollector | ChosenCollector | FollowingCollector], place: Place
) -> list[ToolEvent]:
    """Return the rows that the collectors choose, and how many were read; nothing if there are none."""
    total = 0
    for record in records_of(content) if collectors else ():
        total += 1
        event = Event(
            number=record.number, offset=record.offset, time=_time_of(record.values), product="", service="",
            category="", host="", event_id=None, fields=record.values, excerpt=record.excerpt,
        )  # fmt: skip
        for collector in collectors:
            collector.add(event)
    content.seek(0)
    found = [finding for collector in collectors for finding in collector.findings(place)]
    if not found:
        return []
    looked_for = "the rows that the question names; its columns describe no events, so nothing else was looked for"
    return [*found, Coverage(read_as="table", unit="row", understood=total, total=total, looked_for=looked_for)]


_TIME = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)\Z")


def _time_of(values: Mapping[str, str]) -> str:
    """The first date with a time of a row, in the zone that it states or in none; "" if it has none."""
    found = (_TIME.match(value) for value in values.values() if len(value) <= MAX_TIME_CHARS)
    return next((f"{match[1]}T{match[2]}" for match in found if match is not None), "")


MAX_TIME_CHARS = 40
