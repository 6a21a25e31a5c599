"""What evidence says stays text, whatever it is."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from svc.untrusted.defang import defang_text
from svc.untrusted.markup import code_block, code_span, escape, table

MARKDOWN = MarkdownIt("gfm-like", {"linkify": False}).enable("table")
HOSTILE = st.text(alphabet="`|\\<>[]()!*_~#&;:/.-=+ \nab1$@", max_size=30) | st.text(max_size=20)
ATTACKS = [
    "`", "``", "a``b", "|", "\\|", "\\\\|", "`|`", "![x](http://evil.example/a.png)", "<img src=x onerror=alert(1)>",
    "a\n\n# b", "# a", "- a", "1. a", "===", "> a", "[a](javascript:alert(1))", "&lt;script&gt;", "<!-- ", "**a**",
    "</code>", "~~~\n", "```\n",
]  # fmt: skip


def kinds(markdown):
    """The types of everything that a renderer makes of it."""
    tokens = MARKDOWN.parse(markdown)
    return {token.type for token in tokens} | {child.type for token in tokens for child in token.children or []}


@pytest.mark.parametrize("text", ATTACKS)
def test_a_code_span_holds_the_text_alone(text):
    assert kinds("a " + code_span(text) + " b") <= {
        "paragraph_open",
        "paragraph_close",
        "inline",
        "text",
        "code_inline",
    }


@given(HOSTILE)
def test_a_code_span_in_a_cell_stays_in_its_cell(text):
    tokens = MARKDOWN.parse(table(("A", "B"), [(code_span(text), "last")]))
    cells = [token.content for token in tokens if token.type == "inline"]
    assert len(cells) == 4
    assert cells[-1] == "last"
    assert kinds(table(("A",), [(code_span(text),)])).isdisjoint({"link_open", "image", "html_inline", "html_block"})


@given(HOSTILE)
def test_a_block_ends_at_its_own_fence(text):
    tokens = MARKDOWN.parse(code_block(text) + "\n\nafter\n")
    assert [token.type for token in tokens] == ["fence", "paragraph_open", "inline", "paragraph_close"]


@given(HOSTILE)
def test_escaped_text_is_text(text):
    allowed = {"paragraph_open", "paragraph_close", "inline", "text", "text_special", "softbreak"}
    assert kinds(escape(text)) <= allowed


@pytest.mark.parametrize("text", ATTACKS)
def test_escaped_attacks_are_text(text):
    assert kinds(escape(text)) <= {"paragraph_open", "paragraph_close", "inline", "text", "text_special"}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\u202eb", "`a⟦U+202E⟧b`"),
        ("a\x1b[31m", "`a␛[31m`"),
        ("a\nb", "`a␊b`"),
        ("", "(empty)"),
        ("x" * 200, f"`{'x' * 160}… (+40 characters)`"),
    ],
    ids=["bidirectional", "terminal colour", "new line", "empty", "long"],
)
def test_what_cannot_be_seen_is_written_out(text, shown):
    assert code_span(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("http://evil.example/a.b?c", "hxxp://evil[.]example/a.b?c"),
        ("192.0.2.7", "192[.]0[.]2[.]7"),
        ("2001:db8::1", "2001:db8::1"),
        ("a@b.example", "a[@]b[.]example"),
        ("hxxp://evil[.]example", "hxxp://evil[.]example"),
        ("javascript://x", "javascript[:]//x"),
        ("It ended. Then", "It ended. Then"),
        ("version 4.14 (2.14.1), v17.0", "version 4.14 (2.14.1), v17.0"),
        ("4.14.evil.com", "4[.]14[.]evil[.]com"),
        ("setup.exe on web1.corp.local", "setup.exe on web1[.]corp[.]local"),
    ],
)
def test_defanged_addresses_lead_nowhere(text, shown):
    assert defang_text(text) == shown


def test_a_long_table_says_how_many_rows_are_left_out():
    made = table(("N",), [(str(n),) for n in range(1_000)], limit=10)
    assert made.endswith("… and 990 more (all 1,000 are in the findings).")
    assert len(re.findall(r"^\| \d", made, re.MULTILINE)) == 10
