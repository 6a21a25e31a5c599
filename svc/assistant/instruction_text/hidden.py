"""Decode text that is written with characters that are not seen: tags, variation selectors, zero widths, overrides.

Facts: Unicode 16 (tag characters U+E0020-U+E007E repeat ASCII; a flag emoji may precede them), UAX 9 (U+202D and U+202E
override the direction). Pure.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence

import msgspec

from svc.untrusted.characters import without_hidden

MIN_BINARY_CHARS = 16  # zero widths in a run: two letters of 8 bits
_TAGS = re.compile("(?<![\U0001f3f4\U000e0020-\U000e007e])[\U000e0020-\U000e007e]{3,}")
_SELECTORS = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]{4,}")
_ZERO_WIDTHS = "\u200b\u200c\u200d\u2060\u2061\u2062\u2063\u2064\ufeff\u180e\u00ad"
_ZERO_WIDTH_RUN = re.compile(f"[{_ZERO_WIDTHS}]{{{MIN_BINARY_CHARS},}}")
_FEW_TAGS = re.compile("(?<![\U000e0020-\U000e007e])[\U000e0020-\U000e007e]{1,2}(?![\U000e0020-\U000e007e])")
_OVERRIDDEN = re.compile("[\u202d\u202e]([^\u202c\n]{4,2000})")
_READABLE = re.compile(r"[\w\s.,:;!?'\"()/<>|{}\[\]=@#*+-]+")

BYTES = tuple(
    bytes.fromhex(prefix)
    for prefix in [
        "cd8f",
        "d89c",
        "e1859f",
        "e185a0",
        "e1a08e",
        "e281a1",
        "e281a2",
        "e281a3",
        "e281a4",
        "e281a5",
        "e281a6",
        "e281a7",
        "e281a8",
        "e281a9",
        "e281aa",
        "e281ab",
        "e281ac",
        "e281ad",
        "e281ae",
        "e281af",
        "e2808e",
        "e2808f",
        "e280aa",
        "e280ab",
        "e280ac",
        "e385a4",
        "efbea0",
        "f3a0",
        "efb880",
        "efb881",
        "e2808b",
        "e2808c",
        "e281a0",
        "e280ae",
        "e280ad",
        "f09d90",
        "f09d91",
        "f09d92",
        "f09d93",
        "f09d94",
        "f09d95",
        "f09d96",
        "f09d97",
        "f09d98",
        "f09d99",
        "f09d9a",
        "efbd",
    ]
)
"""UTF-8 of the characters above, as far as it is rare in text: what to look for before text is decoded."""


class HiddenText(msgspec.Struct, frozen=True):
    """What is hidden between ``start`` and ``end`` of a text; ``is_sure`` if nobody writes that by accident."""

    start: int
    end: int
    text: str
    is_sure: bool


def hidden_texts(text: str) -> Iterator[HiddenText]:
    """Yield the readable texts that are hidden in ``text``."""
    for match in _TAGS.finditer(text):
        yield HiddenText(match.start(), match.end(), _tag_letters(match), is_sure=True)
    for match in _SELECTORS.finditer(text):
        if decoded := _as_text(bytes(map(_selected_byte, match[0]))):
            yield HiddenText(match.start(), match.end(), decoded, is_sure=True)
    for match in _ZERO_WIDTH_RUN.finditer(text):
        if decoded := _binary(match[0]):
            yield HiddenText(match.start(), match.end(), decoded, is_sure=True)
    for match in _OVERRIDDEN.finditer(text):
        yield HiddenText(match.start(), match.end(), match[1][::-1], is_sure=False)


def visible(text: str) -> str:
    """The text without hidden characters, and with letters of another style as plain ones."""
    return unicodedata.normalize("NFKC", without_hidden(text))


def with_tags_read(text: str) -> str:
    """``visible`` with one or two tag characters as the letters that they repeat; more are a text of their own."""
    return visible(_FEW_TAGS.sub(_tag_letters, text))


def _tag_letters(match: re.Match[str]) -> str:
    return "".join(chr(ord(character) - 0xE0000) for character in match[0])


def _selected_byte(character: str) -> int:
    code = ord(character)
    return code - 0xFE00 if code < 0xFE10 else code - 0xE0100 + 16


def _binary(run: str) -> str:
    """The text whose bits the two most frequent characters of ``run`` are, or ""."""
    ranked = sorted(set(run), key=run.count, reverse=True)[:2]
    if len(ranked) < 2:
        return ""
    for zero, one in (ranked, ranked[::-1]):
        bits = "".join("0" if character == zero else "1" for character in run if character in (zero, one))
        for width in (8, 7):
            codes = [int(bits[at : at + width], 2) for at in range(0, len(bits) - width + 1, width)]
            if decoded := _as_text(codes):
                return decoded
    return ""


def _as_text(codes: Sequence[int]) -> str:
    """The codes as text if all of it is readable, else ""."""
    try:
        decoded = bytes(codes).decode()
    except ValueError:
        return ""
    return decoded if len(decoded) > 1 and _READABLE.fullmatch(decoded) else ""
