"""Text from outside cannot move a cursor, change direction, or hide."""

from __future__ import annotations

import json
import unicodedata

import pytest

from svc.untrusted.characters import on_one_line, one_line, printable
from tests.support import WIRE

CASES = json.loads((WIRE / "character_cases.json").read_text(encoding="utf-8"))  # TypeScript reads them, too
VISIBLE_FORMATS = [*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD, *range(0x13430, 0x13440)]
"""Format characters that are drawn: Unicode 16, Prepended_Concatenation_Mark and the Egyptian format controls."""


@pytest.mark.parametrize(("text", "shown"), CASES["shown"])
def test_what_cannot_be_seen_is_shown(text: str, shown: str):
    assert printable(text) == shown
    assert printable(shown) == shown


@pytest.mark.parametrize(("first", "last"), CASES["hidden"])
def test_every_hidden_code_point_is_marked_and_its_neighbours_are_not(first: int, last: int):
    assert all(printable(f"a{chr(code)}b") == f"a⟦U+{code:04X}⟧b" for code in range(first, last + 1))
    hidden = {code for start, end in CASES["hidden"] for code in range(start, end + 1)}
    for code in {first - 1, last + 1} - hidden - set(range(0xD800, 0xE000)):
        if code <= 0x10FFFF:
            assert printable(f"a{chr(code)}b") == f"a{chr(code)}b"


def test_only_newline_tab_and_drawn_formats_are_left_of_what_a_terminal_may_obey():
    obeyed = (code for code in range(0x110000) if unicodedata.category(chr(code)) in ("Cc", "Cf", "Cs", "Zl", "Zp"))
    left = [code for code in obeyed if chr(code) in printable(f"a{chr(code)}b")]
    assert left == [9, 10, *(code for code in VISIBLE_FORMATS if unicodedata.category(chr(code)) == "Cf")]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("\x1b[31mred\x1b[0m", "red", id="colour"),
        pytest.param("\x1b]0;owned\x07title", "title", id="terminal title"),
        pytest.param("\x1b]8;;http://evil.example\x1b\\link\x1b]8;;\x1b\\", "link", id="terminal link"),
        pytest.param("a\n  b\r\nc", "a b c", id="lines"),
        pytest.param("x" * 400, "x" * 299 + "…", id="cut"),
        pytest.param("x " + " " * 6_000 + "y", "x…", id="cut in spaces"),
        pytest.param("", "", id="empty"),
    ],
)
def test_a_step_is_one_line_without_escapes(text: str, shown: str):
    assert one_line(text) == shown


@pytest.mark.parametrize(("text", "line"), [("abcdefgh", "abcdefgh"), ("abcdefghi", "abcdefg…")], ids=["fits", "cut"])
def test_a_line_has_at_most_its_limit(text: str, line: str):
    assert one_line(text, 8) == line


def test_a_whole_text_on_one_line_shows_its_line_breaks():
    assert on_one_line("a\tb\r\nc\nd\re") == "a b␊c␊d␍e"
