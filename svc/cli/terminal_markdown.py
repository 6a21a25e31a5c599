"""Markdown for a terminal, by rich: nothing is cut, nothing is clickable, nothing is obeyed.

A table that is too wide becomes one block of lines for each row. The text of an answer goes through ``printable``
before and after rendering: entities of Markdown can stand for control characters, and the widths must be those of what
is shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import ClassVar

from markdown_it.token import Token
from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import CodeBlock, Heading, Markdown, MarkdownElement, TableElement
from rich.segment import Segment, Segments
from rich.table import Table
from rich.text import Text
from rich.theme import Theme

from svc.untrusted.characters import printable

MAX_COLUMNS = 120  # longer lines of prose are hard to read
_CELL_COLUMNS = 14  # narrower than that, a column of a table is hard to read
_GAP_COLUMNS = 3  # between two columns
_THEME = Theme(
    {
        "markdown.h1": "bold",
        "markdown.h2": "bold",
        "markdown.h3": "bold",
        "markdown.h4": "bold",
        "markdown.code": "cyan",
        "markdown.item.bullet": "none",
        "markdown.item.number": "none",
        "markdown.block_quote": "none",
        "markdown.table.border": "dim",
        "markdown.table.header": "bold",
    }
)


def print_markdown(markdown: str) -> None:
    """Print safe Markdown (``svc.untrusted.markdown``) to stdout."""
    console = Console(highlight=False, theme=_THEME)
    options = console.options.update(width=min(console.width, MAX_COLUMNS))
    pieces = console.render(_Markdown(markdown), options)
    console.print(Segments(_inert(pieces)), crop=False, end="")


def _inert(pieces: Iterable[Segment]) -> Iterator[Segment]:
    """The pieces without links and control codes, and without spaces at the ends of lines."""
    shown = (
        Segment(printable(piece.text), piece.style.update_link(None) if piece.style else None)
        for piece in pieces
        if not piece.control
    )
    for line in Segment.split_lines(shown):
        while line and not line[-1].text.strip():
            line.pop()
        if line:
            line[-1] = Segment(line[-1].text.rstrip(), line[-1].style)
        yield from line
        yield Segment.line()


class _Heading(Heading):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield self.text
        if self.tag in ("h1", "h2"):
            line = "-" if options.ascii_only else "─"
            yield Text(line * min(cell_len(self.text.plain), options.max_width), style="dim")


class _CodeBlock(CodeBlock):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for line in str(self.text).rstrip("\n").split("\n"):
            yield Text(f"    {line.expandtabs(4)}", style="markdown.code", overflow="fold")


class _Table(TableElement):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        heads = self.header.row.cells if self.header is not None and self.header.row is not None else []
        rows = [[cell.content for cell in row.cells] for row in self.body.rows] if self.body is not None else []
        widths = [
            max(cell_len(cell.plain) for cell in column)
            for column in zip([head.content for head in heads], *rows, strict=True)
        ]
        if sum(min(width, _CELL_COLUMNS) + _GAP_COLUMNS for width in widths) > options.max_width:
            yield from _records([head.content for head in heads], rows)
            return
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, border_style="markdown.table.border")
        for head in heads:
            justify = "left" if head.justify == "default" else head.justify
            table.add_column(head.content, justify=justify, overflow="fold", header_style="markdown.table.header")
        for row in rows:
            table.add_row(*row)
        yield table


def _records(heads: list[Text], rows: list[list[Text]]) -> RenderResult:
    for number, row in enumerate(rows):
        if number:
            yield Text("")
        for head, cell in zip(heads, row, strict=True):
            if cell.plain:
                yield Text.assemble((f"{head.plain}: ", "markdown.table.header"), cell, overflow="fold")


class _Markdown(Markdown):
    elements: ClassVar[dict[str, type[MarkdownElement]]] = Markdown.elements | {
        "heading_open": _Heading,
        "fence": _CodeBlock,
        "code_block": _CodeBlock,
        "table_open": _Table,
    }

    def __init__(self, markup: str) -> None:
        super().__init__(markup, hyperlinks=False)
        _make_printable(self.parsed)


def _make_printable(tokens: Iterable[Token]) -> None:
    for token in tokens:
        token.content = printable(token.content)
        _make_printable(token.children or ())
