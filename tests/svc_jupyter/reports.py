"""``svc report`` in this process: what the command does, without the seconds that a process takes to start."""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass
from pathlib import Path

from click.testing import CliRunner

from svc_jupyter.report.command import report


@dataclass(frozen=True)
class Ran:
    """How it ended, and what it said."""

    returncode: int
    stdout: str
    stderr: str


def run_report(*arguments: str, folder: Path) -> Ran:
    """``svc report ARGUMENTS`` in a folder."""
    with contextlib.chdir(folder):
        done = CliRunner().invoke(report, arguments)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return Ran(done.exit_code, done.stdout, done.stderr)


def cases_in(out: Path) -> dict[str, dict[str, object]]:
    """The cases of a run's record, by name."""
    return {case["name"]: case for case in json.loads((out / "run.json").read_text())["cases"]}
