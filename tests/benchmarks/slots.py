"""How many times as fast several workers read the files of one question as one worker does.

    python -m tests.benchmarks.slots [--files 16] [--slots 4] [--seconds 2] [--megabytes 2]

Run it by hand. Two measures, because a machine may have fewer cores than workers: jobs that only wait, by the clock,
which show what the pool itself adds; and generated auth.logs, by processor time, which must stay the same. What the
tools find in the logs must be equal, byte by byte, to what one worker finds.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from svc.assistant.findings import InputKind, Progress
from svc.assistant.skills.logins.findings import AuthAccount, AuthSource, AuthSuccess, AuthSummary, AuthUnusual
from svc.assistant.workers.job import Job, JobEnd
from svc.assistant.workers.machine import processors
from svc.assistant.workers.pool import Workers
from tests.benchmarks.collection import cpu_seconds
from tests.benchmarks.large_logs import LOGS, write


def _waiting(count: int, seconds: float) -> list[Job]:
    return [
        Job(
            tool="tests.benchmarks.waiting_tool:wait",
            input=InputKind.TEXT,
            name=f"{number}.txt",
            source=b"x" * 100_000,
            options={"seconds": f"{seconds}"},
        )
        for number in range(count)
    ]


def _reading(paths: Sequence[Path]) -> list[Job]:
    return [
        Job(
            tool="svc.assistant.skills.logins.tool:inspect",
            input=InputKind.LINES,
            name=path.name,
            source=path,
            facts=(AuthSource, AuthAccount, AuthSuccess, AuthUnusual, AuthSummary),
        )
        for path in paths
    ]


async def run(jobs: Sequence[Job], slots: int) -> tuple[float, float, list[list[bytes]]]:
    """Seconds by the clock and of processor time, and what each job yields."""
    workers = Workers(slots=slots)
    await workers.start()
    found: list[list[bytes]] = [[] for _ in jobs]
    began, before = time.monotonic(), cpu_seconds()[1]
    async for index, item in workers.run_all(jobs):
        if item is not None and not isinstance(item, Progress | JobEnd):
            found[index].append(msgspec.msgpack.encode(item))
    seconds = time.monotonic() - began
    await workers.close()
    return seconds, cpu_seconds()[1] - before, found


def compare(files: int, slots: int, seconds: float, megabytes: int) -> None:
    """Print both measures."""
    print(f"{files} files, {slots} workers; {processors()} cores: {sorted(os.sched_getaffinity(0))}", flush=True)
    one, several = (asyncio.run(run(_waiting(files, seconds), count))[0] for count in (1, slots))
    print(
        f"jobs that wait {seconds:g} s: {one:.1f} s with one, {several:.1f} s with {slots}: ratio {one / several:.2f}"
    )
    with tempfile.TemporaryDirectory(prefix="svc-slots-") as name:
        paths = [Path(name, f"auth-{number}.log") for number in range(files)]
        for number, path in enumerate(paths):
            write(path, LOGS["auth"], megabytes + number % 3)
        (_, alone, found), (_, together, same) = (asyncio.run(run(_reading(paths), count)) for count in (1, slots))
    assert found == same, "the findings differ"
    print(
        f"logs of {megabytes} MB and more: {alone:.1f} s of processor time with one, {together:.1f} s with {slots}; "
        f"the same {sum(map(len, found)):,} findings",
        flush=True,
    )


def main() -> None:
    """Measure with the sizes that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=16)
    parser.add_argument("--slots", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--megabytes", type=int, default=2)
    options = parser.parse_args()
    compare(options.files, options.slots, options.seconds, options.megabytes)


if __name__ == "__main__":
    main()
