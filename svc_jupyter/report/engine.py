"""Run a notebook in a kernel, cell by cell, without changing the given notebook or writing files.

Facts: docs/reports.md, "What other runners do differently". A cell tagged ``svc-optional`` may fail. What ends a run
early leaves a mark in the cell where it happened, so that a page made of it tells the truth.
"""

from __future__ import annotations

import asyncio
import copy
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import NotebookNode

from svc_jupyter.report.kernels import LiveKernel
from svc_jupyter.report.outcome import CellRun, Run, Status, status_of

OPTIONAL_TAG = "svc-optional"
_MAY_FAIL_TAG = "raises-exception"  # nbclient's word for it


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Time limits of a cell and of the notebook in seconds; None: no limit."""

    cell_seconds: int | None = None
    notebook_seconds: float | None = None


async def run(
    notebook: NotebookNode, kernel: LiveKernel, folder: Path, limits: Limits, report: Callable[[CellRun], None]
) -> Run:
    """Run every code cell in ``folder``, like Jupyter; call ``report`` after each."""
    notebook = copy.deepcopy(notebook)
    _forget_outputs(notebook)
    optional = _let_fail(notebook)
    started = time.monotonic()
    watch = _Watch(notebook, report)
    client = _Client(
        notebook,
        km=kernel.manager,
        resources={"metadata": {"path": str(folder)}},
        timeout=limits.cell_seconds,
        on_cell_execute=watch.begin,
        on_cell_executed=watch.end,
    )
    client.kc = kernel.client
    status, failure = await _outcome(client, limits, watch)
    for cell in optional:
        cell.metadata.tags.remove(_MAY_FAIL_TAG)
    return Run(notebook, time.monotonic() - started, status, failure)


class _Client(NotebookClient):
    """Runs in a given kernel, which it does not shut down, and installs no signal handlers."""

    @asynccontextmanager
    async def async_setup_kernel(self, **kwargs: object) -> AsyncIterator[None]:
        yield


async def _outcome(client: NotebookClient, limits: Limits, watch: _Watch) -> tuple[Status, str]:
    try:
        async with asyncio.timeout(limits.notebook_seconds):
            await _execute(client)
    except CellExecutionError as error:
        return status_of(error.ename), f"{error.ename}: {error.evalue}"
    except CellTimeoutError:
        return Status.TIMEOUT, watch.mark("Timeout", f"the cell did not finish within {limits.cell_seconds:,} s")
    except TimeoutError:
        return Status.TIMEOUT, watch.mark(
            "Timeout", f"the notebook did not finish within {limits.notebook_seconds:g} s"
        )
    except DeadKernelError as error:
        return Status.KERNEL_DIED, watch.mark("KernelDied", str(error))
    return Status.OK, ""


def is_cancelled() -> bool:
    """Whether the current task was cancelled, even if a library caught that.

    Up to Python 3.11, ``asyncio.wait_for`` drops a cancel that comes in the moment in which its task ends
    (python/cpython#86296).
    """
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


async def _execute(client: NotebookClient) -> None:
    try:
        await client.async_execute()
    except DeadKernelError as error:
        if is_cancelled():  # nbclient takes every cancel for a kernel's death
            raise asyncio.CancelledError from error
        raise


def _forget_outputs(notebook: NotebookNode) -> None:
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = []
            cell.execution_count = None


def _let_fail(notebook: NotebookNode) -> list[NotebookNode]:
    """Return the optional cells, with the tag that nbclient knows."""
    optional = []
    for cell in notebook.cells:
        tags = cell.metadata.get("tags", [])
        if OPTIONAL_TAG in tags and _MAY_FAIL_TAG not in tags:
            tags.append(_MAY_FAIL_TAG)
            optional.append(cell)
    return optional


class _Watch:
    """Measures the cells that nbclient runs, and knows the running one."""

    def __init__(self, notebook: NotebookNode, report: Callable[[CellRun], None]) -> None:
        cells = notebook.cells
        self._cells = cells
        self._numbers = {i: n for n, i in enumerate((i for i, c in enumerate(cells) if _runs(c)), 1)}
        self._report = report
        self._begun = time.monotonic()
        self._index: int | None = None

    def begin(self, cell: NotebookNode, cell_index: int) -> None:
        if is_cancelled():
            raise asyncio.CancelledError
        self._begun, self._index = time.monotonic(), cell_index

    def end(self, cell: NotebookNode, cell_index: int, execute_reply: Mapping[str, Mapping[str, object]]) -> None:
        self._index = None
        self._report_cell(cell_index, is_ok=execute_reply["content"]["status"] == "ok")

    def mark(self, name: str, text: str) -> str:
        """Write the reason into the unfinished cell's output, and return it as a line."""
        if self._index is not None:
            line = f"{name}: {text}"
            error = nbformat.v4.new_output("error", ename=name, evalue=text, traceback=[line])
            self._cells[self._index].outputs.append(error)
            self._report_cell(self._index, is_ok=False)
        return text

    def _report_cell(self, index: int, *, is_ok: bool) -> None:
        title = next((line for line in self._cells[index].source.splitlines() if line.strip()), "")
        seconds = time.monotonic() - self._begun
        self._report(CellRun(self._numbers[index], len(self._numbers), title, seconds, is_ok))


def _runs(cell: NotebookNode) -> bool:
    return bool(cell.cell_type == "code" and cell.source.strip())
