"""Questions on which a planner could take very long, of any length and many shapes. None is made for one pattern."""

from __future__ import annotations

import random
from collections.abc import Callable

_WORDS = [
    "which",
    "accounts",
    "are",
    "affected",
    "by",
    "version",
    "decode",
    "this",
    "extract",
    "the",
    "indicators",
    "triage",
    "mail",
    "as",
    "JSON",
    "only",
    "if",
    "and",
    "or",
    "not",
    "between",
    "from",
    "before",
    "after",
    "through",
    "last",
    "first",
    "top",
    "answer",
    "with",
    "yes",
    "no",
    "table",
    "CSV",
    "explain",
    "script",
    "certificate",
    "token",
    "hash",
    "score",
    "vector",
    "technique",
    "failed",
    "logins",
    "who",
    "got",
    "in",
    "what",
    "happened",
    "is",
    "it",
    "malicious",
    "rules",
    "lines",
    "with",
    "only",
    "the",
]
_VERSIONS = ("1.2.3", "v2.0-rc1", ">=1.0", "<2.0.0", "1.", "0.0.0.0", "1:2.3-4", "[1.0,2.0)")
_INDICATORS = (
    "198.51.100.7", "evil[.]example", "hxxps://a.example/b?c=d", "a@b.example", "CVE-2024-3400", "T1059.001",
    "d41d8cd98f00b204e9800998ecf8427e",
)  # fmt: skip
_UNITS = {
    "a character": "a", "blanks": " ", "lines": "\n", "dots": ".", "digits": "7", "hex": "deadbeef",
    "base64": "aGVsbG8gd29ybGQ=", "commas": ", ", "quotes": '"', "single quotes": "'", "backticks": "`",
    "quoted words": '"a" ', "brackets": "([{", "closed brackets": "()[]{}", "angle brackets": "<a ", "tags": "<a></a>",
    "mail addresses": "a@b.example ", "at signs": "a@", "question marks": "?", "colons": "a: ", "and": "and ",
    "is": "is ", "only": "only ", "as json": "as json ", "versions": "1.0.", "version words": "version 1.0 ",
    "ranges": ">=1.0, <2.0 ", "affected": "affected 1.0 ", "slashes": "/", "backslashes": "\\", "paths": "C:\\a\\b ",
    "percents": "%41", "equals": "a=", "pipes": "a|b ", "stars": "**a**", "headings": "# a\n", "items": "- a\n",
    "options": "A) a\n", "json": '{"a": [', "fences": "```\n", "fenced": "```json\n{}\n```\n", "umlauts": "über ",
    "Cyrillic": "кто ", "Japanese": "誰がログイン", "emoji": "🙂",
    "zero width": "\u200b", "tabs": "\t", "carriage": "\r\n",
    "dashes": "-", "underscores": "_a", "semicolons": "a;", "comments": "// a\n", "indicators": "198.51.100.7 ",
    "CVSS": "CVSS:3.1/AV:N/", "hashes": "d41d8cd98f00b204e9800998ecf8427e ", "last": "the last line ",
    "answer": "Answer: <a>\n", "choose": "choose one of a, b, ", "numbers": "12 ", "no letters": "?!", "capitals": "A",
}  # fmt: skip

Shape = Callable[[int], str]


def _repeated(unit: str) -> Shape:
    return lambda size: (unit * (size // len(unit) + 1))[:size]


def _around(question: str, unit: str) -> Shape:
    """A question, the filler, and words that match nothing before it."""
    return lambda size: question + (unit * (size // len(unit) + 1))[: max(0, size - len(question) - 2)] + " x"


def _mixed(seed: int, *words: str) -> Shape:
    def shape(size: int) -> str:
        chance = random.Random(seed)
        text: list[str] = []
        while sum(map(len, text[-400:])) + 400 * (len(text) // 400) < size * 8 and len(text) < size:
            text.append(chance.choice(words))
        return " ".join(text)[:size]

    return shape


SHAPES: dict[str, Shape] = {
    **{f"only {name}": _repeated(unit) for name, unit in _UNITS.items()},
    **{f"versions, then {name}": _around("Is 1.0 affected by versions ", unit) for name, unit in _UNITS.items()},
    **{f"a form, then {name}": _around("Answer only as JSON with ", unit) for name, unit in _UNITS.items()},
    **{f"words {seed}": _mixed(seed, *_WORDS) for seed in range(6)},
    **{f"words and versions {seed}": _mixed(seed, *_WORDS, *_VERSIONS) for seed in range(6)},
    **{f"words, indicators, signs {seed}": _mixed(seed, *_WORDS, *_INDICATORS, *_UNITS.values()) for seed in range(6)},
    **{f"versions and operators {seed}": _mixed(seed, *_VERSIONS, "and", "or", ",") for seed in range(3)},
}
