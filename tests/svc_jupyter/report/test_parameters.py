"""Parameters by papermill's conventions; an unknown name is an error, a secret is only named."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode

from svc_jupyter.report.parameters import ParameterError, build, check, inject, known_names, typed


def notebook_of(*cells: tuple[str, str]) -> NotebookNode:
    notebook = nbformat.v4.new_notebook()
    for source, tag in cells:
        cell = nbformat.v4.new_code_cell(source)
        cell.metadata.tags = [tag] if tag else []
        notebook.cells.append(cell)
    return notebook


@pytest.mark.parametrize(
    ("word", "value"),
    [
        pytest.param("3", 3, id="int"),
        pytest.param("007", 7, id="int with zeros"),
        pytest.param("3.5", 3.5, id="float"),
        pytest.param("1e3", 1000.0, id="exponent"),
        pytest.param("True", True, id="true"),
        pytest.param("False", False, id="false"),
        pytest.param("true", "true", id="no true"),
        pytest.param("None", None, id="none"),
        pytest.param("", "", id="empty"),
        pytest.param("web-3", "web-3", id="text"),
    ],
)
def test_a_word_is_typed_as_papermill_types_it(word: str, value: object):
    assert typed(word) == value
    assert type(typed(word)) is type(value)


def test_the_known_names_are_those_that_the_tagged_cell_sets():
    notebook = notebook_of(("other = 1", ""), ("%matplotlib\na = 1\nb: int = 2\nc, d = 3, 4\nprint(a)", "parameters"))

    assert known_names(notebook) == ["a", "b", "c", "d"]


@pytest.mark.parametrize(
    ("names", "known", "message"),
    [
        pytest.param(
            ["hots"],
            ["host", "day"],
            "-p: unknown parameter hots. Did you mean host? Parameters: host, day.",
            id="typo",
        ),
        pytest.param(["q"], ["host"], "-p: unknown parameter q. Parameters: host.", id="other"),
        pytest.param(["q"], [], "-p: cannot set q, because the notebook has no cell tagged `parameters`", id="none"),
    ],
)
def test_an_unknown_name_is_an_error_that_lists_the_known(names: list[str], known: list[str], message: str):
    with pytest.raises(ParameterError) as caught:
        check(names, known, "-p")

    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("cells", "index"),
    [
        pytest.param([("a = 1", "parameters"), ("a", "")], 1, id="after the defaults"),
        pytest.param(
            [("a = 1", "parameters"), ("a = 9", "injected-parameters"), ("a", "")], 1, id="in place of the old"
        ),
        pytest.param([("a", "")], 0, id="first"),
    ],
)
def test_the_injected_cell_stands_where_papermill_puts_it(cells: list[tuple[str, str]], index: int):
    notebook = notebook_of(*cells)
    made = inject(notebook, {"a": 'x"\n', "b": [1, {"c": float("inf")}], "d": None})

    assert made.cells[index].source == "# Parameters\na = 'x\"\\n'\nb = [1, {'c': float('inf')}]\nd = None"
    assert made.cells[index].metadata.tags == ["injected-parameters"]
    assert sum("injected-parameters" in cell.metadata.tags for cell in made.cells) == 1
    assert notebook == notebook_of(*cells) or len(notebook.cells) == len(cells)
    nbformat.validate(made)


def test_a_secret_is_read_where_it_is_named_and_shown_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MY_TOKEN", "hush-1")
    (tmp_path / "t").write_text("hush-2\n")

    made = build({"a": "env:MY_TOKEN", "b": "file:t", "c": 3}, tmp_path)

    assert made.values == {"a": "hush-1", "b": "hush-2", "c": 3}
    assert made.secrets == ("hush-1", "hush-2")
    assert made.shown() == {"a": "[redacted]", "b": "[redacted]", "c": 3}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        pytest.param("env:NO_SUCH_TOKEN", "the environment variable NO_SUCH_TOKEN is not set or empty", id="variable"),
        pytest.param("file:nowhere", "cannot read .*nowhere: No such file", id="file"),
    ],
)
def test_a_secret_that_is_not_there_is_an_error(value: str, message: str, tmp_path: Path):
    with pytest.raises(ParameterError, match=message):
        build({"a": value}, tmp_path)


def test_parameters_are_not_set_in_another_language():
    notebook = notebook_of(("a", ""))
    notebook.metadata.kernelspec = {"name": "ir", "display_name": "R", "language": "R"}

    with pytest.raises(ParameterError, match="the notebook's kernel is R"):
        inject(notebook, {"a": 1})
