"""Which words are indicators, and how they are written."""

from __future__ import annotations

import json

import pytest

from svc.untrusted.defang import defang_word
from tests.support import WIRE

CASES = json.loads((WIRE / "defang_cases.json").read_text(encoding="utf-8"))  # the page's, too


@pytest.mark.parametrize(("word", "written"), CASES["written"])
def test_an_indicator_is_written_harmless(word: str, written: str):
    assert defang_word(word) == written
    assert defang_word(written) == written


@pytest.mark.parametrize("word", CASES["same"])
def test_other_words_stay_as_they_are(word: str):
    assert defang_word(word) in (None, word)


@pytest.mark.parametrize("word", ["javascript:alert(1)", "setup.py"])
def test_what_runs_or_may_be_a_domain_is_code_as_it_is(word: str):
    assert defang_word(word) == word


@pytest.mark.parametrize("word", ["auth.log", "e.g", "3.1", "999.1.1.1", "1.2.3.4.5", "12:30:45", "svc.messages", "a"])
def test_other_words_are_none(word: str):
    assert defang_word(word) is None
