"""Call functions on a user's text in processes of their own, so that no text can hold the service's loop.

A thread would not do: while ``re`` searches a text, no other thread of the process runs. ``function_process.py`` is
what runs inside. A call that uses too much processor time is killed and refused; the next one gets a new process.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from svc.assistant.workers import function_process, own_limits
from svc.assistant.workers.fair_queue import FairQueue
from svc.assistant.workers.function_process import HEADER_BYTES, MEMORY_BYTES, pack_call, unpack_reply
from svc.assistant.workers.payer import PAYER
from svc.assistant.workers.starting import Process, Starter, connect, exit_code, start
from svc.assistant.workers.watch import Confinement, Watch
from svc.errors import TooLargeError, UnavailableError

PROCESSES = 2  # calls of all accounts at the same time
LANES = 2  # more, for accounts that have no call running
CPU_SECONDS = 3.0  # of one call; one megabyte takes less than 1, a question of 2,000 characters less than 0.2
WALL_SECONDS = 60.0  # of one call, in case the machine is busy or the process is stopped
REAP_SECONDS = 5.0
RETRY_AFTER_SECONDS = 5.0
T = TypeVar("T")
P = ParamSpec("P")


class _Process:
    """A process that answers one call after another, and our end of its socket."""

    def __init__(
        self,
        process: Process,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self._process = process
        self._reader = reader
        self._writer = writer
        self._confinement = Confinement(process, MEMORY_BYTES)
        self.used_up = False  # the processor time of the last call

    async def ask(self, body: bytes, cpu_seconds: float) -> bytes | None:
        """The reply to a call, or None if the process ended."""
        watch = Watch(
            self._process,
            memory_bytes=MEMORY_BYTES,
            cpu_seconds=None if own_limits.limits_calls() else cpu_seconds,
        )
        try:
            return await self._ask(body)
        finally:
            watch.stop()
            self.used_up = watch.excess == "cpu"

    async def _ask(self, body: bytes) -> bytes | None:
        try:
            self._writer.write(len(body).to_bytes(HEADER_BYTES, "big"))
            self._writer.write(body)
            await self._writer.drain()
            header = await self._reader.readexactly(HEADER_BYTES)
            return await self._reader.readexactly(int.from_bytes(header, "big"))
        except (asyncio.IncompleteReadError, ConnectionError):
            return None

    async def end(self) -> int | None:
        """Stop the process if it still runs; returns its exit code."""
        self._writer.close()
        try:
            self._process.kill()
            return await exit_code(self._process, REAP_SECONDS)
        except ValueError:  # reaped already
            return None
        finally:
            self._confinement.end()

    async def ended(self) -> int | None:
        """The exit code of a process that closed its end."""
        self._writer.close()
        return await exit_code(self._process, REAP_SECONDS)


class FunctionProcesses:
    """A few processes, started when they are needed.

    Args:
        processes: How many calls run at the same time; further ones wait, and accounts take turns.
        cpu_seconds: Processor time of one call.
    """

    def __init__(self, *, processes: int = PROCESSES, cpu_seconds: float = CPU_SECONDS) -> None:
        self._slots = FairQueue(processes, LANES)
        self._starter = Starter()
        self._cpu_seconds = cpu_seconds
        self._idle: list[_Process] = []
        self._ending: set[asyncio.Task[int | None]] = set()
        self._launching = asyncio.Lock()
        self._is_closed = False

    async def close(self) -> None:
        """Stop every process; running calls end as refused."""
        self._is_closed = True
        while self._idle:
            self._discard(self._idle.pop())
        if self._ending:
            await asyncio.wait(set(self._ending), timeout=REAP_SECONDS)

    async def call(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Return what ``function`` returns, or raise what it raises. Files are passed without their content.

        Raises:
            TooLargeError: It took too long.
            UnavailableError: No process can be started.
        """
        body, files = pack_call(function, args, kwargs)
        async with self._slots.slot(PAYER.get().account, is_small=True):
            reply = None
            while reply is None and self._idle:  # one that waited may have been killed meanwhile: then another is asked
                reply = await self._ask(self._idle.pop(), body, is_new=False)
            if reply is None:
                reply = await self._ask(await self._launch(), body, is_new=True)
        assert reply is not None
        result: Any = unpack_reply(reply, files)
        if isinstance(result, function_process.Raised):
            raise result.error
        returned: T = result
        return returned

    async def _ask(self, process: _Process, body: bytes, *, is_new: bool) -> bytes | None:
        """The reply to a call; None if a process that waited for calls had ended for a reason other than this call."""
        is_kept = False
        try:
            async with asyncio.timeout(WALL_SECONDS):
                reply = await process.ask(body, self._cpu_seconds)
            if reply is None:
                code = await process.ended()
                if process.used_up or own_limits.is_call_limit(code):
                    raise _took_too_long(self._cpu_seconds)
                if is_new:
                    raise RuntimeError(f"the process that reads questions ended (exit status {code})")
            is_kept = reply is not None and not self._is_closed
        except TimeoutError:
            raise _took_too_long(WALL_SECONDS) from None
        finally:
            if is_kept:
                self._idle.append(process)
            else:
                self._discard(process)
        return reply

    async def _launch(self) -> _Process:
        """Return a new process. If the caller is cancelled, the start goes on and the process waits for a call:
        closing the descriptors of a start that is under way would end the forkserver.
        """
        starting = asyncio.create_task(self._start())
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:
            starting.add_done_callback(self._keep)
            raise

    def _keep(self, starting: asyncio.Task[_Process]) -> None:
        if starting.cancelled() or starting.exception() is not None:
            return
        if self._is_closed:
            self._discard(starting.result())
        else:
            self._idle.append(starting.result())

    async def _start(self) -> _Process:
        """Start a process, in a thread because the first start waits for the forkserver's imports."""
        self._starter.prepare()
        ours, theirs = socket.socketpair()
        process = self._starter.process(function_process.serve, theirs, self._cpu_seconds)
        try:
            async with self._launching:
                await asyncio.to_thread(start, process)
            return _Process(process, *await connect(ours))
        except (OSError, EOFError, RuntimeError) as error:
            ours.close()
            raise UnavailableError(
                f"no process to read the question could be started: {error}. Free memory or processes, then try again",
                retry_after=RETRY_AFTER_SECONDS,
            ) from error
        finally:
            theirs.close()

    def _discard(self, process: _Process) -> None:
        task = asyncio.create_task(process.end())
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)


def _took_too_long(seconds: float) -> TooLargeError:
    return TooLargeError(
        f"the question took too long to read (more than {seconds:g} s). Shorten it, or attach long material as a file"
    )
