"""A platform without POSIX, as far as Linux can simulate it: a question, the shell, a report, a kernel's magics.

The whole suite runs so with ``SVC_WORKERS=spawn python -m pytest -p tests.support.without_posix``.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from tests.support import ROOT
from tests.support.local_services import stop_local_service

BLOCKED = ROOT / "tests" / "support" / "posix_blocked"
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the simulation is of Linux")


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory):
    """Of processes that lack POSIX; their local service ends with the module."""
    state = tmp_path_factory.mktemp("state")
    own = {name: value for name, value in os.environ.items() if not name.startswith("SVC_")}
    path = os.pathsep.join([str(BLOCKED), str(ROOT)])
    yield {**own, "PYTHONPATH": path, "SVC_WORKERS": "spawn", "SVC_STATE_DIR": str(state), "NO_COLOR": "1"}
    stop_local_service(state)


def run(environment: dict[str, str], *words: str, **given: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "svc.cli.main", *words]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=110, **given)


def test_what_is_blocked_is_missing_for_us_and_there_for_libraries(environment: dict[str, str]):
    program = (
        "import os, signal, subprocess, sys\n"
        "assert not hasattr(os, 'fork') and not hasattr(signal, 'SIGKILL')\n"
        "for name in ('resource', 'fcntl', 'uvloop'):\n"
        "    try:\n        __import__(name)\n    except ImportError:\n        print(name, end=' ')\n"
        "child = subprocess.Popen([sys.executable, '-c', 'input()'], stdin=subprocess.PIPE)\n"
        "child.kill()\nchild.communicate()\n"
        "print(subprocess.check_output([sys.executable, '-c', 'import os; print(hasattr(os, \"fork\"))'], text=True))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ["resource", "fcntl", "uvloop", "False"], done.stderr


def test_a_question_about_a_file_is_answered_by_a_local_service(environment: dict[str, str], tmp_path: Path):
    lines = [
        f"Nov 20 02:10:{n:02} web sshd[7]: Failed password for root from 203.0.113.7 port 22 ssh2" for n in range(40)
    ]
    (tmp_path / "auth.log").write_text("\n".join(lines) + "\n")
    done = run(environment, "ask", "--attach", str(tmp_path / "auth.log"), "Which accounts were attacked?")
    assert done.returncode == 0, done.stderr
    assert "203[.]0[.]113[.]7" in done.stdout
    assert "40" in done.stdout


@pytest.mark.slow
def test_a_report_runs_the_magics_in_a_kernel(environment: dict[str, str], tmp_path: Path):
    notebook = nbformat.v4.new_notebook(metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}})
    notebook.cells = [
        nbformat.v4.new_code_cell("%load_ext svc_jupyter"),
        nbformat.v4.new_code_cell("%svc What is T1059.001?"),
    ]
    nbformat.write(notebook, tmp_path / "case.ipynb")
    done = run(environment, "report", "run", "case.ipynb", "--out", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "PowerShell" in "".join(page.read_text("utf-8") for page in (tmp_path / "out").glob("*.html"))
