"""Every ATT&CK identifier that a rule, a lexicon or a skill's table uses is in the table that ships."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

import msgspec
import pytest

from svc.assistant.knowledge.attack import AttackTable
from svc.assistant.knowledge.attack_names import TECHNIQUE_ID, current_tactics, successor_of, tactic, techniques_by_id
from svc.assistant.sigma.tables import OURS, RuleTable, load_tables

ASSISTANT = Path(str(resources.files("svc.assistant")))
TABLES = sorted(path for path in ASSISTANT.rglob("*") if path.suffix in (".toml", ".yml", ".py"))


def test_every_technique_that_is_used_is_in_force_or_has_a_successor() -> None:
    used = {
        match.group().upper(): path.name
        for path in TABLES
        for match in TECHNIQUE_ID.finditer(path.read_text(encoding="utf-8"))
    }
    enterprise = {one for one in used if one.startswith("T1")}
    assert len(enterprise) > 400
    assert {one: used[one] for one in enterprise if one not in techniques_by_id() and not successor_of(one)} == {}


def test_every_tactic_of_a_built_in_rule_is_one_of_the_table() -> None:
    rules = load_tables()[OURS]
    assert isinstance(rules, RuleTable)
    unknown = {name for rule in rules.rules for name in rule.tactics if tactic(name) is None}
    assert unknown == set()
    current = {name for rule in rules.rules for name in current_tactics(rule.tactics, rule.techniques)}
    assert {"stealth", "defense-impairment"} <= current
    assert "defense-evasion" not in current


@pytest.mark.parametrize("name", ["attack.json"])
def test_a_table_names_no_identifier_twice(name: str) -> None:
    table = msgspec.json.decode((ASSISTANT / "knowledge" / name).read_bytes(), type=AttackTable)
    ids = [one.id for one in (*table.tactics, *table.techniques, *table.moved)]
    assert len(ids) == len(set(ids))
