"""``svc report`` in this process: what the command does, without the seconds that a process takes to start."""

from __future__ import annotations

import contextlib
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

import nbformat
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


def assert_whole(out: Path) -> None:
    """The files of the cases are those of the manifest, to the byte, and nothing was left behind."""
    manifest = json.loads((out / "manifest.json").read_text())["sha256"]
    there = {str(path.relative_to(out)) for path in (out / "cases").rglob("*") if path.is_file()}
    assert there == set(manifest)
    assert all(hashlib.sha256((out / name).read_bytes()).hexdigest() == digest for name, digest in manifest.items())
    assert not [path.name for path in out.rglob(".*")]


def save_notebook(path: Path, parameters: str, *cells: str) -> Path:
    """A notebook with a cell of parameters and these."""
    notebook = nbformat.v4.new_notebook()
    tagged = nbformat.v4.new_code_cell(parameters, metadata={"tags": ["parameters"]})
    notebook.cells = [tagged, *map(nbformat.v4.new_code_cell, cells)]
    nbformat.write(notebook, path)
    return path
