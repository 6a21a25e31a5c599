"""Finding phrases of a lexicon in a sentence."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from svc.assistant.skills.attack.phrases import MAX_SENTENCE_WORDS, WINDOW_WORDS, Phrase, PhraseIndex, words_of

GROUPS = {"steal": ["dump*", "steal*"], "place": ["run_key*"]}


def index(*texts: str) -> PhraseIndex:
    return PhraseIndex([Phrase(technique=text, text=text, factor=1.0) for text in texts], GROUPS)


def found(phrases: PhraseIndex, sentence: str) -> set[str]:
    return {match.technique for match in phrases.matches([word for word, _, _ in words_of(sentence)])}


@pytest.mark.parametrize(
    ("phrase", "sentence", "is_found"),
    [
        pytest.param("lsass", "It read LSASS.", True, id="a word in any case"),
        pytest.param("lsass", "lsassy", False, id="no longer word"),
        pytest.param("dump*", "dumping", True, id="a beginning"),
        pytest.param("dump* lsass", "the LSASS process was dumped", True, id="any order"),
        pytest.param("dump* lsass", "dumped " + "x " * (WINDOW_WORDS + 1) + "lsass", False, id="too far"),
        pytest.param("run_key*", "a run keys value", True, id="neighbours"),
        pytest.param("run_key*", "the key was run", False, id="neighbours in this order"),
        pytest.param("@steal hash*", "stealing hashes", True, id="a group"),
        pytest.param("@place add*", "adds a Run key", True, id="a group of neighbours"),
        pytest.param("mail|post send*", "sent by post, to send", True, id="either"),
        pytest.param("user user*", "the user", False, id="one word fills one place"),
        pytest.param("c2 send*", "sends it to the C&C server", True, id="command and control by its short name"),
        pytest.param("c2 send*", "sends it to the command-and-control server", True, id="and by its long one"),
    ],
)
def test_a_phrase_matches_a_sentence_or_does_not(phrase: str, sentence: str, is_found: bool) -> None:
    assert (phrase in found(index(phrase), sentence)) == is_found


def test_words_of_few_techniques_weigh_more() -> None:
    phrases = index("rare", "common one", "common two", "common three")
    weights = {match.technique: match.weight for match in phrases.matches(["rare", "common", "one"])}
    alone = weights["common one"] - weights["rare"]
    assert 0 < alone < weights["rare"]


def test_close_words_weigh_more_than_distant_ones() -> None:
    phrases = index("dump* lsass")
    near, far = (phrases.matches(sentence.split())[0].weight for sentence in ("dump lsass", "dump of the lsass"))
    assert near > far


def test_an_unknown_group_is_an_error() -> None:
    with pytest.raises(ValueError, match="@nothing"):
        index("@nothing lsass")


def test_positions_are_those_of_the_text_even_if_lower_case_is_longer() -> None:
    text = "\u0130 dumped LSASS"
    assert [text[start:end] for _, start, end in words_of(text)][-2:] == ["dumped", "LSASS"]


def test_a_sentence_of_very_many_words_is_cut() -> None:
    assert len(words_of("word " * 10_000)) == MAX_SENTENCE_WORDS


@settings(max_examples=50, deadline=None)
@given(st.text(max_size=200))
def test_words_of_any_text_have_correct_positions(text: str) -> None:
    assert all(0 <= start < end <= len(text) for _, start, end in words_of(text))
