"""``svc work`` as users run it."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from svc.service.store.address import PostgresAddress
from tests.support import ASSISTANTS
from tests.support.live import wait_until


class WorkerProcess:
    """A worker for the services of a database; ``probes`` is its address, "none" without ``--port``."""

    def __init__(
        self, folder: Path, database: PostgresAddress, assistant: str, *options: str, **variables: str
    ) -> None:
        self.log_file = folder / "worker.log"
        environment = {"SVC_SHARED_DATABASE": "true", "SVC_TURNS_AT_ONCE": "4", "SVC_STOP_SECONDS": "0.1"} | variables
        with self.log_file.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "svc.cli.main", "work", "--database", database.url, "--assistant", assistant,
                 *options],
                env={**os.environ, "PYTHONPATH": str(ASSISTANTS), **environment},
                stdout=log,
                stderr=log,
            )  # fmt: skip

    @property
    def events(self) -> list[dict[str, object]]:
        """What it has logged."""
        return [json.loads(line) for line in self.log_file.read_text().splitlines() if line.startswith("{")]

    def wait(self) -> str:
        """Return the address of its probes once it works."""

        def working() -> list[dict[str, object]]:
            return [one for one in self.events if one["event"] == "working" and one["pid"] == self.process.pid]

        wait_until(lambda: working() or self.process.poll() is not None, "the worker to work")
        assert self.process.poll() is None, self.log_file.read_text()
        return str(working()[0]["probes"])

    def terminate(self) -> int:
        """SIGTERM; the exit code."""
        self.process.terminate()
        return self.process.wait(60)

    def kill(self) -> None:
        """kill -9."""
        self.process.kill()
        self.process.wait(60)


@contextlib.contextmanager
def live_worker(
    folder: Path, database: PostgresAddress, files: Path, assistant: str, *options: str, **variables: str
) -> Iterator[WorkerProcess]:
    """A worker until the end of the context."""
    folder.mkdir(exist_ok=True)
    worker = WorkerProcess(folder, database, assistant, "--files", f"file://{files}", *options, **variables)
    try:
        worker.wait()
        yield worker
    finally:
        if worker.process.poll() is None:
            worker.kill()
