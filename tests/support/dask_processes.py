"""A dask cluster as its users start one: a scheduler, and workers under a nanny, as processes on this machine."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import psutil

from tests.support.live import wait_until

DASK = str(Path(sys.executable).parent / "dask")
ROOT = Path(__file__).parents[2]


@contextlib.contextmanager
def dask_scheduler(folder: Path, *options: str) -> Iterator[str]:
    """Its address."""
    contact = folder / "scheduler.json"
    contact.unlink(missing_ok=True)
    command = [DASK, "scheduler", "--host", "127.0.0.1", "--no-dashboard", "--scheduler-file", str(contact)]
    process = subprocess.Popen([*command, *(options or ("--port", "0"))], stderr=subprocess.DEVNULL, env=_environment())
    try:
        wait_until(lambda: contact.exists() and contact.read_text().endswith("}"), "the scheduler's address", 60)
        yield str(json.loads(contact.read_text())["address"])
    finally:
        process.terminate()
        process.wait(30)


@contextlib.contextmanager
def dask_workers(
    address: str, folder: Path, count: int = 2, options: Sequence[str] = (), **environment: str
) -> Iterator[list[subprocess.Popen]]:
    """Workers of one thread with their nannies; everything that they started is ended with them."""
    processes = [
        subprocess.Popen(
            [
                DASK,
                "worker",
                address,
                "--nthreads",
                "1",
                "--no-dashboard",
                "--local-directory",
                str(folder / f"w{n}"),
                *options,
            ],
            stderr=subprocess.DEVNULL,
            env=_environment(**environment),
        )
        for n in range(count)
    ]
    try:
        yield processes
    finally:
        for process in processes:
            with contextlib.suppress(psutil.NoSuchProcess):
                stop_machine(process)
            process.wait(30)


def stop_machine(nanny: subprocess.Popen) -> None:
    """Kill a nanny with its dask worker, as a machine that loses its power. What they started must end itself."""
    own = psutil.Process(nanny.pid)
    workers = own.children()
    own.kill()
    for worker in workers:
        worker.kill()
    nanny.wait(30)


def _environment(**more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "ignore", **more}
