"""Compile the patterns of word tables for prose: a pattern that begins with a letter begins at a word.

Without it, a table's "cialis" is in "specialist". Patterns may go on within a word ("verif" finds "verification").
"""

from __future__ import annotations

import re

_AT_WORD = r"(?:(?<![a-z0-9])|(?![a-z0-9]))"


def word_pattern(pattern: str) -> re.Pattern[str]:
    """Compile ``pattern``, ignoring case."""
    return re.compile(f"{_AT_WORD}(?:{pattern})", re.IGNORECASE)
