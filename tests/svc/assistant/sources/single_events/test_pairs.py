"""Single audit events of about fifty products: one that an analyst must see, and its benign twin.

All events were written from the products' documentation before the rules were looked at. The rules were developed with
the open half; the held half shows how they do on events that nobody looked at.
"""

from __future__ import annotations

import hashlib
import io
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest

from svc.assistant.findings import Finding, Severity
from svc.assistant.skills.events.matches.rule_hits import RANK
from svc.assistant.skills.events.tool import inspect


class Pair(msgspec.Struct, frozen=True):
    """A kind of log, what happened, the event that shows it, and its benign twin."""

    log_type: str
    name: str
    alert: msgspec.Raw
    quiet: msgspec.Raw

    @property
    def is_held(self) -> bool:
        """Whether the pair is of the half that rules were not developed with."""
        return hashlib.sha256(f"{self.log_type}/{self.name}".encode()).digest()[-1] % 2 == 1


class Ordinary(msgspec.Struct, frozen=True):
    """A kind of log, what was done, and the event of it, which nobody needs to look at."""

    log_type: str
    name: str
    event: msgspec.Raw


PAIRS = msgspec.json.Decoder(Pair).decode_lines(Path(__file__).with_name("pairs.jsonl").read_bytes())


class Figures(NamedTuple):
    """How often the findings of single events are right."""

    recall: float
    false_alarms: float
    missed: list[str]
    false: list[str]


def is_flagged(record: msgspec.Raw) -> bool:
    """Whether a file with this record alone has a finding of medium severity or above."""
    found = inspect(io.BytesIO(bytes(record) + b"\n"), source="event.jsonl")
    return any(isinstance(one, Finding) and RANK[one.severity] <= RANK[Severity.MEDIUM] for one in found)


@pytest.fixture(scope="module", params=[False, True], ids=["open", "held"])
def figures(request: pytest.FixtureRequest) -> Figures:
    """The figures of a half."""
    return _figures_of([pair for pair in PAIRS if pair.is_held is request.param])


def test_there_are_many_pairs_of_many_products():
    assert len(PAIRS) > 250
    assert len({pair.log_type for pair in PAIRS}) >= 40
    assert len({(pair.log_type, pair.name) for pair in PAIRS}) == len(PAIRS)


def test_events_that_an_analyst_must_see_are_findings(figures: Figures):
    assert figures.recall >= 0.95, figures.missed


def test_their_benign_twins_stay_below_medium(figures: Figures):
    assert figures.false_alarms <= 0.08, figures.false


OTHERS = msgspec.json.Decoder(Pair).decode_lines(Path(__file__).with_name("other_pairs.jsonl").read_bytes())
"""Other actions and further products, written before the rules for actions of any service."""
ORDINARY = msgspec.json.Decoder(Pair).decode_lines(Path(__file__).with_name("ordinary_work.jsonl").read_bytes())
"""Attacks beside the ordinary work that looks like them: deployment, backup, monitoring, pipelines, self-service."""
DOCUMENTED = msgspec.json.Decoder(Pair).decode_lines(Path(__file__).with_name("documented_pairs.jsonl").read_bytes())
"""What the products' documentation says matters, written after those above and before the rules were looked at."""
TWINS = msgspec.json.Decoder(Pair).decode_lines(Path(__file__).with_name("setting_twins.jsonl").read_bytes())
"""The same setting of a product loosened and tightened, written before the decision about directions."""
PARAMETERS = msgspec.json.Decoder(Pair).decode_lines(Path(__file__).with_name("parameter_twins.jsonl").read_bytes())
"""The same action with another parameter, outcome, actor or object, written before the settings were judged by name."""
SHORT = 6


def _figures_of(pairs: list[Pair]) -> Figures:
    missed = [f"{pair.log_type}: {pair.name}" for pair in pairs if not is_flagged(pair.alert)]
    false = [f"{pair.log_type}: {pair.name}" for pair in pairs if is_flagged(pair.quiet)]
    return Figures(1 - len(missed) / len(pairs), len(false) / len(pairs), missed, false)


