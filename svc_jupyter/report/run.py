"""Run a notebook in a fresh kernel, cell by cell. The notebook that comes in is not changed; nothing is written.

Facts: the report page, "Facts": nbclient; kernels over IPC, where the system has it, so that no port of this machine is
open and none is raced for.
"""

from __future__ import annotations

import asyncio
import copy
import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from jupyter_client.kernelspec import NoSuchKernel
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, DeadKernelError
from nbformat import NotebookNode
from traitlets.config import Config

START_SECONDS = 60  # for a kernel to answer; a cold one on busy cores takes three
DEFAULT_KERNEL = "python3"


class KernelStartError(Exception):
    """The notebook's kernel is not installed here, or does not start."""


@dataclass(frozen=True)
class CellRun:
    """A code cell that has run. ``number`` counts code cells from 1; ``title`` is its first line."""

    number: int
    total: int
    title: str
    seconds: float
    is_ok: bool


@dataclass(frozen=True)
class Run:
    """An executed notebook. ``failure`` is a line about the cell that failed, after which none ran, or None."""

    notebook: NotebookNode
    seconds: float
    failure: str | None


async def run(notebook: NotebookNode, folder: Path, report: Callable[[CellRun], None]) -> Run:
    """Run every code cell in ``folder``, as Jupyter would; ``report`` is called after each. Raises KernelStartError."""
    notebook = copy.deepcopy(notebook)
    _forget_outputs(notebook)
    started = time.monotonic()
    watch = _Watch(notebook, report)
    failure = None
    with TemporaryDirectory(prefix="svc-") as sockets:
        client = _Client(
            notebook,
            kernel_name=notebook.metadata.get("kernelspec", {}).get("name") or DEFAULT_KERNEL,
            config=_over_ipc(Path(sockets)),
            resources={"metadata": {"path": str(folder)}},
            timeout=None,
            startup_timeout=START_SECONDS,
            on_cell_execute=watch.begin,
            on_cell_executed=watch.end,
        )
        try:
            await _execute(client)
        except CellExecutionError as error:
            failure = f"{error.ename}: {error.evalue}"
        except DeadKernelError as error:
            failure = str(error)
    return Run(notebook, time.monotonic() - started, failure)


class _Client(NotebookClient):
    """Ends its kernel with the run, however it ends.

    nbclient answers a signal by ending the kernel under a run that goes on; here the signal ends the run.
    """

    @asynccontextmanager
    async def async_setup_kernel(self, **kwargs: object) -> AsyncIterator[None]:
        manager = self.create_kernel_manager()
        try:
            await self.async_start_new_kernel(**kwargs)
            client = await self.async_start_new_kernel_client()
            try:
                yield
            finally:
                client.stop_channels()
        finally:
            await manager.shutdown_kernel(now=True)


async def _execute(client: NotebookClient) -> None:
    try:
        await client.async_execute()
    except NoSuchKernel as error:
        raise KernelStartError(
            f"there is no kernel {error.name!r} here. `jupyter kernelspec list` shows what there is; "
            "choose one in the notebook and save it."
        ) from error
    except DeadKernelError as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():  # nbclient takes every cancel for a kernel's death
            raise asyncio.CancelledError from error
        raise
    except RuntimeError as error:  # what jupyter_client raises where a kernel stays silent
        raise KernelStartError(f"the kernel did not start: {error}. Its own messages stand above.") from error


def _over_ipc(sockets: Path) -> Config:
    """The kernel's channels as sockets in a folder of this user's; by itself each side would look in its own folder."""
    config = Config()
    if os.name == "posix":
        config.KernelManager.transport = "ipc"
        config.KernelManager.ip = str(sockets / "kernel")
    return config


def _forget_outputs(notebook: NotebookNode) -> None:
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = []
            cell.execution_count = None


class _Watch:
    """Times the cells that nbclient runs."""

    def __init__(self, notebook: NotebookNode, report: Callable[[CellRun], None]) -> None:
        cells = notebook.cells
        self._numbers = {i: n for n, i in enumerate((i for i, c in enumerate(cells) if _runs(c)), 1)}
        self._report = report
        self._begun = time.monotonic()

    def begin(self, cell: NotebookNode, cell_index: int) -> None:
        self._begun = time.monotonic()

    def end(self, cell: NotebookNode, cell_index: int, execute_reply: dict[str, dict[str, object]]) -> None:
        title = next((line for line in cell.source.splitlines() if line.strip()), "")
        is_ok = execute_reply["content"]["status"] == "ok"
        seconds = time.monotonic() - self._begun
        self._report(CellRun(self._numbers[cell_index], len(self._numbers), title, seconds, is_ok))


def _runs(cell: NotebookNode) -> bool:
    return bool(cell.cell_type == "code" and cell.source.strip())
