"""Hostile texts, known ones and composed ones, through every writer of Markdown and every renderer: nothing is live.

The judge reads the pages that come out (``tests/support/hostile_text.py``); the renderers let raw HTML through and link
what they can. The short form always runs; ``-m long`` runs 10,000 texts through each writer. Both print their figures.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import pytest

from svc import AnswerStatus, Message
from svc.untrusted.gfm import is_inert
from svc.untrusted.markdown import plain_text, safe_code, safe_markdown
from svc.untrusted.markup import code_block, code_span, escape, table
from svc.untrusted.model_markdown import harmless
from svc_jupyter.answers import transcript
from svc_jupyter.answers.answer import Answer
from svc_jupyter.answers.redaction import redact
from tests.support.hostile_text import HELD, OPEN, live_parts, texts
from tests.support.markdown_renderers import PYTHON, rendered

KEY = "svc_" + "A" * 49
OPEN_SEED, HELD_SEED = 1, 20_261_122
Writer = Callable[[str], str]


def as_answer(text: str) -> str:
    return redact(str(answer_of(text)._repr_mimebundle_()[0]["text/markdown"]))


def as_unanswered(text: str) -> str:
    return answer_of(text, AnswerStatus.NOT_ANSWERED).markdown


def as_transcript(text: str) -> str:
    """The panel's transcript with the text as its question, its answer, and its error."""
    told = [
        *(Message(message_type="query", content=text, turn=turn) for turn in "ab"),
        Message(message_type="result", content=text, turn="a"),
        Message(message_type="error", content=text, turn="b"),
    ]
    return transcript.bundle(told, css_class="")["text/markdown"]


def answer_of(text: str, status: AnswerStatus | None = None) -> Answer:
    told = Message(message_type="result", content=text, turn="t", answer_status=status)
    return Answer((told,), model="m", session_id="s")


SHOWN: dict[str, Writer] = {
    "safe_markdown": safe_markdown,
    "safe_markdown of harmless": lambda text: safe_markdown(harmless(text)),
    "safe_code": safe_code,
    "answer": as_answer,
    "unanswered": as_unanswered,
    "transcript": as_transcript,
}
"""What a notebook shows: inert in every renderer."""

SENT: dict[str, Writer] = {
    "harmless": harmless,
    "evidence": lambda text: "\n\n".join(
        (f"a {escape(text)} b", escape(text), code_span(text), code_block(text), table(("a",), [(code_span(text),)]))
    ),
    "cells": lambda text: table((escape(text),), [(f"{escape(text)} {code_span(text)} {escape(text)}",)]),
}
"""What a service sends: inert in renderers of CommonMark and GFM. A client writes it again before it shows it."""

GFM = ("cmark-gfm", "mistune", "markdown-it-py", "commonmark.py", "marked (JupyterLab)", "marked", "remark-gfm")


def fuzz(writers: Sequence[str], sources: Sequence[str]) -> None:
    """Show every text by every writer in every renderer; fail with what is live."""
    written = [(name, source, (SHOWN | SENT)[name](source)) for name in writers for source in sources]
    pages = rendered([markdown for _, _, markdown in written])
    count: Counter[str] = Counter()
    failures: dict[str, list[str]] = {name: [] for name in writers}
    for renderer, made in pages.items():
        for (name, source, markdown), page in zip(written, made, strict=True):
            if name in SENT and renderer not in GFM:
                continue
            count[name] += 1
            if live := live_parts(page):
                failures[name].append(f"{name}, {renderer}: {live[:3]} of {source!r} in {markdown!r}")
    for name in writers:
        print(f"{name}: {len(sources):,} texts, {count[name]:,} pages, {len(failures[name]):,} live")
    assert not any(failures.values()), "\n".join(one for found in failures.values() for one in found[:3])


@pytest.mark.parametrize("half", [pytest.param(OPEN, id="open"), pytest.param(HELD, id="held")])
def test_no_known_attack_is_live_in_any_renderer(half: dict[str, str]):
    fuzz([*SHOWN, *SENT], list(half.values()))


@pytest.mark.parametrize("seed", [pytest.param(OPEN_SEED, id="open"), pytest.param(HELD_SEED, id="held")])
def test_no_composed_text_is_live_in_any_renderer(seed: int):
    fuzz(["safe_markdown", "harmless", "evidence"], list(texts(seed, 100)))


@pytest.mark.long
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("writer", ["safe_markdown", "safe_markdown of harmless", "transcript", *SENT])
def test_no_composed_text_is_live_at_length(writer: str):
    for seed in range(10):
        fuzz([writer], list(texts(1_000 + seed, 1_000)))


@pytest.mark.parametrize("seed", [OPEN_SEED, HELD_SEED])
def test_what_is_safe_is_found_inert_and_stays(seed: int):
    for text in [*OPEN.values(), *HELD.values(), *texts(seed, 400)]:
        once = safe_markdown(text)
        assert is_inert(once)
        assert safe_markdown(once) == once
        plain_text(text)


def test_a_key_that_is_taken_out_leaves_no_link():
    for text in (f"{KEY}(javascript:x)", f"a!{KEY}(x)", f"<{KEY}>", f"**{KEY}**[x](y)"):
        assert not [live for render in PYTHON.values() if (live := live_parts(render(as_answer(text))))]


@pytest.mark.parametrize(
    "text",
    [
        "www.z\\<b>",
        "<b>",
        "![x](y)",
        "[x](y)",
        "<http://x>",
        "a@b.cc",
        "http://x",
        "x[^1]\n\n[^1]: y",
        "<!-- -->",
        "<?x?>",
    ],
)
def test_the_check_finds_what_is_live(text: str):
    assert not is_inert(text)
    assert live_parts(PYTHON["cmark-gfm"](text))


def test_the_judge_finds_what_is_live():
    pages = [
        "<script>", "<img src=x>", "<a href=x>", "<p onclick=x>", "<p data-commandlinker-command=x>",
        "<iframe>", "<!-- -->",
        "<p style='background:url(x)'>", "<input>", "<button>", "<!DOCTYPE x>", "<?x>", "<svg/onload=x>",
        "<td style=color:red>",
    ]  # fmt: skip
    assert all(live_parts(page) for page in pages)
    assert not live_parts(
        '<p class="x">a &lt;img&gt;</p><pre><code>&lt;a href&gt;</code></pre><td style="text-align:left">'
    )
