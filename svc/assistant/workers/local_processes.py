"""Worker processes of this machine: started ahead of jobs, one job each, killed at once when a job is over.

``process.py`` is what runs inside; they start as ``starting.py`` decides, and ``watch.py`` enforces the limits that
the platform does not.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket

import msgspec

from svc.assistant.workers import own_limits
from svc.assistant.workers import process as worker_process
from svc.assistant.workers.part_runs import JobRun
from svc.assistant.workers.places import WorkerProcess, request_of
from svc.assistant.workers.process import Frame, JobRequest, pack
from svc.assistant.workers.starting import Process, Starter, connect, exit_code, start
from svc.assistant.workers.watch import Confinement, Excess, Watch, give_way
from svc.errors import UnavailableError

REAP_SECONDS = 5.0
RETRY_AFTER_SECONDS = 5.0


class LocalProcess:
    """A process that waits for its job, and our end of its socket."""

    def __init__(
        self,
        process: Process,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self._process = process
        self._reader = reader
        self._writer = writer
        self._watch: Watch | None = None
        self._confinement: Confinement | None = None

    @property
    def excess(self) -> Excess | None:
        """The limit for which the process was killed from outside."""
        return self._watch.excess if self._watch is not None else None

    @property
    def is_alive(self) -> bool:
        """Whether the process runs."""
        return self._process.is_alive()

    async def send(self, run: JobRun) -> None:
        """Give the process the next part of a job."""
        content = run.job.source if isinstance(run.job.source, bytes) else None
        await self.send_request(request_of(run), content, run.state)

    async def send_request(self, request: JobRequest, content: bytes | None, state: bytes) -> None:
        """Give the process a request, the input's ``content`` if it has no path, and what earlier parts found."""
        limits = request.limits
        self._confinement = Confinement(self._process, limits.memory_bytes)
        self._watch = Watch(
            self._process,
            memory_bytes=limits.memory_bytes,
            cpu_seconds=None if own_limits.has_resource_limits() else limits.cpu_seconds,
        )
        self._writer.write(pack(request))
        if content is not None:
            self._writer.write(len(content).to_bytes(worker_process.HEADER_BYTES, "big"))
            self._writer.write(content)
        if request.part is not None and request.part.has_state:
            self._writer.write(pack(state))
        await self._writer.drain()

    def stop_reading(self, reason: str) -> None:
        """Ask the process to report soon what it has found so far."""
        with contextlib.suppress(ConnectionError):  # it died already
            self._writer.write(worker_process.stop_byte(reason))

    def give_way(self) -> None:
        """Lower the process's priority, so that younger jobs are not slowed down."""
        with contextlib.suppress(OSError, ValueError):  # it has ended
            give_way(self._process.pid or 0)

    async def receive(self, decoder: msgspec.msgpack.Decoder[Frame]) -> Frame | None:
        """The next frame, or None if the process is gone."""
        body = await self.receive_body()
        return None if body is None else decoder.decode(body)

    async def receive_body(self) -> bytes | None:
        """The next frame as it was sent, without its length; None if the process is gone."""
        try:
            header = await self._reader.readexactly(worker_process.HEADER_BYTES)
            return await self._reader.readexactly(int.from_bytes(header, "big"))
        except (asyncio.IncompleteReadError, ConnectionError):
            return None

    def kill(self) -> None:
        """Stop the process now; ``reap`` collects its exit code."""
        if self._watch is not None:
            self._watch.stop()
        self._writer.close()
        self._process.kill()

    async def reap(self) -> int | None:
        """Wait for the process; returns its exit code, or None if it did not end in time."""
        try:
            return await exit_code(self._process, REAP_SECONDS)
        finally:
            self._writer.close()
            if self._confinement is not None:
                self._confinement.end()


class LocalProcesses:
    """Starts processes ahead of jobs.

    Args:
        preload: Modules that a process has imported before its first job.
        ahead: How many wait for a job.
    """

    def __init__(self, preload: tuple[str, ...] = (), *, ahead: int = 1) -> None:
        self.ahead = ahead
        self._starter = Starter((worker_process.__name__, *preload))
        self._launches = 0
        self._idle: asyncio.Queue[LocalProcess | OSError] = asyncio.Queue()
        self._launching = asyncio.Lock()
        self._tasks: set[asyncio.Task[None] | asyncio.Task[int | None]] = set()
        self._is_closed = False

    @property
    def idle(self) -> int:
        """The number of processes that wait for a job."""
        return self._idle.qsize()

    @property
    def launches(self) -> int:
        """The number of processes that are being started."""
        return self._launches

    def start(self) -> None:
        """Start processes ahead of jobs; returns before they are ready."""
        self._starter.prepare()
        for _ in range(self.ahead):
            self._launch_if_needed()

    async def close(self) -> None:
        """Stop every process; running jobs end as killed."""
        self._is_closed = True
        while self._launches:
            await asyncio.wait({task for task in self._tasks if not task.done()}, timeout=REAP_SECONDS)
        while not self._idle.empty():
            process = self._idle.get_nowait()
            if isinstance(process, LocalProcess):
                self.discard(process)
        if self._tasks:
            await asyncio.wait(set(self._tasks), timeout=REAP_SECONDS)

    async def take(self) -> LocalProcess:
        """An idle process that is alive; a replacement is started.

        Raises:
            UnavailableError: None can be started.
        """
        while True:
            if self._idle.empty() and not self._launches:
                self._launch_if_needed()
            process = await self._idle.get()
            if isinstance(process, OSError):
                raise UnavailableError(
                    f"no worker process could be started: {process}. Free memory or processes, then try again",
                    retry_after=RETRY_AFTER_SECONDS,
                ) from process
            self._launch_if_needed()
            if process.is_alive:
                return process
            self.discard(process)

    def discard(self, process: WorkerProcess) -> None:
        """Kill the process now and collect it in the background, so that a cancelled turn does not wait."""
        with contextlib.suppress(ValueError):  # already reaped and closed
            process.kill()
            self._track(asyncio.create_task(process.reap()))

    def _launch_if_needed(self) -> None:
        if self._is_closed or self._launches + self._idle.qsize() >= self.ahead:
            return
        self._launches += 1
        self._track(asyncio.create_task(self._launch()))

    async def _launch(self) -> None:
        """Start a process, in a thread because the first start waits for the forkserver's imports."""
        ours, theirs = socket.socketpair()
        process = self._starter.process(worker_process.serve, theirs, self._starter.child_imports)
        try:
            async with self._launching:
                await asyncio.to_thread(start, process)
            self._idle.put_nowait(LocalProcess(process, *await connect(ours)))
        except OSError as error:
            ours.close()
            self._idle.put_nowait(error)
        except (
            AssertionError,
            EOFError,
            RuntimeError,
        ) as error:  # of this process, which may start none (as a daemonic one), or of the forkserver
            ours.close()
            self._idle.put_nowait(OSError(" ".join(str(error).split()) or "the forkserver ended"))
        finally:
            theirs.close()
            self._launches -= 1

    def _track(self, task: asyncio.Task[None] | asyncio.Task[int | None]) -> None:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
