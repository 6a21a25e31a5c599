"""The set-up of the browser tests says what it did or what to do, and without a browser a run ends with one message."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser import chromium as setup

ROOT = Path(__file__).parents[2]


class Machine:
    """A machine that has a browser after these installations worked, and whose installations fail otherwise."""

    def __init__(self, **installs: str) -> None:
        self.installs = installs  # by name, the message of its failure; "" if it works
        self.browser: str | None = None
        self.tried: list[str] = []

    def install(self, name: str) -> str:
        self.tried.append(name)
        if not self.installs[name]:
            self.browser = f"/usr/bin/{name}"
        return self.installs[name]


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    made = Machine(playwright="", debian="")
    monkeypatch.delenv("SVC_CHROMIUM", raising=False)
    monkeypatch.setattr(setup, "find_browser", lambda: made.browser)
    monkeypatch.setattr(setup, "why_not_started", lambda browser: "" if browser else "not found")
    monkeypatch.setattr(setup, "from_playwright", lambda: made.install("playwright"))
    monkeypatch.setattr(setup, "from_debian", lambda: made.install("debian"))
    return made


def test_a_browser_that_is_there_is_used(machine: Machine, capsys: pytest.CaptureFixture[str]):
    machine.browser = "/opt/chrome"

    assert setup.main() == 0
    assert (machine.tried, capsys.readouterr().out) == ([], "The tests use the browser /opt/chrome\n")


def test_playwrights_download_comes_first(machine: Machine, capsys: pytest.CaptureFixture[str]):
    assert setup.main() == 0
    assert machine.tried == ["playwright"]
    assert (
        capsys.readouterr().out == "Installed the browser of the tests (Playwright's download): /usr/bin/playwright\n"
    )


def test_debians_package_follows_if_the_download_fails(machine: Machine, capsys: pytest.CaptureFixture[str]):
    machine.installs["playwright"] = "host not found"

    assert setup.main() == 0
    assert machine.tried == ["playwright", "debian"]
    assert "(Debian's package): /usr/bin/debian\n" in capsys.readouterr().out


def test_a_download_that_does_not_start_does_not_count(machine: Machine, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(
        setup, "why_not_started", lambda browser: "libnss3.so is missing" if browser == "/usr/bin/playwright" else ""
    )

    assert setup.main() == 0
    assert machine.tried == ["playwright", "debian"]


def test_if_nothing_works_one_message_says_why_and_what_to_do(machine: Machine, capsys: pytest.CaptureFixture[str]):
    machine.installs |= {"playwright": "host not found", "debian": "only on Debian as root"}

    assert setup.main() == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert len(said.err.splitlines()) == 2
    for words in ("host not found", "only on Debian as root", "package manager", "SVC_CHROMIUM", "pytest --no-browser"):
        assert words in said.err


@pytest.mark.parametrize("named", ["/no/such/browser", "/bin/false"])
def test_a_named_browser_that_cannot_be_used_is_not_replaced(
    named: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("SVC_CHROMIUM", named)

    assert setup.main() == 1
    assert f"{named}, which SVC_CHROMIUM names, cannot be used" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("release", "is_one"),
    [
        ("ID=debian\n", True),
        ('NAME="Kali GNU/Linux"\nID=kali\nID_LIKE=debian\n', True),
        ("ID=ubuntu\nID_LIKE=debian\n", False),
        ('ID=linuxmint\nID_LIKE="ubuntu debian"\n', False),
        ('ID=fedora\n\n# a comment\nVARIANT=\n', False),
        (None, False),
    ],
)  # fmt: skip
def test_debians_package_is_only_for_debian(
    release: str | None, is_one: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    if release is not None:
        (tmp_path / "os-release").write_text(release)
    monkeypatch.setattr(setup, "OS_RELEASE", tmp_path / "os-release")

    assert setup.is_debian() is is_one


def run_pytest(*words: str) -> subprocess.CompletedProcess[str]:
    environ = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", *words]
    return subprocess.run(
        command, cwd=ROOT, env=environ | {"SVC_CHROMIUM": "/no/such/browser"}, capture_output=True, text=True
    )


@pytest.mark.parametrize("processes", ["0", pytest.param("1", marks=pytest.mark.slow)])  # this one; one of xdist
@pytest.mark.slow
def test_without_a_browser_a_run_ends_with_one_message(processes: str):
    done = run_pytest("-n", processes, "tests/browser/test_charts.py", "tests/svc/service/quotas/test_windows.py")

    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    said = done.stdout + done.stderr
    assert said.count(setup.NO_BROWSER) == 1
    assert "passed" not in said
    assert "Traceback" not in said
    assert len(said.splitlines()) < 12, said


@pytest.mark.slow
def test_no_browser_deselects_the_tests_that_need_one():
    done = run_pytest(
        "-n", "0", "--no-browser", "tests/browser/test_charts.py", "tests/svc/service/quotas/test_windows.py"
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "passed" in done.stdout
    assert "deselected" in done.stdout
    assert "skipped" not in done.stdout
