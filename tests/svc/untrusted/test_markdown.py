"""An answer's Markdown is safe in every renderer at hand, says what it said, and is made safe once and for all."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from html.parser import HTMLParser

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath

from svc.untrusted.markdown import MAX_NESTING, plain_text, safe_markdown
from tests.support import WIRE

CASES = json.loads((WIRE / "markdown_cases.json").read_text(encoding="utf-8"))["cases"]
IDS = [case["name"] for case in CASES]

ELEMENTS = {
    *("p", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "blockquote", "table", "thead", "tbody", "tr", "th"),
    *("td", "hr", "em", "strong", "code", "pre", "br", "div", "span"),
}
ATTRIBUTES = {"class", "style", "start", "id"}
LINKED = re.compile(r"(?i)\b(?:https?|ftp)://|\bwww\.|[\w.]+@[\w-]+\.\w")


def render_mistune(markdown: str) -> str:
    """As nbconvert renders it, where nobody sanitizes."""
    renderer = IPythonRenderer(escape=False, attachments={}, embed_images=False, path="", anchor_link_text="")
    renderer.exclude_anchor_links = True
    return MarkdownWithMath(renderer=renderer).render(markdown)


def render_markdown_it(markdown: str) -> str:
    """As VS Code and others render it, with raw HTML on."""
    return MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(markdown)


RENDERERS = [
    pytest.param(render_mistune, id="mistune"),
    pytest.param(render_markdown_it, id="markdown-it"),
]


class Page(HTMLParser):
    """What a reader and a browser find in a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""
        self.prose = ""
        self._in_code = 0
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.add(tag)
        self.attributes.update(name for name, _ in attrs)
        self._in_code += tag in ("code", "pre")

    def handle_endtag(self, tag: str) -> None:
        self._in_code -= tag in ("code", "pre")

    def handle_data(self, data: str) -> None:
        self.text += data
        if not self._in_code:
            self.prose += data


@pytest.mark.parametrize("render", RENDERERS)
@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_nothing_runs_loads_or_leads_away(case: dict[str, str], render: Callable[[str], str]):
    page = Page(render(safe_markdown(case["markdown"])))

    assert page.elements <= ELEMENTS
    assert page.attributes <= ATTRIBUTES
    assert not LINKED.search(page.prose)
    assert "$" not in page.prose
    assert "\\" not in page.prose


@pytest.mark.parametrize("render", RENDERERS)
@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_a_reader_still_reads_what_it_said(case: dict[str, list[str]], render: Callable[[str], str]):
    text = Page(render(safe_markdown(case["markdown"]))).text

    for part in case["shows"]:
        assert part in text


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_the_plain_text_says_the_same(case: dict[str, list[str]]):
    text = plain_text(case["markdown"])

    for part in case["shows"]:
        assert part in text
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202e]", text)


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_what_is_safe_stays_as_it_is(case: dict[str, str]):
    once = safe_markdown(case["markdown"])

    assert safe_markdown(once) == once


PIECES = [
    *(
        "a",
        " ",
        "\n",
        "\n\n",
        "*",
        "**",
        "_",
        "`",
        "```",
        "\n```x\n",
        "~~~\n",
        "[",
        "](http://e.com)",
        "![",
        "<",
        "<b>",
    ),
    *("<img src=x onerror=y>", "<!--", "-->", "&lt;", "&#10;", "&nbsp;", "$", "$$", "\\", "\\(", "\\begin{x}", "|"),
    *(
        "\n|-|-|\n",
        "- ",
        "\n- ",
        "\n  - ",
        "\n1) ",
        "\n> ",
        "\n## ",
        " #",
        "\n===\n",
        "\n---\n",
        "    ",
        "\t",
        "http://",
    ),
    *(
        "evil.com",
        "a@b.com",
        "<http://x.com>",
        "1.2.3.4",
        "[x]: http://e.com\n",
        "\u202e",
        "\x1b[31m",
        "\x00",
        "~",
        "+ ",
    ),
    *(":", "=", "\\\n", "  \n", "é", "日本", "<div>\n", "<script>", "\r", "}", "@@0@@"),
]
HOSTILE = st.lists(st.sampled_from(PIECES), max_size=30).map("".join) | st.text(max_size=60)


def check_any_text(markdown: str) -> None:
    once = safe_markdown(markdown)
    assert safe_markdown(once) == once
    for render in (render_mistune, render_markdown_it):
        page = Page(render(once))
        assert page.elements <= ELEMENTS
        assert page.attributes <= ATTRIBUTES
    plain_text(markdown)


@settings(max_examples=400, deadline=None)
@given(HOSTILE)
@example("a\n```x\n](http://e.com)\n  \n")
def test_any_text_is_made_safe(markdown: str):
    check_any_text(markdown)


@pytest.mark.long
@pytest.mark.timeout(900)
@settings(max_examples=40_000, deadline=None)
@given(HOSTILE)
def test_any_text_is_made_safe_many_times(markdown: str):
    check_any_text(markdown)


def test_a_table_keeps_its_columns_and_their_sides():
    table = "| Source | Failures |\n| :-- | --: |\n| `203.0.113.9` | 3,117 |"

    assert safe_markdown(table) == table


def test_a_table_as_text_stands_in_columns():
    table = "| Source | Failures |\n|---|---|\n| `203.0.113.9` | 3,117 |"

    assert plain_text(table) == "Source       Failures\n-----------  --------\n203.0.113.9  3,117"


def test_only_plain_languages_of_code_blocks_stay():
    assert safe_markdown("```powershell\nx\n```") == "```powershell\nx\n```"
    assert safe_markdown("```mermaid\nx\n```") == "```\nx\n```"


def test_an_answer_that_nests_too_deep_is_shown_as_code():
    deep = ">" * (MAX_NESTING + 5) + " <b>x</b>"

    assert safe_markdown(deep) == f"`{deep}`"
    without_markup = deep.replace("<b>x</b>", "x")
    assert safe_markdown(without_markup) == f"```\n{without_markup}\n```"


@pytest.mark.parametrize(
    "markdown",
    [
        pytest.param("[" * 20_000, id="brackets"),
        pytest.param("![" * 10_000, id="images"),
        pytest.param("*a **b " * 5_000, id="marks"),
        pytest.param("`" * 20_000, id="backticks"),
        pytest.param("- " * 20_000, id="lists"),
        pytest.param("<!--" * 10_000, id="comments"),
        pytest.param("a." * 20_000, id="dots"),
        pytest.param("a@" * 20_000, id="mails"),
        pytest.param("http://" * 5_000, id="addresses"),
    ],
)
@pytest.mark.timeout(30)
def test_no_text_takes_long(markdown: str):
    safe = safe_markdown(markdown)

    assert isinstance(safe, str)
