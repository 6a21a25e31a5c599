"""Lay out an executed notebook by its questions: each is a heading above its answer, and each answer appears once."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise, takewhile

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell

from svc.untrusted.characters import one_line
from svc.untrusted.markup import escape
from svc_jupyter.answers.answer import MIME_TYPE
from svc_jupyter.answers.status_mark import SYMBOL, headline
from svc_jupyter.report.record import AnswerRecord, answer_identity, answers_of

QUESTION_TAG = "svc-question"
ERROR_ID = "svc-error"
QUESTION_CHARACTERS = 300
FOLD_CHARACTERS = 4_000  # of an answer: about two screens; the rest of a longer one is folded
_MAY_FAIL = ("svc-optional", "raises-exception")
_HEADING = re.compile(r"^ {0,3}(#{1,6})[ \t]", re.MULTILINE)
_CELL_MAGIC = re.compile(r"\s*%%svc\b[^\n]*\n(.*)", re.DOTALL)
_LOWEST = 6
_TABLE_HEAD = 2  # lines of a Markdown table before its rows


@dataclass(frozen=True)
class Question:
    """A question with its answer. ``id`` is that of its heading; ``verdict`` the first line of the answer."""

    id: str
    text: str
    answer: AnswerRecord
    verdict: str


def arrange(notebook: NotebookNode, *, is_markup: bool = True, is_flat: bool = False) -> list[Question]:
    """Put a heading above each answer, and above the error that ended the run; return the questions.

    An answer that is displayed again becomes a reference to the first one. ``is_markup``: headings and references are
    HTML with ids; otherwise they are Markdown. ``is_flat``: the author's headings between them will not be shown.
    """
    found: dict[str, Question] = {}
    cells: list[NotebookNode] = []
    level = 1
    for cell in notebook.cells:
        if cell.cell_type != "code":
            levels = [len(match[1]) for match in _HEADING.finditer(cell.source)] if cell.cell_type == "markdown" else []
            level = levels[-1] if levels else level
            cells.append(cell)
            continue
        for part in _parts(cell):
            heading = _heading_of(part, found)
            if heading is not None:
                cells.append(_heading_cell(heading, 2 if is_flat else min(level + 1, _LOWEST), is_markup=is_markup))
            cells.append(part)
    notebook.cells = cells
    return list(found.values())


def has_title(notebook: NotebookNode) -> bool:
    """Whether an arranged notebook begins with a cell of text of its author."""
    first = notebook.cells[0] if notebook.cells else NotebookNode(cell_type="", metadata={})
    return bool(first.cell_type == "markdown" and QUESTION_TAG not in first.metadata.get("tags", ()))


def questions_and_answers(notebook: NotebookNode) -> list[NotebookNode]:
    """Of an arranged notebook: its title, and each question with its answer, pictures and error."""
    cells: list[NotebookNode] = notebook.cells[: has_title(notebook)]
    for index, cell in enumerate(notebook.cells):
        if QUESTION_TAG in cell.metadata.get("tags", ()) and cell.cell_type == "markdown":
            following = notebook.cells[index + 1 : index + 2]
            shown = [o for part in following for o in part.get("outputs", ()) if _is_answer_or_picture(o)]
            cells += [cell, new_code_cell("", outputs=shown, metadata={"tags": ["svc-answer"]})]
    return cells


def fold(markdown: str) -> str:
    """Return a long answer with everything after its verdict folded, unless it has folds of its own."""
    if len(markdown) <= FOLD_CHARACTERS or "<details" in markdown:
        return markdown
    blocks = markdown.split("\n\n")
    number = sum(1 for _ in takewhile(lambda block: block.startswith(SYMBOL), blocks)) + 1
    lead, rest = "\n\n".join(blocks[:number]), "\n\n".join(blocks[number:])
    if not rest.strip() or "```" in lead or "~~~" in lead:
        return markdown
    return f"{lead}\n\n<details>\n<summary>Details</summary>\n\n{rest}\n\n</details>\n"


def _parts(cell: NotebookNode) -> Iterator[NotebookNode]:
    """A cell with several answers as one cell for each; the steps before an answer belong to it."""
    starts: list[int] = []
    for index, output in enumerate(cell.outputs):
        if _is_answer(output):
            starts.append(index - (index > 0 and _is_steps(cell.outputs[index - 1])))
    if len(starts) < 2:
        yield cell
        return
    bounds = [0, *starts[1:], len(cell.outputs)]
    for number, (start, stop) in enumerate(pairwise(bounds)):
        source = cell.source if number == 0 else ""
        yield new_code_cell(source, outputs=cell.outputs[start:stop], metadata=cell.metadata)


def _heading_of(cell: NotebookNode, found: dict[str, Question]) -> tuple[str, str] | None:
    """The id and text of the heading of a cell with an answer or an error; adds the question to ``found``."""
    answer = next((output for output in cell.outputs if _is_answer(output)), None)
    if answer is None:
        is_failed = any(output.output_type == "error" for output in cell.outputs)
        if not is_failed or any(tag in cell.metadata.get("tags", ()) for tag in _MAY_FAIL):
            return None
        return ERROR_ID, _asked_in(cell) or "A cell failed"
    identity = answer_identity(answer)
    if identity in found:
        known = found[identity]
        text = f'<p>See the answer to <a href="#{known.id}">{html.escape(known.text)}</a>.</p>'
        answer.data = NotebookNode({"text/html": text, "text/markdown": f"See the answer to {escape(known.text)}."})
        return None
    (record,) = answers_of(NotebookNode(cells=[NotebookNode(outputs=[answer])]))
    text = one_line(record.question, limit=QUESTION_CHARACTERS) or _asked_in(cell) or f"Question {len(found) + 1}"
    found[identity] = Question(f"{QUESTION_TAG}-{len(found) + 1}", text, record, _verdict(answer.data))
    return found[identity].id, text


def _verdict(data: NotebookNode) -> str:
    """The first line of an answer, or how long a table is that it begins with."""
    lines = str(data.get("text/markdown", "")).lstrip().splitlines()
    rows = list(takewhile(lambda line: line.lstrip().startswith("|"), lines))
    if len(rows) > _TABLE_HEAD:
        count = len(rows) - _TABLE_HEAD
        return f"Table with {count:,} row{'' if count == 1 else 's'}"
    return one_line(headline(str(data.get("text/plain", ""))))


def _heading_cell(heading: tuple[str, str], level: int, *, is_markup: bool) -> NotebookNode:
    name, text = heading
    source = f'<h{level} id="{name}">{html.escape(text)}</h{level}>' if is_markup else f"{'#' * level} {escape(text)}"
    return new_markdown_cell(source, metadata={"tags": [QUESTION_TAG]})


def _asked_in(cell: NotebookNode) -> str:
    match = _CELL_MAGIC.match(cell.source)
    return one_line(match[1], limit=QUESTION_CHARACTERS) if match else ""


def _is_answer(output: NotebookNode) -> bool:
    return isinstance(output.get("data", {}).get(MIME_TYPE), dict)


def _is_steps(output: NotebookNode) -> bool:
    return str(output.get("data", {}).get("text/html", "")).startswith(("<details><", "<details open"))


def _is_answer_or_picture(output: NotebookNode) -> bool:
    data = output.get("data", {})
    html = str(data.get("text/html", ""))
    is_picture = html.startswith(("<img ", "<details>\n<summary>")) or any(kind.startswith("image/") for kind in data)
    return MIME_TYPE in data or is_picture or output.output_type == "error"
