"""The rows of a table, of CSV or of JSON for a question about records: what was asked for, not all findings. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from svc.assistant.analyst.questions.record_questions import AT_HOST
from svc.assistant.findings import AnyFinding, kind_of, with_facts
from svc.assistant.skills.asked.findings import AskedRecords, ChosenRecords, RecordValue
from svc.assistant.spool import of_kind

MAX_ROWS = 5_000
_COUNTED = re.compile(r"\b(?:by|per|counts?|how many|number of|for each|each)\b", re.IGNORECASE)


def asked_rows(findings: Sequence[AnyFinding]) -> list[dict[str, str | int]]:
    """A row for each value or each part of the time that a question asks for; empty if it asks for no such thing."""
    chosen = with_facts(of_kind(findings, kind_of(ChosenRecords)), ChosenRecords)
    for one in chosen:
        asked = one.facts.conditions
        mine = [other.facts for other in chosen if other.facts.clause == one.facts.clause]
        if asked.per:
            return _rows([value for facts in mine for value in facts.buckets], asked.per, in_order=True)
        if asked.place or asked.ends:
            continue
        values = [value for facts in mine for value in (facts.others if asked.is_complement else facts.values)]
        what = next((name for name in asked.columns if name != AT_HOST and any(v.what == name for v in values)), "")
        if what:
            return _rows([value for value in values if value.what == what], what, top=asked.top)
    for held in with_facts(of_kind(findings, kind_of(AskedRecords)), AskedRecords):
        first = next((value.what for value in held.facts.values if value.what != AT_HOST), "")
        if first and _COUNTED.search(held.facts.clause) and not held.facts.absent:
            return _rows([value for value in held.facts.values if value.what == first], first)
    return []


def _rows(
    values: Sequence[RecordValue], what: str, *, in_order: bool = False, top: int = 0
) -> list[dict[str, str | int]]:
    counts: Counter[str] = Counter()
    for value in values:
        counts[value.value] += value.count
    ranked = sorted(counts.items()) if in_order else counts.most_common(top or None)
    return [{what: name, "count": count} for name, count in ranked[:MAX_ROWS]]
