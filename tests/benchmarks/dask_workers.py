"""How many times as fast a dask cluster of several workers runs the jobs of one question as one dask worker does.

    python -m tests.benchmarks.dask_workers [--jobs 16] [--workers 4] [--seconds 2] [--megabytes 200]

Run it by hand. The jobs only wait, because a machine may have fewer cores than workers. Printed besides: how soon the
process of a cancelled job is gone, by the clock, and how much memory this process takes more while a job on the cluster
sends more findings than that.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import hashlib
import os
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from pathlib import Path

import psutil
from distributed import Client

from svc.assistant.findings import InputKind, Progress
from svc.assistant.skills.cvss.findings import CvssBroken
from svc.assistant.turn import ToolCluster
from svc.assistant.workers.cluster.dask_cluster import DaskCluster
from svc.assistant.workers.job import Job
from svc.assistant.workers.machine import processors
from svc.assistant.workers.pool import Workers
from tests.support.dask_processes import dask_scheduler, dask_workers

CANCELS = 5


def _job(folder: Path, number: int, tool: str, **options: str) -> Job:
    content = f"{number}\n".encode()
    path = folder / f"{number:032x}"
    path.write_bytes(content)
    return Job(
        tool=f"tests.benchmarks.waiting_tool:{tool}",
        input=InputKind.TEXT,
        name=f"{number}.txt",
        source=path,
        content=hashlib.sha256(content).hexdigest(),
        facts=(CvssBroken,),
        options=options,
    )


@contextlib.asynccontextmanager
async def cluster(folder: Path, count: int) -> AsyncIterator[Workers]:
    """A pool that runs jobs on so many dask workers, each of which has a process ready."""
    with dask_scheduler(folder) as address, dask_workers(address, folder, count):
        async with Client(address, asynchronous=True, set_as_default=False) as client:
            await client.wait_for_workers(count, timeout=120)
        workers = Workers(slots=1)
        url = address.replace("tcp://", "dask://")
        workers.set_cluster(DaskCluster(ToolCluster(address=url, folder=folder, at_once=count)))
        await workers.start()
        await _run(workers, [_job(folder, number, "wait", seconds="5") for number in range(count)])
        yield workers
        await workers.close()


async def _run(workers: Workers, jobs: Sequence[Job]) -> float:
    began = time.monotonic()
    async for _ in workers.run_all(jobs):
        pass
    return time.monotonic() - began


async def _waiting(folder: Path, count: int, jobs: int, seconds: float) -> float:
    async with cluster(folder, count) as workers:
        return await _run(workers, [_job(folder, number, "wait", seconds=f"{seconds:g}") for number in range(jobs)])


async def _cancelled(workers: Workers, folder: Path) -> float:
    pid = 0
    async with aclosing(workers.run(_job(folder, 1, "spin"))) as items:
        async for item in items:
            if isinstance(item, Progress) and item.text.isdigit():
                pid = int(item.text)
                break
    began = time.monotonic()
    while psutil.pid_exists(pid):
        await asyncio.sleep(0.002)
    return time.monotonic() - began


async def _flooded(workers: Workers, folder: Path, megabytes: int) -> tuple[float, float]:
    """Megabytes of findings that came, and by how much the memory of this process grew at most."""
    own = psutil.Process()
    before, most, size = own.memory_info().rss, 0, 0
    async for item in workers.run(_job(folder, 2, "flood", megabytes=str(megabytes))):
        size += len(getattr(item, "title", ""))
        most = max(most, own.memory_info().rss)
    return size / 1e6, (most - before) / 1e6


async def compare(folder: Path, jobs: int, count: int, seconds: float, megabytes: int) -> None:
    """Print the measures."""
    print(f"{jobs} jobs, {count} dask workers; {processors()} cores: {sorted(os.sched_getaffinity(0))}", flush=True)
    one, several = [await _waiting(folder, each, jobs, seconds) for each in (1, count)]
    print(
        f"jobs that wait {seconds:g} s: {one:.1f} s with one, {several:.1f} s with {count}: ratio {one / several:.2f}",
        flush=True,
    )
    async with cluster(folder, 1) as workers:
        times = [await _cancelled(workers, folder) for _ in range(CANCELS)]
        print(f"a cancelled job's process is gone after {', '.join(f'{one:.3f}' for one in times)} s", flush=True)
        size, growth = await _flooded(workers, folder, megabytes)
        print(f"{size:.0f} MB of findings: this process grew by at most {growth:.0f} MB", flush=True)


def main() -> None:
    """Measure with the sizes that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=16)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--megabytes", type=int, default=200)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="svc-dask-") as name:
        asyncio.run(compare(Path(name), options.jobs, options.workers, options.seconds, options.megabytes))


if __name__ == "__main__":
    main()
