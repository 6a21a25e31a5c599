"""What the answer about indicators draws: those that the text mentions most."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from svc.assistant.findings import AnyFinding
from svc.assistant.skills.charts import Bar, bars
from svc.assistant.skills.indicators.findings import IndicatorFacts
from svc.assistant.skills.skill import Picture
from svc.assistant.spool import facts_values

MAX_DRAWN = 8
LEAST_MENTIONS = 3  # of the first: if all occur once or twice, none stands out


def pictures(findings: Sequence[AnyFinding]) -> list[Picture]:
    """The indicators with the most mentions, without those that rarely matter by themselves."""
    known = (
        (int(str(count)), str(defanged))
        for defanged, count, note, within in facts_values(
            findings, IndicatorFacts, "defanged", "count", "note", "within"
        )
        if not note and not within
    )
    most = heapq.nlargest(MAX_DRAWN, known, key=lambda one: one[0])
    if not most or most[0][0] < LEAST_MENTIONS:
        return []
    rows = [Bar(label=name, value=count, ask=f"What is known about {name}?") for count, name in most]
    return bars("Most mentioned indicators", rows, unit="mentions")
