"""Split a text into sentences, each with the line where it begins.

A sentence ends at a full stop before a capital, at an empty line, before a bullet, and at the end of a line that is
not wrapped, because notes and lists have no full stops.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator

MAX_SENTENCE_CHARS = 1_500  # anything longer is a table or code
WRAPPED_CHARS = 60  # a line this long continues in the next one if that begins in lower case
_QUOTES = "\"'\u2018\u2019\u201c\u201d"
_BULLETS = "*\u2022|#>-"
_END = re.compile(
    rf"(?<=[.!?])[{_QUOTES})\]]*\s+(?=[{_QUOTES}(\[]*[A-Z0-9{_BULLETS}])"
    rf"|\n\s*\n\s*|\n(?=[ \t]*(?:[{_BULLETS}]|\d{{1,3}}[.)]\s))"
)


def sentences_of(text: str, *, without: str = "") -> Iterator[tuple[int, str]]:
    """Yield ``(line, sentence)``; lines count from 1, and a sentence is cut at MAX_SENTENCE_CHARS.

    ``without`` is a part of the text to leave out, unless less than two words remain.
    """
    newlines = [match.start() for match in re.finditer("\n", text)]
    start, stop = _span_to_skip(text, without)
    for piece_start, piece_stop in (*_pieces(text, 0, start), *_pieces(text, stop, len(text))):
        piece = text[piece_start:piece_stop]
        sentence = " ".join(piece.split())[:MAX_SENTENCE_CHARS].lstrip(f"{_BULLETS}:, ")
        if sentence:
            begins = piece_start + len(piece) - len(piece.lstrip())
            yield bisect_left(newlines, begins) + 1, sentence


def _span_to_skip(text: str, part: str) -> tuple[int, int]:
    start = text.find(part) if part else -1
    rest = text[:start] + text[start + len(part) :] if start >= 0 else ""
    return (start, start + len(part)) if len(rest.split()) >= 2 else (0, 0)


def _pieces(text: str, start: int, stop: int) -> Iterator[tuple[int, int]]:
    for match in _END.finditer(text, start, stop):
        yield from _lines(text, start, match.start())
        start = match.end()
    yield from _lines(text, start, stop)


def _lines(text: str, start: int, stop: int) -> Iterator[tuple[int, int]]:
    """Yield the positions of the lines of a piece; a wrapped line is joined to the next."""
    first, at = start, text.find("\n", start, stop)
    while at >= 0:
        is_long = at >= WRAPPED_CHARS and text.rfind("\n", at - WRAPPED_CHARS, at) < 0
        if not (is_long and text[at + 1 : at + 40].lstrip()[:1].islower()):
            yield first, at
            first = at + 1
        at = text.find("\n", at + 1, stop)
    yield first, stop
