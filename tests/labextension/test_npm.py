"""The npm workspace keeps its own rules: lint, types, unit tests, and tests in a browser, each by its npm script."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

WORKSPACE = Path(__file__).parents[2] / "labextension"
MARK = WORKSPACE / "node_modules" / ".installed_from"
PATH = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])  # pip's Node, where it is there


def run_npm(*words: str, **environ: str) -> None:
    npm = shutil.which("npm", path=PATH)
    assert npm is not None, "npm is missing; `pip install '.[test]'` brings one"
    environment = {**os.environ, "PATH": PATH, "NO_COLOR": "1", "CI": "1", "SVC_PYTHON": sys.executable, **environ}
    done = subprocess.run([npm, *words], cwd=WORKSPACE, env=environment, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stdout[-6_000:] + done.stderr[-3_000:]


@pytest.fixture(scope="module")
def installed() -> None:
    """What the lock names is installed: once for each lock."""
    digest = hashlib.sha256((WORKSPACE / "package-lock.json").read_bytes()).hexdigest()
    if not MARK.exists() or MARK.read_text("ascii") != digest:
        run_npm("ci", "--no-progress")
        MARK.write_text(digest, "ascii")


@pytest.mark.timeout(600)
@pytest.mark.parametrize("script", ["lint", "typecheck", "test"])
def test_the_script_passes(installed: None, script: str):
    run_npm("run", script)


@pytest.mark.timeout(600)
def test_the_tests_in_a_browser_pass(installed: None, chromium: str):
    run_npm("run", "test:browser", SVC_CHROMIUM=chromium)
