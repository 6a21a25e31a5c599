"""Planning takes little time, and no more than linear, whatever a question contains."""

import time

import pytest

from svc.assistant.analyst.answer_format import requested_format
from svc.assistant.analyst.collection_plan import planned
from svc.assistant.analyst.follow_up import follow_up
from svc.assistant.collections.expanded import ExpandedFiles
from svc.assistant.turn import Exchange
from tests.support.hostile_questions import SHAPES
from tests.support.sampling import sampled

SHORT, LONG = 2_000, 32_000
SECONDS = 0.5  # of processor time for a short question; 0.2 on a quiet machine
EARLIER = Exchange(prompt="Which accounts?", answer="None.")


def seconds(prompt: str) -> float:
    """The processor time of everything that is read from a prompt before a tool runs."""
    started = time.thread_time()
    requested = requested_format(prompt)
    follow_up(requested.prompt, (EARLIER,))
    planned(requested.prompt, (), use_experimental=True, now="", language="de", expanded=ExpandedFiles(files=()))
    return time.thread_time() - started


@pytest.fixture(scope="module", autouse=True)
def _compiled() -> None:
    seconds("Decode aGVsbG8gd29ybGQ= as JSON, and which accounts are affected?")


def assert_is_linear(name: str) -> None:
    shape = SHAPES[name]
    short = min(seconds(shape(SHORT)) for _ in range(2))
    assert short < SECONDS, name
    longer = min(seconds(shape(LONG)) for _ in range(2))
    assert longer < max(SECONDS, 1.5 * short * LONG / SHORT), name


@pytest.mark.parametrize("name", sampled(list(SHAPES)[::4], 17))
def test_planning_takes_linear_time(name: str):
    assert_is_linear(name)


@pytest.mark.long
@pytest.mark.parametrize("name", SHAPES)
def test_planning_takes_linear_time_for_every_shape(name: str):
    assert_is_linear(name)


@pytest.mark.parametrize("name", list(SHAPES)[::30])
def test_a_megabyte_is_planned_within_the_time_of_a_call(name: str):
    unit = SHAPES[name](SHORT)
    assert seconds(unit * 500) < 3
