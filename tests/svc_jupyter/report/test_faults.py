"""Faults in the middle of a run are reported truthfully, leave nothing half-written, and --resume completes it."""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.support.live import ProcessService, wait_until
from tests.support.made_keys import UNKNOWN_KEY
from tests.support.reports import Ran, assert_whole, cases_in, run_report, save_notebook

WAIT = """
import os, time
from pathlib import Path
Path(f"begun-{n}").write_text(str(os.getpid()))
while not Path(f"go-{n}").exists():
    time.sleep(0.02)
"""
SHORT_PATIENCE = """
from svc._transport import Transport
Transport.call.__defaults__ = (1.0,)  # of failures before a call is given up: ten seconds elsewhere
%load_ext svc_jupyter
"""


@contextmanager
def meanwhile(act: Callable[[], None]) -> Iterator[None]:
    """Act beside what runs here; what fails there fails the test."""
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(act)
        yield
        done.result(timeout=30)


def sweep(folder: Path, *arguments: str) -> Ran:
    fixed = ("--sweep", "cases.csv", "--out", "out", "--jobs", "1", "--notebook-timeout", "30")
    return run_report("run", "work.ipynb", *fixed, *arguments, folder=folder)


def statuses_of(folder: Path) -> list[object]:
    return [case["status"] for case in cases_in(folder / "out").values()]


def go(folder: Path, number: int) -> None:
    (folder / f"go-{number}").touch()


def begun(folder: Path, number: int) -> None:
    """Wait until the case has begun."""
    path = folder / f"begun-{number}"
    wait_until(lambda: path.exists() and path.read_text(), f"case {number} to begin")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "cases.csv").write_text("n\n0\n1\n2\n")
    return tmp_path


def test_a_kernel_that_is_killed_in_the_middle_of_a_case_costs_that_case_alone(folder: Path):
    save_notebook(folder / "work.ipynb", "n = 0", WAIT, "print('after', n)")

    def kill_the_second() -> None:
        go(folder, 0)
        begun(folder, 1)
        os.kill(int((folder / "begun-1").read_text()), signal.SIGKILL)
        go(folder, 2)

    with meanwhile(kill_the_second):
        killed = sweep(folder)

    assert killed.returncode == 1
    assert statuses_of(folder) == ["ok", "kernel died", "ok"]
    assert "KernelDied: Kernel died" in (folder / "out/cases/1.html").read_text()
    assert "after" not in (folder / "out/cases/1.html").read_text().split("KernelDied")[1].split("</div>")[0]
    assert_whole(folder / "out")
    go(folder, 1)
    assert sweep(folder, "--resume").returncode == 0
    assert statuses_of(folder) == ["ok"] * 3


@pytest.mark.slow
def test_a_service_that_goes_away_and_comes_back_costs_the_cases_between(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
):
    home = tmp_path_factory.mktemp("service")
    services = [ProcessService(home, "Echo")]
    monkeypatch.setenv("SVC_BASE_URL", services[0].base_url)
    monkeypatch.setenv("SVC_API_KEY", services[0].key)
    save_notebook(folder / "work.ipynb", "n = 0", WAIT, SHORT_PATIENCE, "%svc --fill word {n}")

    def interrupt_the_service() -> None:
        go(folder, 0)
        begun(folder, 1)
        services[0].terminate()
        go(folder, 1)
        begun(folder, 2)
        services.append(ProcessService(home, "Echo", port=urlsplit(services[0].base_url).port or 0))
        go(folder, 2)

    try:
        with meanwhile(interrupt_the_service):
            done = sweep(folder)
        assert done.returncode == 1
        assert statuses_of(folder) == ["ok", "service unreachable", "ok"]
        assert "ServiceUnreachableError" in (folder / "out/cases/1.html").read_text()
        assert_whole(folder / "out")
        assert sweep(folder, "--resume").returncode == 0
        assert statuses_of(folder) == ["ok"] * 3
    finally:
        services[-1].terminate()


def test_a_service_out_of_reach_has_its_own_exit_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SVC_API_KEY", UNKNOWN_KEY)
    monkeypatch.setenv("SVC_BASE_URL", "http://127.0.0.1:9")
    save_notebook(tmp_path / "work.ipynb", "n = 0", SHORT_PATIENCE, "%svc word")

    done = run_report("run", "work.ipynb", folder=tmp_path)

    assert done.returncode == 5, done.stderr
    assert "service unreachable: ServiceUnreachableError" in done.stderr
    assert "ServiceUnreachableError" in (tmp_path / "work.html").read_text()


@pytest.mark.slow
def test_a_file_that_may_not_be_written_whole_is_not_written(folder: Path):
    """As on a full disk, and where no disk may be made for the test: files of this process end at 8 KB."""
    save_notebook(folder / "work.ipynb", "n = 0", "print('n' * 9000)")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8192, hard))
    try:
        full = sweep(folder)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    assert full.returncode == 1
    assert statuses_of(folder) == ["not written"] * 3
    assert {case["failure"] for case in cases_in(folder / "out").values()} == {
        "cannot write the report: File too large"
    }
    assert_whole(folder / "out")
    assert sweep(folder, "--resume").returncode == 0
    assert statuses_of(folder) == ["ok"] * 3


@pytest.mark.slow
def test_what_may_not_be_written_is_not_in_the_store_either_and_pins_still_fit(
    scripted_local: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("MY_TOKEN", "hush-1234")
    (folder / "cases.csv").write_text("n,what\n0,top-secret\n1,env:MY_TOKEN\n")
    asked = "get_ipython().run_line_magic('svc', f'echo again {what}')"
    save_notebook(folder / "work.ipynb", "n = 0\nwhat = ''", "%load_ext svc_jupyter", "%svc --fill echo {what}", asked)
    arguments = ("--redact", "what", "--to", "html,ipynb,md", "--answers-store", "store")

    done = sweep(folder, "--answers", "replay", *arguments)

    assert done.returncode == 0, done.stderr
    stored = "".join(path.read_text() for path in (folder / "store").rglob("*.json"))
    assert "echo {what}" in stored
    assert "echo again svc_(redacted)" in stored
    written = done.stderr + "".join(p.read_text() for p in (folder / "out").rglob("*") if p.is_file())
    for secret in ("top-secret", "hush-1234"):
        assert secret not in stored
        assert secret not in written
    monkeypatch.setenv("SVC_API_KEY", UNKNOWN_KEY)
    monkeypatch.setenv("SVC_BASE_URL", "http://127.0.0.1:9")
    assert sweep(folder, "--answers", "pin", *arguments).returncode == 0
