"""Names of ATT&CK techniques and tactics."""

from __future__ import annotations

import pytest

from svc.assistant.knowledge.attack_names import (
    TECHNIQUE_ID,
    attack_name,
    attack_table,
    attack_version,
    current_tactics,
    successor_of,
    tactic,
    tactic_label,
    tactic_name,
    tactics_of,
    techniques_by_id,
)


@pytest.mark.parametrize(
    ("technique", "name"),
    [
        pytest.param("T1059", "Command and Scripting Interpreter", id="a technique"),
        pytest.param("T1003.001", "OS Credential Dumping: LSASS Memory", id="a sub-technique with its parent"),
        pytest.param("T1086", "PowerShell", id="a withdrawn id has its old name"),
        pytest.param("T1562.001", "Impair Defenses: Disable or Modify Tools", id="withdrawn together with its parent"),
        pytest.param("T9999", "", id="an id that is not known"),
    ],
)
def test_a_technique_has_its_name(technique: str, name: str) -> None:
    assert attack_name(technique) == name


@pytest.mark.parametrize(
    ("technique", "tactics"),
    [
        pytest.param("T1003", ("credential-access",), id="one tactic"),
        pytest.param(
            "T1078", ("initial-access", "persistence", "privilege-escalation", "stealth"), id="several tactics"
        ),
        pytest.param("T1073", ("execution", "stealth"), id="those of the successor"),
        pytest.param("T9999", (), id="not known"),
    ],
)
def test_a_technique_has_its_tactics(technique: str, tactics: tuple[str, ...]) -> None:
    assert set(tactics_of(technique)) >= set(tactics)
    assert bool(tactics_of(technique)) == bool(tactics)


def test_a_withdrawn_id_resolves_to_its_successor() -> None:
    assert (successor_of("T1073"), successor_of("T1574.001"), successor_of("T9999")) == ("T1574.001", None, None)


@pytest.mark.parametrize("name", ["TA0008", "ta0008", "lateral-movement", "Lateral Movement", "lateral_movement"])
def test_a_tactic_is_known_by_any_spelling(name: str) -> None:
    assert tactic_name(name) == "Lateral Movement"


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("defense-evasion", "stealth"),
        ("Defence Evasion", "stealth"),
        ("defence impairment", "defense-impairment"),
        ("TA0112", "defense-impairment"),
        ("recon", "reconnaissance"),
    ],
)
def test_earlier_and_alternative_names_of_tactics_are_aliases(name: str, short: str) -> None:
    found = tactic(name)
    assert found is not None
    assert found.short == short


def test_a_tactic_that_reports_know_by_another_name_is_shown_with_both() -> None:
    assert tactic_label("defense_evasion") == "Stealth (formerly Defense Evasion)"
    assert tactic_label("discovery") == "Discovery"
    assert tactic_label("cooking") == "cooking"


@pytest.mark.parametrize(
    ("names", "techniques", "expected"),
    [
        pytest.param(("defense-evasion",), ("T1070.004",), ("stealth",), id="hides"),
        pytest.param(("defense_evasion",), ("T1562.001",), ("defense-impairment",), id="impairs, by a withdrawn ID"),
        pytest.param(("Defence Evasion",), ("T1553.004", "T1036"), ("defense-impairment", "stealth"), id="both"),
        pytest.param(("persistence", "defense-evasion"), ("T1556",), ("persistence", "defense-impairment"), id="order"),
        pytest.param(("privilege-escalation", "defense-evasion"), ("T1548.002",), ("privilege-escalation",), id="out"),
        pytest.param(("defense-evasion",), ("T1548.002",), ("privilege-escalation",), id="the technique's own"),
        pytest.param(("defense-evasion",), (), ("stealth",), id="no technique"),
        pytest.param(("stealth", "defense-impairment"), ("T1685",), ("stealth", "defense-impairment"), id="new names"),
        pytest.param(("execution", "cooking"), ("T9999",), ("execution", "cooking"), id="unknown"),
        pytest.param((), ("T1685",), (), id="none"),
    ],
)
def test_a_tactic_that_was_split_becomes_the_part_that_the_techniques_belong_to(
    names: tuple[str, ...], techniques: tuple[str, ...], expected: tuple[str, ...]
) -> None:
    assert current_tactics(names, techniques) == expected


def test_words_that_are_not_tactics_are_unchanged() -> None:
    assert tactic_name("cooking") == "cooking"


def test_the_shipped_table_is_complete_and_has_its_version() -> None:
    table = attack_table()
    known = set(techniques_by_id())
    shorts = {entry.short for entry in table.tactics}
    assert len(known) == len(table.techniques) > 650
    assert all(set(technique.tactics) <= shorts and technique.tactics for technique in table.techniques)
    assert all(technique.id.partition(".")[0] in known for technique in table.techniques)
    assert not {moved.id for moved in table.moved} & known
    assert all(successor_of(moved.id) for moved in table.moved if moved.to)
    assert (table.version, len(known), len(table.tactics)) == ("19.0", 697, 15)
    assert attack_version() == f"ATT&CK {table.version} of {table.date}"
    assert "The MITRE Corporation" in table.licence


def test_ids_are_found_in_a_sentence_and_not_in_longer_numbers() -> None:
    found = [match.group() for match in TECHNIQUE_ID.finditer("T1059.001, (T1003). Not T10591, AT1003 or T1059.12.")]
    assert found == ["T1059.001", "T1003"]
