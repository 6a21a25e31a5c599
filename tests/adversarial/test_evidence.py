"""A payload in every field of every kind of evidence: the analyst's answer and its steps are dead in every renderer."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

import pytest

from svc.untrusted.markdown import safe_markdown
from tests.adversarial.payloads import PAYLOADS
from tests.support.evidence_kinds import KINDS
from tests.support.hostile_evidence import carried, placed
from tests.support.hostile_text import live_parts
from tests.support.inline_analyst import ask
from tests.support.markdown_renderers import PYTHON

QUESTIONS = ("What happened?", "Did anyone get in?", "Is anything malicious?", "Which indicators are in it?")
RENDERERS = ("cmark-gfm", "mistune", "mistune (nbconvert)")
FOLD_ELEMENTS = ("details", "summary")
OWN_TITLE = re.compile(r"[A-Za-z0-9 ,:()-]{1,120}")
STEP = 10  # of the fields, in the short form


def placements(payloads: Iterator[str]) -> Iterator[tuple[str, str, str, bytes]]:
    """Kind, field, file name and content: each field has another payload."""
    for kind, made in KINDS.items():
        for field, _ in placed(kind, ""):
            text = next(payloads)
            yield kind, field, made.file, dict(placed(kind, text))[field]
    for text in PAYLOADS:
        for kind, name, content in carried(text):
            yield kind, "carrier", name, content


def rendered(markdown: str) -> Iterator[str]:
    """The answer as renderers with autolinks show it that keep raw HTML."""
    yield from (PYTHON[name](safe_markdown(markdown)) for name in RENDERERS)
    yield PYTHON["cmark-gfm"](markdown)  # as a client shows it that trusts the service


def odd_folds(page: str) -> list[str]:
    """Folds that the analyst did not write: not closed, or with a title that is not a number and a unit."""
    titles = re.findall(r"<summary>(.*?)</summary>", page, re.DOTALL)
    counts = {page.count(tag) for tag in ("<details>", "</details>", "<summary>", "</summary>")}
    is_balanced = counts == {len(titles)}
    return [title for title in titles if not OWN_TITLE.fullmatch(title)] + ([] if is_balanced else ["unbalanced folds"])


async def judged(placed_in: Iterator[tuple[str, str, str, bytes]]) -> tuple[int, list[str]]:
    """The number of placements, and what of their answers is alive."""
    count, alive = 0, []
    questions = itertools.cycle(QUESTIONS)
    for kind, field, name, content in placed_in:
        asked = await ask(next(questions), (name, content))
        count += 1
        for page in rendered(asked.markdown):
            alive += [
                f"{kind}, {field}: {part}" for part in [*live_parts(page, elements=FOLD_ELEMENTS), *odd_folds(page)]
            ]
    return count, alive


@pytest.mark.slow
async def test_a_payload_in_a_field_of_evidence_is_dead_in_the_answer():
    count, alive = await judged(itertools.islice(placements(itertools.cycle(PAYLOADS)), 0, None, STEP))

    assert count > 150
    assert alive == []


@pytest.mark.long
async def test_every_third_payload_in_every_field_is_dead_in_the_answer():
    total = 0
    for number in range(0, len(PAYLOADS), 3):
        payloads = itertools.cycle([*PAYLOADS[number:], *PAYLOADS[:number]])
        count, alive = await judged(placements(payloads))
        total += count
        assert alive == []
    print(f"{total:,} placements in evidence, 0 live")
