"""Make text from outside printable: control characters, terminal escapes and direction overrides become visible marks.

Decides nothing about markup (``markdown.py`` does). Facts: ECMA-48 (escape sequences), Unicode TR 36 and CVE-2021-42574
(bidirectional overrides), Unicode block "Control Pictures".
"""

from __future__ import annotations

import re

_ESCAPE_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_INVISIBLE = re.compile(
    "[\u00ad\u061c\u180e\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\U000e0000-\U000e007f\ud800-\udfff]"
)


def printable(text: str) -> str:
    """The text with nothing in it that moves a cursor, changes direction or cannot be seen; newline and tab stay."""
    text = text.replace("\r\n", "\n")
    text = _CONTROL.sub(_picture, text)
    return _INVISIBLE.sub(lambda match: f"⟦U+{ord(match[0]):04X}⟧", text)


def one_line(text: str, *, limit: int = 300) -> str:
    """The text as one line of at most ``limit`` characters, terminal escapes taken out; a cut is marked with ``…``."""
    text = _ESCAPE_SEQUENCE.sub("", text[: limit * 20])
    text = " ".join(printable(text).split())
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _picture(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else f"⟦U+{code:04X}⟧"
