"""The findings and the coverage of a turn as rows, one per finding or input, from its ``source`` messages.

A row has the columns of ``COLUMNS`` and the facts of its kind (docs/skills.md). Source messages of other assistants, in
other forms, have no rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import msgspec

from svc import InputCoverage

if TYPE_CHECKING:
    import pandas

    from svc import Message

COLUMNS = ("kind", "severity", "confidence", "title", "why", "techniques", "where", "excerpt")
COVERAGE_COLUMNS = InputCoverage.__struct_fields__
Row = dict[str, object]


class _Evidence(msgspec.Struct):
    source: str
    excerpt: str = ""
    line: int | None = None
    record: int | None = None
    offset: int | None = None


class _Finding(msgspec.Struct):
    title: str
    facts: dict[str, object]
    severity: str = "info"
    confidence: str = "high"
    why: str = ""
    evidence: list[_Evidence] = []
    techniques: list[str] = []


def rows_of(messages: Iterable[Message]) -> list[Row]:
    """Return the findings of a turn, in the order in which they arrived."""
    return [_row(finding) for message in messages for finding in _findings(message)]


def coverage_rows(messages: Sequence[Message]) -> list[Row]:
    """Return how far each input was read, in the service's order; none if it is unknown."""
    from svc.messages import coverage_of

    coverage = coverage_of(messages)
    return [msgspec.structs.asdict(one) for one in coverage.inputs] if coverage else []


def frame_of(rows: list[Row], columns: Sequence[str]) -> pandas.DataFrame | list[Row]:
    """Convert the rows to a DataFrame if pandas is installed; without rows it has these columns."""
    try:
        import pandas
    except ImportError:
        return rows
    return pandas.DataFrame(rows) if rows else pandas.DataFrame(columns=list(columns))


def _findings(message: Message) -> list[_Finding]:
    if message.message_type != "source" or message.mime_type != "application/json":
        return []
    try:
        return msgspec.json.decode(message.get_content(), type=list[_Finding])
    except msgspec.MsgspecError:
        return []


def _row(finding: _Finding) -> Row:
    first = finding.evidence[0] if finding.evidence else None
    values = (
        finding.facts.get("kind", ""),
        finding.severity,
        finding.confidence,
        finding.title,
        finding.why,
        finding.techniques,
        _where(first) if first else "",
        first.excerpt if first else "",
    )
    row: Row = dict(zip(COLUMNS, values, strict=True))
    facts = {name: value for name, value in finding.facts.items() if name != "kind"}
    return row | {f"{name}_" if name in row else name: value for name, value in facts.items()}


def _where(evidence: _Evidence) -> str:
    for name in ("line", "record", "offset"):
        place = getattr(evidence, name)
        if place is not None:
            return f"{evidence.source}, {name} {place}"
    return evidence.source
