"""Folds: the one form that safe Markdown lets through, whatever evidence is around and inside it.

``HELD`` was written before the code and looked at only at its end.
"""

from __future__ import annotations

import re

import pytest

from svc.untrusted.markdown import plain_text, safe_markdown, unfolded
from svc.untrusted.markup import bullets, code_block, code_span, escape, fold, table
from svc.untrusted.model_markdown import harmless
from tests.support.markdown_renderers import PYTHON

OPEN = {
    "an end": "</details>",
    "a whole fold": "<details>\n<summary>x</summary>\n\nhidden\n\n</details>",
    "an image": "<img src=x onerror=alert(1)>",
    "an end in a fence": "```\n</details>\n\n<details>\n<summary>x</summary>\n\n",
    "a title": "</summary><script>alert(1)</script>",
    "in capitals": "</DETAILS>",
}
HELD = {
    "an open one": "<details open>",
    "an end with a space": "\n\n</details >\n\n",
    "entities": "&lt;/details&gt;",
    "a comment": "<!-- </details> -->",
    "a textarea": "</details><textarea>",
    "a line end": "a\r\n\r\n</details>\r\n\r\n<svg onload=alert(1)>",
    "backticks": "`` ` `` </details>\n\n</details>",
}
HOSTILE = [*(pytest.param(text, id=f"open-{name}") for name, text in OPEN.items())] + [
    pytest.param(text, id=f"held-{name}") for name, text in HELD.items()
]
TAG = re.compile(
    r"<(?!/?(?:details|summary|p|h[1-6]|ul|ol|li|blockquote|table|thead|tbody|tr|t[hd]|em|strong|code|pre|hr|br|div|span)\b)"
    r"[a-z!/?]",
    re.IGNORECASE,
)


def constructs(evidence: str) -> dict[str, str]:
    """The evidence in each construct that skills write."""
    return {
        "a code span": code_span(evidence),
        "a cell": table(("A", "B"), [(code_span(evidence), escape(evidence))]),
        "a code block": code_block(evidence),
        "a sentence": escape(evidence),
        "a list": bullets([escape(evidence), code_span(evidence)]),
        "a code block without our care": f"```text\n{evidence}\n```",
    }


@pytest.mark.parametrize("evidence", HOSTILE)
def test_evidence_neither_opens_nor_closes_a_fold(evidence: str):
    for content in constructs(evidence).values():
        if "```text" in content and "```" in evidence:
            continue  # no fence of ours
        raw = f"**Verdict**\n\n{fold('64 accounts', content)}\n\n{fold('2 lines', 'end')}\n"
        safe = safe_markdown(raw)
        assert safe.count("<details>") == safe.count("</details>") == safe.count("<summary>") == 2
        assert re.findall(r"<summary>(.*)</summary>", safe) == ["64 accounts", "2 lines"]
        assert safe_markdown(safe) == safe
        for name, render in PYTHON.items():
            page = render(safe)
            assert not TAG.search(page), (name, page)
            assert page.count("<details>") == page.count("</details>") == 2, name


@pytest.mark.parametrize("evidence", HOSTILE)
def test_evidence_outside_any_construct_makes_nothing_live(evidence: str):
    safe = safe_markdown(f"**Verdict**\n\n{evidence}\n\n{fold('64 accounts', evidence)}\n\nend\n")
    assert safe_markdown(safe) == safe
    assert safe.count("<details>\n<summary>") == len(re.findall(r"(?m)^</details>$", safe))
    for name, render in PYTHON.items():
        assert not TAG.search(render(safe)), name


NOT_FOLDS = {
    "without an end": "<details>\n<summary>x</summary>\n\na",
    "an end alone": "a\n\n</details>",
    "an attribute": "<details open>\n<summary>x</summary>\n\na\n\n</details>",
    "a title with markup": "<details>\n<summary><b>x</b></summary>\n\na\n\n</details>",
    "a title with an address": "<details>\n<summary>evil.example.com</summary>\n\na\n\n</details>",
    "a title with an entity": "<details>\n<summary>&lt;img&gt;</summary>\n\na\n\n</details>",
    "on one line": "<details><summary>x</summary>\n\na\n\n</details>",
    "in a list": "- <details>\n  <summary>x</summary>\n\n  a\n\n  </details>",
    "in a quote": "> <details>\n> <summary>x</summary>\n>\n> a\n>\n> </details>",
    "with more in its block": "<details>\n<summary>x</summary>\n<img src=x>\n\na\n\n</details>",
}


@pytest.mark.parametrize("markdown", NOT_FOLDS.values(), ids=NOT_FOLDS)
def test_every_other_form_is_text(markdown: str):
    safe = safe_markdown(markdown)
    assert not re.search(r"(?m)^</?details", safe)
    assert "a" in plain_text(markdown)
    assert "<details" in plain_text(markdown) or "</details" in plain_text(markdown)
    assert unfolded(markdown) == markdown


def test_a_fold_within_a_fold_leaves_the_inner_one():
    inner = fold("inner", "a")
    safe = safe_markdown(f"<details>\n<summary>outer</summary>\n\n{inner}\n\n</details>")
    assert re.findall(r"(?m)^<summary>(.*)</summary>$", safe) == ["inner"]
    assert len(re.findall(r"(?m)^</details>$", safe)) == 1


def test_in_plain_text_and_in_a_terminal_folds_are_sections():
    raw = f"**Verdict**\n\n{fold('2 rows', table(('A',), [('x',), ('y',)]))}\n\n{fold('1 line', code_block('a'))}\n"
    assert plain_text(raw) == "Verdict\n\n## 2 rows\n\nA\n-\nx\ny\n\n## 1 line\n\n    a"
    assert unfolded(raw) == (
        "**Verdict**\n\n## 2 rows\n\n| A |\n| --- |\n| x |\n| y |\n\n## 1 line\n\n```text\na\n```\n"
    )


def test_titles_are_made_inert():
    assert fold("<b>64</b> `accounts`", "a").startswith("<details>\n<summary>b 64 /b accounts</summary>")
    for title in ("evil.example.com", "", "http://x.test", "a@b.test", "x" * 300):
        safe = safe_markdown(fold(title, "a"))
        assert safe.startswith("<details>\n<summary>"), title


def test_what_a_model_writes_has_no_folds():
    assert "<details>" not in harmless("<details>\n<summary>x</summary>\n\na\n\n</details>")
