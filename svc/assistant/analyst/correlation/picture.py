"""The pictures of a story across inputs: what the inputs share, and when it happened in which of them. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from svc.assistant.analyst.correlation.shared import SAME_NAME, Shared, SharedPlace
from svc.assistant.skills.charts import ChartMark, Crossing, GridRow, grid, lanes
from svc.assistant.skills.skill import Picture

LEAST_MOMENTS = 2


def shared_picture(shared: Sequence[Shared]) -> list[Picture]:
    """A grid of the things and the inputs that name them."""
    rows = [
        GridRow(
            label=one.value,
            note="same name" if one.noun == SAME_NAME else one.noun,
            crossings={name: _crossing(place) for name, place in one.places.items()},
            severity=one.severity,
            ask=f"What is known about {one.value}?",
            is_firm=one.noun != SAME_NAME,
        )
        for one in shared
    ]
    return grid("What the inputs share", rows)


def _crossing(place: SharedPlace) -> Crossing:
    evidence = place.evidence
    number = f"record {evidence.record:,}" if evidence.record is not None else ""
    number = f"line {evidence.line:,}" if evidence.line is not None else number
    return Crossing(label=", ".join(filter(None, (number, place.time))), severity=place.severity)


def timeline_picture(marks: Sequence[ChartMark], *, note: str) -> list[Picture]:
    """The moments of the story, one lane for each input."""
    if len({mark.lane for mark in marks}) < LEAST_MOMENTS:
        return []
    return lanes("Timeline across the inputs", marks, zone="UTC", note=note, least=LEAST_MOMENTS)
