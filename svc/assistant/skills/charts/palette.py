"""Colours of charts in a light and a dark theme, as the style of an SVG document.

Text has a contrast of at least 4.5:1 and a mark of at least 3:1 to the backgrounds of both themes. The chat and
JupyterLab draw a chart into their own page and colour its classes there: ``labextension/packages/chat/src/chart.css``
has the same values.
"""

from __future__ import annotations

from typing import NamedTuple


class Colour(NamedTuple):
    """One colour for each theme."""

    light: str
    dark: str


CARD = Colour("#ffffff", "#14171c")
GRID = Colour("#dfe4e9", "#39424d")  # decorative: every value it helps to read is written, too
INK = Colour("#1d2733", "#e4e7eb")
DIM = Colour("#545d68", "#a9b3be")
MARKS = {
    "critical": Colour("#8b1a1a", "#ff6b6b"),
    "high": Colour("#c2410c", "#ffa94d"),
    "medium": Colour("#946200", "#ffe066"),
    "low": Colour("#2563eb", "#6ea8fe"),
    "info": Colour("#69727d", "#9aa5b1"),
    "one": Colour("#1d4ed8", "#7ab0ff"),
    "two": Colour("#b45309", "#ffb454"),
    "three": Colour("#7e22ce", "#d0a2ff"),
    "rest": Colour("#69727d", "#9aa5b1"),
    "event": INK,
}
WIDE_FROM = 560  # pixels; narrower pictures leave out what has the class "w"


def _rules(theme: int) -> str:
    marks = "".join(f".{name}{{fill:{colour[theme]}}}" for name, colour in MARKS.items())
    return (
        f".card{{fill:{CARD[theme]}}}text{{fill:{INK[theme]}}}.dim{{fill:{DIM[theme]}}}"
        f".grid{{stroke:{GRID[theme]}}}.track{{fill:{GRID[theme]}}}.axis{{stroke:{DIM[theme]}}}{marks}"
    )


STYLE = (
    f"text{{font:12px system-ui,sans-serif}}.name{{font-weight:600;font-size:14px}}.n{{display:none}}path{{fill:none}}"
    f"{_rules(0)}@media (prefers-color-scheme:dark){{{_rules(1)}}}"
    f"@media (max-width:{WIDE_FROM - 1}px){{.w{{display:none}}.n{{display:inline}}}}"
)
"""The colour scheme is that of the element which embeds the image; alone, that of the system."""
