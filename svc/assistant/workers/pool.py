"""Run tools in worker processes: started ahead, one job each, limited, killed on cancel, ended when the service dies.

Decides how many run, when a job has taken too long, and what is reported about a process that died; ``fair_queue.py``
decides whose job is next, ``job_limits.py`` how long it may take, and ``process.py`` is what runs inside. Processes
start as ``starting.py`` decides; ``watch.py`` enforces the limits that the platform does not.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import time
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import ParamSpec, TypeVar

import msgspec

from svc.assistant import knowledge
from svc.assistant.findings import (
    Finding,
    Gap,
    Progress,
    ToolEvent,
    ToolFailure,
)
from svc.assistant.turn import WorkerLoad
from svc.assistant.workers import own_limits
from svc.assistant.workers import process as worker_process
from svc.assistant.workers.failures import exit_reason, failure, findings_limit_gap, stopped_gap
from svc.assistant.workers.fair_queue import FairQueue
from svc.assistant.workers.fetching import fetched
from svc.assistant.workers.frames import InputSearched, MemberFrame, PartEnd
from svc.assistant.workers.functions import FunctionProcesses
from svc.assistant.workers.job import Job, JobEnd, WorkerItem, frame_decoder
from svc.assistant.workers.job_limits import announcement, is_small, limits_for, size_of, unpacked_bytes
from svc.assistant.workers.kept_runs import kept_run
from svc.assistant.workers.machine import processors, share_of_memory
from svc.assistant.workers.part_runs import JobRun, begin, in_parts
from svc.assistant.workers.payer import PAYER, STOP, TURN_END, StopRequest, is_time_over, stop_reason, until_end
from svc.assistant.workers.process import Crashed, Done, Frame, JobRequest, Limits, pack
from svc.assistant.workers.reading_budget import TURN_LIMIT
from svc.assistant.workers.starting import Process, Starter, connect, exit_code, start
from svc.assistant.workers.watch import Confinement, Excess, Watch, give_way
from svc.errors import UnavailableError
from svc.messages import TaskProgress
from svc.progress import Meter
from svc.untrusted.markup import plural

__all__ = ["Job", "Limits", "Workers"]

LANES = 2  # beside the slots, for accounts that have no job running (fair_queue.py)
QUEUE = 64  # jobs of one account that may wait for a worker; further ones are refused
QUEUE_OF_ALL = 1_024  # the same of all accounts together
PATIENCE_SECONDS = 1.0  # after that a job gives way to younger ones: most take less
RETRY_AFTER_SECONDS = 5.0
REAP_SECONDS = 5.0
STOP_SECONDS = 6.0  # for a stopped job to report what it found
_PENDING_ITEMS = 256  # of parallel jobs, not yet taken by the turn
T = TypeVar("T")
P = ParamSpec("P")


_Items = asyncio.Queue[tuple[int, ToolEvent | JobEnd | None] | Exception | None]


class _Worker:
    """A process that waits for its job, and our end of its socket."""

    def __init__(
        self,
        process: Process,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self.process = process
        self._reader = reader
        self._writer = writer
        self._watch: Watch | None = None
        self._confinement: Confinement | None = None

    @property
    def excess(self) -> Excess | None:
        """The limit for which the process was killed from outside."""
        return self._watch.excess if self._watch is not None else None

    async def send(self, run: JobRun) -> None:
        job, limits = run.job, run.limits
        self._confinement = Confinement(self.process, limits.memory_bytes)
        self._watch = Watch(
            self.process,
            memory_bytes=limits.memory_bytes,
            cpu_seconds=None if own_limits.has_resource_limits() else limits.cpu_seconds,
        )
        path = os.fspath(job.source) if isinstance(job.source, Path) else None
        request = JobRequest(
            tool=job.tool,
            input=job.input,
            name=job.name,
            limits=limits,
            path=path,
            part=run.plan,
            options=job.options,
            knowledge=os.fspath(knowledge.user_folder()),
            looks_for_instructions=job.looks_for_instructions,
            is_prompt=job.is_prompt,
            known_texts=job.known_texts,
        )
        self._writer.write(pack(request))
        if isinstance(job.source, bytes):
            self._writer.write(len(job.source).to_bytes(worker_process.HEADER_BYTES, "big"))
            self._writer.write(job.source)
        if run.plan is not None and run.plan.has_state:
            self._writer.write(pack(run.state))
        await self._writer.drain()

    def stop_reading(self, reason: str) -> None:
        """Ask the process to report soon what it has found so far."""
        with contextlib.suppress(ConnectionError):  # it died already
            self._writer.write(worker_process.TIME_IS_OVER if reason == TURN_LIMIT else worker_process.STOP_READING)

    def give_way(self) -> None:
        """Lower the process's priority, so that younger jobs are not slowed down."""
        with contextlib.suppress(OSError, ValueError):  # it has ended
            give_way(self.process.pid or 0)

    async def receive(self, decoder: msgspec.msgpack.Decoder[Frame]) -> Frame | None:
        """The next frame, or None if the process is gone."""
        try:
            header = await self._reader.readexactly(worker_process.HEADER_BYTES)
            return decoder.decode(await self._reader.readexactly(int.from_bytes(header, "big")))
        except (asyncio.IncompleteReadError, ConnectionError):
            return None

    def kill(self) -> None:
        """Stop the process now; ``reap`` collects its exit code."""
        if self._watch is not None:
            self._watch.stop()
        self._writer.close()
        self.process.kill()

    async def reap(self) -> int | None:
        """Wait for the process; returns its exit code, or None if it did not end in time."""
        try:
            return await exit_code(self.process, REAP_SECONDS)
        finally:
            self._writer.close()
            if self._confinement is not None:
                self._confinement.end()


