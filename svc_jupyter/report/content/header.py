"""The top of a report's page as data: what it is about, how it ended, and the verdict of each question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from nbformat import NotebookNode

from svc.untrusted.characters import one_line
from svc_jupyter.report.content.questions import ERROR_ID, Question
from svc_jupyter.report.content.severity import Level, counts, level_of_answer, level_of_case
from svc_jupyter.report.outcome import ADVICE, Status
from svc_jupyter.report.record import AnswerRecord, status_of_answers

MAX_PARAMETERS = 50
_VALUE_CHARACTERS = 200
_LAST_SECOND = 2**37  # year 6325; calendars end at 9999


@dataclass(frozen=True)
class Row:
    """A question in the summary."""

    id: str
    question: str
    verdict: str
    level: Level
    findings: str


@dataclass(frozen=True, kw_only=True)
class Failure:
    """Why a run ended early. ``error_id`` is the heading of the error on the page, empty if it has none."""

    status: str
    what: str
    cell: str
    advice: str
    error_id: str


@dataclass(frozen=True, kw_only=True)
class Header:
    """The top of a page. ``running`` is the line in the margin of every printed page."""

    title: str = ""
    level: Level | None = None
    parameters: list[tuple[str, str]] = field(default_factory=list)
    run: str = ""
    failure: Failure | None = None
    rows: list[Row] = field(default_factory=list)

    @property
    def running(self) -> str:
        """What the page is about, on one line."""
        values = [value for _, value in self.parameters]
        shown = [f"{name}={value}" for name, value in self.parameters if value != self.title]
        lead = [self.title] if self.title and (self.title in values or not shown) else []
        return " · ".join(lead + shown)


def build(notebook: NotebookNode, questions: Sequence[Question], answers: Sequence[AnswerRecord]) -> Header:
    """Return the header of an arranged notebook; what is not recorded in its metadata is left out."""
    recorded = notebook.metadata.get("svc")
    known: Mapping[str, object] = recorded if isinstance(recorded, dict) else {}
    status = next((status for status in Status if status == known.get("status")), None)
    if status is not None and status.is_complete:
        status = status_of_answers(answers)  # a notebook that was read from a file may say anything of itself
    values = known.get("parameters")
    parameters = dict(values) if isinstance(values, dict) else {}
    return Header(
        title=one_line(str(known.get("title") or known.get("case") or ""), limit=_VALUE_CHARACTERS),
        level=level_of_case(answers, status) if status is not None else None,
        parameters=[(one_line(str(name)), _shown(value)) for name, value in list(parameters.items())[:MAX_PARAMETERS]],
        run=_run(known),
        failure=_failure(notebook, known, status),
        rows=[_row(question) for question in questions],
    )


def describe_counts(found: Mapping[str, int]) -> str:
    """Return "2 critical, 1 high", without findings of severity info; empty if there are no others."""
    return ", ".join(f"{count:,} {severity}" for severity, count in found.items() if severity != "info")


def _row(question: Question) -> Row:
    return Row(
        question.id,
        question.text,
        question.verdict,
        level_of_answer(question.answer),
        describe_counts(counts([question.answer])),
    )


def _failure(notebook: NotebookNode, known: Mapping[str, object], status: Status | None) -> Failure | None:
    if status is None or status.is_complete:
        return None
    has_heading = any(cell.cell_type == "markdown" and f'id="{ERROR_ID}"' in cell.source for cell in notebook.cells)
    return Failure(
        status=str(status),
        what=one_line(str(known.get("failure") or ""), limit=1_000),
        cell=one_line(str(known.get("failed_cell") or "")),
        advice=ADVICE[status],
        error_id=ERROR_ID if has_heading else "",
    )


def _run(known: Mapping[str, object]) -> str:
    started = known.get("started")
    parts = [one_line(str(known.get("notebook") or ""))]
    if isinstance(started, int | float) and 0 < started < _LAST_SECOND:
        parts.append(f"run {datetime.fromtimestamp(started, UTC):%Y-%m-%d %H:%M} UTC")
    parts.append(f"svc {one_line(str(known['svc']))}" if known.get("svc") else "")
    return " · ".join(part for part in parts if part)


def _shown(value: object) -> str:
    return one_line(str(value), limit=_VALUE_CHARACTERS)
