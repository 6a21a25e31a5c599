"""A table that displays itself: HTML in a notebook, aligned text in a terminal. All cells are shown as inert text."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

from svc.untrusted.characters import one_line
from svc.untrusted.defang import defang_word

CELL_CHARS = 100
NO_FORMULAS = "mathjax_ignore tex2jax_ignore"  # classes of HTML in which MathJax 4, and 2 and 3, look for no TeX


@dataclass(frozen=True)
class Listing:
    """Rows with an optional header. Indicators are defanged, because some front ends turn them into links."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]

    def __repr__(self) -> str:
        lines = [list(self.header)] if self.header else []
        lines += [[_safe(cell) for cell in row] for row in self.rows]
        widths = [max(map(len, column)) for column in zip_longest(*lines, fillvalue="")]
        aligned = ["  ".join(f"{cell:{width}}" for cell, width in zip(line, widths, strict=False)) for line in lines]
        return "\n".join(line.rstrip() for line in [_safe(self.title), *aligned])

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{html.escape(cell)}</th>" for cell in self.header)
        body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in self.rows)
        table = f"<table>{f'<thead><tr>{head}</tr></thead>' if head else ''}<tbody>{body}</tbody></table>"
        title = f"<p>{html.escape(_safe(self.title))}</p>"
        return f'<div class="{NO_FORMULAS}">{title}{table if self.rows else ""}</div>'


def _cell(text: str) -> str:
    return f'<td style="text-align: left">{html.escape(_safe(text))}</td>'


def _safe(text: str) -> str:
    return " ".join(defang_word(word) or word for word in one_line(text, limit=CELL_CHARS).split())
