"""Run the cases, a few at a time; write and record each as it ends. Interrupted, it says what ran and what did not."""

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
from svc_jupyter.report.record import CaseRecord, answers_of, verdict_of

RECORD_SECONDS = 1.0  # between two writings of run.json while cases end


class Progress(Protocol):
    """Who is told how far the run is."""

    def begin(self, case: CaseRecord) -> None:
        """The case starts."""

    def cell(self, case: CaseRecord, cell: CellRun) -> None:
        """A cell of the case has run."""

    def end(self, case: CaseRecord) -> None:
        """The case has its status, and its files are written."""


@dataclass(frozen=True, kw_only=True)
class Sink:
    """Where a case goes. ``save`` returns the files that it wrote; ``note`` is called as cases end."""

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
        """Run all; no new case begins once ``max_failures`` of them did not end well. Raises KernelStartError."""
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
            self._failures += record.status != Status.OK
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
        """Write the case; what cannot be written is said, and is no success."""
        secrets = self._sink.output.secrets
        _describe(run, record)
        notebook = redact_all(run.notebook, secrets)
        try:
            files = await asyncio.to_thread(export.export, notebook, record.name, self._sink.output)
            record.files = self._sink.save(record, files)
        except (OSError, ExportError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            record.status, record.failure = Status.NOT_WRITTEN, f"the report could not be written: {reason}"
            return
        record.status, record.failure = run.status, redact(run.failure, secrets)
        record.verdict = verdict_of(notebook)
        record.answers = answers_of(notebook)


def _describe(run: Run, record: CaseRecord) -> None:
    """Facts of the run in the notebook's metadata: ours, and papermill's keys for who reads these."""
    run.notebook.metadata["svc"] = {"case": record.name, "status": str(run.status), "started": record.started}
    known = run.notebook.metadata.get("papermill") or {}
    run.notebook.metadata["papermill"] = {
        **known,
        "parameters": record.parameters,
        "duration": round(run.seconds, 3),
        "exception": run.status != Status.OK or None,
    }
