"""A notebook made for papermill runs here as it runs there: the same words, the same cells, the same outputs."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode

from tests.support.reports import run_report

PAPERMILL = str(Path(sys.executable).with_name("papermill"))
CELLS = (
    ("alpha = 0.6  # type: float\nname: str = 'none'\nhosts = []\ndeep = None\nday = ''", "parameters"),
    ("# Parameters\nalpha = 99\n", "injected-parameters"),
    ("print(repr(alpha), repr(name), repr(hosts), repr(deep), repr(day))", ""),
    ("alpha", ""),
)
FILE = "hosts: [web-1, web-2]\ndeep: {limit: 3, is_on: true, none: null}\nday: 2026-11-20\nname: from the file\n"
WORDS = ("-p", "alpha", "0.25", "-r", "name", "007")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    notebook = nbformat.v4.new_notebook()
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook.cells = [
        nbformat.v4.new_code_cell(source, metadata={"tags": [tag] if tag else []}) for source, tag in CELLS
    ]
    nbformat.write(notebook, tmp_path / "work.ipynb")
    (tmp_path / "values.yaml").write_text(FILE)
    return tmp_path


def shown(notebook: NotebookNode) -> list[object]:
    """What a reader sees of each cell; how a value is quoted does not count."""
    return [
        (ast.dump(ast.parse(cell.source)), cell.metadata.tags, [_output(output) for output in cell.outputs])
        for cell in notebook.cells
    ]


def _output(output: NotebookNode) -> object:
    return output.get("text") or output.get("data")


@pytest.mark.slow
def test_a_parameterised_notebook_gives_the_same_cells_as_papermill_gives(folder: Path):
    subprocess.run(
        [PAPERMILL, "work.ipynb", "theirs.ipynb", *WORDS, "-f", "values.yaml", "--no-progress-bar"],
        cwd=folder, env={**os.environ, "PYTHONWARNINGS": "ignore"}, check=True, capture_output=True, timeout=60,
    )  # fmt: skip
    ours = (*WORDS, "-f", "values.yaml", "--to", "ipynb", "--out", "ours")
    done = run_report("run", "work.ipynb", *ours, folder=folder)

    assert done.returncode == 0, done.stderr
    theirs, made = (nbformat.read(folder / name, as_version=4) for name in ("theirs.ipynb", "ours/work.ipynb"))
    assert shown(made) == shown(theirs)
    assert made.cells[2].outputs[0].text == (
        "0.25 '007' ['web-1', 'web-2'] {'limit': 3, 'is_on': True, 'none': None} '2026-11-20'\n"
    )
    assert made.metadata.papermill.parameters == theirs.metadata.papermill.parameters


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param("hots: [a]\n", "values.yaml: unknown parameter hots. Did you mean hosts?", id="unknown name"),
        pytest.param("- a\n", "-f values.yaml: expected one NAME: VALUE per line", id="a list"),
        pytest.param("a: [1\n", "-f values.yaml: cannot read the file", id="broken"),
        pytest.param("day: !!python/object/apply:os.getcwd []\n", "cannot read the file", id="code"),
    ],
)
def test_a_file_that_has_no_parameters_is_a_usage_error(content: str, message: str, folder: Path):
    (folder / "values.yaml").write_text(content)

    done = run_report("run", "work.ipynb", "-f", "values.yaml", folder=folder)

    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())
