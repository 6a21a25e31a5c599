"""A sweep, as a user runs it: true statuses, whole files, and --resume that completes."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import nbclient
import nbformat
import pytest

from svc_jupyter.report.cases import Case
from svc_jupyter.report.engine import Limits
from svc_jupyter.report.executor import Job, LocalExecutor
from svc_jupyter.report.outcome import CellRun
from svc_jupyter.report.parameters import Parameters
from tests.support.reports import Ran, assert_whole, cases_in, run_report

SVC = str(Path(sys.executable).with_name("svc"))
WORK = """
import os, pathlib, time
print("case", n)
match what:
    case "raise": raise ValueError(n)
    case "die": os._exit(3)
    case "long": print("n" * 9000)
    case "sleep" if not pathlib.Path("awake").exists(): time.sleep(600)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    notebook = nbformat.v4.new_notebook()
    parameters = nbformat.v4.new_code_cell('n = 0\nwhat = ""', metadata={"tags": ["parameters"]})
    optional = nbformat.v4.new_code_cell("1 / 0", metadata={"tags": ["svc-optional"]})
    notebook.cells = [parameters, optional, nbformat.v4.new_code_cell(WORK)]
    nbformat.write(notebook, tmp_path / "work.ipynb")
    return tmp_path


def cases_of(folder: Path, *kinds: str) -> None:
    (folder / "cases.csv").write_text("n,what\n" + "".join(f"{n},{kind}\n" for n, kind in enumerate(kinds)))


def sweep(folder: Path, *arguments: str) -> Ran:
    return run_report("run", "work.ipynb", "--sweep", "cases.csv", "--out", "out", *arguments, folder=folder)


def record_of(folder: Path) -> dict[str, dict[str, object]]:
    return cases_in(folder / "out")


def statuses_of(folder: Path) -> list[object]:
    return [case["status"] for case in record_of(folder).values()]


@pytest.mark.slow
def test_every_case_has_its_true_status_and_the_next_run_completes_it(folder: Path):
    cases_of(folder, "", "raise", "die", "sleep", "")

    done = sweep(folder, "--cell-timeout", "2", "--to", "html,ipynb,md")

    assert done.returncode == 1, done.stderr
    assert statuses_of(folder) == ["ok", "failed", "kernel died", "timeout", "ok"]
    assert_whole(folder / "out")
    failures = [case["failure"] for case in record_of(folder).values()]
    assert failures == ["", "ValueError: 1", "Kernel died", "the cell did not finish within 2 s", ""]
    assert "Timeout: the cell did not finish" in (folder / "out/cases/3-sleep.html").read_text()
    index = (folder / "out" / "index.html").read_text()
    assert "2 ok, 1 failed, 1 timeout, 1 kernel died" in index
    assert 'href="cases/0.html"' in index
    saved = nbformat.read(folder / "out/cases/0.ipynb", as_version=4)
    assert saved.metadata.papermill.parameters == {"n": 0, "what": ""}
    assert "raises-exception" not in str(saved)

    first = (folder / "out/cases/0.html").stat().st_mtime_ns
    (folder / "awake").touch()
    again = sweep(folder, "--cell-timeout", "9", "--to", "html,ipynb,md", "--resume")

    assert again.returncode == 1
    assert statuses_of(folder) == ["ok", "failed", "kernel died", "ok", "ok"]
    assert (folder / "out/cases/0.html").stat().st_mtime_ns == first
    assert_whole(folder / "out")


def test_no_case_begins_after_enough_failures(folder: Path):
    cases_of(folder, "raise", "raise", "", "")

    assert sweep(folder, "--jobs", "1", "--max-failures", "2").returncode == 1
    assert statuses_of(folder) == ["failed", "failed", "not run", "not run"]


def test_what_an_earlier_run_wrote_and_this_one_did_not_is_removed(folder: Path):
    cases_of(folder, "", "")
    sweep(folder)
    (folder / "out" / "mine.txt").write_text("kept")
    cases_of(folder, "")

    assert sweep(folder).returncode == 0
    assert sorted(p.name for p in (folder / "out" / "cases").iterdir()) == ["0.html"]
    assert (folder / "out" / "mine.txt").exists()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["SIGINT", "SIGTERM"])
def test_a_signal_ends_the_run_truthfully_and_resume_completes_it(number: int, code: int, folder: Path):
    cases_of(folder, "", "sleep", "")
    command = [SVC, "report", "run", "work.ipynb", "--sweep", "cases.csv", "--out", "out", "--jobs", "1", "--json"]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    for line in process.stdout:
        event = json.loads(line)
        if event["case"] == "1-sleep" and event["event"] == "cell":
            break
    process.send_signal(number)
    rest = process.communicate(timeout=90)[1]  # a busy machine; the case itself would take much longer

    assert process.returncode == code
    assert "Traceback" not in rest
    assert statuses_of(folder) == ["ok", "interrupted", "not run"]
    assert json.loads((folder / "out" / "run.json").read_text())["state"] == "interrupted"
    assert_whole(folder / "out")
    assert not _kernels_in(folder)

    (folder / "awake").touch()
    assert sweep(folder, "--resume").returncode == 0
    assert statuses_of(folder) == ["ok"] * 3


