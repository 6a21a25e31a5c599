"""Draw charts as SVG: activity over time, lanes of events, trees and bars.

Each chart is one SVG document without scripts, links or external references. All text is escaped, and invisible
characters are made visible. The background is white, so that dark themes and printers show the same; colours also
differ in lightness.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from xml.sax.saxutils import escape

import msgspec

from svc.assistant.findings import Severity
from svc.assistant.skills.skill import Picture
from svc.untrusted.characters import on_one_line

LEAST_ITEMS = 6  # fewer are faster to read in a table
MAX_ROWS = 40  # bars, lanes or branches; the table has all of them
MAX_MARKS = 2_000  # in lanes; more would overlap
BINS = 60  # of activity over time: one per minute of an hour
WIDTH = 900
_LABEL = 250  # pixels for labels at the left
_ROW = 24
_HEAD = 44
_CHAR = 6.7  # average width of a letter at 12 pixels
_INDENT = 22
COLOURS = {
    Severity.CRITICAL: "#7f1d1d",
    Severity.HIGH: "#d1451b",
    Severity.MEDIUM: "#e0a100",
    Severity.LOW: "#5b8def",
    Severity.INFO: "#9aa5b1",
}


class Bar(msgspec.Struct, frozen=True, kw_only=True):
    """A row of a bar chart; ``note`` is shown after the bar."""

    label: str
    value: float
    note: str = ""
    severity: Severity = Severity.INFO


class ChartMark(msgspec.Struct, frozen=True, kw_only=True):
    """An event in a lane; ``label`` is its tooltip."""

    time: datetime
    lane: str
    label: str = ""
    severity: Severity = Severity.INFO


class Branch(msgspec.Struct, frozen=True, kw_only=True):
    """A node of a tree with its children."""

    label: str
    note: str = ""
    severity: Severity = Severity.INFO
    children: tuple[Branch, ...] = ()


def bars(title: str, rows: Sequence[Bar]) -> list[Picture]:
    """Draw horizontal bars in the given order; nothing for fewer than LEAST_ITEMS."""
    if len(rows) < LEAST_ITEMS:
        return []
    shown = rows[:MAX_ROWS]
    most = max(row.value for row in shown) or 1.0
    room = WIDTH - _LABEL - 170
    drawn = []
    for number, row in enumerate(shown):
        top = _HEAD + number * _ROW
        length = max(1.0, room * row.value / most)
        drawn += [
            _text(_LABEL - 8, top + 15, row.label, room=_LABEL - 16, anchor="end"),
            f'<rect x="{_LABEL}" y="{top + 4}" width="{length:.1f}" height="14" fill="{COLOURS[row.severity]}"/>',
            _text(_LABEL + length + 6, top + 15, row.note or f"{row.value:,.0f}", room=160),
        ]
    return [_document(_with_rest(title, len(rows), len(shown)), _HEAD + len(shown) * _ROW + 12, drawn)]


def activity(title: str, times: Sequence[datetime]) -> list[Picture]:
    """Draw the number of events in BINS equal periods; nothing for fewer than LEAST_ITEMS or a single moment."""
    if len(times) < LEAST_ITEMS or min(times) == max(times):
        return []
    first, last = min(times), max(times)
    span = (last - first) / BINS
    counts = [0] * BINS
    for time in times:
        counts[min(BINS - 1, int((time - first) / span))] += 1
    return histogram(f"{title} ({_span(span)} per bar)", counts, _clock(first), _clock(last))


def histogram(title: str, counts: Sequence[int], first: str, last: str) -> list[Picture]:
    """Draw columns of equal periods, labelled at both ends; nothing for fewer than LEAST_ITEMS events."""
    if sum(counts) < LEAST_ITEMS or len(counts) < 2:
        return []
    most, height, left, bottom = max(counts), 120, 60, _HEAD + 130
    step = (WIDTH - left - 20) / len(counts)
    scale = [(bottom - height + 4, f"{most:,}"), (bottom, "0")]
    drawn = [_text(left - 8, y, word, anchor="end") for y, word in scale]
    drawn += [
        f'<rect x="{left + number * step:.1f}" y="{bottom - height * count / most:.1f}" width="{step - 1:.1f}" '
        f'height="{height * count / most:.1f}" fill="#5b8def"><title>{count:,}</title></rect>'
        for number, count in enumerate(counts)
        if count
    ]
    drawn.append(f'<line x1="{left}" y1="{bottom}" x2="{WIDTH - 20}" y2="{bottom}" stroke="#5f6b7a"/>')
    drawn += [_text(left, bottom + 18, first), _text(WIDTH - 20, bottom + 18, last, anchor="end")]
    return [_document(title, bottom + 34, drawn)]


def lanes(title: str, marks: Sequence[ChartMark]) -> list[Picture]:
    """Draw events as dots over time, one lane for each type in the order of first events, the most severe on top."""
    if len(marks) < LEAST_ITEMS or min(mark.time for mark in marks) == max(mark.time for mark in marks):
        return []
    names = list(dict.fromkeys(mark.lane for mark in sorted(marks, key=lambda mark: mark.time)))
    shown = names[:MAX_ROWS]
    rank = list(Severity)
    kept = sorted((mark for mark in marks if mark.lane in shown), key=lambda mark: rank.index(mark.severity))[
        :MAX_MARKS
    ]
    first, last = min(mark.time for mark in kept), max(mark.time for mark in kept)
    bottom = _HEAD + len(shown) * _ROW
    drawn = []
    for number, name in enumerate(shown):
        middle = _HEAD + number * _ROW + _ROW // 2
        drawn.append(_text(_LABEL - 12, middle + 4, name, room=_LABEL - 20, anchor="end"))
        drawn.append(f'<line x1="{_LABEL}" y1="{middle}" x2="{WIDTH - 20}" y2="{middle}" stroke="#e4e8ec"/>')
    for mark in reversed(kept):
        across = _LABEL + (WIDTH - 20 - _LABEL) * ((mark.time - first) / (last - first) if last > first else 0.5)
        middle = _HEAD + shown.index(mark.lane) * _ROW + _ROW // 2
        tooltip = _words(f"{_clock(mark.time)} {mark.label}")
        drawn.append(
            f'<circle cx="{across:.1f}" cy="{middle}" r="5" fill="{COLOURS[mark.severity]}" stroke="#fff">'
            f"<title>{tooltip}</title></circle>"
        )
    drawn.append(_axis(first, last, _LABEL, WIDTH - 20, bottom))
    return [_document(_with_rest(title, len(names), len(shown)), bottom + 34, drawn)]


def tree(title: str, roots: Sequence[Branch]) -> list[Picture]:
    """Draw a tree with one line for each node; nothing for fewer than LEAST_ITEMS nodes."""
    rows = [row for root in roots for row in _rows(root)]
    if len(rows) < LEAST_ITEMS:
        return []
    shown = rows[:MAX_ROWS]
    drawn = []
    last_at: dict[int, float] = {}
    for number, (depth, branch) in enumerate(shown):
        left, middle = 20 + min(depth, 20) * _INDENT, _HEAD + number * _ROW + _ROW // 2
        if depth:
            over = left - _INDENT + 6
            start = last_at.get(depth - 1, middle) + 6
            drawn.append(f'<path d="M{over} {start}V{middle}H{left}" fill="none" stroke="#9aa5b1"/>')
        last_at[depth] = middle
        drawn.append(f'<circle cx="{left + 6}" cy="{middle}" r="5" fill="{COLOURS[branch.severity]}"/>')
        words = f"{branch.label}  {branch.note}".rstrip()
        drawn.append(_text(left + 18, middle + 4, words, room=WIDTH - left - 30))
    return [_document(_with_rest(title, len(rows), len(shown)), _HEAD + len(shown) * _ROW + 12, drawn)]


def _rows(root: Branch) -> list[tuple[int, Branch]]:
    """Return a tree's nodes with their depth, parents first; not recursive, because chains may be thousands long."""
    rows: list[tuple[int, Branch]] = []
    waiting = [(0, root)]
    while waiting and len(rows) <= MAX_ROWS * 50:
        depth, branch = waiting.pop()
        rows.append((depth, branch))
        waiting += [(depth + 1, child) for child in reversed(branch.children)]
    return rows


