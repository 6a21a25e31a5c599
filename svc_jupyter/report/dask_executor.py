"""Run cases on the workers of a dask cluster. Each worker runs a case in a kernel of its own machine and sends back the
executed notebook; only this side writes files, so a case that runs twice after a worker died is written once.

Facts: docs/reports.md, "On a dask cluster": dask cannot cancel a running kernel, so the worker's kernel is
ended by its own limits or, as the worker's child, together with the worker. The notebook's folder must exist on each
worker.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import TYPE_CHECKING, Self

from nbformat import NotebookNode, from_dict

from svc_jupyter.report import parameters
from svc_jupyter.report.cases import Case
from svc_jupyter.report.engine import run
from svc_jupyter.report.executor import Job, Report
from svc_jupyter.report.kernels import KernelMissingError, KernelPool, KernelStartError
from svc_jupyter.report.outcome import CellRun, Run, Status

if TYPE_CHECKING:
    from distributed import Client

CONNECT_SECONDS = 10  # for the scheduler to answer, and then to have a worker
MAX_WORKER_DEATHS = 5  # that a case may outlive: one that kills its worker each time is not tried for ever


class ClusterError(Exception):
    """dask is not installed, its scheduler is unreachable, or it has no workers."""


@dataclass(frozen=True)
class _Work:
    """A task for a worker. It has no repr, because dask logs the arguments of failed tasks."""

    notebook: NotebookNode = field(repr=False)
    job: Job = field(repr=False)


@dataclass(frozen=True)
class _Done:
    """A worker's result as plain data.

    ``problem`` says why no kernel started; otherwise it is empty. With ``is_missing`` no other case can start one.
    """

    notebook: dict[str, object]
    seconds: float
    status: str
    failure: str
    cells: list[CellRun]
    problem: str = ""
    is_missing: bool = False


class DaskExecutor:
    """Runs cases on a cluster, ``jobs`` at a time, or as many as its workers have threads."""

    def __init__(self, job: Job, *, scheduler: str, jobs: int | None) -> None:
        self.jobs: int = jobs or 1
        self._wanted_jobs = jobs
        self._job = job
        self._scheduler = scheduler
        self._client: Client | None = None

    async def __aenter__(self) -> Self:
        try:
            from distributed import Client
        except ImportError as error:
            raise ClusterError('dask is not installed: pip install "svc-jupyter[dask]"') from error
        try:
            self._client = await Client(
                self._scheduler, asynchronous=True, timeout=CONNECT_SECONDS, set_as_default=False
            )
        except (OSError, TimeoutError) as error:
            raise ClusterError(f"cannot reach the dask scheduler at {self._scheduler}: {error}") from error
        try:
            await self._client.wait_for_workers(1, timeout=CONNECT_SECONDS)
        except TimeoutError as error:
            await self._client.close()
            raise ClusterError(
                f"the dask scheduler at {self._scheduler} has no workers. Start one: dask worker {self._scheduler}"
            ) from error
        workers = self._client.scheduler_info(n_workers=-1)["workers"]
        self.jobs = self._wanted_jobs or sum(worker["nthreads"] for worker in workers.values())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._client is not None:
            await self._client.close()

    async def run(self, case: Case, report: Report) -> Run:
        """Run a case on a worker, and again on another one if that worker dies."""
        if self._client is None:
            raise ClusterError("the executor must be entered first")
        from distributed import KilledWorker

        notebook = parameters.inject(self._job.notebook, case.parameters.values)
        work = _Work(notebook, replace(self._job, notebook=NotebookNode()))  # the notebook travels once
        future = self._client.submit(_on_worker, work, pure=False, retries=MAX_WORKER_DEATHS)
        try:
            done = await future
        except KilledWorker as error:
            return Run(notebook, 0.0, Status.KERNEL_DIED, f"every worker that ran it died: {error}")
        except asyncio.CancelledError:
            with contextlib.suppress(Exception):  # the run ends; the cluster hears it if it can
                await future.cancel()
            raise
        if done.problem:
            raise (KernelMissingError if done.is_missing else KernelStartError)(done.problem)
        for cell in done.cells:
            report(cell)
        return Run(from_dict(done.notebook), done.seconds, Status(done.status), done.failure)


def _on_worker(work: _Work) -> _Done:
    return asyncio.run(_run(work.notebook, replace(work.job, notebook=work.notebook)))


async def _run(notebook: NotebookNode, job: Job) -> _Done:
    cells: list[CellRun] = []
    try:
        async with KernelPool(job.kernels(1), ahead=1) as pool, pool.kernel() as kernel:
            result = await run(notebook, kernel, job.folder, job.limits, cells.append)
    except KernelStartError as error:
        is_missing = isinstance(error, KernelMissingError)
        return _Done({}, 0.0, Status.FAILED, "", [], problem=str(error), is_missing=is_missing)
    return _Done(dict(result.notebook), result.seconds, result.status, result.failure, cells)
