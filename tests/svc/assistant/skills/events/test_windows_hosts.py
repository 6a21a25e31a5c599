"""Windows logs: nothing severe on ordinary computers, and attacks named by their tactic and exact technique.

Both halves of each set: the rules were changed while looking at the open one.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from svc.assistant.findings import AnyFinding
from tests.support.windows_hosts.measuring import findings_of, named, severe, verdict_of
from tests.support.windows_hosts.reading import Scenario, scenarios

ORDINARY = [one for half in ("open", "held", "late") for one in scenarios(f"ordinary_{half}")]
ATTACKS = {"open": scenarios("attacks_open"), "held": scenarios("attacks_held")}
SOME = ORDINARY[::5]


@pytest.fixture(scope="module")
def found() -> dict[str, list[AnyFinding]]:
    return {one.name: findings_of(one.as_json_lines(), "events.json") for one in ORDINARY}


@pytest.mark.parametrize("name", [one.name for one in ORDINARY])
def test_nothing_is_high_or_critical_on_an_ordinary_computer(name: str, found: dict[str, list[AnyFinding]]):
    assert severe(found[name]) == []
    assert not verdict_of(found[name]).startswith("**Likely")
    assert "Compromised" not in verdict_of(found[name])


@pytest.mark.parametrize("ordinary", SOME, ids=lambda one: one.name)
def test_an_event_log_file_gives_the_same_as_json(ordinary: Scenario, found: dict[str, list[AnyFinding]]):
    from_file = findings_of(ordinary.as_evtx(), "events.evtx")

    assert severe(from_file) == []
    titles = {one.title for one in found[ordinary.name] if one.kind == "rule_hit"}
    assert {one.title for one in from_file if one.kind == "rule_hit"} == titles


@pytest.mark.parametrize("half", ATTACKS)
def test_attacks_are_named_by_tactic_and_exact_technique(half: str):
    assert_named(ATTACKS[half][::8], first=0.8)


@pytest.mark.long
@pytest.mark.parametrize(("half", "first"), [("open", 0.95), ("held", 0.90)])
def test_all_attacks_are_named_by_tactic_and_exact_technique(half: str, first: float):
    assert_named(ATTACKS[half], first=first)


def assert_named(attacks: Sequence[Scenario], *, first: float) -> None:
    results = [named(attack) for attack in attacks]

    assert all(one.techniques for one in results), "an attack without a technique"
    assert sum(one.is_technique_first for one in results) / len(results) >= first
    assert sum(one.is_tactic_first for one in results) / len(results) >= first
