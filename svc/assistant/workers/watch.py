"""Hold a process to the limits that it cannot set for itself: measure it from outside, and kill it when it exceeds one.

On Windows a job object does what the kernel does elsewhere: a process that asks for too much memory gets a MemoryError,
and it ends with the service.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from typing import TYPE_CHECKING, Literal

from svc.assistant.workers import own_limits
from svc.assistant.workers.starting import Process

if sys.platform == "win32":
    from svc.assistant.workers.windows_jobs import JobObject
if TYPE_CHECKING:
    import psutil

log: logging.Logger = logging.getLogger("svc.workers")
POLL_SECONDS = 0.1
LONG_JOB_NICE = 10  # a tenth of the processor's time beside a young job
Excess = Literal["memory", "cpu"]


class Watch:
    """Watches one process during a job or a call. ``excess`` is the limit for which it was killed.

    Args:
        process: The process, started.
        memory_bytes: Its limit of memory.
        cpu_seconds: Its limit of processor time from now on; None if the process has limited itself.
    """

    def __init__(self, process: Process, *, memory_bytes: int, cpu_seconds: float | None) -> None:
        self.excess: Excess | None = None
        self._process = process
        self._memory_bytes = None if own_limits.limits_memory() else memory_bytes
        self._cpu_seconds = cpu_seconds
        self._task: asyncio.Task[None] | None = None
        if self._memory_bytes is not None or cpu_seconds is not None:
            self._task = asyncio.create_task(self._measure())

    def stop(self) -> None:
        """Watch no longer."""
        if self._task is not None:
            self._task.cancel()

    async def _measure(self) -> None:
        import psutil  # only on platforms that need it

        try:
            measured = psutil.Process(self._process.pid)
            started = _cpu_seconds(measured)
            while True:
                await asyncio.sleep(POLL_SECONDS)
                self.excess = self._exceeded(_memory_bytes(measured), _cpu_seconds(measured) - started)
                if self.excess is not None:
                    self._process.kill()
                    return
        except (psutil.Error, OSError, ValueError):  # it has ended
            return

    def _exceeded(self, memory_bytes: int, cpu_seconds: float) -> Excess | None:
        if self._memory_bytes is not None and memory_bytes > self._memory_bytes:
            return "memory"
        if self._cpu_seconds is not None and cpu_seconds > self._cpu_seconds:
            return "cpu"
        return None


def _cpu_seconds(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def _memory_bytes(process: psutil.Process) -> int:
    """What the process has allocated for itself, or what of it is in memory if the platform does not count that."""
    memory = process.memory_info()
    return int(getattr(memory, "private", memory.rss))


class Confinement:
    """What holds a process from its start to its end, if the platform has such a thing: a job object of Windows."""

    def __init__(self, process: Process, memory_bytes: int) -> None:
        if sys.platform == "win32":
            self._job: JobObject | None = None
            try:
                self._job = JobObject(memory_bytes)
                self._job.add(process.sentinel)
            except OSError as error:  # the process is measured all the same
                log.warning("a worker has no job object", extra={"reason": str(error)})

    def end(self) -> None:
        """Release it; a process that still runs ends."""
        if sys.platform == "win32" and self._job is not None:
            self._job.close()
            self._job = None


def give_way(pid: int) -> None:
    """Lower a process's priority, so that younger jobs are not slowed down.

    Raises:
        OSError: It has ended.
    """
    if hasattr(os, "setpriority"):
        os.setpriority(os.PRIO_PROCESS, pid, LONG_JOB_NICE)
        return
    import psutil

    try:
        psutil.Process(pid).nice(getattr(psutil, "BELOW_NORMAL_PRIORITY_CLASS", LONG_JOB_NICE))
    except psutil.Error as error:
        raise OSError(str(error)) from error
