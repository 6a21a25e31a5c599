"""A report's page runs nothing, loads nothing and shows no key, whatever a notebook holds."""

from __future__ import annotations

import copy

import nbformat
import pytest
from bs4 import BeautifulSoup
from nbconvert import HTMLExporter
from nbformat import NotebookNode
from traitlets.config import Config

from svc_jupyter.answers.redaction import redact
from svc_jupyter.report.errors import ExportError
from svc_jupyter.report.page import TEMPLATES, build
from svc_jupyter.report.prepare import POLICY
from svc_jupyter.report.sanitize import clean

KEY = "svc_" + "Ab9" * 16 + "z"
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)><iframe src='http://evil.example'></iframe>"


def notebook_with(*outputs: NotebookNode, markdown: str = "# Title", source: str = "1 + 1") -> NotebookNode:
    notebook = nbformat.v4.new_notebook()
    cell = nbformat.v4.new_code_cell(source)
    cell.outputs = list(outputs)
    notebook.cells = [nbformat.v4.new_markdown_cell(markdown), cell]
    return notebook


def shown(data: dict[str, object], metadata: dict[str, object] | None = None) -> NotebookNode:
    return nbformat.v4.new_output("display_data", data=data, metadata=metadata or {})


NOTEBOOKS = [
    pytest.param(notebook_with(markdown=HOSTILE), id="markdown cell"),
    pytest.param(notebook_with(markdown="![x](http://evil.example/p.png)"), id="remote image"),
    pytest.param(notebook_with(markdown="[x](javascript:alert(1))"), id="javascript link"),
    pytest.param(
        notebook_with(markdown="$\\href{javascript:alert(1)}{x}$ $$<script>alert(1)</script>$$"), id="formula"
    ),
    pytest.param(notebook_with(shown({"text/html": HOSTILE})), id="html output"),
    pytest.param(notebook_with(shown({"text/markdown": HOSTILE})), id="markdown output"),
    pytest.param(notebook_with(shown({"application/javascript": "alert(1)"})), id="javascript output"),
    pytest.param(notebook_with(shown({"text/vnd.mermaid": HOSTILE})), id="mermaid output"),
    pytest.param(notebook_with(shown({"image/svg+xml": f"<svg>{HOSTILE}</svg>"})), id="svg output"),
    pytest.param(
        notebook_with(
            shown({"image/png": "AA=="}, {"width": "1 onload=alert(1)", "image/png": {"width": "1 onload=x"}})
        ),
        id="attribute in metadata",
    ),
    pytest.param(
        notebook_with(shown({"image/png": "AA=="}, {"filenames": {"image/png": "http://evil.example/p.png"}})),
        id="file name",
    ),
    pytest.param(notebook_with(shown({"application/vnd.jupyter.widget-view+json": {"model_id": "1"}})), id="widget"),
    pytest.param(notebook_with(nbformat.v4.new_output("stream", text=HOSTILE)), id="stream"),
    pytest.param(
        notebook_with(nbformat.v4.new_output("error", ename="E", evalue="v", traceback=[HOSTILE])), id="error"
    ),
    pytest.param(notebook_with(source=f"# {HOSTILE}"), id="source"),
]


@pytest.mark.parametrize("notebook", NOTEBOOKS)
def test_nothing_runs_or_loads(notebook: NotebookNode):
    before = copy.deepcopy(notebook)
    page = BeautifulSoup(build(notebook, title="report"), "html.parser")

    assert page(["script", "iframe", "object", "embed", "link", "base", "form"]) == []
    for element in page.find_all():
        assert not [name for name in element.attrs if name.startswith("on") or name in ("srcset", "srcdoc")]
        assert str(element.get("src", "data:")).startswith("data:")
        assert str(element.get("href", "#")).startswith(("#", "http://", "https://"))
    assert page.head.contents[0]["content"] == POLICY
    assert notebook == before


def test_no_key_is_in_the_page():
    output = nbformat.v4.new_output("stream", text=f"key {KEY} and p&ssword")
    page = build(notebook_with(output, markdown=KEY, source=f"key = '{KEY}'"), title=KEY, secrets=("p&ssword", ""))

    assert KEY not in page
    assert "p&amp;ssword" not in page
    assert page.count("svc_(redacted)") >= 4


def test_what_reports_show_stays():
    page = build(
        notebook_with(
            shown(
                {
                    "text/markdown": "| a |\n| --- |\n| `x` |\n\n**bold**",
                    "application/vnd.svc.answer+json": {"text": "raw"},
                }
            ),
            shown({"text/html": "<details><summary>3 steps</summary><pre>one</pre></details>"}),
            shown(
                {"text/html": "<style>td {color: red}</style><table border=1><tr><td colspan=2>cell</td></tr></table>"}
            ),
            shown({"image/png": "AA=="}),
        ),
        title="report",
        is_fresh=True,
    )
    soup = BeautifulSoup(page, "html.parser")

    assert soup.find("h1").get_text().startswith("Title")
    assert [cell.get_text() for cell in soup.find_all("td")] == ["x", "cell"]
    assert soup.find("strong").get_text() == "bold"
    assert [summary.get_text() for summary in soup.find_all("summary")] == ["1 + 1", "3 steps"]
    assert soup.find("img")["src"] == "data:image/png;base64,AA=="
    assert "color: red" not in soup.get_text()
    assert "https://cdnjs" not in page