class _Stopping:
    """Stops a job once its turn should end: it may report what it found, and is killed if that takes too long."""

    def __init__(self, worker: _Worker) -> None:
        self.is_killed = False
        self._worker = worker
        self._task: asyncio.Task[None] | None = None
        if (request := STOP.get()) is not None:
            self._task = asyncio.create_task(self._stop(request))

    async def _stop(self, request: StopRequest) -> None:
        await request.wait()
        self._worker.stop_reading(request.reason)
        await asyncio.sleep(STOP_SECONDS)
        self.is_killed = True
        self._worker.process.kill()

    def end(self) -> None:
        """The job is over."""
        if self._task is not None:
            self._task.cancel()


class _Counts:
    """The counted progress of one job: what is reported of it, and when; ``start`` bytes were read by parts before."""

    def __init__(self, start: int) -> None:
        self._start = start
        self._meters: dict[tuple[str, str], Meter] = {}

    def report(self, progress: Progress) -> Progress | None:
        counted = progress.counted
        if counted is None:
            return progress
        key = (progress.text, counted.unit)
        if key not in self._meters:
            done = self._start if counted.unit == "byte" else 0
            self._meters[key] = Meter(counted.task, counted.unit, clock=time.monotonic, done=done)
        due = self._meters[key].report(counted.done, counted.total)
        return None if due is None else Progress(text=progress.text, counted=due)


def _unread(run: JobRun) -> Gap | Finding[ToolFailure] | None:
    """Why a job whose turn should end is not begun; one that has read parts of its input reports what they have."""
    if not run.state and (reason := stop_reason()):
        return Gap(text=f"not examined: {reason} before it was read", in_headline=True, is_passing=True)
    if not run.is_finishing and is_time_over():
        if not run.state:
            return failure(run.job, f"{TURN_LIMIT} before it began", findings=0)
        run.give_up(TURN_LIMIT)
    return None


