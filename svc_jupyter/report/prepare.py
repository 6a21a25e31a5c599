"""Prepare a notebook for export: known output types only, sanitized and redacted, with each answer's provenance.

A preprocessor of nbconvert's, so that ``jupyter nbconvert --template svc`` shows the same as ``svc report run``. Also
finds the headings for the table of contents. Decides what stays; draws nothing.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

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
from svc_jupyter.answers.status_mark import SYMBOL, UNVERIFIED, label, pinned_note
from svc_jupyter.report.outcome import Status
from svc_jupyter.report.record import (
    AnswerRecord,
    answers_of,
    count_statuses,
    describe_pinned,
    distrust_unsigned,
    status_of_answers,
)
from svc_jupyter.report.repair import repair
from svc_jupyter.report.sanitize import clean

POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; base-uri 'none'; form-action 'none'"
)
SHOWN_KEY_CHARACTERS = 12

_KINDS = ("text/html", "text/markdown", "image/svg+xml", "image/png", "image/jpeg", "text/latex", "text/plain")


class Prepare(Preprocessor):
    """The preprocessor. It works on a copy."""

    answers_only = Bool(default_value=False, help="Show questions and answers, no code and no other output.").tag(
        config=True
    )

    is_fresh = Bool(
        default_value=False, help="The outputs come from a kernel of this run; their answers need no signature."
    ).tag(config=True)

    def __init__(self, **settings: object) -> None:
        super().__init__(**settings)
        self.enabled = True

    def preprocess(
        self, notebook: NotebookNode, resources: dict[str, object]
    ) -> tuple[NotebookNode, dict[str, object]]:
        """Run the preprocessor on a copy, as nbconvert calls it."""
        notebook = repair(notebook)
        if not self.is_fresh:
            distrust_unsigned(notebook)
        notebook = redact_all(notebook, (os.environ.get("SVC_API_KEY", ""),))
        notebook.metadata.pop("widgets", None)
        notices = _notices(answers_of(notebook))
        add_footers(notebook)
        if self.answers_only:
            notebook.cells = _questions_and_answers(notebook)
        for cell in notebook.cells:
            for output in cell.get("outputs", ()):
                _keep_known_kinds(output)
        resources = {**resources, "should_sanitize_html": True, "svc_policy": POLICY}
        resources["svc_notices"] = notices
        resources["svc_headings"] = _headings(notebook)
        resources["svc_has_title"] = bool(notebook.cells) and notebook.cells[0].cell_type == "markdown"
        return notebook, resources


def add_footers(notebook: NotebookNode) -> None:
    """Add its provenance below each answer: model, time, session, key, whether it was asked for and is verified."""
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            if isinstance(data.get(MIME_TYPE), dict) and "text/markdown" in data:
                (answer,) = answers_of(NotebookNode(cells=[NotebookNode(outputs=[output])]))
                data["text/markdown"] = f"{data['text/markdown']}\n\n---\n\n`{_footer(answer)}`\n"


def _footer(answer: AnswerRecord) -> str:
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
    if answer.is_stored:
        parts.append(pinned_note(answer.stored_at))
    if not answer.is_verified:
        parts.append(UNVERIFIED)
    return " · ".join(part.replace("`", "'") for part in parts if part)


def _notices(answers: Sequence[AnswerRecord]) -> list[str]:
    """The lines at the top of a page: questions that are not answered, answers that are pinned or not verified."""
    found = []
    match status_of_answers(answers):
        case Status.OK:
            pass
        case Status.NOT_VERIFIED:
            found.append(f"{SYMBOL} Not every answer of this page is verified: {count_statuses(answers)}.")
        case _:
            found.append(f"{SYMBOL} Not every question of this page was answered: {count_statuses(answers)}.")
    if pinned := describe_pinned(answers):
        found.append(f"Of {len(answers)} answers {pinned}.")
    return found


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
    html = str(data.get("text/html", ""))
    return html.startswith(("<img ", "<details>\n<summary>")) or any(kind.startswith("image/") for kind in data)


def _keep_known_kinds(output: NotebookNode) -> None:
    """No widgets, scripts and pictures by address: these need a kernel, or run, or load."""
    if "data" not in output:
        return
    known = {kind: output.data[kind] for kind in _KINDS if kind in output.data}
    if "text/html" in known:
        known["text/html"] = clean(known["text/html"])
    output.data = NotebookNode(known or {"text/plain": not_shown(output.data)})
    output.metadata = NotebookNode()


def not_shown(data: Mapping[str, object]) -> str:
    """Say which kinds of output are left out."""
    return f"({one_line(', '.join(data)) or 'an empty output'}: not shown in a report)"


def _headings(notebook: NotebookNode) -> list[dict[str, str]]:
    """The headings of Markdown cells, with the ids that nbconvert gives them."""
    found: dict[str, dict[str, str]] = {}
    render = MarkdownWithMath(renderer=IPythonRenderer(escape=False))
    for cell in notebook.cells:
        if cell.cell_type == "markdown" and "#" in cell.source:
            soup = BeautifulSoup(clean(render.render(cell.source)), "html.parser")
            for element in soup(["h2", "h3"]):
                for anchor in element("a", class_="anchor-link"):
                    anchor.decompose()
                name = str(element.get("id", ""))
                heading = {"id": name, "level": element.name, "text": one_line(element.get_text(), limit=120)}
                found.setdefault(name, heading)
    return list(found.values())
