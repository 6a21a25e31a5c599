"""The findings of a turn as rows, one per finding, from its ``source`` messages.

A row has the columns of ``COLUMNS`` and the facts of its kind (docs/skills.md). Source messages of other assistants, in
other forms, have no rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    import pandas

    from svc import Message

COLUMNS = ("kind", "severity", "confidence", "title", "why", "techniques", "where", "excerpt")
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


def frame_of(rows: list[Row]) -> pandas.DataFrame | list[Row]:
    """Convert the rows to a DataFrame if pandas is installed."""
    try:
        import pandas
    except ImportError:
        return rows
    return pandas.DataFrame(rows) if rows else pandas.DataFrame(columns=list(COLUMNS))


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
