"""Where jobs run: what the pool needs of a process on this machine or another, and of a cluster of such machines."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import msgspec

from svc.assistant import knowledge
from svc.assistant.workers.job import Job
from svc.assistant.workers.part_runs import JobRun
from svc.assistant.workers.process import Frame, JobRequest
from svc.assistant.workers.seen_frames import SeenFrames
from svc.assistant.workers.watch import Excess


class ProcessLostError(Exception):
    """The machine of a process is gone, or cannot run the job; its text says why. The job may run elsewhere."""


class WorkerProcess(Protocol):
    """A process that runs one job."""

    async def send(self, run: JobRun) -> None:
        """Give it the next part of a job. Raises ConnectionError if it died already, and ProcessLostError."""

    async def receive(self, decoder: msgspec.msgpack.Decoder[Frame]) -> Frame | None:
        """The next frame, or None if the process is gone. Raises ProcessLostError."""
        ...

    def stop_reading(self, reason: str) -> None:
        """Ask it to report soon what it has found so far; ``reason`` says why, in words."""

    def give_way(self) -> None:
        """Lower its priority, so that younger jobs are not slowed down."""

    def kill(self) -> None:
        """Stop it now."""

    async def reap(self) -> int | None:
        """Wait for its end; returns its exit code, or None if it did not end in time."""
        ...

    @property
    def excess(self) -> Excess | None:
        """The limit for which it was killed from outside."""
        ...


class Cluster(Protocol):
    """Other machines that run jobs."""

    @property
    def waiting_for(self) -> str:
        """What a job waits for, in words."""
        ...

    def takes(self, job: Job) -> bool:
        """Whether the job may run there: its input is a file that these machines have, too."""
        ...

    async def start(self, on_slots: Callable[[int], None]) -> None:
        """Connect, waiting for a cluster that is out of reach; ``on_slots`` gets the number of jobs that may run at a
        time.

        Raises:
            ConfigError: Its machines have another version of the program, or not the folder of attached files.
        """

    async def take(self, run: JobRun, seen: SeenFrames) -> WorkerProcess | None:
        """A process for the job; None if the turn ended before there was one.

        Raises:
            UnavailableError: The cluster is out of reach.
            ProcessLostError: The machine that was chosen cannot run the job.
        """
        ...

    async def close(self) -> None:
        """Disconnect; running jobs end as killed."""


def request_of(run: JobRun) -> JobRequest:
    """What a process is asked to do for the next part of a job."""
    job = run.job
    return JobRequest(
        tool=job.tool,
        input=job.input,
        name=job.name,
        limits=run.limits,
        path=os.fspath(job.source) if isinstance(job.source, Path) else None,
        part=run.plan,
        options=job.options,
        knowledge=os.fspath(knowledge.user_folder()),
        looks_for_instructions=job.looks_for_instructions,
        is_prompt=job.is_prompt,
        known_texts=job.known_texts,
    )
