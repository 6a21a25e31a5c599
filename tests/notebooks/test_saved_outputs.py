"""The examples ship with outputs and pinned answers; without a network they reproduce the outputs exactly."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from tests.support.made_keys import UNKNOWN_KEY

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
EXAMPLES = sorted(NOTEBOOKS.glob("*.ipynb"))
CUT = {"SVC_API_KEY": UNKNOWN_KEY, "SVC_BASE_URL": "http://127.0.0.1:9", "SVC_WS_URL": "", "SVC_ANSWERS": "pin"}
HINT = "If the answer changed on purpose, run: python -m tests.notebooks.record_answers"


def nbval(*notebooks: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-p", "nbval.plugin", "--nbval", *map(str, notebooks), "-q"]
    command += ["-p", "no:cacheprovider", "-c", os.devnull, f"--rootdir={notebooks[0].parent}", "-W", "ignore"]
    environment = {**os.environ, **CUT, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run(command, env=environment, capture_output=True, text=True)


def test_saved_outputs_match_the_pinned_answers():
    cells = [c for path in EXAMPLES for c in nbformat.read(path, as_version=4).cells if c.cell_type == "code"]

    done = nbval(*EXAMPLES)

    assert done.returncode == 0, f"{done.stdout}\n{HINT}"
    assert f"{len(cells)} passed" in done.stdout
    assert len(EXAMPLES) == 3


def test_a_different_answer_in_the_store_fails_the_comparison(tmp_path: Path):
    shutil.copytree(NOTEBOOKS, tmp_path / "notebooks")
    (stale,) = (p for p in (tmp_path / "notebooks/.answers").rglob("*.json") if "**9.8 critical**" in p.read_text())
    stale.write_text(stale.read_text().replace("9.8", "9.7"))

    done = nbval(tmp_path / "notebooks" / "01_ask.ipynb")

    assert done.returncode == 1
    assert "9.7" in done.stdout


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_shipped_notebooks_have_no_path_of_the_recording_machine(path: Path):
    assert str(Path.home()) not in path.read_text()
    assert "/tmp/" not in path.read_text()
