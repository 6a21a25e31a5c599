"""Run cases in kernels on this machine, several at a time. ``dask_executor.py`` runs them on others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from nbformat import NotebookNode

from svc_jupyter.report import parameters
from svc_jupyter.report.cases import Case
from svc_jupyter.report.engine import Limits, run
from svc_jupyter.report.kernels import DEFAULT_KERNEL, KernelPlan, KernelPool
from svc_jupyter.report.outcome import CellRun, Run

Report = Callable[[CellRun], None]


@dataclass(frozen=True, kw_only=True)
class Job:
    """What all cases of a run share."""

    notebook: NotebookNode
    folder: Path
    environment: Mapping[str, str]
    limits: Limits
    secrets: tuple[str, ...] = field(default=(), repr=False)

    @property
    def kernel_name(self) -> str:
        """The name of the notebook's kernel."""
        return str(self.notebook.metadata.get("kernelspec", {}).get("name") or DEFAULT_KERNEL)

    def kernels(self, total: int) -> KernelPlan:
        """Describe the kernels for this number of cases."""
        return KernelPlan(
            name=self.kernel_name,
            folder=self.folder,
            environment=self.environment,
            total=total,
            secrets=self.secrets,
        )


class Executor(Protocol):
    """Runs cases, ``jobs`` of them at a time."""

    jobs: int

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    async def run(self, case: Case, report: Report) -> Run:
        """Run the case. Raises KernelStartError."""
        ...


class LocalExecutor:
    """Runs cases in local kernels; as many are started ahead as run at a time."""

    def __init__(self, job: Job, *, jobs: int, total: int) -> None:
        self.jobs: int = min(jobs, total) or 1
        self._job = job
        self._pool = KernelPool(job.kernels(total), ahead=self.jobs)

    async def __aenter__(self) -> Self:
        await self._pool.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._pool.__aexit__(kind, error, trace)

    async def run(self, case: Case, report: Report) -> Run:
        """Run the case in a new kernel, which is shut down afterwards."""
        notebook = parameters.inject(self._job.notebook, case.parameters.values)
        async with self._pool.kernel() as kernel:
            return await run(notebook, kernel, self._job.folder, self._job.limits, report)
