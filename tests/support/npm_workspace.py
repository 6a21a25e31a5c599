"""The npm workspace as tests use it: what its lock names is installed once, and its scripts are run."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from filelock import FileLock

WORKSPACE = Path(__file__).parents[2] / "labextension"
PATH = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])  # with the Node of pip
SCRIPT_SECONDS = 1_500
_MARK = WORKSPACE / "node_modules" / ".installed_from"


def one_at_a_time() -> FileLock:
    """Tests run in several processes, but only one of them may write to the checkout."""
    folder = WORKSPACE.parent / ".pytest_cache"
    folder.mkdir(exist_ok=True)
    return FileLock(folder / "npm.lock", timeout=SCRIPT_SECONDS)


def install() -> None:
    """Install what the lock names: once for each lock."""
    digest = hashlib.sha256((WORKSPACE / "package-lock.json").read_bytes()).hexdigest()
    with one_at_a_time():
        if not _MARK.exists() or _MARK.read_text("ascii") != digest:
            run_npm("ci", "--ignore-scripts", "--no-progress", "--no-audit", "--prefer-offline")  # the lock has digests
            _MARK.write_text(digest, "ascii")


def run_npm(*words: str, **environ: str) -> None:
    npm = shutil.which("npm", path=PATH)
    assert npm is not None, "npm is missing; `pip install '.[test]'` brings one"
    environment = {**os.environ, "PATH": PATH, "NO_COLOR": "1", "CI": "1", "SVC_PYTHON": sys.executable, **environ}
    done = subprocess.run(
        [npm, *words], cwd=WORKSPACE, env=environment, capture_output=True, text=True, timeout=SCRIPT_SECONDS
    )
    assert done.returncode == 0, done.stdout[-6_000:] + done.stderr[-3_000:]
