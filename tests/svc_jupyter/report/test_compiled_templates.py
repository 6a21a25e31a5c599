"""Templates are compiled for the first page of a process, and again if their file changes."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from jinja2 import Environment, FileSystemLoader

from svc_jupyter.report.compiled_templates import CompiledTemplates
from svc_jupyter.report.export import Format, export


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str | None]:
    """The names of the templates that jinja compiles."""
    names: list[str | None] = []
    compile_ = Environment.compile

    def note(self: Environment, source: str, name: str | None = None, filename: str | None = None) -> object:
        names.append(name)
        return compile_(self, source, name, filename)

    monkeypatch.setattr(Environment, "compile", note)
    return names


def test_a_further_page_compiles_no_template(compiled: list[str | None]):
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("# Hosts")])
    output = Format(names=("html", "md"), template="svc", secrets=())
    first = export(notebook, "WS-17", output)
    compiled.clear()

    again, other = export(notebook, "WS-17", output), export(notebook, "WS-18", output)

    assert compiled == []
    assert again == first
    assert b"WS-18" in other[".html"]


def test_a_changed_template_is_compiled_again(tmp_path: Path, compiled: list[str | None]):
    def shown(text: str) -> str:
        (tmp_path / "page").write_text(text)
        environment = Environment(loader=FileSystemLoader(tmp_path), bytecode_cache=kept)  # no HTML
        return environment.get_template("page").render(n=3)

    kept = CompiledTemplates()

    assert [shown("{{ n }} hosts"), shown("{{ n }} hosts"), shown("{{ n }} cases")] == ["3 hosts", "3 hosts", "3 cases"]
    assert compiled == ["page", "page"]
