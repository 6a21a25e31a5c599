"""Names of ATT&CK techniques and tactics."""

from __future__ import annotations

import pytest

from svc.assistant.knowledge.attack_names import (
    TECHNIQUE_ID,
    attack_name,
    attack_table,
    attack_version,
    successor_of,
    tactic,
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
            "T1078", ("initial-access", "persistence", "privilege-escalation", "defense-evasion"), id="several tactics"
        ),
        pytest.param("T1073", ("defense-evasion",), id="those of the successor"),
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


@pytest.mark.parametrize("name", ["stealth", "defense-impairment", "Defence Evasion"])
def test_newer_and_alternative_names_of_tactics_are_aliases(name: str) -> None:
    found = tactic(name)
    assert found is not None
    assert found.short == "defense-evasion"


def test_words_that_are_not_tactics_are_unchanged() -> None:
    assert tactic_name("cooking") == "cooking"


def test_the_shipped_table_is_complete_and_has_its_version() -> None:
    table = attack_table()
    known = set(techniques_by_id())
    shorts = {entry.short for entry in table.tactics}
    assert len(known) == len(table.techniques) > 650
    assert all(set(technique.tactics) <= shorts and technique.tactics for technique in table.techniques)
    assert all(technique.id.partition(".")[0] in known for technique in table.techniques)
    assert all(successor_of(moved.id) for moved in table.moved if moved.id not in known)
    assert attack_version() == f"ATT&CK {table.version} of {table.date}"
    assert "The MITRE Corporation" in table.licence


def test_ids_are_found_in_a_sentence_and_not_in_longer_numbers() -> None:
    found = [match.group() for match in TECHNIQUE_ID.finditer("T1059.001, (T1003). Not T10591, AT1003 or T1059.12.")]
    assert found == ["T1059.001", "T1003"]
