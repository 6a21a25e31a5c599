"""What a text must contain for a pattern to match never rules out a match."""

from __future__ import annotations

import re
import unicodedata

import pytest

from svc.assistant.skills.mail import wording
from svc.assistant.skills.mail.brands import folded
from svc.assistant.skills.mail.literals import required_literals

MATCHES = [
    (r"(?:send|pay) (?:\S{1,40} ){0,8}(?:bitcoin|btc)\b", ["send me some btc", "pay in bitcoin"]),
    (r"ab?c|de+f", ["ac", "abc", "deef"]),
    (r"(?:x(?:yz)?|) now", [" now", "x now", "xyz now"]),
    (r"(?:foo){2,3}bar", ["foofoobar"]),
    (r"(?:foo){0,3}bar", ["bar"]),
    (r"(?>foo|fo)x", ["foox", "fox"]),
    (r"USD ?\d", ["usd 5"]),
    (r"(?=ab)a.", ["ab"]),
    (r"[ab]c(?:d|e)", ["acd", "bce"]),
]


def may_match(pattern: str, text: str) -> bool:
    return all(any(literal in text for literal in one) for one in required_literals(pattern))


@pytest.mark.parametrize(("pattern", "texts"), MATCHES)
def test_every_match_has_the_literals(pattern: str, texts: list[str]):
    for text in texts:
        assert re.search(pattern, text, re.IGNORECASE)
        assert may_match(pattern, text)


def test_a_text_without_one_of_the_parts_has_not():
    pattern = r"(?:send|pay) (?:\S{1,40} ){0,8}(?:bitcoin|btc)"
    assert not may_match(pattern, "please send the minutes")
    assert not may_match(pattern, "the bitcoin report")


def test_the_index_gives_every_pattern_that_matches_a_text_of_literals():
    """Each pattern of the table with each literal of its parts in a text: what matches is among the possible ones."""
    literals = sorted({literal for literals in wording._literal_index()._by_gram.values() for literal in literals})
    text = " ".join(literals)
    for start in range(0, len(text), 4_000):
        part = text[start : start + 4_200]
        matching = {number for number, (_, _, pattern) in enumerate(wording._patterns()) if pattern.search(part)}
        assert matching
        assert matching <= set(wording._literal_index().possible(part))


@pytest.mark.parametrize(
    "text", ["Caf\u00e9 Z\u00fcrich", "soft\u00adhyphen", "\u0430pple", "plain TEXT", "\u200bzero", "\u1e9e"]
)
def test_folding_is_the_same_for_text_with_and_without_other_letters(text: str):
    slow = unicodedata.normalize("NFKD", text)
    slow = "".join(char for char in slow if unicodedata.category(char) not in ("Mn", "Cf")).casefold()
    assert folded(f"ASCII {text}").removeprefix("ascii ") in (slow, slow.replace("\u0430", "a"))
