"""Columns over time: what was counted in equal periods, by series, with single events marked above."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

import msgspec

from svc.assistant.findings import Severity
from svc.assistant.skills.charts.axis import (
    TimeAxis,
    clock_words,
    range_words,
    value_ticks,
    value_words,
    wall_clock,
)
from svc.assistant.skills.charts.drawing import (
    LEFT,
    NARROW,
    RIGHT,
    WIDE,
    Head,
    LegendItem,
    document,
    mark,
    percent,
    text,
)
from svc.assistant.skills.skill import Picture

LEAST_MARKS = 3  # fewer are faster to read as facts
_PLOT = 120  # pixels
_AXIS = 38  # labels below the plot
_GUTTER = 0.135  # share of the width for the values of the y axis
CLOSE = 0.012  # share of the width: events closer than that are one mark
_SERIES = ("one", "two", "three")
_NAMED_IN_TIP = 3


class Series(msgspec.Struct, frozen=True, kw_only=True):
    """The counts of one source in all periods; ``ask`` is a question about it."""

    label: str
    counts: Sequence[int]
    ask: str = ""


class ChartEvent(msgspec.Struct, frozen=True, kw_only=True):
    """A moment marked above columns: ``label`` is written, ``tip`` the tooltip, ``value`` what selecting copies."""

    time: datetime
    label: str
    tip: str
    value: str = ""
    ask: str = ""
    severity: Severity = Severity.INFO


class Periods(msgspec.Struct, frozen=True, kw_only=True):
    """Equal periods from ``start``; ``unit`` names what is counted, ``zone`` the zone of the times."""

    start: datetime
    seconds: float
    unit: str
    zone: str = ""


def columns(
    title: str, periods: Periods, series: Sequence[Series], events: Sequence[ChartEvent] = (), *, event_words: str = ""
) -> list[Picture]:
    """Draw stacked columns: the first three series by colour, the others as one, with events marked above.

    Nothing for fewer than LEAST_MARKS counted things or a single period.
    """
    shown = _with_others(series)
    if not shown or len(shown[0].counts) < 2 or sum(sum(one.counts) for one in shown) < LEAST_MARKS:
        return []
    start = wall_clock(periods.start)
    end = start + timedelta(seconds=periods.seconds) * len(shown[0].counts)
    axis = TimeAxis(start, end, left=_GUTTER)
    colours = _colours(shown)
    legend = [
        LegendItem(colour, one.label, one.label if one.ask else "", one.ask)
        for one, colour in zip(shown, colours, strict=True)
        if len(shown) > 1 or one.label
    ]
    if events:
        legend.append(LegendItem("event", event_words))
    per = f"{periods.unit} per {duration_words(periods.seconds)}"
    dates = " · ".join(filter(None, (range_words(start, end - timedelta(microseconds=1)), periods.zone)))
    head = Head(title, [per, dates], legend)
    top = head.height + (22 if events else 6)
    bottom = top + _PLOT
    most = max(map(sum, zip(*(one.counts for one in shown), strict=True)))
    scale = value_ticks(most)
    drawn = [_value_axis(scale, top, bottom), axis.drawn(top, bottom)]
    drawn += _segments(periods, shown, colours, axis, bottom, _PLOT / scale[-1])
    drawn += _events(events, axis, top, bottom)
    return document(head, bottom + _AXIS, drawn)


def _with_others(series: Sequence[Series]) -> list[Series]:
    rest = series[len(_SERIES) :]
    if not rest:
        return list(series)
    counts = [sum(counts) for counts in zip(*(one.counts for one in rest), strict=True)]
    return [*series[: len(_SERIES)], Series(label="others", counts=counts)]


def _colours(shown: Sequence[Series]) -> list[str]:
    return [_SERIES[number] if number < len(_SERIES) else "rest" for number in range(len(shown))]


def duration_words(seconds: float) -> str:
    """``10 minutes``, ``hour``, ``2 days``: a round length of time, as after "per"."""
    for unit, name in ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second")):
        if seconds >= unit and seconds % unit == 0:
            count = int(seconds // unit)
            return name if count == 1 else f"{count:,} {name}s"
    return f"{seconds:g} seconds"


def _value_axis(scale: Sequence[float], top: float, bottom: float) -> str:
    drawn = ""
    for value in scale:
        y = bottom - (bottom - top) * value / scale[-1]
        drawn += f'<line x1="{percent(_GUTTER)}" x2="{percent(0.98)}" y1="{y:g}" y2="{y:g}" class="grid"/>'
        place = f'x="{percent(_GUTTER - 0.015)}" y="{y + 4:g}" text-anchor="end"'
        drawn += f'<text {place} class="dim">{value_words(value)}</text>'
    return drawn


def _segments(
    periods: Periods, shown: Sequence[Series], colours: Sequence[str], axis: TimeAxis, bottom: float, scale: float
) -> list[str]:
    drawn = []
    start, length = wall_clock(periods.start), timedelta(seconds=periods.seconds)
    for number, counts in enumerate(zip(*(one.counts for one in shown), strict=True)):
        begin = start + length * number
        left, right = axis.share(begin), axis.share(begin + length)
        words = _period_words(begin, begin + length)
        y = bottom
        for one, colour, count in zip(shown, colours, counts, strict=True):
            if not count:
                continue
            height = max(1.0, count * scale)
            y -= height
            x, width = percent(left), (right - left) * (RIGHT - LEFT) * 0.92
            shape = f'<rect x="{x}" y="{y:.1f}" width="{width:.2f}%" height="{height:.1f}" class="{colour}"/>'
            label = f"{one.label}: " if len(shown) > 1 else ""
            tip = f"{label}{count:,} {periods.unit}, {words}"
            is_named = bool(one.ask)
            ask = (
                one.ask
                if is_named
                else f"What happened between {clock_words(begin)} and {clock_words(begin + length)}?"
            )
            drawn.append(mark(tip, shape, value=one.label if is_named else words, ask=ask))
    return drawn


def _period_words(begin: datetime, end: datetime) -> str:
    if begin.date() == end.date():
        return f"{clock_words(begin)} to {end:%H:%M:%S}"
    return f"{clock_words(begin)} to {clock_words(end)}"


def _events(events: Sequence[ChartEvent], axis: TimeAxis, top: float, bottom: float) -> list[str]:
    """Draw events as dots above the columns; the most severe one, of these the first, with a label."""
    if not events:
        return []
    rank = list(Severity)
    placed = [(one, axis.share(min(max(wall_clock(one.time), axis.first), axis.last))) for one in events]
    worst = min(placed, key=lambda pair: (rank.index(pair[0].severity), pair[1]))
    drawn = []
    groups = _close_together(sorted(placed, key=lambda pair: pair[1]))
    for group in groups:
        first, share = min(group, key=lambda pair: (rank.index(pair[0].severity), pair[1]))
        x = percent(share)
        shape = f'<line x1="{x}" x2="{x}" y1="{top - 6:g}" y2="{bottom:g}" class="axis" stroke-dasharray="3 3"/>'
        shape += f'<circle cx="{x}" cy="{top - 10:g}" r="5" class="event"/>'
        if first is worst[0]:
            shape += _event_label(first.label, share, top - 6, [pair[1] for pair in placed])
        drawn.append(mark(_joined([pair[0].tip for pair in group]), shape, value=first.value, ask=first.ask))
    return drawn


def _event_label(label: str, share: float, y: float, others: Sequence[float]) -> str:
    """The label right or left of its dot, on the side with more room up to the next dot."""
    right = min((other for other in others if other > share + CLOSE), default=1.0) - share
    left = share - max((other for other in others if other < share - CLOSE), default=_GUTTER)
    is_right = right >= left
    free = max(right, left) - 0.02
    place = percent(share + (0.02 if is_right else -0.02))
    rooms = (free * WIDE - 12, free * NARROW - 12)
    return text(place, y, label, room=rooms, anchor="start" if is_right else "end")


def _close_together(placed: Sequence[tuple[ChartEvent, float]]) -> list[list[tuple[ChartEvent, float]]]:
    groups: list[list[tuple[ChartEvent, float]]] = []
    for pair in placed:
        if groups and pair[1] - groups[-1][0][1] < CLOSE:
            groups[-1].append(pair)
        else:
            groups.append([pair])
    return groups


def _joined(tips: Sequence[str]) -> str:
    shown = "; ".join(tips[:_NAMED_IN_TIP])
    return shown if len(tips) <= _NAMED_IN_TIP else f"{shown} and {len(tips) - _NAMED_IN_TIP:,} more"
