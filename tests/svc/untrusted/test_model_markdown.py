"""Nothing that a model writes is fetched, run or followed by the program that shows it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from svc.untrusted.model_markdown import PartKind, harmless, is_harmless, parts

LEAKS = [
    pytest.param("![a](https://evil.example/?q=1)", id="an image"),
    pytest.param("![a](//evil.example/?q=1)", id="an image without a scheme"),
    pytest.param("![a][r]\n\n[r]: https://evil.example/x", id="an image by reference"),
    pytest.param("![r]\n\n[r]: //evil.example/x", id="an image by a short reference"),
    pytest.param("[click](https://evil.example)", id="a link"),
    pytest.param("[click](javascript:alert(1))", id="a script link"),
    pytest.param("<https://evil.example>", id="an autolink"),
    pytest.param('<img src="https://evil.example/x">', id="an image in HTML"),
    pytest.param("<script>fetch('//evil.example')</script>", id="a script"),
    pytest.param("a <b>b</b> c", id="inline HTML"),
    pytest.param("<!-- x -->", id="a comment"),
    pytest.param("> - ![a](https://evil.example)", id="an image in a list in a quote"),
    pytest.param("| a |\n| --- |\n| ![a](https://evil.example) |", id="an image in a table"),
    pytest.param("` ![a](https://evil.example)", id="after a lone backtick"),
    pytest.param("\\` ![a](https://evil.example) `", id="between an escaped backtick and another"),
    pytest.param("`` a ` ![a](https://evil.example) `", id="between runs that do not match"),
    pytest.param("```a`b\n![a](https://evil.example)", id="after a line that is not a fence"),
    pytest.param("    ```\n![a](https://evil.example)\n    ```", id="between fences that are indented code"),
    pytest.param("- ```\n![a](https://evil.example)\n```", id="after a fence that ends with its list"),
    pytest.param("> ```\n![a](https://evil.example)", id="after a fence that ends with its quote"),
    pytest.param("<x>\n```\n</x>\n![a](https://evil.example)\n```", id="where HTML swallows a fence"),
]


@pytest.mark.parametrize("markdown", LEAKS)
def test_no_image_link_or_html_survives(markdown):
    made = harmless(f"Verdict.\n\n{markdown}\n")
    rendered = MarkdownIt("commonmark", {"html": True}).enable("table").render(made)
    assert is_harmless(made)
    assert not any(tag in rendered for tag in ("<img", "<a ", "<script", "<b>", "<!--"))


@pytest.mark.parametrize(
    "markdown",
    [
        pytest.param("**Verdict.** 5 of 7, a_b, [1], see `x`.\n\n- a\n- b\n", id="prose and lists"),
        pytest.param("| a | b |\n| --- | --- |\n| `x` | y |\n", id="a table"),
        pytest.param("```html\n<img src=x> ![a](b)\n```\n", id="a block of code"),
        pytest.param("`<img src=x>` and `![a](b)`\n", id="code spans"),
        pytest.param("`hxxps://evil[.]example/x` 1 < 2 > 0\n", id="defanged"),
    ],
)
def test_what_is_harmless_stays_as_it_is(markdown):
    assert harmless(markdown) == markdown


def test_addresses_outside_code_are_defanged():
    made = harmless("go to https://evil.example/x or www.evil.example or mailto:a@b.example, not `https://c.example`")
    assert "hxxps://evil.example/x" in made
    assert "www[.]evil.example" in made
    assert "mailto[:]a[@]b.example" in made
    assert "`https://c.example`" in made


def test_parts_are_the_whole_text_in_order():
    text = "a `b` c\n```\nd\n```\n`` e ` f `` g\n\n` h\n\ni `"
    found = parts(text)
    assert "".join(part.text for part in found) == text
    assert [part.text for part in found if part.form is PartKind.SPAN] == ["`b`", "`` e ` f ``"]
    assert [part.text for part in found if part.form is PartKind.BLOCK] == ["```\nd\n```\n"]


MARKUP = st.lists(
    st.sampled_from(
        ["`", "``", "```", "~~~", "\n", "\n\n", "![a](", "[a](", ")", "//e.example", "<img src=x>", "<!--", "-->", "> ",
         "- ", "    ", "\\", "[r]: ", "![r]", "|", "*", "a", "<?", "<![CDATA[", "https://e.example", "&lt;", "<"]
    ),
    max_size=25,
).map("".join)  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(MARKUP)
def test_no_mixture_of_markup_leaves_anything_live(markdown):
    assert is_harmless(harmless(markdown))


@pytest.mark.long
@settings(max_examples=20_000, deadline=None)
@given(MARKUP)
def test_no_mixture_of_markup_leaves_anything_live_at_length(markdown):
    assert is_harmless(harmless(markdown))
