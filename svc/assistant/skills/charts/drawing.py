"""The parts of a chart: text that fits, marks with a tooltip, the head with title and legend, the document.

A chart fills the width of its place: x positions and widths are shares of the width, y positions are pixels. Text keeps
its size. What does not fit a narrow place exists in two forms, with the classes "w" (wide) and "n" (narrow).

A mark is a group with a ``title`` (its tooltip) and the inert attributes ``data-value`` and ``data-ask``: the value to
copy and a question about it. The chat and JupyterLab make marks selectable by them (docs/wire.md, "Charts").
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from typing import NamedTuple
from xml.sax.saxutils import escape, quoteattr

from svc.assistant.findings import Severity
from svc.assistant.skills.charts.palette import STYLE
from svc.assistant.skills.skill import Picture
from svc.untrusted.characters import on_one_line

LEFT, RIGHT = 1.5, 98.5  # percent of the width
NARROW = 262  # pixels of text in the smallest place: a sidebar of 320 pixels
WIDE = 540
MAX_TIP = 400  # characters
MAX_ASK = 200
_LEAST_ROOM = 32  # pixels
_LINE = 16
_WIDTHS = {
    4.7: "iljI.,:;'| -·",
    5.2: "!()[]",
    9.9: "ABCDEFGHJKLNOPQRSTUVXYZ&+=<>~^#",
    12.6: "mwMW@%—…",
    14.6: "ǆǋǳʣʤʥѩѽ؊",
    16.0: "ѨѼ",
    17.5: "ǄǅǱǲ",
    70.0: "\ufdfa\ufdfb",  # ligatures of whole sentences
    140.0: "\ufdfd",
}
_WIDTH_OF = {character: width for width, characters in _WIDTHS.items() for character in characters}
_ASCII_WIDTH = 7.9
_LETTER_WIDTH = 12.5  # of other alphabets below _WIDE_SCRIPTS
_CAPITAL_WIDTH = 15.0
_SIGN_WIDTH = 18.0
_WIDE_SCRIPTS = "\u0700"
_CUNEIFORM = ("\U00012000", "\U000125ff", 80.0)
_MAX_STACKED = 2  # marks above a letter; more would cover other rows


def width_of(words: str, size: float = 12) -> float:
    """Return an upper estimate of the width of a text in pixels."""
    return sum(map(_character_width, words)) * size / 12


def _character_width(character: str) -> float:
    if (known := _WIDTH_OF.get(character)) is not None:
        return known
    if character.isascii():
        return _ASCII_WIDTH
    if character < _WIDE_SCRIPTS:
        return _CAPITAL_WIDTH if character.isupper() else _LETTER_WIDTH
    first, last, width = _CUNEIFORM
    return width if first <= character <= last else _SIGN_WIDTH


def fitted(words: str, room: float, size: float = 12) -> str:
    """Return the words on one line, cut to ``room`` pixels; ``…`` marks a cut."""
    most = int(room)  # characters: none is narrower than a pixel
    shown = _flat(on_one_line(words[: most + 1]))
    if len(words) <= most and width_of(shown, size) <= room:
        return shown
    left = room - width_of("…", size)
    kept = 0
    for character in shown:
        left -= width_of(character, size)
        if left < 0:
            break
        kept += 1
    return f"{shown[:kept].rstrip()}…"


def _flat(words: str) -> str:
    """Return the words with at most _MAX_STACKED combining marks in a row."""
    if words.isascii():
        return words
    kept: list[str] = []
    stacked = 0
    for character in words:
        stacked = stacked + 1 if unicodedata.category(character) in ("Mn", "Me") else 0
        if stacked <= _MAX_STACKED:
            kept.append(character)
    return "".join(kept)


def text(x: str, y: float, words: str, *, room: tuple[float, float], classes: str = "", anchor: str = "start") -> str:
    """Return a text; ``room`` is its width in pixels, wide and narrow; a text without enough room is left out."""
    size = 15 if "name" in classes else 12  # bold letters are wider
    forms = [fitted(words, pixels, size) if pixels >= _LEAST_ROOM else "" for pixels in room]
    places = [("", forms[0])] if forms[0] == forms[1] else [("w", forms[0]), ("n", forms[1])]
    drawn = ""
    for place, form in places:
        if not form:
            continue
        names = " ".join(filter(None, (classes, place)))
        drawn += f'<text x="{x}" y="{y:g}"'
        drawn += f' class="{names}"' if names else ""
        drawn += f' text-anchor="{anchor}"' if anchor != "start" else ""
        drawn += f">{words_of(form)}</text>"
    return drawn


def words_of(words: str) -> str:
    """Return words for an XML document, on one line; XML 1.0 (2.2) has no U+FFFE and U+FFFF."""
    return escape(on_one_line(words).translate({0xFFFE: "?", 0xFFFF: "?"}))


def percent(share: float) -> str:
    """Return a share of the width, from 0 to 1, as a place between the margins."""
    return f"{LEFT + (RIGHT - LEFT) * share:.2f}%"


def mark(tip: str, drawn: str, *, value: str = "", ask: str = "") -> str:
    """Return shapes with their tooltip. ``value`` is what selecting copies, ``ask`` a question about it."""
    inert = f" data-value={_attribute(value, MAX_TIP)}" if value else ""
    inert += f" data-ask={_attribute(ask, MAX_ASK)}" if value and ask and len(ask) <= MAX_ASK else ""
    return f"<g{inert}><title>{words_of(_cut(tip, MAX_TIP))}</title>{drawn}</g>"


def _cut(words: str, limit: int) -> str:
    return words if len(words) <= limit else f"{words[: limit - 1]}…"


def _attribute(words: str, limit: int) -> str:
    return quoteattr(on_one_line(_cut(words, limit)).translate({0xFFFE: "?", 0xFFFF: "?"}))


class LegendItem(NamedTuple):
    """What a colour means; with a ``value`` it can be selected like a mark."""

    colour: str
    words: str
    value: str = ""
    ask: str = ""


class Head:
    """Title, lines below it, and a legend; ``height`` is where the drawing begins."""

    def __init__(self, title: str, lines: Sequence[str], legend: Sequence[LegendItem]) -> None:
        self.title = title
        drawn = [text(f"{LEFT}%", 18, title, room=(WIDE, NARROW), classes="name")]
        y = 18.0
        for line in filter(None, lines):
            y += _LINE
            drawn.append(text(f"{LEFT}%", y, line, room=(WIDE, NARROW), classes="dim"))
        self.height: float = y + 8
        for row in _legend_rows(legend):
            drawn += [_legend_item(x, self.height, item) for x, item in row]
            self.height += _LINE + 2
        self.drawn: str = "".join(drawn)


def _legend_rows(legend: Sequence[LegendItem]) -> list[list[tuple[float, LegendItem]]]:
    """Put the items of a legend in rows that fit a narrow place."""
    rows: list[list[tuple[float, LegendItem]]] = []
    x = 0.0
    for item in legend:
        shown = item._replace(words=fitted(item.words, NARROW - 24))
        needs = width_of(shown.words) + 25
        if not rows or x + needs - 10 > NARROW:
            rows.append([])
            x = 6.0
        rows[-1].append((x, shown))
        x += needs
    return rows


def _legend_item(x: float, y: float, item: LegendItem) -> str:
    shape = (
        f'<circle cx="{x + 5:g}" cy="{y + 8:g}" r="5" class="{item.colour}"/>'
        if item.colour == "event"
        else f'<rect x="{x:g}" y="{y + 3:g}" width="10" height="10" rx="2" class="{item.colour}"/>'
    )
    drawn = f'{shape}<text x="{x + 15:g}" y="{y + 12:g}">{words_of(item.words)}</text>'
    return mark(item.value, drawn, value=item.value, ask=item.ask) if item.value else drawn


def severity_legend(used: Iterable[Severity]) -> list[LegendItem]:
    """Return the legend of the severities in use, the worst first; nothing if all are without a judgement."""
    known = set(used)
    shown = [severity for severity in Severity if severity in known]
    return [] if shown in ([], [Severity.INFO]) else [LegendItem(one.value, one.value) for one in shown]


def document(head: Head, height: float, drawn: Sequence[str]) -> list[Picture]:
    """Return the picture: a document of its own, as wide as its place."""
    title = on_one_line(head.title)
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="svc-chart" width="100%" height="{height:.0f}" role="img">'
        f"<style>{STYLE}</style><title>{words_of(title)}</title>"
        f'<rect class="card" width="100%" height="100%"/>{head.drawn}{"".join(drawn)}</svg>'
    )
    return [Picture(title=title, svg=svg)]


def rest_words(count: int, shown: int, what: str) -> str:
    """Return the line below a title that says how many of all are drawn; "" if all are."""
    return "" if count <= shown else f"{shown:,} of {count:,} {what}"
