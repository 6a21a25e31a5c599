"""A tree with one line for each node."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from svc.assistant.findings import Severity
from svc.assistant.skills.charts.drawing import (
    NARROW,
    WIDE,
    Head,
    document,
    mark,
    rest_words,
    severity_legend,
    text,
)
from svc.assistant.skills.skill import Picture

LEAST_NODES = 3
MAX_NODES = 12  # fit one screen; the table has all
_MAX_DEPTH = 7  # deeper ones are drawn as deep as this
_MAX_WALKED = 2_000
_ROW = 22
_NOTE = 15  # pixels more for a second line
_INDENT = 14


class Branch(msgspec.Struct, frozen=True, kw_only=True):
    """A node of a tree with its children; ``note`` says why it is marked, ``ask`` is a question about it."""

    label: str
    note: str = ""
    severity: Severity = Severity.INFO
    ask: str = ""
    children: tuple[Branch, ...] = ()


class _Row(msgspec.Struct, frozen=True):
    depth: int
    parent: int
    branch: Branch


def tree(title: str, roots: Sequence[Branch]) -> list[Picture]:
    """Draw a tree; of a large one the most severe nodes with their parents. Nothing for fewer than LEAST_NODES."""
    rows = _rows(roots)
    if len(rows) < LEAST_NODES:
        return []
    shown = _chosen(rows)
    head = Head(
        title,
        [rest_words(len(rows), len(shown), "shown, the most severe with their parents")],
        severity_legend(rows[number].branch.severity for number in shown),
    )
    middles: dict[int, tuple[float, float]] = {}
    drawn = []
    bottom = head.height
    for number in shown:
        row = rows[number]
        x, y = 8 + min(row.depth, _MAX_DEPTH) * _INDENT, bottom + _ROW / 2
        bottom += _ROW + (_NOTE if row.branch.note else 0)
        if row.parent in middles:
            left, top = middles[row.parent]
            down = f'<path d="M{left:g} {top + 6:g}V{y:g}H{x:g}" class="axis"/>'
            drawn.append(down if x > left else "")
        middles[number] = (x, y)
        drawn.append(_node(row.branch, x, y))
    return document(head, bottom + 8, drawn)


def _node(branch: Branch, x: float, y: float) -> str:
    words = f"{branch.label} — {branch.note}" if branch.note else branch.label
    left = x + 12
    room = (WIDE - left, NARROW - left)
    shape = f'<circle cx="{x:g}" cy="{y:g}" r="5" class="{branch.severity.value}"/>'
    shape += text(f"{left:g}", y + 4, branch.label, room=room)
    if branch.note:
        shape += text(f"{left:g}", y + 4 + _NOTE, branch.note, room=room, classes="dim")
    return mark(words, shape, value=branch.label, ask=branch.ask)


def _rows(roots: Sequence[Branch]) -> list[_Row]:
    """Return the nodes with their depth, parents first; not recursive, because chains may be thousands long."""
    rows: list[_Row] = []
    waiting = [(0, -1, root) for root in reversed(roots)]
    while waiting and len(rows) < _MAX_WALKED:
        depth, parent, branch = waiting.pop()
        rows.append(_Row(depth, parent, branch))
        number = len(rows) - 1
        waiting += [(depth + 1, number, child) for child in reversed(branch.children)]
    return rows


def _chosen(rows: Sequence[_Row]) -> list[int]:
    """The numbers of at most MAX_NODES rows: the most severe first, each with its nearest parents, in their order."""
    if len(rows) <= MAX_NODES:
        return list(range(len(rows)))
    rank = list(Severity)
    chosen: set[int] = set()
    for number in sorted(range(len(rows)), key=lambda number: (rank.index(rows[number].branch.severity), number)):
        node = number
        while node >= 0 and node not in chosen and len(chosen) < MAX_NODES:
            chosen.add(node)
            node = rows[node].parent
    return sorted(chosen)
