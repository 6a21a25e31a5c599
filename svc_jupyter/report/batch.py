"""Run ``svc report run``: read the notebook, run its cases, write the results, report the outcome; handle signals."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType

import svc
from svc.untrusted.characters import one_line
from svc.untrusted.terminal import echo
from svc_jupyter.answers.redaction import redact
from svc_jupyter.report import export, folder, index_page
from svc_jupyter.report import options as given
from svc_jupyter.report.cases import Case
from svc_jupyter.report.content.evidence import EvidenceBook
from svc_jupyter.report.dask_executor import DaskExecutor
from svc_jupyter.report.executor import Executor, Job, LocalExecutor
from svc_jupyter.report.folder import FolderError, ReportFolder
from svc_jupyter.report.options import Options
from svc_jupyter.report.outcome import CHANGED_EXIT_CODE, EXIT_CODES, UNANSWERED_EXIT_CODE, UNVERIFIED_EXIT_CODE, Status
from svc_jupyter.report.progress import Bars, CaseLines, CellLines, JsonLines
from svc_jupyter.report.record import CaseRecord, RunRecord, changed_evidence, title_of
from svc_jupyter.report.repair import encodable
from svc_jupyter.report.sweep import Progress, Sink, Sweep

MAX_CHANGES = 20  # of evidence that are printed
TITLE_CHARACTERS = 200  # of a case
_KEPT = ("status", "failure", "verdict", "started", "seconds", "files", "answers")
RECORD_FAILED_EXIT_CODE = 1  # run.json could not be written, even if all cases succeeded
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_SIGNAL_EXIT = 128  # plus the signal's number, as shells do


@dataclass(frozen=True, kw_only=True)
class Batch:
    """The job, its cases with their records, and the record of the run."""

    options: Options
    job: Job
    cases: list[tuple[Case, CaseRecord]]
    record: RunRecord
    secrets: tuple[str, ...]
    defaults: Mapping[str, object]


def run_batch(options: Options) -> int:
    """Run the command and return the exit code. Raises UsageError, FolderError, ExportError or KernelMissingError."""
    options.check()
    export.check(options.formats)
    batch = _read(options)
    if options.out is None:
        return _run(batch, None)
    with ReportFolder(options.out) as out:
        before = out.before()
        if options.resume and before is not None:
            _keep_done(batch, before, out)
        if before is not None and before.notebook == batch.record.notebook:
            out.keep_earlier(before, batch.record.cases)
        _write_record(batch, out)
        code = _run(batch, out)
        if before is not None and batch.record.state == "finished":
            try:
                out.remove_stale(before, batch.record)
            except OSError as error:
                reason = one_line(error.strerror or str(error))
                echo(f"cannot remove files of the previous run from {out.path}: {reason}", err=True)
                return code or RECORD_FAILED_EXIT_CODE
        return code


def _read(options: Options) -> Batch:
    notebook = given.read(options.notebook)
    cases = given.read_cases(options, notebook)
    secrets = given.secrets(options, cases)
    digest = given.digest(notebook)
    records = [
        CaseRecord(
            name=case.name,
            fingerprint=given.fingerprint(case, digest, options),
            parameters=dict(given.shown(case.parameters, options.redact)),
            title=redact(one_line(encodable(case.title), limit=TITLE_CHARACTERS), secrets),
        )
        for case in cases
    ]
    record = RunRecord(
        svc=svc.__version__,
        notebook=options.notebook.name,
        notebook_sha256=digest,
        formats=list(options.formats),
        answers=options.answers,
        started=time.time(),
        title=redact(title_of(notebook), secrets),
        cases=records,
    )
    job = Job(
        notebook=notebook,
        folder=options.notebook.resolve().parent,
        environment=options.environment,
        limits=options.limits,
        secrets=tuple(value for value in secrets if redact(value) == value),  # API keys are recognised by their format
    )
    return Batch(
        options=options,
        job=job,
        cases=list(zip(cases, records, strict=True)),
        record=record,
        secrets=secrets,
        defaults=given.defaults(notebook, options),
    )


def _evidence_book(options: Options) -> EvidenceBook | None:
    """What remembers the evidence, in the modes that store answers."""
    if options.answers not in ("replay", "refresh"):
        return None
    return EvidenceBook(options.store, options.notebook, is_compared=options.answers == "refresh")


def _keep_done(batch: Batch, before: RunRecord, out: ReportFolder) -> None:
    """Keep the successful cases of the previous run whose record and files are unchanged."""
    known = {case.fingerprint: case for case in before.cases if case.status == Status.OK and case.is_signed}
    for _, record in batch.cases:
        done = known.get(record.fingerprint)
        if done is not None and done.name == record.name and out.is_done(done):
            for name in _KEPT:
                setattr(record, name, getattr(done, name))
            record.sign()


def _run(batch: Batch, out: ReportFolder | None) -> int:
    waiting = [(case, record) for case, record in batch.cases if record.status != Status.OK]
    kept = len(batch.cases) - len(waiting)
    if kept:
        echo(f"{kept} of {len(batch.cases)} cases are already done", err=True)
    started = time.monotonic()
    with _progress(batch, len(waiting)) as progress:
        interrupted = asyncio.run(_run_cases(replace(batch, cases=waiting), out, progress)) if waiting else None
    batch.record.seconds = round(time.monotonic() - started, 3)
    batch.record.state = "finished" if interrupted is None else "interrupted"
    is_recorded = _write_record(batch, out)
    code = _report_outcome(batch, out, interrupted)
    return code if is_recorded else code or RECORD_FAILED_EXIT_CODE


async def _run_cases(batch: Batch, out: ReportFolder | None, progress: Progress) -> signal.Signals | None:
    """Run the cases; return the signal that interrupted them, if there was one."""
    options = batch.options
    sink = Sink(
        output=export.Format(
            names=options.formats, template=options.template, secrets=batch.secrets, paper=options.paper
        ),
        about={"notebook": batch.record.notebook, "svc": svc.__version__},
        defaults=batch.defaults,
        evidence=_evidence_book(options),
        save=lambda record, files: _save(batch.options, out, record, files),
        note=lambda: _write_record(batch, out),
    )
    sweep = Sweep(batch.cases, sink, progress)
    task = asyncio.create_task(_sweep(sweep, batch))
    caught: list[signal.Signals] = []
    loop = asyncio.get_running_loop()

    def stop(number: signal.Signals) -> None:
        caught.append(number)
        task.cancel()

    with _handled(loop, stop):
        try:
            await task
        except asyncio.CancelledError:
            if not caught:
                raise
    return caught[0] if caught else None


@contextmanager
def _handled(loop: asyncio.AbstractEventLoop, stop: Callable[[signal.Signals], None]) -> Iterator[None]:
    """Call ``stop`` in the loop when a signal arrives."""
    before: dict[signal.Signals, Callable[[int, FrameType | None], object] | int] = {}

    def interrupt(number: int, _: FrameType | None) -> None:
        loop.call_soon_threadsafe(stop, signal.Signals(number))

    for number in _SIGNALS:
        try:
            loop.add_signal_handler(number, stop, number)
        except NotImplementedError:  # Windows
            before[number] = signal.signal(number, interrupt) or signal.SIG_DFL
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


async def _sweep(sweep: Sweep, batch: Batch) -> None:
    async with _executor(batch) as executor:
        await sweep.run(executor, batch.options.max_failures)


def _executor(batch: Batch) -> Executor:
    options = batch.options
    if options.scheduler is not None:
        return DaskExecutor(batch.job, scheduler=options.scheduler, jobs=options.jobs)
    return LocalExecutor(batch.job, jobs=options.jobs or os.cpu_count() or 1, total=len(batch.cases))


def _save(options: Options, out: ReportFolder | None, record: CaseRecord, files: dict[str, bytes]) -> dict[str, str]:
    if out is not None:
        stem = f"{folder.CASES_FOLDER}/{record.name}" if options.is_sweep else record.name
        return out.write_case(stem, files)
    targets = {options.notebook.parent / f"{record.name}{ending}": content for ending, content in files.items()}
    try:
        folder.write_together(targets)
    except OSError as error:
        raise FolderError(f"cannot write {error.filename}: {error.strerror or error}. Use --out FOLDER.") from error
    return {str(target): "" for target in targets}


def _write_record(batch: Batch, out: ReportFolder | None) -> bool:
    """Write ``run.json`` and the index. If that fails, report it and return False; the run continues."""
    if out is None:
        return True
    try:
        out.write_record(batch.record)
        if batch.options.is_sweep:
            folder.write(out.path / folder.INDEX_NAME, index_page.build(batch.record).encode())
    except Exception as error:  # noqa: BLE001  # the cases still run, and their files are kept
        reason = getattr(error, "strerror", None) or f"{type(error).__name__}: {error}"
        echo(f"cannot write the record to {out.path}: {one_line(reason)}", err=True)
        return False
    return True


def _report_outcome(batch: Batch, out: ReportFolder | None, interrupted: signal.Signals | None) -> int:
    """Print the outcome and return the exit code."""
    cases = batch.record.cases
    if interrupted is not None:
        word = "interrupted; no page was written" if out is None else "interrupted; continue with --resume"
        echo(word, err=True)
        return _SIGNAL_EXIT + interrupted
    if batch.options.is_sweep:
        return _report_sweep(batch, out)
    record = cases[0]
    where = out.path if out is not None else Path()
    for name in record.written:
        echo(f"{where / name}  {record.seconds:.1f} s", err=True)
    if not record.status.is_complete:
        failed = "a cell failed (see the page):" if record.status == Status.FAILED else f"{record.status}:"
        echo(f"Error: {failed} {redact(record.failure, batch.secrets)}", err=True)
        return EXIT_CODES[record.status]
    changed = _report_changes(batch)
    if record.status != Status.OK:
        echo(f"{record.status}: {redact(record.verdict, batch.secrets)}", err=True)
        return EXIT_CODES[record.status]
    return changed


def _report_sweep(batch: Batch, out: ReportFolder | None) -> int:
    cases = batch.record.cases
    counts = {status: sum(case.status == status for case in cases) for status in Status}
    summary = ", ".join(f"{count} {status}" for status, count in counts.items() if count)
    where = out.path / folder.INDEX_NAME if out is not None else ""
    echo(f"{where}  {len(cases)} cases: {summary}  {batch.record.seconds:.1f} s", err=True)
    if not all(case.status.is_complete for case in cases):
        return 1
    changed = _report_changes(batch)
    if counts[Status.NOT_VERIFIED]:
        return UNVERIFIED_EXIT_CODE
    return changed if counts[Status.OK] == len(cases) else UNANSWERED_EXIT_CODE


def _report_changes(batch: Batch) -> int:
    """Print which answers and which evidence changed; return the exit code of that."""
    cases = batch.record.cases
    changed = sum(answer.has_changed for case in cases for answer in case.answers)
    if changed:
        echo(f"{changed} answer{'' if changed == 1 else 's'} changed", err=True)
    found = [(case.name, text) for case in cases for text in changed_evidence(case.answers)]
    for name, text in found[:MAX_CHANGES]:
        echo(f"evidence of {name}: {redact(text, batch.secrets)}", err=True)
    if len(found) > MAX_CHANGES:
        echo(f"evidence: {len(found) - MAX_CHANGES:,} more changes are in run.json", err=True)
    return CHANGED_EXIT_CODE if (changed or found) and batch.options.fail_on_change else 0


@contextmanager
def _progress(batch: Batch, total: int) -> Iterator[Progress]:
    if batch.options.is_json:
        yield JsonLines(batch.secrets)
    elif not batch.options.is_sweep:
        yield CellLines(batch.secrets)
    elif sys.stderr.isatty():
        with Bars(total) as bars:
            yield bars
    else:
        yield CaseLines(total)
