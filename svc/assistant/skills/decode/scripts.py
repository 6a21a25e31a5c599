"""Judge text in other scripts than Latin: how consistent it is, and how common its characters are.

Wrong keys and shifts give valid UTF-8, too: another order of a script's letters, or characters of many scripts. What
people write uses one script, mostly its commonest characters.

Facts: which ideographs and syllables are common follows from the first levels of GB 2312, Big5, JIS X 0208 and
KS X 1001, which Python's codecs know; the commonest letters of alphabets are our own selection.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import cache

OTHER_SCRIPT_SHARE = 0.3  # of a text that is judged by its script
ONE_SCRIPT_SHARE = 0.9  # of the letters, in a text that someone wrote
COMMON_SHARE = 0.9  # of ideographs and syllables that are common ones
MOST_REPEATED = 0.25  # of the letters are the same one
COMMON_LETTERS_SHARE = 0.45  # of the letters of an alphabet; text has 0.6, another order of the alphabet 0.3
SPACED_FROM = 12  # letters, from which a text of words has a space

WRITTEN, CONSISTENT, MIXED = 0.8, 0.62, 0.4
BACKWARDS_LOSS = 0.25
MOST_SYMBOLS = 0.08  # of the characters are stars, arrows and unassigned ones: a wrong key gives these between letters
_SYMBOLS = frozenset({"So", "Sk", "Co", "Cn", "Cc"})

_COMMONEST = {
    "CYRILLIC": frozenset("оеаинтсрвлі"),
    "GREEK": frozenset("αοιετσςνηυρ"),
    "HEBREW": frozenset("יוהלארתבשמ"),
    "ARABIC": frozenset("اليمنرتوبةه"),
}
"""The ten or eleven commonest letters of an alphabet; of Greek without accents."""
_UNSPACED = {"CJK", "THAI", "LAO", "KHMER", "MYANMAR"}
_EAST_ASIAN = {"CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "IDEOGRAPHIC", "HALFWIDTH"}
_LEVELS = (("gb2312", 0xB0, 0xD7), ("big5", 0xA4, 0xC6), ("shift_jis", 0x88, 0x98))
"""Codecs, and the lead bytes of their common ideographs."""
_SPACE = re.compile(r"[\s_/\\.-]")
_STARTS_WITH_END = re.compile("\\s*[.!?,;:。\uff01\uff1f、\uff0c؟।]\\s*\\w")
_ENDS_IN_CAPITAL = re.compile(r"[^\W\d_]{2,}")


def script_plausibility(text: str) -> float | None:
    """How meaningful a text in another script is, from 0 to 1; None if the text is mostly Latin."""
    if text.isascii():
        return None
    letters = [char for char in text if not char.isascii() and char.isalpha()]
    if len(letters) <= OTHER_SCRIPT_SHARE * len(text):
        return None
    (script, count), *_ = Counter(map(_script, letters)).most_common(1)
    if script == "LATIN":
        return None
    repeated = max(Counter(letters).values())
    symbols = sum(unicodedata.category(char) in _SYMBOLS for char in text if not char.isascii())
    if symbols > MOST_SYMBOLS * len(text) + 1:
        return MIXED
    if count < ONE_SCRIPT_SHARE * len(letters) or repeated > MOST_REPEATED * len(letters) + 2:
        return MIXED
    if script not in _UNSPACED and len(letters) >= SPACED_FROM and not _SPACE.search(text):
        return MIXED
    return _by_letters(script, letters) - BACKWARDS_LOSS * _reads_backwards(text)


def _by_letters(script: str, letters: list[str]) -> float:
    if script in _COMMONEST:
        common = sum(unicodedata.normalize("NFD", char.lower())[0] in _COMMONEST[script] for char in letters)
        return WRITTEN if common >= COMMON_LETTERS_SHARE * len(letters) else MIXED
    if script in ("CJK", "HANGUL"):
        judged = [char for char in letters if _is_east_asian_block(char)]
        common = sum(map(_is_common, judged))
        return WRITTEN if common >= COMMON_SHARE * len(judged) else MIXED
    return CONSISTENT


@cache
def _script(char: str) -> str:
    first = unicodedata.name(char, "").partition(" ")[0]
    return "CJK" if first in _EAST_ASIAN else first


def _is_east_asian_block(char: str) -> bool:
    return "\u3400" <= char <= "\u9fff" or "\uac00" <= char <= "\ud7a3"


@cache
def _is_common(char: str) -> bool:
    if char >= "\uac00":
        return len(char.encode("euc_kr", "ignore")) == 2  # others are composed of three letters
    leads = ((char.encode(codec, "ignore")[:1], low, high) for codec, low, high in _LEVELS)
    return any(lead and low <= lead[0] <= high for lead, low, high in leads)


def _reads_backwards(text: str) -> bool:
    """Whether a text starts with the mark that ends a sentence, or its words end in a capital letter."""
    words = _ENDS_IN_CAPITAL.findall(text)
    wrong = sum(word[-1].isupper() and word[0].islower() for word in words)
    right = sum(word[0].isupper() and word[-1].islower() for word in words)
    return wrong > right or _STARTS_WITH_END.match(text) is not None
