"""Call functions on a user's text in processes of their own, so that no text can hold the service's loop.

A thread would not do: while ``re`` searches a text, no other thread of the process runs. ``function_process.py`` is
what runs inside. A call that uses too much processor time is killed and refused; the next one gets a new process.
"""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing.context
import signal
import socket
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from svc.assistant.workers import function_process
from svc.assistant.workers.fair_queue import FairQueue
from svc.assistant.workers.forkserver import CONTEXT, choose_socket_folder, exit_code, start
from svc.assistant.workers.function_process import HEADER_BYTES, pack_call, unpack_reply
from svc.assistant.workers.payer import PAYER
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
        process: multiprocessing.context.ForkServerProcess,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self._process = process
        self._reader = reader
        self._writer = writer

    async def ask(self, body: bytes) -> bytes | None:
        """The reply to a call, or None if the process ended."""
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
        with contextlib.suppress(ValueError):  # reaped already
            self._process.kill()
            return await exit_code(self._process, REAP_SECONDS)
        return None

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
            process = self._idle.pop() if self._idle else await self._launch()
            is_kept = False
            try:
                async with asyncio.timeout(WALL_SECONDS):
                    reply = await process.ask(body)
                if reply is None:
                    raise _failure(await process.ended(), self._cpu_seconds)
                is_kept = not self._is_closed
            except TimeoutError:
                raise _took_too_long(WALL_SECONDS) from None
            finally:
                if is_kept:
                    self._idle.append(process)
                else:
                    self._discard(process)
        result: Any = unpack_reply(reply, files)
        if isinstance(result, function_process.Raised):
            raise result.error
        returned: T = result
        return returned

    async def _launch(self) -> _Process:
        """Start a process, in a thread because the first start waits for the forkserver's imports."""
        choose_socket_folder()
        ours, theirs = socket.socketpair()
        process = CONTEXT.Process(target=function_process.serve, args=(theirs, self._cpu_seconds), daemon=True)
        try:
            async with self._launching:
                await asyncio.to_thread(start, process)
            return _Process(process, *await asyncio.open_unix_connection(sock=ours))
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


def _failure(code: int | None, cpu_seconds: float) -> Exception:
    """What the exit code of a process that ended within a call says."""
    if code == -signal.SIGPROF:
        return _took_too_long(cpu_seconds)
    return RuntimeError(f"the process that reads questions ended (exit status {code})")
