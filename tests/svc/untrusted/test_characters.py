"""Text from outside cannot move a cursor, change direction, or hide."""

from __future__ import annotations

import pytest

from svc.untrusted.characters import one_line, printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("a\tb\nc", "a\tb\nc", id="tab and newline stay"),
        pytest.param("a\r\nb", "a\nb", id="windows line end"),
        pytest.param("over\rwrite", "over␍write", id="carriage return"),
        pytest.param("\x1b[2J", "␛[2J", id="escape"),
        pytest.param("a\x00b\x7f", "a␀b␡", id="zero and delete"),
        pytest.param("\x9b31m", "⟦U+009B⟧31m", id="eight-bit escape"),
        pytest.param("a\u202efdp.exe", "a⟦U+202E⟧fdp.exe", id="direction override"),
        pytest.param("e\u200bvil", "e⟦U+200B⟧vil", id="zero width space"),
        pytest.param("\ud800", "⟦U+D800⟧", id="half a character"),
        pytest.param("👩‍💻 ü 日本", "👩‍💻 ü 日本", id="ordinary text stays"),
    ],
)
def test_what_cannot_be_seen_is_shown(text: str, shown: str):
    assert printable(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("\x1b[31mred\x1b[0m", "red", id="colour"),
        pytest.param("\x1b]0;owned\x07title", "title", id="terminal title"),
        pytest.param("\x1b]8;;http://evil.example\x1b\\link\x1b]8;;\x1b\\", "link", id="terminal link"),
        pytest.param("a\n  b\r\nc", "a b c", id="lines"),
        pytest.param("x" * 400, "x" * 299 + "…", id="cut"),
    ],
)
def test_a_step_is_one_line_without_escapes(text: str, shown: str):
    assert one_line(text) == shown
