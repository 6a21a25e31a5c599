"""Lanes of events: one line for each kind, with a dot for each event."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec

from svc.assistant.findings import Severity
from svc.assistant.skills.charts.axis import TimeAxis, clock_words, range_words, wall_clock
from svc.assistant.skills.charts.columns import CLOSE
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

LEAST_MARKS = 6  # fewer are faster to read in a table
MAX_LANES = 8  # fit one screen; the table has all
_LANE = 32
_AXIS = 40
_RADIUS = {Severity.CRITICAL: 6.0, Severity.HIGH: 5.5}
_RANK = list(Severity)


class ChartMark(msgspec.Struct, frozen=True, kw_only=True):
    """An event in a lane; ``label`` is its tooltip, ``ask`` is a question about its lane."""

    time: datetime
    lane: str
    label: str = ""
    severity: Severity = Severity.INFO
    ask: str = ""


def lanes(
    title: str, marks: Sequence[ChartMark], *, zone: str = "", note: str = "", least: int = LEAST_MARKS
) -> list[Picture]:
    """Draw events as dots over time; the lanes with the most severe events, in the order of their first event.

    Nothing for fewer than ``least`` events or a single moment. ``note`` says which events are not among the marks.
    """
    if len(marks) < least or min(one.time for one in marks) == max(one.time for one in marks):
        return []
    by_lane: dict[str, list[ChartMark]] = {}
    for one in sorted(marks, key=lambda one: one.time):
        by_lane.setdefault(one.lane, []).append(one)
    chosen = sorted(by_lane, key=lambda lane: min(_RANK.index(one.severity) for one in by_lane[lane]))[:MAX_LANES]
    shown = {lane: events for lane, events in by_lane.items() if lane in chosen}
    drawn_marks = [one for events in shown.values() for one in events]
    first, last = (wall_clock(pick(one.time for one in drawn_marks)) for pick in (min, max))
    axis = TimeAxis(first, last)
    dates = " · ".join(filter(None, (range_words(first, last), zone)))
    lines = [dates, note, rest_words(len(by_lane), len(shown), "kinds, the most severe")]
    head = Head(title, lines, severity_legend(one.severity for one in drawn_marks))
    bottom = head.height + len(shown) * _LANE + 4
    drawn = [axis.drawn(head.height + 4, bottom)]
    drawn += [
        _lane(name, events, axis, head.height + number * _LANE) for number, (name, events) in enumerate(shown.items())
    ]
    return document(head, bottom + _AXIS, drawn)


def _lane(name: str, events: Sequence[ChartMark], axis: TimeAxis, top: float) -> str:
    middle = top + 24
    tip = f"{name}: {clock_words(wall_clock(events[0].time))} to {clock_words(wall_clock(events[-1].time))}"
    label = text(f"{LEFT}%", top + 13, name, room=(WIDE, NARROW))
    drawn = mark(tip, label, value=name, ask=events[0].ask)
    drawn += f'<line x1="{LEFT}%" x2="{RIGHT}%" y1="{middle:g}" y2="{middle:g}" class="grid"/>'
    groups = _close_together(events, axis)
    for group in sorted(groups, key=lambda group: -_RANK.index(_worst(group).severity)):  # the worst on top
        worst = _worst(group)
        radius = _RADIUS.get(worst.severity, 4.5)
        x = percent(axis.share(wall_clock(group[0].time)))
        dot = f'<circle cx="{x}" cy="{middle:g}" r="{radius:g}" class="{worst.severity.value}"/>'
        drawn += mark(_tip(name, group), dot, value=name, ask=worst.ask)
    return drawn


def _worst(group: Sequence[ChartMark]) -> ChartMark:
    return min(group, key=lambda one: _RANK.index(one.severity))


def _tip(name: str, group: Sequence[ChartMark]) -> str:
    worst = _worst(group)
    words = f"{clock_words(wall_clock(worst.time))} {name}" + (f", {worst.label}" if worst.label else "")
    return words if len(group) == 1 else f"{words} ({len(group):,} events to {clock_words(wall_clock(group[-1].time))})"


def _close_together(events: Sequence[ChartMark], axis: TimeAxis) -> list[list[ChartMark]]:
    """Events whose dots would cover each other, as one."""
    groups: list[list[ChartMark]] = []
    begin = 0.0
    for one in events:
        share = axis.share(wall_clock(one.time))
        if groups and share - begin < CLOSE:
            groups[-1].append(one)
        else:
            groups.append([one])
            begin = share
    return groups
