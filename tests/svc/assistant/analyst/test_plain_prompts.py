"""Plain prompts: states and settings, times of day, formats, who, hashes, abbreviations, general knowledge."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from svc.assistant.log_readers.time_window import TimeWindow
from svc.assistant.turn import Exchange
from tests.support.inline_analyst import ask
from tests.support.plain_prompts import FILES, HELD, OPEN, Prompt, wrong_in
from tests.svc.assistant.analyst.test_follow_up_cases import exchange_of

MIN_RIGHT = 0.9
_FIRST: dict[str, Exchange] = {}


async def answer_to(prompt: Prompt) -> str:
    """The answer to a prompt, in a session in which its evidence was asked about if it is a further one."""
    files, history = [], []
    if prompt.evidence:
        file, first = FILES[prompt.evidence]
        files = [(*file, not prompt.is_further)]
        if prompt.is_further:
            if prompt.evidence not in _FIRST:
                _FIRST[prompt.evidence] = exchange_of(first, await ask(first, file))
            history = [_FIRST[prompt.evidence]]
    asked = await ask(prompt.text, *files, history=history, instructions=prompt.instructions)
    return asked.markdown


async def share_right(prompts: tuple[Prompt, ...]) -> tuple[int, list[str]]:
    failures = []
    for prompt in prompts:
        markdown = await answer_to(prompt)
        if wrong := wrong_in(prompt, markdown):
            asked = f"{prompt.instructions} {prompt.text}".strip()
            failures.append(f"{asked!r} ({'further' if prompt.is_further else 'first'}): {wrong}\n  {markdown[:300]!r}")
    return len(prompts) - len(failures), failures


@pytest.mark.parametrize("half", [pytest.param(OPEN, id="open"), pytest.param(HELD, id="held")])
@pytest.mark.parametrize("sort", OPEN)
async def test_plain_prompts_are_answered_right(half: Mapping[str, tuple[Prompt, ...]], sort: str):
    right, failures = await share_right(half[sort])
    print(f"{sort}: {right} of {len(half[sort])}\n" + "\n".join(failures))
    assert right >= MIN_RIGHT * len(half[sort]), "\n".join(failures)


def test_a_window_of_days_is_not_claimed_if_the_log_has_no_year():
    window = TimeWindow("22:00:00", "06:00:00", "56")
    assert window.words == "from 22:00 to 06:00 on Saturday and Sunday"
    assert window.has("--11-20T23:15:15")
    assert window.words == "from 22:00 to 06:00"
