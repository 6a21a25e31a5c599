"""Make hidden characters and terminal control codes visible: controls, direction overrides, zero widths, tags.

One rule for Markdown, terminals and notebooks. C0 controls become their control pictures; everything else that is
hidden becomes ``⟦U+XXXX⟧``. Hidden are Unicode's default ignorable code points (among them the tag block and the
variation selectors), line and paragraph separators, interlinear annotation marks, lone surrogates, U+FFFE and U+FFFF.
A joiner or a variation selector inside an emoji stays: there it hides nothing.

Facts: Unicode 16 ``DerivedCoreProperties.txt`` (Default_Ignorable_Code_Point), UAX 9 and CVE-2021-42574 (direction
overrides), UTS 51 (emoji sequences), ECMA-48 (escape sequences). Cases: ``tests/wire/character_cases.json``.
"""

from __future__ import annotations

import re

_ESCAPE_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_EMOJI = "\u00a9\u00ae\u203c-\u3299\U0001f000-\U0001faff"
_IGNORABLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200c\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_HIDDEN = re.compile(
    f"[{_IGNORABLE}\u2028\u2029\ud800-\udfff]"
    f"|(?<![{_EMOJI}\ufe0f])\u200d|\u200d(?![{_EMOJI}])"
    f"|(?<![{_EMOJI}#*0-9])\ufe0f"
)
HIDDEN_OR_CONTROL = re.compile(f"{_CONTROL.pattern}|{_HIDDEN.pattern}")
"""What ``printable`` shows in another way."""
_REMOVABLE = re.compile(f"[{_IGNORABLE}\u200d\ufe0f]")


def without_hidden(text: str) -> str:
    """Return the text without its hidden characters, for comparing what a reader sees; line separators stay."""
    return text if text.isascii() else _REMOVABLE.sub("", text)


def printable(text: str) -> str:
    """Return the text with everything hidden made visible; newline and tab stay."""
    return _HIDDEN.sub(_mark, _CONTROL.sub(_picture, text.replace("\r\n", "\n")))


def on_one_line(text: str) -> str:
    """Return the whole text on one line: a line break becomes its picture, a tab a space, the rest as ``printable``."""
    return printable(text.replace("\t", " ")).replace("\n", "␊")


def one_line(text: str, limit: int = 300) -> str:
    """Return at most ``limit`` characters on one line, without terminal escapes; a cut is marked with ``…``."""
    start = _ESCAPE_SEQUENCE.sub("", text[: limit * 20])
    line = " ".join(printable(start).split())
    is_cut = len(line) > limit or len(text) > limit * 20
    return f"{line[: limit - 1]}…" if is_cut else line


def _picture(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else _mark(match)


def _mark(match: re.Match[str]) -> str:
    return f"⟦U+{ord(match[0]):04X}⟧"