@pytest.mark.parametrize("is_held", [False, True], ids=["open", "held"])
@pytest.mark.parametrize("step", [SHORT, pytest.param(1, marks=pytest.mark.long)], ids=["short", "all"])
def test_actions_of_other_products_are_found_and_their_twins_are_not(*, is_held: bool, step: int):
    figures = _figures_of([pair for pair in OTHERS if pair.is_held is is_held][::step])

    assert figures.recall >= 0.80, figures.missed
    assert figures.false_alarms <= 0.10, figures.false


@pytest.mark.parametrize("is_held", [False, True], ids=["open", "held"])
@pytest.mark.parametrize("step", [SHORT, pytest.param(1, marks=pytest.mark.long)], ids=["short", "all"])
def test_ordinary_work_is_told_from_attacks(*, is_held: bool, step: int):
    figures = _figures_of([pair for pair in ORDINARY if pair.is_held is is_held][::step])

    assert figures.recall >= 0.80, figures.missed
    assert figures.false_alarms <= (0.10 if step == 1 else 0.15), figures.false


@pytest.mark.parametrize("is_held", [False, True], ids=["open", "held"])
@pytest.mark.parametrize("step", [SHORT, pytest.param(1, marks=pytest.mark.long)], ids=["short", "all"])
def test_documented_events_are_found_and_their_twins_are_not(*, is_held: bool, step: int):
    figures = _figures_of([pair for pair in DOCUMENTED if pair.is_held is is_held][::step])

    assert figures.recall >= 0.80, figures.missed
    assert figures.false_alarms <= (0.10 if step == 1 else 0.15), figures.false


@pytest.mark.parametrize("is_held", [False, True], ids=["open", "held"])
@pytest.mark.parametrize("step", [3, pytest.param(1, marks=pytest.mark.slow)], ids=["short", "all"])
def test_a_loosened_setting_is_found_and_a_tightened_one_is_not(*, is_held: bool, step: int):
    figures = _figures_of([pair for pair in TWINS if pair.is_held is is_held][::step])

    assert figures.recall >= 0.80, figures.missed
    assert figures.false_alarms <= (0.15 if step == 1 else 0.20), figures.false


@pytest.mark.parametrize("is_held", [False, True], ids=["open", "held"])
@pytest.mark.parametrize("step", [3, pytest.param(1, marks=pytest.mark.slow)], ids=["short", "all"])
def test_an_action_is_judged_by_its_parameters(*, is_held: bool, step: int):
    figures = _figures_of([pair for pair in PARAMETERS if pair.is_held is is_held][::step])

    assert figures.recall >= 0.80, figures.missed
    assert figures.false_alarms <= (0.15 if step == 1 else 0.20), figures.false


def test_there_are_twins_of_many_products():
    assert len({(pair.log_type, pair.name) for pair in PARAMETERS}) == len(PARAMETERS) >= 70
    assert len({pair.log_type for pair in PARAMETERS}) >= 35
    assert len({(pair.log_type, pair.name) for pair in TWINS}) == len(TWINS) >= 40
    assert len({pair.log_type for pair in TWINS}) >= 20


def test_ordinary_events_stay_below_medium():
    events = msgspec.json.Decoder(Ordinary).decode_lines(Path(__file__).with_name("ordinary_events.jsonl").read_bytes())
    false = [f"{one.log_type}: {one.name}" for one in events if is_flagged(one.event)]

    assert len(events) > 80
    assert len(false) / len(events) <= 0.10, false


def test_there_are_pairs_of_ordinary_work():
    assert len({(pair.log_type, pair.name) for pair in ORDINARY}) == len(ORDINARY) > 240
    assert len({pair.log_type for pair in ORDINARY}) >= 60


def test_there_are_documented_pairs():
    assert len({(pair.log_type, pair.name) for pair in DOCUMENTED}) == len(DOCUMENTED) > 340
    assert len({pair.log_type for pair in DOCUMENTED}) >= 55


def test_there_are_other_pairs_of_many_products():
    assert len({(pair.log_type, pair.name) for pair in OTHERS}) == len(OTHERS) > 300
    assert len({pair.log_type for pair in OTHERS}) >= 80
