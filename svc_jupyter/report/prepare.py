"""Prepare a notebook for export: known output types only, sanitized and redacted, with each answer's provenance.

A preprocessor of nbconvert's, so that ``jupyter nbconvert --template svc`` shows the same as ``svc report run``. Also
finds the headings for the table of contents. Decides what stays; draws nothing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from bs4 import BeautifulSoup
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath
from nbconvert.preprocessors import Preprocessor
from nbformat import NotebookNode
from traitlets import Bool, Unicode

from svc.untrusted.characters import one_line
from svc_jupyter.answers.answer import MIME_TYPE
from svc_jupyter.answers.redaction import redact_all
from svc_jupyter.answers.status_mark import SYMBOL, UNVERIFIED, label, pinned_note
from svc_jupyter.report.content import header, paper, questions
from svc_jupyter.report.outcome import Status
from svc_jupyter.report.record import (
    AnswerRecord,
    answers_of,
    changed_evidence,
    count_statuses,
    describe_pinned,
    distrust_unsigned,
    status_of_answers,
    title_of,
)
from svc_jupyter.report.repair import repair
from svc_jupyter.report.sanitize import STEPS_CLASS, clean

POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; base-uri 'none'; form-action 'none'"
)
SHOWN_KEY_CHARACTERS = 12
MAX_CHANGES = 20

_STEPS = re.compile(r"\A<details((?: open=\"\")?><summary>[^<]{0,200}\b[0-9,]+ steps?\b[^<]{0,50}</summary>)")
"""The steps of a question, as ``%%svc`` displays them."""
_KINDS = ("text/html", "text/markdown", "image/svg+xml", "image/png", "image/jpeg", "text/latex", "text/plain")


class Prepare(Preprocessor):
    """The preprocessor. It works on a copy."""

    answers_only: Bool[bool, bool | int] = Bool(
        default_value=False, help="Show questions and answers, no code and no other output."
    ).tag(config=True)

    is_fresh: Bool[bool, bool | int] = Bool(
        default_value=False, help="The outputs come from a kernel of this run; their answers need no signature."
    ).tag(config=True)

    paper: Unicode[str, str | bytes] = Unicode(
        default_value="a4", help="Size of the pages in print: a4 or letter."
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
        answers = answers_of(notebook)
        notices = _notices(answers)
        asked = questions.arrange(notebook, is_flat=self.answers_only)
        top = header.build(notebook, asked, answers)
        add_footers(notebook, is_folded=True)
        if self.answers_only:
            notebook.cells = questions.questions_and_answers(notebook)
        for cell in notebook.cells:
            for output in cell.get("outputs", ()):
                _keep_known_kinds(output)
        headings = _headings(notebook)
        has_title = questions.has_title(notebook)
        resources = {**resources, "should_sanitize_html": True, "svc_policy": POLICY}
        resources |= {"svc_notices": notices, "svc_headings": headings, "svc_has_title": has_title, "svc_header": top}
        resources["svc_paper"] = paper.style(self.paper, top.running, title_of(notebook))
        return notebook, resources


def add_footers(notebook: NotebookNode, *, is_folded: bool = False) -> None:
    """Add its provenance below each answer: model, time, session, key, whether it was asked for and is verified.

    The rest of a long answer can be folded.
    """
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            if isinstance(data.get(MIME_TYPE), dict) and "text/markdown" in data:
                (answer,) = answers_of(NotebookNode(cells=[NotebookNode(outputs=[output])]))
                shown = questions.fold(str(data["text/markdown"])) if is_folded else data["text/markdown"]
                data["text/markdown"] = f"{shown}\n\n---\n\n`{_footer(answer)}`\n"


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
    if changed := changed_evidence(answers):
        found.append(f"{SYMBOL} The evidence changed since the last run: {'; '.join(changed[:MAX_CHANGES])}.")
    return found


def _keep_known_kinds(output: NotebookNode) -> None:
    """No widgets, scripts and pictures by address: these need a kernel, or run, or load."""
    if "data" not in output:
        return
    known = {kind: output.data[kind] for kind in _KINDS if kind in output.data}
    if "text/html" in known:
        known["text/html"] = _STEPS.sub(rf'<details class="{STEPS_CLASS}"\1', clean(known["text/html"]), count=1)
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
