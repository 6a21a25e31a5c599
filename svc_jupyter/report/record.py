"""The contents of ``run.json``: the notebook, its cases, their status and their answers.

It is written when the run begins, as cases end, and at the end; one that still says "running" was killed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec
from nbformat import NotebookNode

from svc import AnswerStatus
from svc.untrusted.characters import one_line
from svc_jupyter.answers.answer import MIME_TYPE
from svc_jupyter.answers.status_mark import headline, label
from svc_jupyter.report.outcome import Status

FILE_NAME = "run.json"
VERSION = 1
VERDICT_CHARACTERS = 300
_LAST_SECOND = 2**37  # year 6325; calendars end at 9999
_CASE_STATUSES = {AnswerStatus.NOT_EXAMINED: Status.NOT_EXAMINED, AnswerStatus.NOT_ANSWERED: Status.NOT_ANSWERED}
"""What one such answer makes of its case; the first one counts."""


class AnswerRecord(msgspec.Struct, frozen=True):
    """An answer in a notebook. ``key`` and ``status`` are empty if an older version ran the notebook.

    ``status`` is the wire's ``answer_status``, empty if it is unknown.
    """

    key: str
    question: str
    model: str
    text: str
    session_id: str
    time: float
    has_changed: bool
    findings: list[dict[str, object]]
    status: str = ""


class CaseRecord(msgspec.Struct, kw_only=True):
    """A case. ``files`` are paths in the report's folder with their SHA-256; ``started`` is 0.0 before it runs."""

    name: str
    fingerprint: str
    parameters: dict[str, object]
    status: Status = Status.NOT_RUN
    failure: str = ""
    verdict: str = ""
    started: float = 0.0
    seconds: float = 0.0
    files: dict[str, str] = {}
    answers: list[AnswerRecord] = []


class RunRecord(msgspec.Struct, kw_only=True):
    """A run of one notebook, once or for each case of a sweep. ``state``: running, finished, interrupted."""

    version: int = VERSION
    svc: str
    notebook: str
    notebook_sha256: str
    formats: list[str]
    answers: str
    started: float
    seconds: float = 0.0
    state: str = "running"
    cases: list[CaseRecord]


def answers_of(notebook: NotebookNode) -> list[AnswerRecord]:
    """Return the answers in the notebook's outputs, in order."""
    return [_answer(data, output.get("metadata", {})) for output, data in _outputs(notebook)]


def status_of_answers(answers: Sequence[AnswerRecord]) -> Status:
    """Return the status of a case whose cells all ran: one unanswered question is enough for it not to be OK."""
    return next((_CASE_STATUSES[s] for s in _CASE_STATUSES if any(a.status == s for a in answers)), Status.OK)


def count_statuses(answers: Sequence[AnswerRecord]) -> str:
    """Summarise how far the questions are answered: "2 answered, 1 not examined"."""
    counts = Counter(label(answer.status) for answer in answers)
    return ", ".join(f"{count} {name}" for name, count in counts.items())


def verdict_of(notebook: NotebookNode) -> str:
    """Return the headline of the answer that decides the case's status, else of the first one; empty if none has one.

    A mark that is a line of its own is left out, because the case's status says the same.
    """
    decisive = next((s for s in _CASE_STATUSES if any(d.get("status") == s for _, d in _outputs(notebook))), None)
    for output, data in _outputs(notebook):
        if decisive in (None, data.get("status")) and (line := headline(str(output["data"].get("text/plain", "")))):
            return one_line(line, limit=VERDICT_CHARACTERS)
    return ""


def _outputs(notebook: NotebookNode) -> Iterator[tuple[NotebookNode, dict[str, object]]]:
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            data = output.get("data", {}).get(MIME_TYPE)
            if isinstance(data, dict):
                yield output, data


def _answer(data: dict[str, object], metadata: dict[str, object]) -> AnswerRecord:
    provenance = metadata.get(MIME_TYPE)
    volatile = provenance if isinstance(provenance, dict) else {}
    findings = data.get("findings")
    return AnswerRecord(
        key=str(data.get("key", "")),
        question=str(volatile.get("question", "")),
        model=str(data.get("model", "")),
        text=str(data.get("text", "")),
        session_id=str(volatile.get("session_id", "")),
        time=_time(volatile.get("time")),
        has_changed=bool(volatile.get("has_changed", False)),
        findings=[item for item in findings if isinstance(item, dict)] if isinstance(findings, list) else [],
        status=str(data.get("status") or ""),
    )


def _time(value: object) -> float:
    """Seconds since 1970 that a calendar has; 0.0 for anything else."""
    return float(value) if isinstance(value, int | float) and 0 <= value < _LAST_SECOND else 0.0
