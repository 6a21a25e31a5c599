"""A grid of things and places: one line for each thing, with a dot in the column of each place that has it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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
    percent,
    rest_words,
    severity_legend,
    text,
)
from svc.assistant.skills.skill import Picture

MAX_ROWS = 8  # fit one screen; the table has all
MAX_COLUMNS = 8
_ROW = 32
_NUMBERS = 20
_RADIUS = {Severity.CRITICAL: 6.0, Severity.HIGH: 5.5}
_NOTE = 85  # pixels
_TICK = 6


class Crossing(msgspec.Struct, frozen=True, kw_only=True):
    """A thing in a place; ``label`` says where in it."""

    label: str = ""
    severity: Severity = Severity.INFO


class GridRow(msgspec.Struct, frozen=True, kw_only=True):
    """A thing: ``note`` says what it is, ``ask`` is a question about it. ``is_firm``: its dots are joined by a line."""

    label: str
    crossings: Mapping[str, Crossing]
    note: str = ""
    severity: Severity = Severity.INFO
    ask: str = ""
    is_firm: bool = True


def grid(title: str, rows: Sequence[GridRow]) -> list[Picture]:
    """Draw the rows in the given order, and their places as numbered columns; nothing without rows."""
    if not rows:
        return []
    shown = rows[:MAX_ROWS]
    named = list(dict.fromkeys(name for row in shown for name in row.crossings))
    places = named[:MAX_COLUMNS]
    columns = [f"{number} {name}" for number, name in enumerate(places, start=1)]
    rest = [rest_words(len(rows), len(shown), "shown"), rest_words(len(named), len(places), "inputs shown")]
    worst = (one.severity for row in shown for one in row.crossings.values())
    head = Head(title, [*columns, " · ".join(filter(None, rest))], severity_legend(worst))
    top = head.height + _NUMBERS
    bottom = top + len(shown) * _ROW
    drawn = [_column(number, len(places), name, top) for number, name in enumerate(places)]
    drawn += [_row(row, places, top + number * _ROW) for number, row in enumerate(shown)]
    return document(head, bottom + 8, drawn)


def _share(number: int, count: int) -> float:
    """The middle of a column as a share of the width."""
    return (number + 0.5) / count


def _column(number: int, count: int, name: str, top: float) -> str:
    x = percent(_share(number, count))
    label = text(x, top - 8, str(number + 1), room=(WIDE / count, NARROW / count), anchor="middle")
    return mark(name, label, value=name)


def _tick(number: int, count: int, middle: float) -> str:
    """The place of a column in a row, where a dot may be."""
    x = percent(_share(number, count))
    return f'<line x1="{x}" x2="{x}" y1="{middle - _TICK:g}" y2="{middle + _TICK:g}" class="grid"/>'


def _row(row: GridRow, places: Sequence[str], top: float) -> str:
    middle = top + 24
    words = text(f"{LEFT}%", top + 13, row.label, room=(WIDE - _NOTE, NARROW - _NOTE))
    words += text(f"{RIGHT}%", top + 13, row.note, room=(_NOTE, _NOTE), classes="dim", anchor="end")
    drawn = "".join(_tick(number, len(places), middle) for number in range(len(places)))
    drawn += mark(f"{row.note} {row.label}".strip(), words, value=row.label, ask=row.ask)
    found = [(number, name) for number, name in enumerate(places) if name in row.crossings]
    if row.is_firm and len(found) > 1:
        ends = [percent(_share(number, len(places))) for number in (found[0][0], found[-1][0])]
        drawn += f'<line x1="{ends[0]}" x2="{ends[1]}" y1="{middle:g}" y2="{middle:g}" class="axis"/>'
    for number, name in found:
        crossing = row.crossings[name]
        radius = _RADIUS.get(crossing.severity, 4.5)
        x = percent(_share(number, len(places)))
        dot = f'<circle cx="{x}" cy="{middle:g}" r="{radius:g}" class="{crossing.severity.value}"/>'
        tip = ", ".join(filter(None, (f"{row.note} {row.label} in {name}".strip(), crossing.label)))
        drawn += mark(tip, dot, value=row.label, ask=row.ask)
    return drawn
