"""What runs in a dask worker: one task for each job. It reports its address and relays bytes until the job ends.

A task has no content but a ticket, an id that only the service knows. It tells the service by an event of the scheduler
that it has begun; the service connects to this dask worker, through dask's own listener and its TLS, and names the
ticket. From then on bytes pass between the service and a process host (``host.py``) which this worker starts. Up to
WINDOW_BYTES may be on the way to the service; it confirms what it has taken. When either end is gone, so is the job.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
import tempfile
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any

from svc.assistant.workers.cluster.program import Program, own_program
from svc.assistant.workers.machine import share_of_memory
from svc.assistant.workers.process import Limits
from svc.assistant.workers.starting import MAX_TEMP_CHARS
from svc.process_safety import interpreter

if TYPE_CHECKING:
    from distributed import Worker

OPERATION = "svc-job"  # of a connection to a dask worker
WINDOW_BYTES = 1024 * 1024
CHUNK_BYTES = 64 * 1024
COME_SECONDS = 15.0  # for the service to connect to a task that has begun
START_SECONDS = 60.0  # for a host to start
_KEPT_VARIABLES = (
    "HOME", "LANG", "LC_ALL", "LC_CTYPE", "LD_LIBRARY_PATH", "PATH", "PYTHONHOME", "PYTHONPATH", "PYTHONSAFEPATH",
    "SVC_WORKERS", "TMPDIR", "TZ", "VIRTUAL_ENV",
)  # fmt: skip
"""Of a dask worker's environment; the rest may be secrets, which what reads evidence must not have."""


class HostStartError(Exception):
    """The process host did not start."""


