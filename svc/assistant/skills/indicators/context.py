"""The text around an indicator, for its evidence, also in a very long line. Pure."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from itertools import accumulate

EXCERPT_CHARS = 200
PIECE_CHARS = 1_000_000  # split into lines at a time
MAX_SEARCHED_CHARS = 200_000_000  # of long lines, for the evidence of all indicators together: a fifth of a second


class EvidenceLines:
    """The lines of a text as evidence: a whole line, or the part of a long one around the value.

    Values of one type come in the order of the text, so the search in a long line continues at the previous value.
    A value that is not found there is searched for from the start of the line, up to MAX_SEARCHED_CHARS in all.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._starts = array("L", accumulate((len(line) + 1 for line in lines_of(text)), initial=0))
        self._number, self._line, self._lowered, self._place = 0, "", "", 0
        self._left = MAX_SEARCHED_CHARS

    def __len__(self) -> int:
        return len(self._starts) - 1

    def excerpt(self, number: int, value: str) -> str:
        """Return the text around ``value`` in line ``number`` (from 1)."""
        if number != self._number:
            self._number, self._line, self._place = number, self._line_at(number).strip(), 0
            self._lowered = self._line.lower()
        line = self._line
        if len(line) <= EXCERPT_CHARS:
            return line
        self._place = max(self._find(value.lower()), 0)
        start = max(0, min(self._place - EXCERPT_CHARS // 4, len(line) - EXCERPT_CHARS))
        end = start + EXCERPT_CHARS
        return f"{'…' if start else ''}{line[start:end]}{'…' if end < len(line) else ''}"

    def _line_at(self, number: int) -> str:
        return self._text[self._starts[number - 1] : self._starts[number] - 1]

    def _find(self, value: str) -> int:
        for wanted in (value, value.partition(".")[0]):
            for start in (self._place, 0):
                if self._left <= 0:
                    return -1
                found = self._lowered.find(wanted, start)
                self._left -= (found if found >= 0 else len(self._lowered)) - start
                if found >= 0:
                    return found
        return -1


def lines_of(text: str) -> Iterator[str]:
    """Yield the lines of a text without making all of them at once; equal to ``text.split("\\n")``."""
    start = 0
    while (end := text.rfind("\n", start, start + PIECE_CHARS)) >= 0 or (end := text.find("\n", start)) >= 0:
        yield from text[start:end].split("\n")
        start = end + 1
    yield text[start:]
