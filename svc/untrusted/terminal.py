"""What a terminal may be given of text that attackers write: a terminal obeys control characters.

Decides characters alone; markup of rich is not read where the text travels as ``rich.text.Text``. Facts: ECMA-48
(control functions), Unicode TR 36 and CVE-2021-42574 (direction overrides), UAX 44 (general categories).
"""

from __future__ import annotations

import unicodedata

_OBEYED = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})  # control, format, half a pair, line and paragraph separators


def visible(text: str) -> str:
    """The text with U+FFFD for every character that a terminal would obey; newline and tab stay."""
    return "".join(
        c if c in "\n\t" or unicodedata.category(c) not in _OBEYED else "\N{REPLACEMENT CHARACTER}" for c in text
    )


def one_line(text: str, limit_chars: int) -> str:
    """The beginning of the text on one line, visible, at most ``limit_chars`` characters; a cut ends in ``…``."""
    start = text[: 4 * limit_chars + 1]  # enough for what runs of spaces take away
    line = visible(" ".join(start.split()))
    is_cut = len(line) > limit_chars or len(start) < len(text)
    return f"{line[: limit_chars - 1]}…" if is_cut else line