class Workers:
    """The pool. ``start`` and ``close`` belong to one event loop; many turns may iterate ``run`` at the same time.

    ``slots``: as for ``set_count``.
    """

    def __init__(
        self, *, slots: int = 0, queue: int = QUEUE, limits: Limits | None = None, preload: tuple[str, ...] = ()
    ) -> None:
        self._queue = queue
        self._most = limits or Limits()
        self.set_count(slots)
        self._starter = Starter((worker_process.__name__, *preload))
        self._functions = FunctionProcesses()
        self._launches = 0
        self._idle: asyncio.Queue[_Worker | OSError] = asyncio.Queue()
        self._launching = asyncio.Lock()
        self._tasks: set[asyncio.Task[None] | asyncio.Task[int | None]] = set()
        self._is_closed = False

    def set_count(self, slots: int) -> None:
        """Before ``start``: how many tools run at the same time; 0 is one for each processor.

        The memory of each is limited so that all of them, those in lanes included, fit into the machine's.
        """
        self._slot_count = slots or processors()
        self._slots = FairQueue(self._slot_count, LANES)
        memory = share_of_memory(self._slot_count + LANES, self._most.memory_bytes)
        self._limits = msgspec.structs.replace(self._most, memory_bytes=memory)

    @property
    def waiting(self) -> int:
        """The number of jobs that wait for a worker."""
        return self._slots.waiting

    @property
    def load(self) -> WorkerLoad:
        """How many jobs may run at the same time, run and wait."""
        return WorkerLoad(slots=self._slot_count, busy=self._slots.running, waiting=self._slots.waiting)

    @property
    def idle(self) -> int:
        """The number of processes that wait for a job."""
        return self._idle.qsize()

    async def start(self) -> None:
        """Start processes ahead of jobs; returns before they are ready."""
        self._starter.prepare()
        for _ in range(self._slot_count):
            self._launch_if_needed()

    async def close(self) -> None:
        """Stop every process; running jobs end as killed."""
        self._is_closed = True
        await self._functions.close()
        while self._launches:
            await asyncio.wait({task for task in self._tasks if not task.done()}, timeout=REAP_SECONDS)
        while not self._idle.empty():
            worker = self._idle.get_nowait()
            if isinstance(worker, _Worker):
                self._discard(worker)
        if self._tasks:
            await asyncio.wait(set(self._tasks), timeout=REAP_SECONDS)

    async def call(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a function of ours on a user's text in another process, with little processor time.

        Raises:
            TooLargeError: It took too long.
        """
        return await self._functions.call(function, *args, **kwargs)

    async def run(self, job: Job) -> AsyncGenerator[ToolEvent, None]:
        """Run a job and yield what the tool yields, or what it yielded for an earlier question about the same file.

        If the process dies or is stopped, the last item is a Finding with a ToolFailure. Closing the iterator kills the
        process.

        Raises:
            UnavailableError: Too many jobs are waiting, or no process can be started.
        """
        items = self.unpack(job) if job.results is None else kept_run(self, job, job.results)
        async with contextlib.aclosing(items):
            async for item in items:
                if not isinstance(item, MemberFrame | InputSearched | Done):
                    yield item

    async def run_all(self, jobs: Sequence[Job]) -> AsyncGenerator[tuple[int, ToolEvent | JobEnd | None], None]:
        """Run jobs as ``run`` does, as many at a time as there are workers.

        Yields:
            The index of the job with an item of it, as they come; None is the job's start, JobEnd its end.
        """
        items: _Items = asyncio.Queue(maxsize=_PENDING_ITEMS)
        waiting = deque(enumerate(jobs))
        tasks = [asyncio.create_task(self._run_waiting(waiting, items)) for _ in jobs[: self._slot_count]]
        left = len(tasks)
        try:
            while left:
                match await items.get():
                    case None:
                        left -= 1
                    case Exception() as error:
                        raise error
                    case item:
                        yield item
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _run_waiting(self, waiting: deque[tuple[int, Job]], items: _Items) -> None:
        """Run jobs until none waits; the last item is None, or what was raised."""
        try:
            while waiting:
                index, job = waiting.popleft()
                await items.put((index, None))
                async with contextlib.aclosing(self.run(job)) as yields:
                    async for item in yields:
                        await items.put((index, item))
                await items.put((index, JobEnd()))
            await items.put(None)
        except Exception as error:  # noqa: BLE001 - raised again by the consumer
            await items.put(error)

    async def unpack(self, job: Job) -> AsyncGenerator[WorkerItem, None]:
        """As ``run``, for a job that also sends the members of an archive."""
        async with contextlib.aclosing(fetched(job)) as local:
            async for fetched_job in local:
                if not isinstance(fetched_job, Job):
                    yield fetched_job
                    continue
                async with contextlib.aclosing(self._read(fetched_job)) as items:
                    async for item in items:
                        yield item

    async def _read(self, job: Job) -> AsyncGenerator[WorkerItem, None]:
        """Run a job whose input is on this machine."""
        size = size_of(job.source)
        run = begin(job, size, limits_for(self._limits, size, job.source))
        async with contextlib.aclosing(in_parts(run, self._part, asyncio.get_running_loop().time)) as items:
            async for item in items:
                yield item

    async def _part(self, run: JobRun) -> AsyncGenerator[WorkerItem | PartEnd, None]:
        """Run the next part of a job, or all of it, in a worker."""
        account, small = PAYER.get().account, is_small(run.size)
        if not run.state:  # later parts wait however long the queue is: the job was accepted
            self._check_queue(account)
        if self._slots.is_full_for(account, is_small=small):
            ahead = plural(self._slots.waiting_of(account), "job")
            yield Progress(text=f"queued: {plural(self._slots.running, 'worker')} busy, {ahead} ahead")
        async with self._slot(is_small=small):  # or none, and then the turn ends: nothing more is read
            if (unread := _unread(run)) is not None:
                yield unread
                return
            worker = await self._next_worker()
            try:
                async with contextlib.aclosing(self._frames(worker, run)) as frames:
                    async for item in frames:
                        yield item
            finally:
                self._discard(worker)

    def _check_queue(self, account: str) -> None:
        own, everybodys = self._slots.waiting_of(account), self._slots.waiting
        if own >= self._queue or everybodys >= QUEUE_OF_ALL:
            raise UnavailableError(
                f"the workers are busy ({self._slots.running:,}) and the queue is full "
                f"({plural(own if own >= self._queue else everybodys, 'job')}); "
                f"try again in {RETRY_AFTER_SECONDS:.0f} s",
                retry_after=RETRY_AFTER_SECONDS,
            )

    @contextlib.asynccontextmanager
    async def _slot(self, *, is_small: bool) -> AsyncIterator[None]:
        payer = PAYER.get()
        async with self._slots.slot(payer.account, is_small=is_small, ends=until_end):
            started = asyncio.get_running_loop().time()
            try:
                yield
            finally:
                payer.spend(asyncio.get_running_loop().time() - started)

    async def _frames(self, worker: _Worker, run: JobRun) -> AsyncGenerator[WorkerItem | PartEnd, None]:
        job, now = run.job, asyncio.get_running_loop().time()
        run.begin(now, TURN_END.get())
        limits = run.limits
        if not run.state and (told := announcement(job.name, run.size, unpacked_bytes(run.size, job.source), limits)):
            yield Progress(text=told)
        deadline = now + run.wall_seconds
        patience = asyncio.get_running_loop().call_later(PATIENCE_SECONDS, worker.give_way)
        findings = 0
        counts = _Counts(run.plan.start if run.plan is not None else 0)
        stopping = _Stopping(worker)
        decoder = frame_decoder(job.facts)
        try:
            async with asyncio.timeout_at(deadline):
                with contextlib.suppress(ConnectionError):  # it died already; the first receive finds out how
                    await worker.send(run)
            while True:
                async with asyncio.timeout_at(deadline):
                    frame = await worker.receive(decoder)
                match frame:
                    case Done() | PartEnd():
                        yield frame
                        return
                    case Crashed(error=error, where=where):
                        yield failure(job, f"the parser crashed: {error}", findings, where)
                        return
                    case None if stopping.is_killed:
                        yield stopped_gap(stop_reason(), findings)
                        return
                    case None:
                        yield failure(
                            job, exit_reason(await worker.reap(), worker.excess, limits, REAP_SECONDS), findings
                        )
                        return
                    case Finding():
                        findings += 1
                        if findings > limits.findings:
                            yield findings_limit_gap(job, limits)
                            return
                    case Progress(counted=TaskProgress()):
                        if (due := counts.report(frame)) is not None:
                            yield due
                        continue
                yield frame
        except TimeoutError:
            yield failure(job, f"the parser was stopped after {limits.wall_seconds:g} s", findings)
        finally:
            patience.cancel()
            stopping.end()

    async def _next_worker(self) -> _Worker:
        """An idle process that is alive; a replacement is started."""
        while True:
            if self._idle.empty() and not self._launches:
                self._launch_if_needed()
            worker = await self._idle.get()
            if isinstance(worker, OSError):
                raise UnavailableError(
                    f"no worker process could be started: {worker}. Free memory or processes, then try again",
                    retry_after=RETRY_AFTER_SECONDS,
                ) from worker
            self._launch_if_needed()
            if worker.process.is_alive():
                return worker
            self._discard(worker)

    def _launch_if_needed(self) -> None:
        if self._is_closed or self._launches + self._idle.qsize() >= self._slot_count:
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
            self._idle.put_nowait(_Worker(process, *await connect(ours)))
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

    def _discard(self, worker: _Worker) -> None:
        """Kill the process now and collect it in the background, so that a cancelled turn does not wait."""
        with contextlib.suppress(ValueError):  # already reaped and closed
            worker.kill()
            self._track(asyncio.create_task(worker.reap()))

    def _track(self, task: asyncio.Task[None] | asyncio.Task[int | None]) -> None:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
