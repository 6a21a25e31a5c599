"""A sweep on a dask cluster of stand-alone workers, one of which dies in the middle."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import nbformat
import psutil
import pytest

from svc_jupyter.report import dask_executor
from svc_jupyter.report.engine import Limits
from svc_jupyter.report.executor import Job
from tests.support.live import wait_until
from tests.support.reports import run_report

pytest.importorskip("distributed", reason="the extra dask is not installed")

BIN = Path(sys.executable).parent
WORK = """
import pathlib, time
pathlib.Path(f"begun-{n}").touch()
while not pathlib.Path("killed").exists():
    time.sleep(0.02)
if n == 3: raise ValueError(n)
"""


@pytest.fixture
def scheduler(tmp_path: Path) -> Iterator[str]:
    contact = tmp_path / "scheduler.json"
    command = [str(BIN / "dask"), "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
    process = subprocess.Popen([*command, "--scheduler-file", str(contact)], stderr=subprocess.DEVNULL)
    wait_until(lambda: contact.exists() and contact.read_text().endswith("}"), "the scheduler's address", 60)
    yield str(json.loads(contact.read_text())["address"])
    process.terminate()
    process.wait(timeout=30)


@pytest.fixture
def workers(scheduler: str, tmp_path: Path) -> Iterator[list[subprocess.Popen[bytes]]]:
    command = [str(BIN / "dask"), "worker", scheduler, "--nthreads", "1", "--no-nanny", "--no-dashboard"]
    processes = [
        subprocess.Popen([*command, "--local-directory", str(tmp_path / name)], stderr=subprocess.DEVNULL)
        for name in ("w1", "w2")
    ]
    yield processes
    for process in processes:
        process.terminate()
        process.wait(timeout=30)


@pytest.mark.slow
def test_a_dead_worker_costs_no_case(scheduler: str, workers: list[subprocess.Popen[bytes]], tmp_path: Path):
    folder = tmp_path / "work"
    folder.mkdir()
    notebook = nbformat.v4.new_notebook()
    notebook.cells = [
        nbformat.v4.new_code_cell("n = 0", metadata={"tags": ["parameters"]}),
        nbformat.v4.new_code_cell(WORK),
    ]
    nbformat.write(notebook, folder / "work.ipynb")
    (folder / "cases.csv").write_text("n\n" + "".join(f"{n}\n" for n in range(5)))
    command = [str(BIN / "svc"), "report", "run", "work.ipynb", "--sweep", "cases.csv", "--out", "out", "--jobs", "2"]

    run = subprocess.Popen(
        [*command, "--executor", scheduler.replace("tcp", "dask")], cwd=folder, stderr=subprocess.PIPE, text=True
    )
    wait_until(lambda: len(list(folder.glob("begun-*"))) >= 2, "two cases to begin", 60)
    workers[0].send_signal(signal.SIGKILL)
    workers[0].wait(30)
    (folder / "killed").touch()
    told = run.communicate(timeout=100)[1]

    assert run.returncode == 1, told
    cases = json.loads((folder / "out" / "run.json").read_text())["cases"]
    assert [case["status"] for case in cases] == ["ok", "ok", "ok", "failed", "ok"]
    assert sorted(p.name for p in (folder / "out" / "cases").iterdir()) == [f"{n}.html" for n in range(5)]
    wait_until(lambda: not _kernels_in(folder), "the kernels to be gone", 15)


def test_a_cluster_that_is_not_there_is_a_usage_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(dask_executor, "CONNECT_SECONDS", 0.5)
    nbformat.write(nbformat.v4.new_notebook(), tmp_path / "work.ipynb")

    done = run_report("run", "work.ipynb", "--executor", "dask://127.0.0.1:9", folder=tmp_path)

    assert done.returncode == 2
    assert "cannot reach the dask scheduler at tcp://127.0.0.1:9" in " ".join(done.stderr.split())


def test_what_a_worker_logs_of_a_task_that_fails_has_no_secret_in_it(tmp_path: Path):
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("token = 'hush-1234'")])
    job = Job(notebook=notebook, folder=tmp_path, environment={}, limits=Limits(), secrets=("hush-1234",))

    assert "hush" not in repr(dask_executor._Work(notebook, job))
    assert "hush" not in repr(job.kernels(1))


def _kernels_in(folder: Path) -> list[int]:
    return [p.pid for p in psutil.process_iter(["cwd"]) if p.info["cwd"] == str(folder)]
