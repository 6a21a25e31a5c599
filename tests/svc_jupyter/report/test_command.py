"""svc report run, as a user runs it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import pytest

from tests.support.kernels import notebook_of
from tests.support.reports import run_report

SVC = str(Path(sys.executable).with_name("svc"))


def report(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([SVC, "report", "run", *arguments], cwd=folder, capture_output=True, text=True, timeout=100)


def save(folder: Path, *cells: str) -> Path:
    path = folder / "nightly.ipynb"
    nbformat.write(notebook_of(*cells), path)
    return path


def test_a_report_stands_beside_its_notebook(scripted_local: Path, tmp_path: Path):
    path = save(tmp_path, "from pathlib import Path\nprint(Path.cwd().name)", "%%svc\ncount 3")
    before = path.read_bytes()

    done = report("nightly.ipynb", folder=tmp_path)

    page = (tmp_path / "nightly.html").read_text()
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert [line.split()[:2] for line in done.stderr.splitlines()[:3]] == [["cell", f"{n}/3"] for n in (1, 2, 3)]
    assert "count 3 (after 0)" in page
    assert "3 steps" in page
    assert tmp_path.name in page
    assert path.read_bytes() == before
    assert sorted(p.name for p in tmp_path.iterdir() if p.is_file()) == ["nightly.html", "nightly.ipynb"]


def test_a_failed_cell_is_in_the_report_and_in_the_exit_code(scripted_local: Path, tmp_path: Path):
    save(tmp_path, "%svc fail as the test wants", "print('never')")

    done = run_report("run", "nightly.ipynb", "--out", "reports", folder=tmp_path)

    page = (tmp_path / "reports" / "nightly.html").read_text()
    assert done.returncode == 1
    assert "FAILED" in done.stderr.splitlines()[1]
    assert done.stderr.splitlines()[-1] == "Error: a cell failed (see the page): AskError: as the test wants"
    assert "AskError: as the test wants" in page


def test_a_kernel_that_dies_is_told(local_state: Path, tmp_path: Path):
    save(tmp_path, "import os; os._exit(3)")

    done = run_report("run", "nightly.ipynb", folder=tmp_path)

    assert done.returncode == 138
    assert "Kernel died" in done.stderr
    assert (tmp_path / "nightly.html").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(None, "'nightly.ipynb' does not exist", id="missing"),
        pytest.param("", "nightly.ipynb is not a valid notebook", id="empty"),
        pytest.param("no json", "nightly.ipynb is not a valid notebook", id="no JSON"),
        pytest.param("[]", "nightly.ipynb is not a valid notebook", id="a list"),
        pytest.param(
            '{"cells": 3, "nbformat": 4, "nbformat_minor": 5, "metadata": {}}', "is not a valid notebook", id="no cells"
        ),
    ],
)
def test_what_is_no_notebook_is_a_usage_error(content: str | None, message: str, tmp_path: Path):
    if content is not None:
        (tmp_path / "nightly.ipynb").write_text(content)

    done = run_report("run", "nightly.ipynb", folder=tmp_path)

    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_a_kernel_that_is_not_installed_is_a_usage_error(tmp_path: Path):
    path = save(tmp_path, "1")
    notebook = json.loads(path.read_text())
    notebook["metadata"]["kernelspec"] = {"name": "nonesuch", "display_name": "x", "language": "x"}
    path.write_text(json.dumps(notebook))

    done = run_report("run", "nightly.ipynb", folder=tmp_path)

    assert done.returncode == 2
    assert "kernel 'nonesuch' is not installed. List the kernels with `jupyter kernelspec list`" in " ".join(
        done.stderr.split()
    )


def test_ctrl_c_ends_the_run_and_writes_nothing(local_state: Path, tmp_path: Path):
    save(tmp_path, "print('begun')", "import time; time.sleep(60)")
    process = subprocess.Popen(
        [SVC, "report", "run", "nightly.ipynb"], cwd=tmp_path, stderr=subprocess.PIPE, text=True, bufsize=1
    )
    assert process.stderr is not None
    seen = [process.stderr.readline(), process.stderr.readline()]
    process.send_signal(signal.SIGINT)
    rest = process.communicate(timeout=30)[1]

    assert "print('begun')" in "".join(seen)
    assert process.returncode == 130
    assert rest.splitlines()[-1] == "interrupted; no page was written"
    assert "Traceback" not in rest
    assert not (tmp_path / "nightly.html").exists()
    assert not kernels_in(tmp_path)


def kernels_in(folder: Path) -> list[str]:
    """Kernels that still run there, after a moment to end."""
    deadline = time.monotonic() + 10
    while (left := _listed(folder)) and time.monotonic() < deadline:
        os.sched_yield()
    return left


def _listed(folder: Path) -> list[str]:
    import psutil

    found = []
    for process in psutil.process_iter(["cmdline", "cwd"]):
        if process.info["cwd"] == str(folder) and "ipykernel_launcher" in " ".join(process.info["cmdline"] or ()):
            found.append(str(process.pid))
    return found
