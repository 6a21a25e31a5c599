"""No HTML and no output of a cell ends a run, takes minutes, or is live in the page.

Fragments are drawn at random from two sets of tokens. The first is the one that the code was written with; the second
was written before the fix and looked at after it.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from bs4 import BeautifulSoup
from nbformat import NotebookNode

from svc_jupyter.report import export, options, sanitize
from svc_jupyter.report.page import build
from svc_jupyter.report.record import answers_of, verdict_of
from svc_jupyter.report.repair import repair
from tests.support.sampling import sampled

TOKENS = {
    "open": [
        "<![", "]]>", "[", "<!", "<!--", "-->", "--!>", "CDATA[", "if ", "endif", "foo[", "x", "\n", "\n\n", "## ",
        "<a ", "href=", "'", "\"", ">", "</", "/>", "<b>", "</b>", "<table>", "<td>", "<div ", "<script>",
        "</script>", "<style>", "</style>", "<?", "?>", "&lt;", "&", "&#0;", "\u0000", "$", "$$", "`", "```", "\\(",
        "\\[", "- ", "> ", "|", "\ud800",
    ],
    "held": [
        "<!ELEMENT a [", "<!ATTLIST", "<!NOTATION", "<![IGNORE[", "<![INCLUDE[", "<![temp[", "<!doctype html [",
        "<%", "%>", "<svg><![CDATA[", "<math><mi>", "<annotation-xml encoding=text/html>", "<foreignObject>",
        "<title>", "</title>", "<textarea>", "</textarea>", "<noscript>", "<plaintext>", "<xmp>", "<template>",
        "<select><option>", "<p id='", "<img src=x onerror=alert(1)>", "<a href='java\tscript:alert(1)'>",
        "&#x110000;", "&amp;lt;", "&NotExists;", "&#xD800;", "<details open ontoggle=alert(1)>", "<base href=//x>",
        "<link rel=stylesheet href=//x>", "<meta http-equiv=refresh>", "\u2028", "\ufeff",
        "\u001b]8;;http://x\u0007", "\udfff", "</html>", "</body>", "</head>", "<body onload=x>", "<head>", "#",
        "\n# h\n", "\n\n<div>\n", "\n- ", "![a](http://x/y.png)", "[a](javascript:x)", "<http://x>",
        "www.x.example ",
    ],
}  # fmt: skip
FRAGMENTS = 60
ACTIVE = ("script", "iframe", "object", "embed", "link", "base", "form", "svg", "math", "template", "noscript", "style")


def fragments(kind: str) -> Iterator[str]:
    draw = random.Random(f"13 {kind}")
    for _ in range(FRAGMENTS):
        yield "".join(draw.choice(TOKENS[kind]) for _ in range(draw.randint(1, 14)))


def display(data: object, metadata: object = None) -> NotebookNode:
    return NotebookNode(output_type="display_data", data=data, metadata={} if metadata is None else metadata)


def notebook_of(text: str) -> NotebookNode:
    """The text at every place where a notebook has text."""
    kinds = ("text/html", "text/markdown", "image/svg+xml", "text/latex", "text/plain", "application/javascript", text)
    cell = nbformat.v4.new_code_cell(text)
    cell.outputs = [display({kind: text}) for kind in kinds]
    cell.outputs += [
        NotebookNode(output_type="stream", name="stdout", text=text),
        NotebookNode(output_type="error", ename=text, evalue=text, traceback=[text]),
        display(
            {"text/plain": "x", "application/vnd.jupyter.widget-view+json": {"model_id": text}}, {text: {text: text}}
        ),
    ]
    markdown = [nbformat.v4.new_markdown_cell(text), nbformat.v4.new_markdown_cell(f"## {text}")]
    notebook = nbformat.v4.new_notebook(cells=[*markdown, cell, nbformat.v4.new_raw_cell(text)])
    notebook.metadata.update(title=text, widgets={text: text}, authors=[{"name": text}])
    return notebook


def assert_dead(page: str) -> None:
    head, _, body = page.partition("</head>")
    assert "script-src" not in head
    assert head.index("Content-Security-Policy") < 300
    soup = BeautifulSoup(body, "html.parser")
    assert soup([*ACTIVE, "meta", "title", "input", "button", "video", "audio"]) == []
    for element in soup.find_all():
        assert not [name for name in element.attrs if name.startswith(("on", "data-commandlinker")) or name == "style"]
        assert str(element.get("src", "data:")).startswith("data:")


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.parametrize("kind", sampled(TOKENS, 3))
def test_no_fragment_ends_the_export_or_is_live(kind: str):
    output = export.Format(names=("html", "md", "ipynb"), template="svc", secrets=())
    for text in fragments(kind):
        notebook = repair(notebook_of(text))
        files = export.export(notebook, "case", output)

        page = files[".html"].decode()
        assert "could not be rendered" not in page, text
        assert_dead(page)
        nbformat.validate(nbformat.reads(files[".ipynb"].decode(), as_version=4))


@pytest.mark.parametrize("template", sampled(["svc", "brief", "lab", "classic"], 2))
def test_every_template_takes_a_section_of_sgml(template: str):
    text = "<div>\n<![foo[x]]>\n# h <?<![#\n</div>"

    assert_dead(build(notebook_of(text), title="<![foo[", template=template))


SLOW = {
    "levels": "<div>" * 100_000,
    "levels of text": "<b>" * 100_000,
    "tables in tables": "<table><tr><td>" * 33_000,
    "levels hidden from a naive count": "<div><!--</div>-->" * 50_000,
    "levels behind quotes": "<div title='</div>'>" * 50_000,
    "levels with other ends": "<div></b>" * 50_000,
    "one line of 10 MB": "x" * 10_000_000,
    "comments": "<!--" * 500_000,
    "attributes": "<a " + " ".join(f"a{n}=1" for n in range(100_000)) + ">",
    "ampersands": "&" * 1_000_000,
    "references": "&amp;" * 400_000,
    "spaces": "\u00a0" * 500_000,
    "sections": "<![" * 300_000,
    "ends": "</" * 300_000,
    "elements": "<i>x</i>" * 250_000,
}


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", sampled(SLOW, 3))
def test_html_of_any_size_is_cleaned_in_seconds(name: str):
    started = time.process_time()

    page = sanitize.clean_body(sanitize.clean(SLOW[name]))

    assert time.process_time() - started < 15  # measured: below 2 s each; before: 117 s for the first
    assert page.count("<div>") <= sanitize.MAX_NESTING + 1


def test_html_that_is_too_deep_is_shown_as_text():
    cleaned = sanitize.clean("<div>" * 1_000 + "who got in & when")

    assert "nested too deeply" in cleaned
    assert "who got in &amp; when" in cleaned


def test_a_large_table_is_laid_out():
    rows = "".join(f"<tr>{'<td>1</td>' * 10}</tr>" for _ in range(10_000))

    assert sanitize.clean(f"<table><tbody>{rows}</tbody></table>").count("<td>") == 100_000


OUTPUTS: list[object] = [
    {},
    {"output_type": "stream", "text": ["a", "b"]},
    {"output_type": "stream", "text": {"a": 1}, "name": 5},
    {"output_type": "error", "traceback": None},
    {"output_type": "error", "ename": ["x"], "evalue": {"a": 1}, "traceback": "one line"},
    {"output_type": "display_data"},
    {"output_type": "display_data", "data": None, "metadata": None},
    {"output_type": "display_data", "data": [1], "metadata": [1]},
    {"output_type": "display_data", "data": {"text/html": 5, "text/plain": None, "image/png": ["AA", "=="]}},
    {"output_type": "execute_result", "data": {"text/markdown": ["# a", 1]}, "execution_count": "x"},
    {"output_type": "unknown", "data": {"text/html": "<script>"}},
    {"output_type": "display_data", "data": {"application/vnd.svc.answer+json": 5, "text/markdown": "x"}},
    {
        "output_type": "display_data",
        "data": {"application/vnd.svc.answer+json": {"key": 5, "findings": [5, {}, None], "status": ["x"]}},
        "metadata": {"application/vnd.svc.answer+json": {"time": "soon", "stored_at": 1e300, "question": None}},
    },
    {
        "output_type": "display_data",
        "data": {"application/vnd.svc.answer+json": {"text": "x"}, "text/markdown": "x", "text/plain": "y"},
        "metadata": {"application/vnd.svc.answer+json": {"time": float("nan"), "is_verified": "yes", "is_stored": 1}},
    },
    {"output_type": "display_data", "data": {"image/png": "no base64", "image/jpeg": {"a": 1}, "image/svg+xml": 1}},
]


@pytest.mark.parametrize("output", sampled(OUTPUTS, 4))
def test_an_output_of_any_type_is_exported(output: dict[str, object]):
    cell = NotebookNode(cell_type="code", source=["1", "2"], outputs=[output, 5, None], metadata=None, id=3)
    other = NotebookNode(cell_type="what", source=None, attachments={"a": 1}, metadata={"tags": "x"})
    notebook = NotebookNode(nbformat=4, nbformat_minor=5, metadata=[], cells=[cell, other, 7])

    fixed = repair(notebook)

    assert isinstance(verdict_of(fixed), str)
    json.dumps([answer.text for answer in answers_of(fixed)])
    for template in ("svc", "brief"):
        files = export.export(fixed, "n", export.Format(names=("html", "md", "ipynb"), template=template, secrets=()))
        assert b"could not be rendered" not in files[".html"]


NO_NOTEBOOKS = [
    "", "{", "[]", "5", '"x"', "null", '{"nbformat": 99}', '{"nbformat": 4, "cells": 5}', '{"nbformat": "x"}',
    '{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [{"cell_type": "code"}]}', "[" * 100_000,
    '{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [5]}', '{"nbformat": 1, "cells": 1}',
    '{"nbformat": 3, "worksheets": 5}', '{"nbformat": -1}', '{"a":' * 50_000,
    '{"nbformat": 4, "nbformat_minor": 1e999}',
]  # fmt: skip


@pytest.mark.parametrize("text", NO_NOTEBOOKS)
def test_a_file_that_is_no_notebook_is_an_error_of_usage(text: str, tmp_path: Path):
    (tmp_path / "n.ipynb").write_text(text)

    with pytest.raises(options.UsageError, match="is not a valid notebook"):
        options.read(tmp_path / "n.ipynb")


def test_cells_with_the_same_id_are_read(tmp_path: Path):
    cells = [{"cell_type": "markdown", "id": "a", "source": f"# {n}", "metadata": {}} for n in range(2)]
    (tmp_path / "n.ipynb").write_text(json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}))

    assert [cell.source for cell in options.read(tmp_path / "n.ipynb").cells] == ["# 0", "# 1"]
