"""Links that browsers follow in broken markup are found, and markup made to be slow is read in one pass."""

from __future__ import annotations

import time

import pytest

from svc.assistant.skills.mail.html import read_page

FOLLOWED = {
    "after a comment that ends at once": '<!--><a href="http://x.example">x</a>-->',
    "after a comment that ends with a dash": '<!---><a href="http://x.example">x</a>-->',
    "after a comment that ends with an exclamation mark": '<!-- a --!><a href="http://x.example">x</a>',
    "after a comment that never ends": '<!-- a><a href="http://x.example">x</a>',
    "with a quotation mark that is never closed": '<a href="http://x.example>x</a>',
    "with an apostrophe that is never closed": "<a href='http://x.example>x</a>",
    "in SVG": '<svg><a xlink:href="http://x.example"><text>x</text></a></svg>',
    "with a slash for a space": '<a/href="http://x.example"/>x</a>',
    "with entities": '<a href="http&#58//x.example">x</a>',
    "in a table's wrong place": '<table><a href="http://x.example">x</a><tr><td>',
    "given twice": '<a href="http://x.example" href="http://y.example">x</a>',
}


@pytest.mark.parametrize("markup", FOLLOWED.values(), ids=FOLLOWED)
def test_a_link_is_found(markup: str):
    assert [(link.url, link.text) for link in read_page(markup).links] == [("http://x.example", "x")]


def test_a_link_in_a_comment_is_ignored():
    assert read_page('<!-- <a href="http://x.example">x</a> -- > --><p>a').links == []


@pytest.mark.parametrize(
    "piece", ["<div>", "<a ", "<!--", "<!---->", "<", '<a href="', "<a href='x", "<p a=1 ", "<a href=x>"], ids=repr
)
def test_markup_crafted_to_be_slow_is_read_in_one_pass(piece: str):
    begun = time.process_time()
    read_page(piece * (400_000 // len(piece)))
    assert time.process_time() - begun < 5
