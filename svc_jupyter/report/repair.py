"""Bring values and notebooks into a form that every format can hold, whatever a kernel or a file put into them.

nbclient takes any output that a kernel sends, and JSON may hold lone surrogates, which UTF-8 cannot encode. What has
the wrong type becomes text, so that nothing is lost and no later step fails.
"""

from __future__ import annotations

import binascii
import json
import math
import re
from collections.abc import Mapping

from nbformat import NotebookNode
from nbformat.corpus.words import generate_corpus_id

MAX_DEPTH = 100  # levels of a value; deeper ones become text
_MAX_INTEGER = 2**63
_CELL_TYPES = ("code", "markdown", "raw")
_FIRST_MINOR_WITH_IDS = 5
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_BYTES = ("image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf")
_JSON_KIND = ("application/json", "+json")


def storable(value: object, depth: int = 0) -> object:
    """Return a copy of nested dicts and lists that JSON, UTF-8 and 64-bit readers can hold."""
    if depth > MAX_DEPTH:
        return f"(nested deeper than {MAX_DEPTH} levels)"
    match value:
        case str():
            return encodable(value)
        case bool() | None:
            return value
        case int():
            return value if -_MAX_INTEGER <= value < _MAX_INTEGER else _digits(value)
        case float():
            return value if math.isfinite(value) else str(value)
        case dict():
            items = {encodable(str(name)): storable(item, depth + 1) for name, item in value.items()}
            return NotebookNode(items) if isinstance(value, NotebookNode) else items
        case list() | tuple():
            return [storable(item, depth + 1) for item in value]
        case _:
            return encodable(str(value))


def encodable(text: str) -> str:
    """Return the text with lone surrogates shown as ``⟦U+D800⟧``."""
    if text.isascii():
        return text
    return "".join(f"⟦U+{ord(c):04X}⟧" if "\ud800" <= c <= "\udfff" else c for c in text)


def repair(notebook: NotebookNode) -> NotebookNode:
    """Return a copy of an executed notebook in which every cell and output has the types of the notebook format."""
    found = storable(notebook)
    fixed = NotebookNode(found if isinstance(found, Mapping) else {})
    fixed.metadata = _node(fixed.get("metadata"))
    cells = fixed.get("cells")
    fixed.cells = [_cell(cell) for cell in cells if isinstance(cell, Mapping)] if isinstance(cells, list) else []
    minor = fixed.get("nbformat_minor")
    _set_ids(fixed.cells, has_ids=isinstance(minor, int) and minor >= _FIRST_MINOR_WITH_IDS)
    return fixed


def _set_ids(cells: list[NotebookNode], *, has_ids: bool) -> None:
    """Give each cell an ID of its own, or none in older formats."""
    seen: set[str] = set()
    for cell in cells:
        known = cell.pop("id", None)
        if has_ids:
            is_free = isinstance(known, str) and _ID.fullmatch(known) and known not in seen
            cell.id = known if is_free else generate_corpus_id()
            seen.add(cell.id)


def _digits(value: int) -> str:
    try:
        return str(value)
    except ValueError:  # Python's limit for the digits of a number
        return hex(value)


def _cell(cell: Mapping[str, object]) -> NotebookNode:
    fixed = NotebookNode(cell)
    if fixed.get("cell_type") not in _CELL_TYPES:
        fixed.cell_type = "raw"
    fixed.source = _text(fixed.get("source", ""))
    fixed.metadata = _node(fixed.get("metadata"))
    if "tags" in fixed.metadata:
        tags = fixed.metadata.tags
        fixed.metadata.tags = [tag for tag in tags if isinstance(tag, str)] if isinstance(tags, list) else []
    if "attachments" in fixed:
        fixed.attachments = NotebookNode(
            {name: _data(item) for name, item in _node(fixed.attachments).items() if isinstance(item, Mapping)}
        )
    if fixed.cell_type == "code":
        outputs = fixed.get("outputs")
        found = outputs if isinstance(outputs, list) else []
        fixed.outputs = [_output(output) for output in found if isinstance(output, Mapping)]
        count = fixed.get("execution_count")
        fixed.execution_count = count if isinstance(count, int) else None
    return fixed


def _output(output: Mapping[str, object]) -> NotebookNode:
    match output.get("output_type"):
        case "stream":
            name = "stderr" if output.get("name") == "stderr" else "stdout"
            return NotebookNode(output_type="stream", name=name, text=_text(output.get("text", "")))
        case "display_data" | "execute_result" as kind:
            fixed = NotebookNode(
                output_type=kind, data=_data(output.get("data")), metadata=_node(output.get("metadata"))
            )
            if kind == "execute_result":
                count = output.get("execution_count")
                fixed.execution_count = count if isinstance(count, int) else None
            return fixed
        case "error":
            lines = output.get("traceback")
            traceback = [_text(line) for line in lines] if isinstance(lines, list) else [_text(lines)]
            ename, evalue = _text(output.get("ename", "")), _text(output.get("evalue", ""))
            return NotebookNode(output_type="error", ename=ename, evalue=evalue, traceback=traceback)
        case _:
            return NotebookNode(output_type="stream", name="stdout", text=_text(dict(output)))


def _data(data: object) -> NotebookNode:
    """A MIME bundle: text for each kind, anything for kinds that are JSON; bytes that are not base64 are left out."""
    shown = {kind: item if kind.endswith(_JSON_KIND) else _text(item) for kind, item in _node(data).items()}
    broken = [kind for kind, item in shown.items() if kind.startswith(_BYTES) and not _is_base64(item)]
    readable = {kind: item for kind, item in shown.items() if kind not in broken}
    return NotebookNode(readable or {"text/plain": f"({', '.join(broken)}: not base64)"} if broken else readable)


def _is_base64(text: object) -> bool:
    try:
        binascii.a2b_base64(str(text))
    except ValueError:
        return False
    return True


def _node(value: object) -> NotebookNode:
    return NotebookNode(value) if isinstance(value, Mapping) else NotebookNode()


def _text(value: object) -> str:
    """Text as it is, lines joined, anything else as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(line, str) for line in value):
        return "".join(value)
    return json.dumps(value, ensure_ascii=False, default=str)
