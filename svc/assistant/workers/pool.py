"""Run tools in worker processes: started ahead, one job each, limited, killed on cancel, ended when the service dies.

Decides how many run, when a job has taken too long, and what is reported about a process that died; ``fair_queue.py``
decides whose job is next, ``job_limits.py`` how long it may take, and ``process.py`` is what runs inside. The processes
are this machine's (``local_processes.py``); those that read attached files may be a cluster's (``cluster``).
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import ParamSpec, TypeVar

import msgspec

from svc.assistant.findings import (
    Finding,
    Gap,
    Progress,
    ToolEvent,
    ToolFailure,
)
from svc.assistant.turn import WorkerLoad
from svc.assistant.workers.failures import exit_reason, failure, findings_limit_gap, stopped_gap
from svc.assistant.workers.fair_queue import FairQueue
from svc.assistant.workers.fetching import fetched
from svc.assistant.workers.frames import InputSearched, MemberFrame, PartEnd
from svc.assistant.workers.functions import FunctionProcesses
from svc.assistant.workers.job import Job, JobEnd, WorkerItem, frame_decoder
from svc.assistant.workers.job_limits import announcement, is_small, limits_for, size_of, unpacked_bytes
from svc.assistant.workers.kept_runs import kept_run
from svc.assistant.workers.local_processes import REAP_SECONDS, RETRY_AFTER_SECONDS, LocalProcesses
from svc.assistant.workers.machine import processors, share_of_memory
from svc.assistant.workers.part_runs import JobRun, begin, in_parts
from svc.assistant.workers.payer import PAYER, STOP, TURN_END, StopRequest, is_time_over, stop_reason, until_end
from svc.assistant.workers.places import Cluster, ProcessLostError, WorkerProcess
from svc.assistant.workers.process import Crashed, Done, Limits
from svc.assistant.workers.reading_budget import TURN_LIMIT
from svc.assistant.workers.seen_frames import SeenFrames
from svc.errors import UnavailableError
from svc.messages import TaskProgress
from svc.progress import Meter
from svc.untrusted.markup import plural

__all__ = ["Job", "Limits", "Workers"]

LANES = 2  # beside the slots, for accounts that have no job running (fair_queue.py)
QUEUE = 64  # jobs of one account that may wait for a worker; further ones are refused
QUEUE_OF_ALL = 1_024  # the same of all accounts together
PATIENCE_SECONDS = 1.0  # after that a job gives way to younger ones: most take less
ATTEMPTS = 2  # at a part whose machine in the cluster is lost
STOP_SECONDS = 6.0  # for a stopped job to report what it found
_PENDING_ITEMS = 256  # of parallel jobs, not yet taken by the turn
T = TypeVar("T")
P = ParamSpec("P")


_Items = asyncio.Queue[tuple[int, ToolEvent | JobEnd | None] | Exception | None]


class _Stopping:
    """Stops a job once its turn should end: it may report what it found, and is killed if that takes too long."""

    def __init__(self, worker: WorkerProcess) -> None:
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
        self._worker.kill()

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
        self._set_slots(slots)
        self._processes = LocalProcesses(preload, ahead=self._slot_count)
        self._functions = FunctionProcesses()
        self._cluster: Cluster | None = None
        self._cluster_slots = FairQueue(1, LANES)

    def set_count(self, slots: int) -> None:
        """Before ``start``: how many tools run at the same time; 0 is one for each processor.

        The memory of each is limited so that all of them, those in lanes included, fit into the machine's.
        """
        self._set_slots(slots)
        self._processes.ahead = self._slot_count

    def set_cluster(self, cluster: Cluster) -> None:
        """Before ``start``: let the cluster run those jobs that it takes."""
        self._cluster = cluster

    def _set_slots(self, slots: int) -> None:
        self._slot_count = slots or processors()
        self._slots = FairQueue(self._slot_count, LANES)
        memory = share_of_memory(self._slot_count + LANES, self._most.memory_bytes)
        self._limits = msgspec.structs.replace(self._most, memory_bytes=memory)

    @property
    def waiting(self) -> int:
        """The number of jobs that wait for a worker."""
        return self._slots.waiting + self._cluster_slots.waiting

    @property
    def load(self) -> WorkerLoad:
        """How many jobs may run at the same time, run and wait."""
        return WorkerLoad(
            slots=self._all_slots,
            busy=self._slots.running + self._cluster_slots.running,
            waiting=self.waiting,
        )

    @property
    def _all_slots(self) -> int:
        return self._slot_count + (0 if self._cluster is None else self._cluster_slots.slots)

    @property
    def idle(self) -> int:
        """The number of processes that wait for a job."""
        return self._processes.idle

    async def start(self) -> None:
        """Start processes ahead of jobs; returns before they are ready.

        Raises:
            ConfigError: The cluster, if there is one, cannot be used.
        """
        self._processes.start()
        if self._cluster is not None:
            await self._cluster.start(self._cluster_slots.set_slots)

    async def close(self) -> None:
        """Stop every process; running jobs end as killed."""
        await self._functions.close()
        if self._cluster is not None:
            await self._cluster.close()
        await self._processes.close()

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
        tasks = [asyncio.create_task(self._run_waiting(waiting, items)) for _ in jobs[: self._all_slots]]
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
        is_remote = self._cluster is not None and self._cluster.takes(job)  # then this machine's memory is no limit
        run = begin(job, size, limits_for(self._most if is_remote else self._limits, size, job.source))
        async with contextlib.aclosing(in_parts(run, self._part, asyncio.get_running_loop().time)) as items:
            async for item in items:
                yield item

    async def _part(self, run: JobRun) -> AsyncGenerator[WorkerItem | PartEnd, None]:
        """Run the next part of a job, or all of it, in a worker."""
        account, small = PAYER.get().account, is_small(run.size)
        slots = self._slots if self._cluster_for(run) is None else self._cluster_slots
        if not run.state:  # later parts wait however long the queue is: the job was accepted
            self._check_queue(slots, account)
        if slots.is_full_for(account, is_small=small):
            ahead = plural(slots.waiting_of(account), "job")
            yield Progress(text=f"queued: {plural(slots.running, 'worker')} busy, {ahead} ahead")
        async with slots.slot(account, is_small=small, ends=until_end):  # or none, and then the turn ends
            if (unread := _unread(run)) is not None:
                yield unread
                return
            async with contextlib.aclosing(self._run(run)) as items:
                async for item in items:
                    yield item

    def _cluster_for(self, run: JobRun) -> Cluster | None:
        """The cluster, if the job runs there. What earlier parts found is reported here, as nothing is read for it."""
        is_remote = self._cluster is not None and not run.is_finishing and self._cluster.takes(run.job)
        return self._cluster if is_remote else None

    async def _run(self, run: JobRun) -> AsyncGenerator[WorkerItem | PartEnd, None]:
        """Run the next part of a job in a process."""
        cluster = self._cluster_for(run)
        items = self._here(run) if cluster is None else self._on_cluster(cluster, run)
        async with contextlib.aclosing(items):
            async for item in items:
                yield item

    async def _here(self, run: JobRun) -> AsyncGenerator[WorkerItem | PartEnd, None]:
        async with contextlib.aclosing(self._in_process(await self._processes.take(), run, SeenFrames())) as items:
            async for item in items:
                yield item

    async def _on_cluster(self, cluster: Cluster, run: JobRun) -> AsyncGenerator[WorkerItem | PartEnd, None]:
        """Run the next part of a job there, and once more if its machine is lost.

        If its turn ends before there is a process, what earlier parts found is reported here.
        """
        seen, lost = SeenFrames(), ""
        for _ in range(ATTEMPTS):
            if lost:
                yield Progress(text=f"{run.job.name}: {lost}; it is read again")
            try:
                async with contextlib.aclosing(self._placed(cluster, run, seen)) as items:
                    async for item in items:
                        yield item
                return
            except ProcessLostError as error:
                lost = str(error)
        yield failure(run.job, lost, seen.findings)

    async def _placed(
        self, cluster: Cluster, run: JobRun, seen: SeenFrames
    ) -> AsyncGenerator[WorkerItem | PartEnd, None]:
        taking = asyncio.create_task(cluster.take(run, seen))
        process: WorkerProcess | None = None
        try:
            done, _ = await asyncio.wait((taking,), timeout=PATIENCE_SECONDS)
            if not done:
                yield Progress(text=f"{run.job.name}: {cluster.waiting_for}")
            process = await taking
        finally:
            if process is None:
                self._give_back(taking)
        if process is None and (unread := _unread(run)) is not None:
            yield unread
            return
        items = self._here(run) if process is None else self._in_process(process, run, seen)
        async with contextlib.aclosing(items):
            async for item in items:
                yield item

    def _give_back(self, taking: asyncio.Task[WorkerProcess | None]) -> None:
        """Nobody waits for a process of the cluster any more."""
        if taking.cancel() or taking.cancelled() or taking.exception() is not None:
            return
        if (process := taking.result()) is not None:
            self._processes.discard(process)

    async def _in_process(
        self, process: WorkerProcess, run: JobRun, seen: SeenFrames
    ) -> AsyncGenerator[WorkerItem | PartEnd, None]:
        began = asyncio.get_running_loop().time()
        try:
            async with contextlib.aclosing(self._frames(process, run, seen)) as frames:
                async for item in frames:
                    yield item
        finally:
            PAYER.get().spend(asyncio.get_running_loop().time() - began)
            self._processes.discard(process)

    def _check_queue(self, slots: FairQueue, account: str) -> None:
        own, everybodys = slots.waiting_of(account), slots.waiting
        if own >= self._queue or everybodys >= QUEUE_OF_ALL:
            raise UnavailableError(
                f"the workers are busy ({slots.running:,}) and the queue is full "
                f"({plural(own if own >= self._queue else everybodys, 'job')}); "
                f"try again in {RETRY_AFTER_SECONDS:.0f} s",
                retry_after=RETRY_AFTER_SECONDS,
            )

    async def _frames(
        self, worker: WorkerProcess, run: JobRun, seen: SeenFrames
    ) -> AsyncGenerator[WorkerItem | PartEnd, None]:
        job, now = run.job, asyncio.get_running_loop().time()
        run.begin(now, TURN_END.get())
        limits = run.limits
        if not run.state and (told := announcement(job.name, run.size, unpacked_bytes(run.size, job.source), limits)):
            yield Progress(text=told)
        deadline = now + run.wall_seconds
        patience = asyncio.get_running_loop().call_later(PATIENCE_SECONDS, worker.give_way)
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
                        yield failure(job, f"the parser crashed: {error}", seen.findings, where)
                        return
                    case None if stopping.is_killed:
                        yield stopped_gap(stop_reason(), seen.findings)
                        return
                    case None:
                        reason = exit_reason(await worker.reap(), worker.excess, limits, REAP_SECONDS)
                        yield failure(job, reason, seen.findings)
                        return
                    case Finding():
                        seen.findings += 1
                        if seen.findings > limits.findings:
                            yield findings_limit_gap(job, limits)
                            return
                    case Progress(counted=TaskProgress()):
                        if (due := counts.report(frame)) is not None:
                            yield due
                        continue
                yield frame
        except TimeoutError:
            yield failure(job, f"the parser was stopped after {limits.wall_seconds:g} s", seen.findings)
        finally:
            patience.cancel()
            stopping.end()
