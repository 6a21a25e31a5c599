"""Patterns for folded text find what the patterns for any text find."""

from __future__ import annotations

import re
from random import Random

import pytest

from svc.assistant.knowledge.word_patterns import FoldedPattern, is_plain, word_pattern
from svc.assistant.skills.mail import wording
from svc.assistant.skills.mail.wording import searchable
from tests.support.mail_variety.build import HALVES, hard_ham, lures

PATTERNS = [
    r"cialis",
    r"(?:your )?account",
    r"\$ ?\d+",
    r"\bcode\b",
    r"a(?:b|bc)c?",
    r"[a-z]{2}\d",
    r"(?:x )?y|(?<=q)z",
]


def spans(found: re.Pattern[str] | FoldedPattern, text: str) -> list[tuple[int, int]]:
    return [match.span() for match in found.finditer(text)]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_the_same_matches_in_texts_of_chance(pattern: str):
    random = Random(pattern)
    folded, general = FoldedPattern(pattern), word_pattern(pattern)
    pieces = ["cialis", "spe", " ", "account", "your ", "$", "5", "code", "abc", "ab", "x ", "y", "qz", "\u2013", "z9"]
    texts = ["".join(random.choices(pieces, k=12)) for _ in range(300)]
    assert any(spans(general, text) for text in texts)
    for text in texts:
        assert is_plain(text)
        assert spans(folded, text) == spans(general, text), text


@pytest.mark.parametrize("half", HALVES)
def test_the_same_matches_in_mails(half: str):
    patterns = [(word_pattern(text), FoldedPattern(text)) for _, _, text in wording._texts()[::3]]
    mails = [*hard_ham(half), *lures(half, is_marked=False)][::9]
    for _, raw in mails:
        text = searchable(raw.decode("utf-8", "replace"))[:3_000]
        if not is_plain(text):
            continue
        for general, folded in patterns:
            assert spans(folded, text) == spans(general, text)


def test_the_patterns_of_words_are_in_lower_case_and_never_empty():
    for _, _, pattern in wording._texts():
        plain = re.sub(r"\\.", "", pattern)
        assert plain == plain.lower()
        assert re.fullmatch(pattern, "") is None


@pytest.mark.parametrize(("text", "expected"), [("caf\u0131", False), ("\u4f60", False), ("10 \u20ac \u2013 a", True)])
def test_letters_of_other_scripts_are_left_to_the_general_pattern(text: str, expected: bool):
    assert is_plain(text) is expected
