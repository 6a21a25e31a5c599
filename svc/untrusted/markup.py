"""Write Markdown around evidence, so that evidence cannot end a code span, cell or block. Pure.

Evidence goes through ``code_span`` or ``code_block``, other words that are not ours through ``escape``. Indicators are
defanged before they are shown outside a block. Rules: CommonMark 0.31 (6.1 code spans), GFM tables.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from svc.untrusted.characters import on_one_line
from svc.untrusted.defang import break_links, defang_text

MAX_TITLE_CHARS = 200  # of a fold
MAX_CELL_CHARS = 160  # of a piece of evidence in a table; the findings hold it whole
TABLE_ROWS = 25  # that a reader looks through; all rows are in the findings

_EMPHASIS = re.compile(r"[\\*_~$!]")
_ACTIVE = re.compile(r"(\[[.@:]\](?![(\[:]))|[&<\[\]`|{}]|(?<=(?<!:)/)/")
"""What is written as an entity, except the brackets of ``[.]``; a "//" alone is what linkify takes for a host."""

_SPLIT = re.compile(r"[\\*_~$!&<`|{}]")
_PIECE = re.compile(r"[^\s\\*_~$!&<\[\]`|{}]{4,}")  # between escapes, where linkify looks for hosts
_NO_TITLE = re.compile(r"(?:[^\w ,.:;()/+-]| )+")
_BLOCK_START = re.compile(r"^(\s*)([#+\-=:>]|\d{1,9}(?=[.)]))")


def cut(text: str, limit: int = MAX_CELL_CHARS) -> str:
    """``text``, or its first ``limit`` characters and how many are left."""
    return text if len(text) <= limit else f"{text[:limit]}… (+{len(text) - limit:,} characters)"


def code_span(text: str, *, limit: int = MAX_CELL_CHARS) -> str:
    """``text`` as it is, on one line, as a code span that it cannot end; empty text is shown as ``(empty)``."""
    shown = on_one_line(cut(text, limit))
    if not shown.strip():
        return "(empty)"
    fence = "`" * (max((len(run) for run in re.findall("`+", shown)), default=0) + 1)
    pad = " " if "`" in (shown[0], shown[-1]) or (shown[0] == shown[-1] == " ") else ""
    return f"{fence}{pad}{shown}{pad}{fence}"


def code_block(text: str, language: str = "text", *, limit: int = 4_000) -> str:
    """``text`` line by line as a fenced block that it cannot end."""
    lines = [on_one_line(line) for line in cut(text, limit).splitlines()] or [""]
    fence = "`" * max(3, max((len(run) for line in lines for run in re.findall("`+", line)), default=0) + 1)
    return "\n".join((f"{fence}{language}", *lines, fence))


def escape(text: str) -> str:
    """Untrusted words as plain Markdown text on one line, without markup, HTML or links.

    What could come to life is an entity: a backslash would be swallowed by an autolink. Where only emphasis is at
    stake, a backslash keeps names and paths readable.
    """
    words = break_links(defang_text(on_one_line(text)))
    if _SPLIT.search(words):
        words = _PIECE.sub(lambda piece: defang_text(piece[0]) if "." in piece[0] else piece[0], words)
    shown = _ACTIVE.sub(_as_entity, _EMPHASIS.sub(r"\\\g<0>", words))
    return _BLOCK_START.sub(_as_text, shown)


def _as_entity(character: re.Match[str]) -> str:
    return character[1] or {"<": "&lt;", "&": "&amp;"}.get(character[0], f"&#{ord(character[0])};")


def _as_text(start: re.Match[str]) -> str:
    """Escape what would begin a heading, list or quote: ``1\\.``, ``\\#``."""
    return f"{start[1]}{start[2]}\\" if start[2].isdigit() else f"{start[1]}\\{start[2]}"


def table(
    headers: Sequence[str], rows: Sequence[Sequence[str]], limit: int = TABLE_ROWS, *, total: int | None = None
) -> str:
    """A Markdown table of cells that are Markdown already; after ``limit`` rows it says how many are omitted.

    ``total`` is the number of rows if ``rows`` holds only the first of them, at least ``limit``.
    """
    count = len(rows) if total is None else total
    heads = [head.replace('"', "&quot;") for head in headers]  # showdown writes a head into an attribute
    lines = [_row(heads), _row(["---"] * len(headers)), *(_row(row) for row in rows[:limit])]
    if count > limit:
        lines += ["", f"… and {count - limit:,} more (all {count:,} are in the findings)."]
    return "\n".join(lines)


def fold(title: str, markdown: str) -> str:
    """Markdown that a viewer shows when the reader opens it; ``title`` is our own words and figures, never evidence."""
    shown = _NO_TITLE.sub(" ", title).strip()[:MAX_TITLE_CHARS].strip()
    if not shown or break_links(shown) != shown or defang_text(shown) != shown:
        shown = "Details"  # a viewer could make a link of it
    return f"<details>\n<summary>{shown}</summary>\n\n{markdown}\n\n</details>"


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(_cell(cell) for cell in cells) + " |"


def _cell(markdown: str) -> str:
    """One cell; a backslash before a pipe gets a space between, since renderers count such backslashes differently."""
    return markdown.replace("\n", " ").replace("\\|", "\\ |").replace("|", "\\|")


def bullets(items: Sequence[str]) -> str:
    """A list of lines that are Markdown already."""
    return "\n".join(f"- {item}" for item in items)


def plural(count: int, one: str, many: str | None = None) -> str:
    """``1 account``, ``3,117 failures``."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"