def test_cleaning_keeps_text_and_drops_what_acts():
    assert clean('<b onclick="x">a</b> <script>x</script><a href="javascript:x">l</a>') == "<b>a</b> <a>l</a>"


CLEANED = {
    "an unknown tag is shown": ("From <a@b.example> <svg>", "From &lt;a@b.example&gt; &lt;svg&gt;"),
    "a form is shown": ("<form action=//x><input>", "&lt;form action=//x&gt;&lt;input&gt;"),
    "a name that begins like a known one": ("<pre-x>", "&lt;pre-x&gt;"),
    "a style goes with its text": ("<style>td {}</style>a", "a"),
    "a style within another namespace": ("<svg><style><img src=x onerror=x></style>", "&lt;svg&gt;"),
    "a comment": ("a<!-- <b> -->c", "ac"),
    "an image by its address": ('<img src="https://x.example/a.png" alt="a">', '<img alt="a">'),
    "an image with a page in it": ('<img src="data:text/html,x">', "<img>"),
    "another scheme": ('<a href="ftp://x.example">l</a>', "<a>l</a>"),
    "a scheme with a tab in it": ('<a href="java\tscript:x">l</a>', "<a>l</a>"),
    "a style attribute": ('<p style="position:fixed" class="a">x</p>', '<p class="a">x</p>'),
    "an entity stays one": ("&lt;script&gt;", "&lt;script&gt;"),
    "a number that is less": ("1 < 2", "1 &lt; 2"),
}


@pytest.mark.parametrize(("fragment", "cleaned"), CLEANED.values(), ids=CLEANED)
def test_cleaning_shows_what_is_unknown_and_drops_what_loads(fragment: str, cleaned: str):
    assert clean(fragment) == cleaned


@pytest.mark.timeout(20)
@pytest.mark.parametrize("fragment", ["<a ", "<!--", "<", '<a href="', "<b><i>", "<form>"])
def test_cleaning_broken_html_takes_no_time(fragment: str):
    clean(fragment * 20_000)


def test_redacting_leaves_other_words():
    assert redact(f"svc_jupyter {KEY}x svc_short") == "svc_jupyter svc_(redacted)x svc_short"


ANSWER = {
    "text/markdown": "## Verdict\n\nYes.",
    "text/plain": "Verdict: yes",
    "application/vnd.svc.answer+json": {"key": "ab" * 32, "model": "svc-1", "text": "raw", "findings": []},
}
PROVENANCE = {
    "application/vnd.svc.answer+json": {
        "question": "Who <b>got</b> in?",
        "session_id": "s`1",
        "time": 86400.0,
        "turn": "t",
    }
}


def test_an_answer_is_signed_with_what_answered_and_when():
    page = BeautifulSoup(build(notebook_with(shown(ANSWER, PROVENANCE)), title="report", is_fresh=True), "html.parser")

    footer = page.find("hr").find_next("code").get_text()
    assert footer == "svc-1 · 1970-01-02 00:00:00 UTC · session s'1 · key abababababab…"


def test_the_brief_template_shows_questions_and_answers_alone():
    other = nbformat.v4.new_output("stream", text="noise")
    notebook = notebook_with(other, shown(ANSWER, PROVENANCE), source="secret_code()")
    page = build(notebook, title="report", template="brief")

    soup = BeautifulSoup(page, "html.parser")
    assert soup.find("h2").get_text().rstrip("¶") == "Who <b>got</b> in?"
    assert "Yes." in soup.get_text()
    assert "noise" not in page
    assert "secret_code" not in page


def test_the_table_of_contents_names_what_is_there():
    notebook = notebook_with(markdown="# T\n\n## One & *two*\n\ntext\n\n### Three")
    soup = BeautifulSoup(build(notebook, title="report"), "html.parser")

    links = soup.find("nav").find_all("a")
    assert [link.get_text() for link in links] == ["One & two", "Three"]
    assert all(soup.find(id=link["href"][1:]) for link in links)


def test_a_template_of_nbconverts_own_is_as_safe():
    page = BeautifulSoup(
        build(notebook_with(shown({"text/html": HOSTILE}), markdown=HOSTILE), title="r", template="classic"),
        "html.parser",
    )

    assert page(["script", "iframe", "link"]) == []


def test_a_template_that_is_not_there_says_which_there_are():
    with pytest.raises(ExportError, match="--template nowhere: unknown template"):
        build(notebook_with(), title="report", template="nowhere")


def test_nbconvert_alone_shows_no_script_and_sets_the_policy():
    config = Config({"TemplateExporter": {"extra_template_basedirs": [str(TEMPLATES)]}})
    exporter = HTMLExporter(template_name="svc", config=config)
    notebook = notebook_with(shown({"text/html": HOSTILE}), markdown=HOSTILE, source=f"key = '{KEY}'")

    page, _ = exporter.from_notebook_node(notebook)

    soup = BeautifulSoup(page, "html.parser")
    assert soup.head.find("meta")["content"] == POLICY
    assert soup(["script", "iframe"]) == []
    assert KEY not in page
