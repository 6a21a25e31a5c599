"""Cutting a text into sentences."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from svc.assistant.skills.attack_mapping.sentences import MAX_SENTENCE_CHARS, sentences_of

WRAPPED = "They sent a mail with an archive to the finance department. After the\nuser opened it, a script ran."


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        pytest.param("One thing. Another.", [(1, "One thing."), (1, "Another.")], id="full stops"),
        pytest.param("cmd.exe ran v1.2 of it", [(1, "cmd.exe ran v1.2 of it")], id="dots within words"),
        pytest.param("dumped LSASS\nmoved on", [(1, "dumped LSASS"), (2, "moved on")], id="short lines are notes"),
        pytest.param(
            "Notes:\n- one\n* two\n3. three", [(1, "Notes:"), (2, "one"), (3, "two"), (4, "3. three")], id="list"
        ),
        pytest.param("a b\n\n\nc d", [(1, "a b"), (4, "c d")], id="empty lines"),
        pytest.param(
            WRAPPED,
            [(1, WRAPPED[:59]), (1, "After the user opened it, a script ran.")],
            id="a wrapped line goes on",
        ),
        pytest.param(": they ran it", [(1, "they ran it")], id="what a question left over"),
        pytest.param("", [], id="nothing"),
        pytest.param("\n - \n", [], id="a bullet of nothing"),
        pytest.param("It ended.\r\nIt began.", [(1, "It ended."), (2, "It began.")], id="lines of Windows"),
    ],
)
def test_sentences_come_with_their_line(text: str, sentences: list[tuple[int, str]]) -> None:
    found = [(line, sentence) for line, sentence in sentences_of(text)]
    assert found == sentences


def test_questions_are_left_out_and_line_numbers_stay_correct() -> None:
    text = "Map this:\n\nThey dumped LSASS."
    assert list(sentences_of(text, without="Map this:")) == [(3, "They dumped LSASS.")]


def test_a_question_without_other_text_is_kept() -> None:
    assert list(sentences_of("who dumped LSASS", without="who dumped LSASS")) == [(1, "who dumped LSASS")]


def test_a_sentence_without_end_is_cut() -> None:
    ((_, sentence),) = sentences_of("word " * 100_000)
    assert len(sentence) <= MAX_SENTENCE_CHARS


@settings(max_examples=50, deadline=None)
@given(st.text(max_size=300))
def test_any_text_is_cut_into_lines_that_exist(text: str) -> None:
    lines = text.count("\n") + 1
    assert all(1 <= line <= lines and sentence for line, sentence in sentences_of(text))
