"""Run a job part by part: a large log is read by one process after the other, each with what the ones before found.

Between two parts the job waits for a worker like any other, so that a very large log does not keep one for hours. If a
process dies, the parts before are reported: their state is here, unopened (``part_state.py``).
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Callable
from pathlib import Path

import msgspec

from svc.assistant.findings import Finding, Progress, ToolFailure
from svc.assistant.workers.failures import failure
from svc.assistant.workers.frames import PartEnd, PartPlan
from svc.assistant.workers.job import Job, WorkerItem
from svc.assistant.workers.process import Done, Limits

FINISH_SECONDS = 60.0  # for reporting what earlier parts found, after a process died


class JobRun(msgspec.Struct):
    """How far a job has come, and what the next process gets: the part to read and the state before it.

    ``limits`` are those of the whole job. ``is_finishing``: only what the parts before found is reported. ``began``:
    when the process of this part began, by the event loop's clock; the time in the queue does not count.
    """

    job: Job
    size: int
    limits: Limits
    plan: PartPlan | None = None
    state: bytes = b""
    is_finishing: bool = False
    began: float = 0.0

    @property
    def wall_seconds(self) -> float:
        """How long the next process may take."""
        return max(self.limits.wall_seconds - self._used, FINISH_SECONDS if self.is_finishing else 0.0)

    @property
    def _used(self) -> float:
        return self.plan.wall_seconds if self.plan is not None else 0.0

    def begin(self, now: float, end: float | None) -> None:
        """The next process begins now, and must end before ``end``, if there is one."""
        self.began = now
        if end is not None and not self.is_finishing:
            most = self._used + end - now
            self.limits = msgspec.structs.replace(self.limits, wall_seconds=min(self.limits.wall_seconds, most))

    def go_on(self, ended: PartEnd, now: float) -> None:
        """Plan the next part, after one that has ended now."""
        assert self.plan is not None
        self.state = ended.state
        self.plan = msgspec.structs.replace(
            self.plan,
            start=ended.start,
            has_state=True,
            cpu_seconds=ended.cpu_seconds,
            wall_seconds=self.plan.wall_seconds + now - self.began,
        )

    def give_up(self, reason: str) -> None:
        """Plan to report only what the parts before found."""
        assert self.plan is not None
        self.is_finishing = True
        self.plan = msgspec.structs.replace(self.plan, given_up=reason, cpu_seconds=0.0)


def begin(job: Job, size: int, limits: Limits) -> JobRun:
    """Return the run of a job: in parts if its input is a file that is larger than one."""
    run = JobRun(job, size, limits)
    if isinstance(job.source, Path) and size > limits.part_bytes:
        run.plan = PartPlan(size=limits.part_bytes)
    return run


async def in_parts(
    run: JobRun,
    process: Callable[[JobRun], AsyncGenerator[WorkerItem | PartEnd, None]],
    clock: Callable[[], float],
) -> AsyncGenerator[WorkerItem, None]:
    """Yield what a job yields, one process for each part, and what was found before one that died.

    Args:
        run: The job.
        process: Runs the next part.
        clock: The time in seconds.
    """
    while True:
        ended, failed = None, None
        async with contextlib.aclosing(process(run)) as items:
            async for item in items:
                if isinstance(item, PartEnd):
                    ended = item
                elif run.state and (facts := _failure_of(item)) is not None:
                    failed = facts
                else:
                    yield item
        if failed is not None:
            async for item in _finished(run, process, failed):
                yield item
            return
        if ended is None:
            return
        run.go_on(ended, clock())


def _failure_of(item: WorkerItem | PartEnd) -> ToolFailure | None:
    return item.facts if isinstance(item, Finding) and isinstance(item.facts, ToolFailure) else None


async def _finished(
    run: JobRun, process: Callable[[JobRun], AsyncGenerator[WorkerItem | PartEnd, None]], failed: ToolFailure
) -> AsyncGenerator[WorkerItem, None]:
    """Yield what the parts before found, then why the rest was not read."""
    yield Progress(text=f"{run.job.name}: {failed.reason}; reporting what was found before")
    run.give_up(failed.reason)
    findings = 0
    async with contextlib.aclosing(process(run)) as items:
        async for item in items:
            if _failure_of(item) is not None:
                continue
            findings += isinstance(item, Finding)
            if not isinstance(item, PartEnd | Done):  # without Done: the result is not kept for later questions
                yield item
    yield failure(run.job, failed.reason, findings, failed.where)
