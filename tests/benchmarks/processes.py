"""Peers as processes: a virtual environment of their own, start, wait until they listen, memory, end."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator, Sequence
from pathlib import Path

import psutil

from tests.support.live import wait_until

PEERS = Path(__file__).parent / "peers"
CLIENT_PACKAGES = ("picows>=2,<3", "uvloop>=0.21,<1")  # of ``peers/stream_client.py``
PACKAGES = (*CLIENT_PACKAGES, "litellm[proxy]>=1.80,<2")


@contextlib.contextmanager
def peer_environment(folder: Path | None, packages: Sequence[str] = PACKAGES) -> Iterator[Path]:
    """The ``python`` of a virtual environment with the peers in it; one without a folder is removed afterwards."""
    with contextlib.ExitStack() as stack:
        where = folder or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="svc-benchmark-")))
        python = where / "bin" / "python"
        if not python.exists():
            print(f"installing {', '.join(packages)} into {where} …", file=sys.stderr)
            venv.create(where, with_pip=True)
            pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages]
            subprocess.run(pip, check=True)
        yield python


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


@contextlib.contextmanager
def listening(command: list[str], port: int, log: Path, **environment: str) -> Iterator[psutil.Process]:
    """A process that listens on the port, for as long as the block; its output goes to the log."""
    with log.open("ab") as sink:
        process = subprocess.Popen(command, stdout=sink, stderr=sink, env={**os.environ, **environment})
    try:
        wait_until(lambda: process.poll() is not None or _accepts(port), f"{command[0]} to listen, see {log}", 120)
        assert process.poll() is None, log.read_text()[-4_000:]
        yield psutil.Process(process.pid)
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _accepts(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def proportional_bytes(process: psutil.Process) -> int:
    """The proportional memory (PSS) of a process and of all its descendants."""
    return sum(_pss_bytes(one.pid) for one in [process, *process.children(recursive=True)])


def _pss_bytes(pid: int) -> int:
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    raise ValueError(f"/proc/{pid}/smaps_rollup holds no Pss")
