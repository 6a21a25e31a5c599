"""Prepare a notebook for export: known output types only, sanitized and redacted, with each answer's provenance.

A preprocessor of nbconvert's, so that ``jupyter nbconvert --template svc`` shows the same as ``svc report run``. Also
finds the headings for the table of contents. Decides what stays; draws nothing.
"""

from __future__ import annotations

import copy
import os
import re
from datetime import UTC, datetime

import nh3
from bs4 import BeautifulSoup
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath
from nbconvert.preprocessors import Preprocessor
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell
from traitlets import Bool

from svc.untrusted.characters import one_line
from svc.untrusted.markup import escape
from svc_jupyter.answers.answer import MIME_TYPE
from svc_jupyter.answers.redaction import redact_all
from svc_jupyter.answers.status_mark import SYMBOL, label
from svc_jupyter.report.outcome import Status
from svc_jupyter.report.record import answers_of, count_statuses, status_of_answers

POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; base-uri 'none'; form-action 'none'"
)
SHOWN_KEY_CHARACTERS = 12

_KINDS = ("text/html", "text/markdown", "image/svg+xml", "image/png", "image/jpeg", "text/latex", "text/plain")
_TAGS = (
    *("a", "abbr", "acronym", "b", "blockquote", "br", "caption", "code", "dd", "del", "details", "div", "dl", "dt"),
    *("em", "figcaption", "figure", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "i", "img", "kbd", "li", "ol", "p"),
    *("pre", "s", "samp", "small", "span", "strong", "sub", "summary", "sup", "table", "tbody", "td", "tfoot", "th"),
    *("thead", "tr", "ul"),
)
_ATTRIBUTES = ("align", "alt", "class", "colspan", "height", "id", "lang", "open", "rowspan", "scope", "start", "title")
_IMAGES = ("data:image/png;", "data:image/jpeg;", "data:image/gif;", "data:image/webp;", "data:image/svg+xml;")
_REMOVED = ("script", "style")  # with their content, which is not meant for readers
_UNKNOWN_TAG = re.compile(rf"<(?!!--|/?(?:{'|'.join((*_TAGS, *_REMOVED))})(?![^\s/>]))", re.IGNORECASE)


class Prepare(Preprocessor):
    """The preprocessor. It works on a copy."""

    answers_only = Bool(default_value=False, help="Show questions and answers, no code and no other output.").tag(
        config=True
    )

    def __init__(self, **settings: object) -> None:
        super().__init__(**settings)
        self.enabled = True

    def preprocess(
        self, notebook: NotebookNode, resources: dict[str, object]
    ) -> tuple[NotebookNode, dict[str, object]]:
        """Run the preprocessor, as nbconvert calls it."""
        notebook = redact_all(copy.deepcopy(notebook), (os.environ.get("SVC_API_KEY", ""),))
        notebook.metadata.pop("widgets", None)
        notice = _notice(notebook)
        for cell in notebook.cells:
            for output in cell.get("outputs", ()):
                if MIME_TYPE in output.get("data", {}):
                    _sign(output)
        if self.answers_only:
            notebook.cells = _questions_and_answers(notebook)
        for cell in notebook.cells:
            for output in cell.get("outputs", ()):
                _keep_known_kinds(output)
        resources = {**resources, "should_sanitize_html": True, "svc_policy": POLICY}
        resources["svc_notice"] = notice
        resources["svc_headings"] = _headings(notebook)
        resources["svc_has_title"] = bool(notebook.cells) and notebook.cells[0].cell_type == "markdown"
        return notebook, resources


def clean(fragment: object) -> str:
    """HTML with only known elements and attributes; unknown tags are shown as text, so that no evidence disappears."""
    return _CLEANER.clean(_UNKNOWN_TAG.sub("&lt;", str(fragment)))


