"""New kernels, started before the notebooks need them, and each shut down after its notebook.

Facts: docs/reports.md, "On this machine": kernels started ahead halve the time of a sweep; over IPC no port is open,
and parallel kernels cannot compete for one.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self

from jupyter_client.asynchronous.client import AsyncKernelClient
from jupyter_client.kernelspec import NoSuchKernel
from jupyter_client.manager import AsyncKernelManager

from svc_jupyter import trusted_imports

START_SECONDS = 60  # for a kernel to answer; a cold one on busy cores takes three
DEFAULT_KERNEL = "python3"
# A kernel whose environment lacks svc_jupyter asks nothing and stores nothing, so it needs no list. In any other
# kernel a failed import must fail the run: without the list, secrets would be stored. The notebook's folder is not
# searched: a module there would be given the secrets.
_SCRIPT = Path(trusted_imports.__file__).read_text("utf-8")
_SET_SECRETS = "(lambda names: (exec({script!r}, names), names['remember_secrets']({values!r})))({{'__name__': ''}})"


class KernelStartError(Exception):
    """A kernel does not start."""


class KernelMissingError(KernelStartError):
    """The notebook's kernel is not installed, so no case can run."""


@dataclass(frozen=True)
class LiveKernel:
    """A running kernel and its client."""

    manager: AsyncKernelManager
    client: AsyncKernelClient


@dataclass(frozen=True, kw_only=True)
class KernelPlan:
    """What kernels are wanted: their kind, where they work, what their environment has beyond ours, how many in all.

    ``secrets`` is what they must not store.
    """

    name: str
    folder: Path
    environment: Mapping[str, str]
    total: int
    secrets: tuple[str, ...] = field(default=(), repr=False)


class KernelPool:
    """Provides new kernels; ``ahead`` of them are started in advance."""

    def __init__(self, plan: KernelPlan, *, ahead: int) -> None:
        self._plan = plan
        self._ahead = ahead
        self._left = plan.total
        self._sockets = TemporaryDirectory(prefix="svc-", ignore_cleanup_errors=True)
        self._numbers = itertools.count()
        self._starting: deque[asyncio.Task[LiveKernel]] = deque()

    async def __aenter__(self) -> Self:
        self._start_ahead()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Shut down the unused kernels."""
        try:
            await asyncio.gather(*(self._drop(task) for task in self._starting))
        finally:
            self._sockets.cleanup()

    @asynccontextmanager
    async def kernel(self) -> AsyncIterator[LiveKernel]:
        """Provide a new kernel, which is always shut down afterwards. Raises KernelStartError."""
        task = self._starting.popleft() if self._starting else self._begin()
        try:
            kernel = await asyncio.shield(task)
        except asyncio.CancelledError:
            await self._drop(task)
            raise
        self._start_ahead()
        try:
            yield kernel
        finally:
            await _end(kernel)

    def _start_ahead(self) -> None:
        while self._left > 0 and len(self._starting) < self._ahead:
            self._starting.append(self._begin())

    def _begin(self) -> asyncio.Task[LiveKernel]:
        self._left -= 1
        return asyncio.create_task(self._start())

    async def _start(self) -> LiveKernel:
        number = next(self._numbers)
        folder = Path(self._sockets.name)
        manager = AsyncKernelManager(
            kernel_name=self._plan.name, connection_file=str(folder / f"{number}.json"), **_transport(folder, number)
        )
        try:
            await manager.start_kernel(
                cwd=str(self._plan.folder),
                env={**os.environ, **self._plan.environment},
                extra_arguments=_arguments(manager),
            )
            return await _connected(manager, self._plan.secrets)
        except NoSuchKernel as error:
            raise KernelMissingError(
                f"kernel {error.name!r} is not installed. List the kernels with `jupyter kernelspec list`, "
                "choose one in the notebook and save it."
            ) from error
        except RuntimeError as error:  # what jupyter_client raises where a kernel stays silent
            raise KernelStartError(f"the kernel did not start: {error}. See its messages above.") from error

    @staticmethod
    async def _drop(task: asyncio.Task[LiveKernel]) -> None:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError, Exception):  # its case has reported it, or none needs it
            await _end(await task)


async def _connected(manager: AsyncKernelManager, secrets: tuple[str, ...]) -> LiveKernel:
    """Connect to the kernel and pass it the secrets; shut it down if it does not respond."""
    client = manager.client()
    try:
        client.start_channels()
        await client.wait_for_ready(timeout=START_SECONDS)
        if secrets and getattr(manager.kernel_spec, "language", "") == "python":
            code = _SET_SECRETS.format(script=_SCRIPT, values=list(secrets))
            reply = await client.execute(code, silent=True, store_history=False, reply=True, timeout=START_SECONDS)
            if reply["content"]["status"] != "ok":
                raise KernelStartError(f"the kernel cannot keep the secrets: {reply['content'].get('evalue', '')}")
    except BaseException:
        await _end(LiveKernel(manager, client))
        raise
    client.allow_stdin = False
    return LiveKernel(manager, client)


async def _end(kernel: LiveKernel) -> None:
    kernel.client.stop_channels()
    await kernel.manager.shutdown_kernel(now=True)


def _transport(folder: Path, number: int) -> dict[str, str]:
    return {"transport": "ipc", "ip": str(folder / f"k{number}")} if os.name == "posix" else {}


def _arguments(manager: AsyncKernelManager) -> list[str]:
    """Keep the history in memory, because parallel kernels would lock each other's file."""
    return ["--HistoryManager.hist_file=:memory:"] if manager.ipykernel else []
