"""Signs that a script in JavaScript was obfuscated, counted in its text.

They matter only if the evaluation could not follow the script: then at least two of them, with a way to execute text,
say that it hides what it does. Minified libraries have none or one of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

MIN_SIGNS = 2
_HEX_NAME = re.compile(r"\b_0x[0-9a-f]{4,6}\b")
_ESCAPED = re.compile(r"\\x[0-9a-fA-F]{2}|\\u00[0-9a-fA-F]{2}|%[0-9a-fA-F]{2}|%u[0-9a-fA-F]{4}")
_ROTATION = re.compile(r"push['\"]?\]?\s{0,5}\(\s{0,5}[\w$]{1,40}\s{0,5}[.\[]\s{0,5}['\"]?shift")
_LONG_STRING = re.compile(r"['\"][A-Za-z0-9+/=%!@#$^&*|~_-]{1500}")
_NUMBERS = re.compile(r"(?:\b\d{1,5}\s{0,3},\s{0,3}){200}")
_SHORT_STRINGS = re.compile(r"(?:['\"][^'\"\n]{1,6}['\"]\s{0,3}[,+\])]\s{0,3}){40}")
_MARKS = frozenset("[]()!+{}$_~^'\"\\/.,;: \n")
_EXECUTES = re.compile(
    r"\beval\b|\bFunction\b|constructor|\bActiveXObject\b|\bWScript\b|document\s{0,5}[.\[]|fromCharCode|unescape|\batob\b|\bthis\["
)
MIN_HEX_NAMES = 20
MIN_ESCAPES = 40
MIN_ESCAPED_SHARE = 0.15  # of a text, in escapes of three to six characters
MIN_TEXT_CHARS = 300
MIN_MARKS_SHARE = 0.95


def signs_of(text: str) -> Iterator[str]:
    """Yield the signs of obfuscation."""
    if len(text) < MIN_TEXT_CHARS:
        return
    if len(_HEX_NAME.findall(text)) >= MIN_HEX_NAMES:
        yield "names of an obfuscator"
    escapes = len(_ESCAPED.findall(text))
    if escapes >= MIN_ESCAPES and escapes * 4 >= MIN_ESCAPED_SHARE * len(text):
        yield "escaped strings"
    if _ROTATION.search(text):
        yield "a list of strings that is rotated"
    if _LONG_STRING.search(text) or _NUMBERS.search(text):
        yield "long encoded data"
    if _SHORT_STRINGS.search(text):
        yield "strings in pieces"
    if sum(char in _MARKS for char in text) >= MIN_MARKS_SHARE * len(text):
        yield "code without letters"


def hides_code(text: str) -> list[str]:
    """Return the signs of obfuscation if they are enough to doubt a script that could not be followed; else none."""
    found = list(signs_of(text))
    return found if len(found) >= MIN_SIGNS and _EXECUTES.search(text) else []
