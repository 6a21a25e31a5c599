"""The contents of ``run.json``: the notebook, its cases, their status and their answers.

It is written when the run begins, as cases end, and at the end; one that still says "running" was killed.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from nbformat import NotebookNode

from svc.untrusted.characters import one_line
from svc_jupyter.answers.answer import MIME_TYPE
from svc_jupyter.report.outcome import Status

FILE_NAME = "run.json"
VERSION = 1
VERDICT_CHARACTERS = 300


class AnswerRecord(msgspec.Struct, frozen=True):
    """An answer in a notebook. ``key`` is empty if an older version ran the notebook."""

    key: str
    question: str
    model: str
    text: str
    session_id: str
    time: float
    has_changed: bool
    findings: list[dict[str, object]]


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


def verdict_of(notebook: NotebookNode) -> str:
    """Return the first line of the first answer; empty if there is none."""
    for output, _ in _outputs(notebook):
        text = str(output["data"].get("text/plain", ""))
        for line in text.splitlines():
            if line.strip():
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
        time=float(volatile.get("time") or 0.0),
        has_changed=bool(volatile.get("has_changed", False)),
        findings=[item for item in findings if isinstance(item, dict)] if isinstance(findings, list) else [],
    )
