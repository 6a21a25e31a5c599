"""Text that a style block hides is hidden text; what depends on the screen or is shown again is not."""

from __future__ import annotations

import pytest

from svc.assistant.skills.mail.html import read_page
from svc.assistant.skills.mail.style_sheet import StyleSheet
from tests.support.growth import times_as_long


def hidden(style: str, element: str) -> bool:
    page = read_page(f"<html><head><style>{style}</style></head><body><p>Seen</p>{element}</body></html>")
    assert "Seen" in page.text
    assert ("padding" in page.hidden) != ("padding" in page.text)
    return "padding" in page.hidden


@pytest.mark.parametrize(
    ("style", "element"),
    [
        pytest.param(".x{display:none}", '<div class="x">padding</div>', id="class"),
        pytest.param("#k { visibility : hidden }", '<p id="k">padding</p>', id="id"),
        pytest.param("span{font-size:0}", "<span>padding</span>", id="tag"),
        pytest.param(
            "td .q, .r {color:#ffffff}", '<table><tr><td><b class="q">padding</b></td></tr></table>', id="white"
        ),
        pytest.param("div.a.b{opacity:0}", '<div class="b z a">padding</div>', id="two classes"),
        pytest.param("@media screen{.x{display:none}}", '<i class="x">padding</i>', id="every screen"),
        pytest.param("/* .x{} */ <!-- .x{display:none} -->", '<i class="X">padding</i>', id="comments"),
        pytest.param(".x{display:none!important}", '<i class="x" style="display:block">padding</i>', id="important"),
        pytest.param("@import url(a.css);.x{display:none}", '<i class="x">padding</i>', id="after an import"),
        pytest.param(
            ".o{color:red}.x{max-height:0;overflow:hidden}", '<p class="x"><b>padding</b></p>', id="inherited"
        ),
    ],
)
def test_text_hidden_by_a_style_block_is_hidden(style: str, element: str) -> None:
    assert hidden(style, element)


@pytest.mark.parametrize(
    ("style", "element"),
    [
        pytest.param(".x{display:none}", '<div class="y">padding</div>', id="another class"),
        pytest.param("@media (max-width:600px){.x{display:none}}", '<div class="x">padding</div>', id="small screens"),
        pytest.param("@media print{.x{display:none}}", '<div class="x">padding</div>', id="print"),
        pytest.param(".x{display:none}.x{display:block}", '<div class="x">padding</div>', id="shown again"),
        pytest.param(".x{display:none}", '<div class="x" style="display:block">padding</div>', id="own style"),
        pytest.param("a:hover{display:none}", "<a>padding</a>", id="pointer"),
        pytest.param(".x.y{display:none}", '<div class="x">padding</div>', id="one of two classes"),
        pytest.param(".x{display:none", '<div class="x">padding</div>', id="not closed"),
        pytest.param(".m .x{display:none}", '<div class="x">padding</div>', id="below a class"),
    ],
)
def test_other_text_is_seen(style: str, element: str) -> None:
    assert not hidden(style, element)


@pytest.mark.parametrize("piece", ["{", "}", "/*", ".a{b:c}", "@media{", "a,", "a{b:c;"])
def test_a_hostile_block_is_read_in_linear_time(piece: str) -> None:
    def read(size: int) -> None:
        sheet = StyleSheet()
        sheet.add(piece * (size // len(piece)))
        sheet.style_of("a", {"class": "a"})

    assert times_as_long([lambda: read(24_000), lambda: read(96_000)], most=8) < 8
