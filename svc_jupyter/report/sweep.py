"""Run the cases, several at a time; write and record each when it ends, also when interrupted."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from svc_jupyter.answers.redaction import redact, redact_all
from svc_jupyter.report import export
from svc_jupyter.report.cases import Case
from svc_jupyter.report.errors import ExportError
from svc_jupyter.report.executor import Executor
from svc_jupyter.report.outcome import CellRun, Run, Status
from svc_jupyter.report.record import CaseRecord, answers_of, status_of_answers, verdict_of

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
    """The output of cases. ``save`` returns the files that it wrote; ``note`` is called after each case."""

    output: export.Format
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
        """Run all cases; start no more once ``max_failures`` of them failed. Raises KernelStartError."""
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
        self._progress.begin(record)
        try:
            run = await executor.run(case, lambda cell: self._progress.cell(record, cell))
            await self._finish(run, record)
        finally:
            record.seconds = round(time.monotonic() - started, 3)
        self._progress.end(record)

    async def _finish(self, run: Run, record: CaseRecord) -> None:
        """Write the case; if that fails, record it as its status."""
        secrets = self._sink.output.secrets
        status = run.status if run.status != Status.OK else status_of_answers(answers_of(run.notebook))
        _describe(run, record, status)
        notebook = redact_all(run.notebook, secrets)
        try:
            files = await asyncio.to_thread(export.export, notebook, record.name, self._sink.output)
            record.files = self._sink.save(record, files)
        except (OSError, ExportError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            record.status, record.failure = Status.NOT_WRITTEN, f"cannot write the report: {reason}"
            return
        record.status, record.failure = status, redact(run.failure, secrets)
        record.verdict = verdict_of(notebook)
        record.answers = answers_of(notebook)


def _describe(run: Run, record: CaseRecord, status: Status) -> None:
    """Add the run's data to the notebook's metadata: ours, and papermill's for tools that read these."""
    run.notebook.metadata["svc"] = {"case": record.name, "status": str(status), "started": record.started}
    known = run.notebook.metadata.get("papermill") or {}
    run.notebook.metadata["papermill"] = {
        **known,
        "parameters": record.parameters,
        "duration": round(run.seconds, 3),
        "exception": not status.is_complete or None,
    }
