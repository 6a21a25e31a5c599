"""Inputs that nobody meant to attach: the answer says what was not examined and why, and never reassures."""

from __future__ import annotations

import re

import pytest

from svc.messages import AnswerStatus
from tests.support.inline_analyst import ask
from tests.support.unexpected_inputs import Unexpected, unexpected_inputs

CASES = list(unexpected_inputs())
QUICK = {"empty", "header alone", "cut EVTX", "mixed line ends", "zip with a password", "unknown log"}


@pytest.mark.parametrize(
    "given",
    [pytest.param(one, id=one.case, marks=() if one.case in QUICK else pytest.mark.slow) for one in CASES],
)
async def test_what_was_not_examined_is_said_and_nothing_reassures(given: Unexpected):
    asked = await ask(given.question, (given.name, given.content))
    opening = asked.markdown.partition("<details>")[0]
    assert re.search(given.says, opening, re.IGNORECASE), opening
    assert (found := re.search(given.never, opening, re.IGNORECASE)) is None, found
    if not given.is_answered:
        assert asked.answer.status is not AnswerStatus.ANSWERED, opening


def test_there_are_thirty_and_all_quick_ones_exist():
    assert len(CASES) == 30
    assert {one.case for one in CASES} >= QUICK
