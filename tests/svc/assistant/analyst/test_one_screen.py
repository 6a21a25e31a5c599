"""Every answer opens with one screen: a verdict, a few facts with places, what to do; the rest is folded.

Half of the kinds of evidence (``held``) were looked at only after the answers were written.
"""

from __future__ import annotations

import re

import pytest

from svc.assistant.findings import Severity
from svc.untrusted.markdown import plain_text, safe_markdown
from tests.support.evidence_kinds import KINDS
from tests.support.inline_analyst import Asked, ask
from tests.svc.assistant.analyst.test_ratings import is_rated, worst

OPENING_LINES = 16  # paragraphs and items, each at most a few lines on the page
OPENING_CHARS = 3_200  # what fits above the folds at 1440 x 900 with a picture
MAX_FACTS = 5
FOLD_ROWS = 5
FREE_LISTS = ("limitation", "further step")  # their rows are nowhere else
_FOLD = re.compile(r"<details>\n<summary>(.+)</summary>\n\n([\s\S]*?)\n\n</details>")
_PLACE = re.compile(r"\b(?:line|lines|record|offset|packet) [\d,]+|\*\*Read\*\*|\bof [\d,]+ |[\d,]+ \w+")


@pytest.fixture(scope="module")
def answers() -> dict[str, Asked]:
    return {}


async def asked(answers: dict[str, Asked], name: str) -> Asked:
    if name not in answers:
        answers[name] = await ask("What happened?", KINDS[name].evidence())
    return answers[name]


@pytest.mark.parametrize("name", KINDS)
async def test_the_opening_is_one_screen_and_the_rest_is_folded(answers: dict[str, Asked], name: str):
    markdown = (await asked(answers, name)).markdown
    opening = markdown.partition("\n<details>")[0]
    assert opening.startswith(("**", "- **"))
    lines = [line for line in opening.splitlines() if line.strip()]
    assert len(lines) <= OPENING_LINES
    assert len(opening) <= OPENING_CHARS
    assert "| --- |" not in opening
    facts = re.findall(r"^(?:-|\d+\.) .*$", opening.rpartition("**Facts**")[2], re.MULTILINE)
    assert len(facts) <= MAX_FACTS
    assert all(_PLACE.search(fact) for fact in facts), facts
    assert len(set(lines)) == len(lines)
    outside = _FOLD.sub("", markdown.removeprefix(opening)).strip()
    assert outside == ""


@pytest.mark.parametrize("name", KINDS)
async def test_a_fold_says_how_much_is_in_it_and_shows_five_rows_of_each_table(answers: dict[str, Asked], name: str):
    markdown = (await asked(answers, name)).markdown
    folds = _FOLD.findall(markdown)
    assert folds
    assert len({title for title, _ in folds}) == len(folds)
    for title, content in folds:
        tables = re.findall(r"\| --- \|[^\n]*\n((?:\| .*\n?)*)", content)
        assert all(len(rows.strip().splitlines()) <= FOLD_ROWS for rows in tables), title
        items = [line for line in content.splitlines() if line.startswith("- ")]
        assert len(items) <= FOLD_ROWS or any(word in title for word in FREE_LISTS), title


@pytest.mark.parametrize("name", KINDS)
async def test_every_renderer_gets_the_folds_and_plain_text_has_sections(answers: dict[str, Asked], name: str):
    markdown = (await asked(answers, name)).markdown
    safe, folds = safe_markdown(markdown), _FOLD.findall(markdown)
    assert re.findall(r"(?m)^<summary>(.+)</summary>$", safe) == [title for title, _ in folds]
    text = plain_text(markdown)
    assert all(f"## {title}" in text for title, _ in folds)
    assert "<details>" not in text


@pytest.mark.parametrize("name", KINDS)
async def test_each_event_is_a_fact_once(answers: dict[str, Asked], name: str):
    markdown = (await asked(answers, name)).markdown
    facts = [line for line in markdown.partition("\n<details>")[0].splitlines() if line.startswith("- **")]
    places = [found[0] for line in facts if (found := re.search(r"`[^`]+` (?:line|record) [\d,]+(?=[^`]*: `)", line))]
    assert len(set(places)) == len(places)


@pytest.mark.parametrize("name", KINDS)
async def test_a_verdict_states_severity_and_confidence(answers: dict[str, Asked], name: str):
    answer = await asked(answers, name)
    opening = [line for line in answer.markdown.partition("\n**")[0].splitlines() if "**" in line]
    severity = worst(answer.findings)
    assert severity is Severity.INFO or any(is_rated(line, severity) for line in opening), opening


async def test_what_was_not_examined_or_read_in_part_stays_in_the_opening():
    good = ("auth.log", KINDS[next(iter(KINDS))].make())
    broken = ("memory.raw", bytes(4096))
    answer = (await ask("What happened, and which CVEs are exploited?", good, broken)).markdown
    opening = answer.partition("\n<details>")[0]
    assert "memory.raw" in opening
    assert "not examined" in opening.lower()
