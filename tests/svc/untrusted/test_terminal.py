"""What a terminal would obey never reaches it."""

from __future__ import annotations

import pytest

from svc.untrusted.terminal import one_line, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("plain ä 日本 😀\n\ttab", "plain ä 日本 😀\n\ttab", id="text"),
        pytest.param("\x1b[31mred", "�[31mred", id="escape"),
        pytest.param("a\rb\x08\x07\x9b0m\x7f", "a�b���0m�", id="control"),
        pytest.param("gpj.\u202eexe\u2066", "gpj.�exe�", id="direction"),
        pytest.param("a\u200bb\ufeff\U000e0041", "a�b��", id="invisible"),
        pytest.param("a\u2028b\u2029\ud800", "a�b��", id="separators-and-half-pairs"),
    ],
)
def test_only_visible_characters_are_left(text: str, shown: str):
    assert visible(text) == shown


@pytest.mark.parametrize(
    ("text", "line"),
    [
        pytest.param("a\n  b\tc", "a b c", id="spaces"),
        pytest.param("abcdefgh", "abcdefgh", id="fits"),
        pytest.param("abcdefghi", "abcdefg…", id="one-too-many"),
        pytest.param("ab" + " " * 100 + "c", "ab…", id="cut-in-spaces"),
        pytest.param("\x1b]0;owned\x07", "�]0;own…", id="escape"),
        pytest.param("", "", id="empty"),
    ],
)
def test_a_line_is_one_line_and_says_where_it_was_cut(text: str, line: str):
    assert one_line(text, 8) == line