class _DaskMachine:
    """What this dask worker has for jobs: its host, and the tickets that wait for the service."""

    def __init__(self, memory_bytes: int, preload: tuple[str, ...]) -> None:
        self._memory_bytes = memory_bytes
        self._preload = preload
        self._host: subprocess.Popen[bytes] | None = None
        self._folder = ""
        self._starting = asyncio.Lock()
        self.tickets: dict[str, _Ticket] = {}

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Connect to the host, which is started if it does not run; raises HostStartError."""
        from svc.assistant.workers.cluster.host import SOCKET

        for _ in range(2):  # an idle one may end in this moment
            async with self._starting:
                if self._host is None or self._host.poll() is not None:
                    await asyncio.to_thread(self._start)
            with contextlib.suppress(OSError):
                return await asyncio.open_unix_connection(os.path.join(self._folder, SOCKET))  # noqa: PTH118
        raise HostStartError("the process that starts workers ended")

    def _start(self) -> None:
        from svc.assistant.workers.cluster.host import READY

        parent = None if len(tempfile.gettempdir()) <= MAX_TEMP_CHARS else "/tmp"  # noqa: S108  # a new folder, 0700
        self._folder = tempfile.mkdtemp(prefix="svc-host-", dir=parent)
        program, environment = interpreter()
        environment = {name: value for name, value in environment.items() if name in _KEPT_VARIABLES}
        arguments = ["-P", "-m", "svc.assistant.workers.cluster.host", self._folder, str(self._memory_bytes)]
        try:
            self._host = host = subprocess.Popen(  # noqa: S603  # this Python
                [program, *arguments, *self._preload],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment,
            )  # fmt: skip
        except OSError as error:
            raise HostStartError(f"no process could be started: {error}") from error
        weakref.finalize(self, _end, host)
        assert host.stdout is not None
        if host.stdout.readline() != READY:
            raise HostStartError(f"the process that starts workers ended with status {host.wait()}")


def _end(host: subprocess.Popen[bytes]) -> None:
    for stream in (host.stdin, host.stdout):
        if stream is not None:
            stream.close()


class _Ticket:
    """A job that waits for the service, or runs."""

    def __init__(self) -> None:
        self.taken = asyncio.Event()
        self.over = asyncio.Event()


_places: weakref.WeakKeyDictionary[Worker, _DaskMachine] = weakref.WeakKeyDictionary()


async def serve_job(ticket: str, topic: str, program: Program, preload: tuple[str, ...]) -> None:
    """The task of one job: announce it, and last as long as it."""
    from distributed import get_worker

    worker = get_worker()
    problem = _unfitness() or await asyncio.to_thread(_difference, program)
    if problem:
        worker.log_event(topic, {"ticket": ticket, "address": worker.address, "problem": problem})
        return
    if worker not in _places:
        memory = share_of_memory(worker.state.nthreads, Limits().memory_bytes, worker.memory_manager.memory_limit)
        _places[worker] = _DaskMachine(memory, preload)
        worker.handlers[OPERATION] = _handler(worker)
    waiting = _places[worker].tickets[ticket] = _Ticket()
    worker.log_event(topic, {"ticket": ticket, "address": worker.address, "problem": ""})
    try:
        async with asyncio.timeout(COME_SECONDS):
            await waiting.taken.wait()
        await waiting.over.wait()
    except TimeoutError:  # the service no longer needs it
        pass
    finally:
        _places[worker].tickets.pop(ticket, None)


def _unfitness() -> str:
    return "it runs on Windows; jobs need Linux or macOS" if sys.platform == "win32" else ""


def _difference(program: Program) -> str:
    difference = program.difference(own_program())
    return f"it has {difference}" if difference else ""


async def describe(probe: str, text: str) -> tuple[Program, bool]:
    """The program of this machine, and whether the file ``probe`` has this text here."""
    return await asyncio.to_thread(_described, probe, text)


def _described(probe: str, text: str) -> tuple[Program, bool]:
    try:
        has_probe = Path(probe).read_text("ascii") == text
    except OSError:
        has_probe = False
    return own_program(), has_probe


def _handler(worker: Worker) -> Any:  # noqa: ANN401  # dask's type
    known = weakref.ref(worker)

    async def handle(comm: Any, ticket: str) -> Any:  # noqa: ANN401  # dask's types
        """Called by dask for a connection of the service."""
        from distributed.core import Status

        place = _places[found] if (found := known()) is not None else None
        waiting = place.tickets.get(ticket) if place is not None else None
        if place is None or waiting is None or waiting.taken.is_set():
            await comm.write({"problem": f"its task had ended; the service came after more than {COME_SECONDS:g} s"})
            await comm.close()
            return Status.dont_reply
        waiting.taken.set()
        try:
            await _relay(comm, place)
        finally:
            waiting.over.set()
            comm.abort()
        return Status.dont_reply

    return handle


async def _relay(comm: Any, place: _DaskMachine) -> None:  # noqa: ANN401  # dask's type
    try:
        reader, writer = await place.connect()
    except HostStartError as error:
        await comm.write({"problem": str(error)})
        await comm.close()
        return
    window = _Window()
    up = asyncio.create_task(_up(comm, reader, window))
    down = asyncio.create_task(_down(comm, writer, window))
    try:
        await asyncio.wait((up, down), return_when=asyncio.FIRST_COMPLETED)
    finally:
        writer.close()
        for task in (up, down):
            task.cancel()
        await asyncio.gather(up, down, return_exceptions=True)


class _Window:
    """How many bytes the service has not taken yet."""

    def __init__(self) -> None:
        self._open = 0
        self._changed = asyncio.Event()

    async def sent(self, size: int) -> None:
        """So many bytes are on their way; returns once there is room for more."""
        self._open += size
        while self._open >= WINDOW_BYTES:
            self._changed.clear()
            await self._changed.wait()

    def taken(self, size: int) -> None:
        """The service has taken so many bytes."""
        self._open -= size
        self._changed.set()


async def _up(comm: Any, reader: asyncio.StreamReader, window: _Window) -> None:  # noqa: ANN401
    while data := await reader.read(CHUNK_BYTES):
        await comm.write({"data": data})
        await window.sent(len(data))
    await comm.write({"end": True})
    await comm.close()


async def _down(comm: Any, writer: asyncio.StreamWriter, window: _Window) -> None:  # noqa: ANN401
    while True:
        message = await comm.read()  # raises OSError once the service is gone
        if (size := message.get("taken")) is not None:
            window.taken(size)
        if data := message.get("data"):
            writer.write(bytes(data))
            await writer.drain()
