"""The official ATT&CK bundle as our table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from svc.assistant import knowledge
from svc.assistant.knowledge.attack import FILE_NAME, AttackTable
from svc.assistant.knowledge.attack_update import read

Object = dict[str, Any]


def reference(external_id: str) -> list[Object]:
    return [{"source_name": "mitre-attack", "external_id": external_id}, {"source_name": "blog"}]


def tactic(technique_id: str, short: str) -> Object:
    return {
        "type": "x-mitre-tactic",
        "id": f"x-mitre-tactic--{short}",
        "name": short.replace("-", " ").title(),
        "x_mitre_shortname": short,
        "external_references": reference(technique_id),
    }


def pattern(technique_id: str, name: str, *tactics: str, chain: str = "mitre-attack", **more: object) -> Object:
    return {
        "type": "attack-pattern",
        "id": f"attack-pattern--{technique_id}",
        "name": name,
        "external_references": reference(technique_id),
        "kill_chain_phases": [{"kill_chain_name": chain, "phase_name": one} for one in tactics],
        **more,
    }


def revoked_by(old: str, new: str) -> Object:
    return {
        "type": "relationship",
        "relationship_type": "revoked-by",
        "source_ref": f"attack-pattern--{old}",
        "target_ref": f"attack-pattern--{new}",
    }


COLLECTION = {"type": "x-mitre-collection", "x_mitre_version": "19.1", "modified": "2026-05-12T14:00:00.188Z"}
MATRIX = {"type": "x-mitre-matrix", "tactic_refs": ["x-mitre-tactic--execution", "x-mitre-tactic--stealth"]}
TACTICS = [tactic("TA0005", "stealth"), tactic("TA0002", "execution"), tactic("TA0112", "defense-impairment")]


def bundle(*objects: Object) -> bytes:
    whole = [COLLECTION, MATRIX, *TACTICS, pattern("T1059", "Interpreter", "execution"), *objects]
    return json.dumps({"type": "bundle", "id": "bundle--1", "objects": whole}).encode()


def test_techniques_come_with_their_names_tactics_and_platforms() -> None:
    table = read(bundle(pattern("T1059.001", "Shell", "stealth", "execution", x_mitre_platforms=["Windows", "Linux"])))
    found = next(one for one in table.techniques if one.id == "T1059.001")
    assert (found.name, found.tactics, found.platforms) == ("Shell", ["execution", "stealth"], ["Windows", "Linux"])
    assert (table.version, table.date.isoformat()) == ("19.1", "2026-05-12")
    assert "2026 The MITRE Corporation" in table.licence


def test_withdrawn_ids_resolve_through_chains_of_successors() -> None:
    table = read(
        bundle(
            pattern("T1001", "Old", revoked=True),
            pattern("T1002", "Middle", revoked=True),
            revoked_by("T1001", "T1002"),
            revoked_by("T1002", "T1059"),
            pattern("T1043", "Gone", "execution", x_mitre_deprecated=True),
        )
    )
    assert [(one.id, one.name, one.to) for one in table.moved] == [
        ("T1001", "Old", "T1059"),
        ("T1002", "Middle", "T1059"),
        ("T1043", "Gone", ""),
    ]
    assert [one.id for one in table.techniques] == ["T1059"]


def test_ids_withdrawn_in_a_cycle_are_left_out() -> None:
    table = read(
        bundle(
            pattern("T1001", "A", revoked=True),
            pattern("T1002", "B", revoked=True),
            revoked_by("T1001", "T1002"),
            revoked_by("T1002", "T1001"),
        )
    )
    assert table.moved == []


def test_a_renamed_tactic_keeps_its_old_name_as_an_alias() -> None:
    tactics = {one.id: one for one in read(bundle()).tactics}
    assert list(tactics) == ["TA0002", "TA0005", "TA0112"]
    assert "defense-evasion" in tactics["TA0005"].aliases
    assert not {"stealth", "defense-impairment"} & set(tactics["TA0005"].aliases)
    assert {tactics[one].formerly for one in ("TA0005", "TA0112")} == {"Defense Evasion"}


def test_a_renamed_technique_keeps_its_earlier_name() -> None:
    names = {
        one.id: one.formerly for one in read(bundle(pattern("T1211", "Exploitation for Calm", "stealth"))).techniques
    }
    assert names == {"T1059": "Command and Scripting Interpreter", "T1211": "Exploitation for Stealth"}


def test_the_users_table_takes_precedence_over_the_shipped_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(knowledge, "_chosen", tmp_path)
    (tmp_path / FILE_NAME).write_bytes(msgspec.json.encode(read(bundle())))
    assert knowledge.load(FILE_NAME, AttackTable).version == "19.1"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        pytest.param(b"", "not a STIX bundle", id="empty"),
        pytest.param(b"<html>", "not a STIX bundle", id="a page"),
        pytest.param(b'{"type": "report", "objects": []}', "not a STIX bundle", id="other JSON"),
        pytest.param(bundle()[:-20], "not a STIX bundle", id="cut off"),
        pytest.param(b"[" * 100_000, "not a STIX bundle", id="deep"),
        pytest.param(b'{"type": "bundle", "objects": []}', "0 other objects", id="a bundle of nothing"),
        pytest.param(
            json.dumps(
                {"type": "bundle", "objects": [*TACTICS, pattern("T1404", "x", "x", chain="mitre-mobile-attack")]}
            ).encode(),
            "mitre-mobile-attack",
            id="the mobile matrix",
        ),
        pytest.param(
            json.dumps({"type": "bundle", "objects": [*TACTICS, pattern("T1059", "x", "execution")]}).encode(),
            "does not state its version",
            id="no collection",
        ),
    ],
)
def test_a_file_that_is_not_a_bundle_is_rejected_with_a_reason(data: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        read(data)


@settings(max_examples=30, deadline=None)
@given(st.binary(max_size=200))
def test_any_other_bytes_are_rejected(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        read(data)
