"""Horizontal bars, the label above each, so that they are readable in a narrow place."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from svc.assistant.findings import Severity
from svc.assistant.skills.charts.drawing import (
    LEFT,
    NARROW,
    RIGHT,
    WIDE,
    Head,
    document,
    mark,
    rest_words,
    severity_legend,
    text,
    width_of,
)
from svc.assistant.skills.skill import Picture

LEAST_ROWS = 3  # fewer are faster to read as facts
MAX_ROWS = 8  # fit one screen; the table has all
_ROW = 30
_GAP = 12


class Bar(msgspec.Struct, frozen=True, kw_only=True):
    """A row of a bar chart. ``note`` is shown instead of the value; ``ask`` is a question about the label."""

    label: str
    value: float
    note: str = ""
    severity: Severity = Severity.INFO
    ask: str = ""


def bars(title: str, rows: Sequence[Bar], *, unit: str = "", least: int = LEAST_ROWS) -> list[Picture]:
    """Draw horizontal bars in the given order; nothing for fewer than ``least``, or if all are 0.

    Args:
        title: What the bars show.
        rows: The bars.
        unit: What is counted, for the line below the title.
        least: Fewest rows that are worth a picture.
    """
    most = max((row.value for row in rows), default=0.0)
    if len(rows) < least or most <= 0:
        return []
    shown = rows[:MAX_ROWS]
    lines = [" · ".join(filter(None, (unit, rest_words(len(rows), len(shown), "shown"))))]
    head = Head(title, lines, severity_legend(row.severity for row in shown))
    drawn = [_bar(row, most, head.height + number * _ROW) for number, row in enumerate(shown)]
    return document(head, head.height + len(shown) * _ROW + 8, drawn)


def _bar(row: Bar, most: float, top: float) -> str:
    note = row.note or f"{row.value:,.0f}"
    rooms = (WIDE / 2, NARROW / 2)
    wide, narrow = (room - min(width_of(note), half) - _GAP for room, half in zip((WIDE, NARROW), rooms, strict=True))
    length = (RIGHT - LEFT) * max(0.0, row.value) / most
    drawn = text(f"{LEFT}%", top + 13, row.label, room=(wide, narrow))
    drawn += text(f"{RIGHT}%", top + 13, note, room=rooms, classes="dim", anchor="end")
    place = f'x="{LEFT}%" y="{top + 18:g}" height="8" rx="2"'
    drawn += f'<rect {place} width="{RIGHT - LEFT:g}%" class="track"/>'
    drawn += f'<rect {place} width="{max(length, 0.4):.2f}%" class="{row.severity.value}"/>'
    return mark(f"{row.label}: {note}", drawn, value=row.label, ask=row.ask)
