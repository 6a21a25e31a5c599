"""Run the cases, several at a time; write and record each when it ends, also when interrupted.

Whatever goes wrong in one case is that case's status; the others run.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from nbformat import NotebookNode

from svc.untrusted.characters import one_line
from svc_jupyter.answers.redaction import redact, redact_all
from svc_jupyter.report import export
from svc_jupyter.report.cases import Case
from svc_jupyter.report.content.evidence import EvidenceBook
from svc_jupyter.report.engine import is_cancelled
from svc_jupyter.report.errors import ExportError
from svc_jupyter.report.executor import Executor
from svc_jupyter.report.folder import FolderError
from svc_jupyter.report.kernels import KernelMissingError, KernelStartError
from svc_jupyter.report.outcome import CellRun, Run, Status
from svc_jupyter.report.record import CaseRecord, answers_of, sign_answers, status_of_answers, verdict_of
from svc_jupyter.report.repair import encodable, repair

CELL_CHARACTERS = 120  # of a cell's first line
RECORD_SECONDS = 1.0  # between two writings of run.json while cases end


class Progress(Protocol):
    """Receives the progress of a run."""

    def begin(self, case: CaseRecord) -> None:
        """A case started."""

    def cell(self, case: CaseRecord, cell: CellRun) -> None:
        """A cell of the case finished."""

    def end(self, case: CaseRecord) -> None:
        """The case has its status, and its files were written."""


@dataclass(frozen=True, kw_only=True)
class Sink:
    """The output of cases. ``save`` returns the files that it wrote; ``note`` is called after each case.

    ``about`` is added to the metadata of each notebook, ``defaults`` are the parameters that no case sets.
    """

    output: export.Format
    about: Mapping[str, object]
    defaults: Mapping[str, object]
    evidence: EvidenceBook | None
    save: Callable[[CaseRecord, dict[str, bytes]], dict[str, str]]
    note: Callable[[], object]


class Sweep:
    """The cases of a run, with their records."""

    def __init__(self, cases: list[tuple[Case, CaseRecord]], sink: Sink, progress: Progress) -> None:
        self._cases = cases
        self._sink = sink
        self._progress = progress
        self._failures = 0
        self._noted = 0.0

    async def run(self, executor: Executor, max_failures: int | None) -> None:
        """Run all cases; start no more once ``max_failures`` of them failed. Raises KernelMissingError."""
        waiting = iter(self._cases)
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(executor.jobs):
                    group.create_task(self._work(executor, waiting, max_failures))
        except* Exception as errors:
            raise errors.exceptions[0] from errors

    async def _work(
        self, executor: Executor, waiting: Iterator[tuple[Case, CaseRecord]], max_failures: int | None
    ) -> None:
        for case, record in waiting:
            if is_cancelled():
                raise asyncio.CancelledError
            if max_failures is not None and self._failures >= max_failures:
                return
            await self._one(executor, case, record)
            self._failures += not record.status.is_complete
            if time.monotonic() - self._noted >= RECORD_SECONDS:
                self._noted = time.monotonic()
                self._sink.note()

    async def _one(self, executor: Executor, case: Case, record: CaseRecord) -> None:
        record.started, record.status = time.time(), Status.INTERRUPTED  # until it has ended
        started = time.monotonic()
        _tell(lambda: self._progress.begin(record))
        try:
            await self._run(executor, case, record)
        finally:
            record.seconds = round(time.monotonic() - started, 3)
            record.sign()
        _tell(lambda: self._progress.end(record))

    async def _run(self, executor: Executor, case: Case, record: CaseRecord) -> None:
        """Run and write the case. Whatever fails becomes its status, except what ends the whole run."""
        try:
            run = await executor.run(case, lambda cell: self._on_cell(record, cell))
        except KernelMissingError:
            raise
        except BaseException as error:
            if _ends_run(error):
                raise
            is_kernel = isinstance(error, KernelStartError)
            record.status = Status.KERNEL_DIED if is_kernel else Status.FAILED
            reason = _reason(error) if is_kernel else f"the case could not be run: {_reason(error)}"
            record.failure = redact(reason, self._sink.output.secrets)
            return
        try:
            await self._finish(run, record)
        except BaseException as error:
            if _ends_run(error):
                raise
            reason = redact(_reason(error), self._sink.output.secrets)
            record.status, record.failure = Status.NOT_WRITTEN, f"cannot write the report: {reason}"

    def _on_cell(self, record: CaseRecord, cell: CellRun) -> None:
        title = one_line(redact(encodable(cell.title), self._sink.output.secrets), limit=CELL_CHARACTERS)
        record.failed_cell = "" if cell.is_ok else f"{cell.number}: {title}"
        _tell(lambda: self._progress.cell(record, cell))

    async def _finish(self, run: Run, record: CaseRecord) -> None:
        """Write the case, then set what the record says of it."""
        secrets, evidence = self._sink.output.secrets, self._sink.evidence
        notebook = redact_all(repair(run.notebook), secrets)
        if evidence is not None:
            evidence.mark(record.name, notebook)
        answers = answers_of(notebook)
        status = run.status if run.status != Status.OK else status_of_answers(answers)
        failure = redact(encodable(run.failure), secrets)
        if status.is_complete:
            record.failed_cell = ""  # of a cell that may fail
        _describe(notebook, run.seconds, record, status)
        notebook.metadata["svc"] |= {
            "title": record.title,
            "parameters": {**self._sink.defaults, **record.parameters},
            "failure": failure,
            "failed_cell": record.failed_cell,
            **self._sink.about,
        }
        sign_answers(notebook)
        files = await asyncio.to_thread(export.export, notebook, record.name, self._sink.output)
        record.files, record.files_from = self._sink.save(record, files), 0.0
        record.verdict, record.answers = verdict_of(notebook), answers
        record.status, record.failure = status, failure
        if evidence is not None and status.is_complete:
            evidence.remember(record.name, answers)


def _ends_run(error: BaseException) -> bool:
    """Whether the error concerns more than its case: the user or the operating system ends the run.

    A library's own cancellation concerns one case; so does a panic of one, which is not an Exception.
    """
    is_ours = isinstance(error, asyncio.CancelledError) and is_cancelled()
    return is_ours or isinstance(error, KeyboardInterrupt | SystemExit | GeneratorExit)


def _reason(error: BaseException) -> str:
    """Describe the error on one line."""
    if isinstance(error, MemoryError):
        return "out of memory"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    text = one_line(str(error))
    if isinstance(error, ExportError | KernelStartError | FolderError) and text:
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _tell(report: Callable[[], None]) -> None:
    """Report progress; a terminal or pipe that is gone does not end the run."""
    with contextlib.suppress(Exception):
        report()


def _describe(notebook: NotebookNode, seconds: float, record: CaseRecord, status: Status) -> None:
    """Add the run's data to the notebook's metadata: ours, and papermill's for tools that read these."""
    notebook.metadata["svc"] = {"case": record.name, "status": str(status), "started": record.started}
    known = notebook.metadata.get("papermill")
    notebook.metadata["papermill"] = {
        **(known if isinstance(known, dict) else {}),
        "parameters": record.parameters,
        "duration": round(seconds, 3),
        "exception": not status.is_complete or None,
    }
