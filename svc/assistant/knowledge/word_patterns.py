"""Compile the patterns of word tables for prose: a pattern that begins with a letter begins at a word.

Without it, a table's "cialis" is in "specialist". Patterns may go on within a word ("verif" finds "verification").
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_AT_WORD = r"(?:(?<![a-z0-9])|(?![a-z0-9]))"
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789")
_OTHER_LETTERS = re.compile(r"[^\W\x00-\x7f]")  # their cases differ in more than one way


def word_pattern(pattern: str) -> re.Pattern[str]:
    """Compile ``pattern``, ignoring case."""
    return re.compile(f"{_AT_WORD}(?:{pattern})", re.IGNORECASE)


class FoldedPattern:
    """A pattern of ``word_pattern`` for text in lower case: the same matches in a quarter of the time.

    It is searched without the condition that it begins at a word, which keeps ``re`` from looking for first letters.
    """

    def __init__(self, pattern: str) -> None:
        self._pattern = re.compile(pattern)

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        """Yield the matches, none of which may be empty."""
        at = 0
        while (found := self._pattern.search(text, at)) is not None:
            start = found.start()
            is_inside = start > 0 and text[start] in _LETTERS and text[start - 1] in _LETTERS
            if not is_inside:
                yield found
            at = start + 1 if is_inside else found.end()


def is_plain(text: str) -> bool:
    """Whether ``FoldedPattern`` finds in a folded text what ``word_pattern`` finds."""
    return text.isascii() or _OTHER_LETTERS.search(text) is None