def _sign(output: NotebookNode) -> None:
    """Add the provenance below the answer: model, time, session and key."""
    notebook = NotebookNode(cells=[NotebookNode(outputs=[output])])
    (answer,) = answers_of(notebook)
    parts = [one_line(answer.model, limit=80)]
    if answer.time:
        parts.append(f"{datetime.fromtimestamp(answer.time, UTC):%Y-%m-%d %H:%M:%S} UTC")
    if answer.session_id:
        parts.append(f"session {one_line(answer.session_id, limit=80)}")
    if answer.key:
        parts.append(f"key {one_line(answer.key, limit=SHOWN_KEY_CHARACTERS + 1)}")
    if answer.status:
        parts.append(label(answer.status))
    if answer.has_changed:
        parts.append("answer changed")
    footer = " · ".join(part.replace("`", "'") for part in parts if part)
    if "text/markdown" in output.data:
        output.data["text/markdown"] = f"{output.data['text/markdown']}\n\n---\n\n`{footer}`\n"


def _notice(notebook: NotebookNode) -> str:
    """The line at the top of a page whose questions are not all answered; empty if they are."""
    answers = answers_of(notebook)
    if status_of_answers(answers) == Status.OK:
        return ""
    return f"{SYMBOL} Not every question of this page was answered: {count_statuses(answers)}."


def _questions_and_answers(notebook: NotebookNode) -> list[NotebookNode]:
    """The notebook's title, then each question as a heading with its answer and pictures."""
    cells = [cell for cell in notebook.cells[:1] if cell.cell_type == "markdown"]
    for cell in notebook.cells:
        outputs = cell.get("outputs", ())
        answers = answers_of(NotebookNode(cells=[cell]))
        if not answers:
            continue
        asked = " ".join(one_line(answer.question) for answer in answers) or "Answer"
        cells.append(new_markdown_cell(f"## {escape(asked)}"))
        shown = [o for o in outputs if MIME_TYPE in o.get("data", {}) or _is_picture(o)]
        cells.append(new_code_cell("", outputs=shown, metadata={"tags": ["svc-answer"]}))
    return cells


def _is_picture(output: NotebookNode) -> bool:
    data = output.get("data", {})
    return str(data.get("text/html", "")).startswith("<img ") or any(kind.startswith("image/") for kind in data)


def _keep_known_kinds(output: NotebookNode) -> None:
    """No widgets, scripts and pictures by address: these need a kernel, or run, or load."""
    if "data" not in output:
        return
    known = {kind: output.data[kind] for kind in _KINDS if kind in output.data}
    if "text/html" in known:
        known["text/html"] = clean(known["text/html"])
    missing = {"text/plain": f"({', '.join(output.data)}: not shown in a report)"} if output.data else {}
    output.data = NotebookNode(known or missing)
    output.metadata = NotebookNode()


def _headings(notebook: NotebookNode) -> list[dict[str, str]]:
    """The headings of Markdown cells, with the ids that nbconvert gives them."""
    found: dict[str, dict[str, str]] = {}
    render = MarkdownWithMath(renderer=IPythonRenderer(escape=False))
    for cell in notebook.cells:
        if cell.cell_type == "markdown" and "#" in cell.source:
            soup = BeautifulSoup(str(render.render(cell.source)), "html.parser")
            for element in soup(["h2", "h3"]):
                for anchor in element("a", class_="anchor-link"):
                    anchor.decompose()
                name = str(element.get("id", ""))
                heading = {"id": name, "level": element.name, "text": one_line(element.get_text(), limit=120)}
                found.setdefault(name, heading)
    return list(found.values())


def _allowed_value(tag: str, name: str, value: str) -> str | None:
    """The value, or None to drop the attribute: an image must carry its bytes, a link must be http, https or local."""
    if tag == "img" and name == "src":
        return value if value.startswith(_IMAGES) else None
    if tag == "a" and name == "href":
        return value if value.startswith(("#", "https://", "http://")) else None
    return value


_CLEANER = nh3.Cleaner(
    tags=set(_TAGS),
    clean_content_tags=set(_REMOVED),
    attributes={"*": set(_ATTRIBUTES), "a": {"href"}, "img": {"src"}},
    attribute_filter=_allowed_value,
    url_schemes={"http", "https", "data"},
    link_rel=None,
)