def _with_rest(title: str, count: int, shown: int) -> str:
    return title if count <= shown else f"{title} (the first {shown:,} of {count:,})"


def _axis(first: datetime, last: datetime, left: float, right: float, top: float) -> str:
    ends = f'<line x1="{left}" y1="{top}" x2="{right}" y2="{top}" stroke="#5f6b7a"/>'
    middle = first + (last - first) / 2
    is_day = first.date() == last.date()
    words = [_clock(first), _clock(middle, is_short=is_day), _clock(last, is_short=is_day)]
    places = [(left, "start"), ((left + right) / 2, "middle"), (right, "end")]
    return ends + "".join(
        _text(x, top + 18, word, anchor=anchor) for (x, anchor), word in zip(places, words, strict=True)
    )


def _clock(time: datetime, *, is_short: bool = False) -> str:
    return time.strftime("%H:%M:%S" if is_short else "%Y-%m-%d %H:%M:%S")


def _span(span: timedelta) -> str:
    seconds = span.total_seconds()
    if seconds < 120:
        return f"{seconds:.3g} s"
    return f"{seconds / 60:.3g} min" if seconds < 7_200 else f"{seconds / 3_600:.3g} h"


def _words(text: str) -> str:
    """Return ``text`` for an XML document; XML 1.0 (2.2) has no U+FFFE and U+FFFF."""
    return escape(on_one_line(text).translate({0xFFFE: "?", 0xFFFF: "?"}))


def _text(x: float, y: float, words: str, *, room: float = WIDTH, anchor: str = "start") -> str:
    """Return a text element, cut to ``room`` pixels."""
    most = max(4, int(room / _CHAR))
    shown = on_one_line(words)
    shown = shown if len(shown) <= most else shown[: most - 1] + "…"
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{_words(shown)}</text>'


def _document(title: str, height: float, drawn: Sequence[str]) -> Picture:
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" width="{WIDTH}" '
        f'height="{height:.0f}" role="img" font-family="system-ui, sans-serif" font-size="12" fill="#1d2733">'
        f"<title>{_words(title)}</title>"
        f'<rect width="{WIDTH}" height="{height:.0f}" fill="#ffffff"/>'
        f'<text x="20" y="26" font-size="15" font-weight="600">{_words(title)}</text>' + "".join(drawn) + "</svg>"
    )
    return Picture(title=on_one_line(title), svg=svg)
