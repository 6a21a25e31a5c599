"""The findings and the coverage of a turn as rows, one per finding or input, from its ``source`` messages.

If a message cannot hold all findings, the rows are those of the session's findings file.

A row has the columns of ``COLUMNS`` and the facts of its kind (docs/skills.md). ``table.py`` holds the rows. Source
messages of other assistants, in other forms, have no rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, cast

import msgspec

from svc import InputCoverage
from svc.findings_file import FACTS, Block, Reference, members, reference
from svc_jupyter.answers.table import Row

if TYPE_CHECKING:
    from svc import Message

COLUMNS = ("kind", "severity", "confidence", "title", "why", "techniques", "where", "excerpt")
COVERAGE_COLUMNS = InputCoverage.__struct_fields__
MAX_SHARED = 1_000  # different texts of a column up to which equal ones share an object


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


def reference_in(messages: Iterable[Message]) -> Reference | None:
    """Return what names the findings file of a turn; None if its messages hold all findings."""
    named = (reference(message.content or "") for message in messages if _is_json_source(message))
    return next((one for one in named if one is not None), None)


def rows_of_file(content: bytes, kind: str = "") -> list[Row]:
    """Return the findings in a findings file, or those of one kind, as ``rows_of`` returns those of messages.

    Raises:
        ValueError: The file is damaged, or another version wrote it.
    """
    memos: dict[str, dict[object, object]] = {}
    found: list[Row] = []
    for _, block in members(content):
        if kind and block.kind != kind:
            continue
        columns = {name: _shared(values, memos.setdefault(name, {})) for name, values in _columns(block).items()}
        found.extend(dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
    return found


def _columns(block: Block) -> dict[str, Sequence[object]]:
    """The columns of ``COLUMNS`` and the facts, of one block."""
    evidence = cast("Sequence[list[_Evidence]]", block.typed_column("evidence", list[_Evidence]))
    named: dict[str, Sequence[object]] = {
        "kind": [block.kind] * block.count,
        **{name: block.column(name) for name in ("severity", "confidence", "title", "why", "techniques")},
        "where": [_where(each[0]) if each else "" for each in evidence],
        "excerpt": [each[0].excerpt if each else "" for each in evidence],
    }
    facts = [name for name in block.names if name.startswith(FACTS)]
    return named | {_fact_name(name.removeprefix(FACTS)): block.column(name) for name in facts}


def _shared(values: Sequence[object], memo: dict[object, object]) -> Sequence[object]:
    """The same values, with one object for equal texts of a column that has few: "domain" a million times is 60 MB."""
    if len(memo) > MAX_SHARED:
        return values
    return [memo.setdefault(value, value) if isinstance(value, str) else value for value in values]


def _fact_name(name: str) -> str:
    return f"{name}_" if name in COLUMNS else name


def _is_json_source(message: Message) -> bool:
    return message.message_type == "source" and message.mime_type == "application/json"


def _findings(message: Message) -> list[_Finding]:
    if not _is_json_source(message):
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
    return row | {_fact_name(name): value for name, value in finding.facts.items() if name != "kind"}


def _where(evidence: _Evidence) -> str:
    for name in ("line", "record", "offset"):
        place = getattr(evidence, name)
        if place is not None:
            return f"{evidence.source}, {name} {place}"
    return evidence.source
