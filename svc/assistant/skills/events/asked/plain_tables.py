"""Count the rows of a table whose columns describe no events, for a question about them: "how many by ann?"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import BinaryIO

from svc.assistant.findings import Coverage, ToolEvent
from svc.assistant.log_readers.tables.reader import records_of
from svc.assistant.sigma.event import Event
from svc.assistant.skills.events.asked.records import AskedCollector, RecordQuestion
from svc.assistant.skills.events.evidence import Place


def counted_rows(content: BinaryIO, questions: Sequence[RecordQuestion], place: Place) -> list[ToolEvent]:
    """Return the rows that the questions are about, and how many were read; nothing if none is answered."""
    collectors = [AskedCollector(one) for one in questions]
    total = 0
    for record in records_of(content) if collectors else ():
        total += 1
        event = Event(
            number=record.number, offset=record.offset, time="", product="", service="", category="", host="",
            event_id=None, fields=record.values, excerpt=record.excerpt,
        )  # fmt: skip
        for collector in collectors:
            collector.add(event)
    content.seek(0)
    found = [finding for collector in collectors for finding in collector.findings(place)]
    if not found:
        return []
    looked_for = "the rows that the question names; its columns describe no events, so nothing else was looked for"
    return [*found, Coverage(read_as="table", unit="row", understood=total, total=total, looked_for=looked_for)]