def test_a_cancel_that_a_library_drops_ends_the_run_at_the_next_cell(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """As ``asyncio.wait_for`` does up to Python 3.11, if the cell ends in the moment of the signal."""
    code = nbformat.v4.new_code_cell
    notebook = nbformat.v4.new_notebook(cells=[code("import pathlib"), code("pathlib.Path('went-on').touch()")])
    running: list[asyncio.Task[None]] = []

    async def wait_for(output: asyncio.Task[None], _: float) -> None:
        await output
        running[0].cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(0)

    async def run_case() -> None:
        job = Job(notebook=notebook, folder=tmp_path, environment={}, limits=Limits())
        async with LocalExecutor(job, jobs=1, total=1) as executor:
            await executor.run(Case("0", Parameters({}, ())), ended.append)

    async def run() -> None:
        running.append(asyncio.create_task(run_case()))
        with pytest.raises(asyncio.CancelledError):
            await running[0]

    ended: list[CellRun] = []
    monkeypatch.setattr(nbclient.client, "asyncio", SimpleNamespace(**vars(asyncio) | {"wait_for": wait_for}))
    asyncio.run(run())

    assert [cell.is_ok for cell in ended] == [True]
    assert not (tmp_path / "went-on").exists()


def test_a_second_run_into_the_same_folder_is_refused(folder: Path):
    cases_of(folder, "sleep")
    command = [SVC, "report", "run", "work.ipynb", "--sweep", "cases.csv", "--out", "out", "--json"]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert json.loads(process.stdout.readline())["event"] == "begin"

    refused = sweep(folder)
    process.terminate()
    process.communicate(timeout=30)

    assert refused.returncode == 2
    assert "another run is writing to out" in refused.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["--to", "docx"], "--to docx: unknown format docx. Formats: html, ipynb, md, pdf.", id="format"),
        pytest.param(["--to", "ipynb"], "--to ipynb would overwrite the notebook", id="ipynb beside"),
        pytest.param(["--sweep", "cases.csv"], "--sweep requires --out FOLDER.", id="no folder"),
        pytest.param(["--executor", "ray"], "--executor ray: write local, or dask://HOST:PORT.", id="executor"),
        pytest.param(["-p", "hots=1"], "unknown parameter hots", id="parameter"),
        pytest.param(["-p", "host"], "-p host: write name=value.", id="no value"),
        pytest.param(["-p", "host", "--jobs", "1"], "-p host: write name=value.", id="an option is no value"),
        pytest.param(["--redact", "NOWHERE"], "--redact NOWHERE: no parameter or environment variable", id="redact"),
    ],
)
def test_options_that_do_not_fit_are_usage_errors(arguments: list[str], message: str, folder: Path):
    cases_of(folder, "")

    done = run_report("run", "work.ipynb", *arguments, folder=folder)

    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())


def _kernels_in(folder: Path) -> list[int]:
    import psutil

    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        found = [
            p.pid for p in psutil.process_iter(["cwd", "pid"]) if p.info["cwd"] == str(folder) and p.pid != os.getpid()
        ]
        if not found:
            return []
        os.sched_yield()
    return found


def test_a_redacted_value_is_in_no_file_and_in_no_name(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MY_TOKEN", "hush-1234")
    cases_of(folder, "top-secret", "env:MY_TOKEN", "raise")
    notebook = nbformat.read(folder / "work.ipynb", as_version=4)
    notebook.cells.append(nbformat.v4.new_code_cell("print(what, repr(what), {what: what}); raise ValueError(what)"))
    nbformat.write(notebook, folder / "work.ipynb")

    told = sweep(folder, "--redact", "what", "--to", "html,ipynb,md")

    written = [path for path in (folder / "out").rglob("*") if path.is_file()]
    everything = told.stderr + told.stdout + "".join(str(path) + path.read_text() for path in written)
    assert len(written) == 3 * 3 + 3
    assert "top-secret" not in everything
    assert "hush-1234" not in everything
    assert "svc_(redacted)" in everything


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 32 KB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=32k", "tmpfs", disk], capture_output=True).returncode:
        pytest.skip("may not mount")
    yield disk
    subprocess.run(["umount", "--lazy", disk], check=True)


@pytest.mark.slow
def test_a_full_disk_is_told_leaves_nothing_half_written_and_resume_completes(folder: Path, small_disk: Path):
    cases_of(folder, *["long"] * 3)
    (folder / "out").symlink_to(small_disk)

    full = sweep(folder, "--jobs", "1")

    assert full.returncode == 1
    assert "No space left on device" in full.stderr
    assert "not written" in full.stderr
    assert not [p.name for p in small_disk.rglob(".*")]
    subprocess.run(["mount", "-o", "remount,size=4m", small_disk], check=True)
    done = sweep(folder, "--jobs", "1", "--resume")
    assert done.returncode == 0, done.stderr
    assert statuses_of(folder) == ["ok"] * 3
    assert_whole(folder / "out")


@pytest.mark.slow
def test_two_sweeps_side_by_side_share_one_store(scripted_local: Path, tmp_path: Path):
    notebook = nbformat.v4.new_notebook()
    parameters = nbformat.v4.new_code_cell("n = 0", metadata={"tags": ["parameters"]})
    cells = ["%load_ext svc_jupyter", "%svc --fill count {n}"]
    notebook.cells = [parameters, *map(nbformat.v4.new_code_cell, cells)]
    nbformat.write(notebook, tmp_path / "work.ipynb")
    (tmp_path / "cases.csv").write_text("n\n2\n3\n")
    command = [SVC, "report", "run", "work.ipynb", "--sweep", "cases.csv", "--answers", "replay", "--out"]

    runs = [subprocess.Popen([*command, out], cwd=tmp_path, stderr=subprocess.PIPE, text=True) for out in ("a", "b")]
    told = [run.communicate(timeout=100)[1] for run in runs]

    assert [run.returncode for run in runs] == [0, 0], told
    assert len(list((tmp_path / ".answers").rglob("*.json"))) == 2
    pinned = run_report(*command[2:], "c", "--answers", "pin", folder=tmp_path)
    assert pinned.returncode == 0, pinned.stderr
