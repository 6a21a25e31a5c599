"""Draw charts as SVG: columns and lanes over time, bars, trees, and grids of things and places.

Each chart is one SVG document without scripts, links or external references; all text is escaped, and invisible
characters are made visible. It fills the width of its place and has a light and a dark form. Each answers a question
that its title asks; few items are left to the tables.
"""

from svc.assistant.skills.charts.bars import Bar, bars
from svc.assistant.skills.charts.columns import ChartEvent, Periods, Series, columns
from svc.assistant.skills.charts.grid import Crossing, GridRow, grid
from svc.assistant.skills.charts.lanes import ChartMark, lanes
from svc.assistant.skills.charts.tree import Branch, tree

__all__ = [
    "Bar",
    "Branch",
    "ChartEvent",
    "ChartMark",
    "Crossing",
    "GridRow",
    "Periods",
    "Series",
    "bars",
    "columns",
    "grid",
    "lanes",
    "tree",
]
