"""Run the example notebooks again with the analyst of this checkout: `python -m tests.notebooks.record_answers`.

Writes the outputs to `notebooks/*.ipynb`, the answers to `notebooks/.answers` and their hashes to the package. Removes
answers that no notebook uses any more. Run it after an intended change of an answer; the tests fail until then.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import nbformat

from svc_jupyter.answers import store as answer_store
from svc_jupyter.report.content import evidence
from tests.support.local_services import stop_local_service

FOLDER = Path(__file__).parents[2] / "notebooks"
NOTEBOOKS = ("01_ask.ipynb", "02_triage.ipynb", "03_nightly_host_report.ipynb")
SWEEP = ("03_nightly_host_report.ipynb", "--sweep", "evidence/hosts.csv")
SVC = str(Path(sys.executable).with_name("svc"))
OURS = ("SVC_API_KEY", "SVC_BASE_URL", "SVC_WS_URL", "SVC_LOCAL_SERVE_ARGS", "SVC_KNOWLEDGE_DIR")


def run(work: Path, *arguments: str) -> Path:
    """Ask every question, store the answers, and return the folder with the output of ``svc report run``."""
    out = Path(tempfile.mkdtemp(dir=work))
    environment = {name: value for name, value in os.environ.items() if name not in OURS}
    environment |= {"SVC_STATE_DIR": str(work / "state"), "SVC_KNOWLEDGE_DIR": str(work / "knowledge")}
    environment |= {"SVC_KEPT_RESULTS_BYTES": "0"}  # the steps of an answer say whether its file was read or known
    command = [SVC, "report", "run", *arguments, "--answers", "refresh", "--to", "ipynb", "--out", str(out)]
    subprocess.run(command, cwd=FOLDER, env=environment, check=True)
    return out


def take_outputs(target: Path, executed: Path) -> None:
    """Copy the outputs, and nothing else, into the shipped notebook."""
    notebook, made = (nbformat.read(path, as_version=4) for path in (target, executed))
    for cell, ran in zip(notebook.cells, made.cells, strict=True):
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = ran.outputs, ran.execution_count
    nbformat.write(notebook, target)


def main() -> None:
    begun = time.time()
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        for notebook in NOTEBOOKS:
            take_outputs(FOLDER / notebook, run(work, notebook) / notebook)
        run(work, *SWEEP)
        stop_local_service(work / "state")
    for entry in answer_store.prune(FOLDER / ".answers", unused_since=begun):
        print(f"{entry.key} removed: {entry.question}")
    shutil.rmtree(FOLDER / ".answers" / evidence.FOLDER, ignore_errors=True)  # signed by this machine alone
    answer_store.write_shipped(FOLDER / ".answers")


if __name__ == "__main__":
    main()
