"""Detections of SaaS products: each of their rules matches a record of a sample, and no record of a quiet day."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

from svc.assistant import sigma
from svc.assistant.findings import Severity
from svc.assistant.sigma.engine import Hit, RuleEngine
from svc.assistant.sigma.event import Event
from svc.assistant.sigma.tables import OURS, load_tables
from svc.assistant.skills.events.tool import read_events

FOLDER = Path(__file__).parent / "saas"
RULES = load_tables()[OURS].rules


def hits(pattern: str) -> Iterator[tuple[str, Hit]]:
    for file in sorted(FOLDER.glob(f"*/*{pattern}*")):
        with file.open("rb") as content:
            events = [item for item in read_events(content) if isinstance(item, Event)]
        yield from ((file.name, hit) for hit in RuleEngine(RULES).feed(events))


def titles_of_saas_rules() -> set[str]:
    files = [one for one in resources.files(sigma).joinpath("rules").iterdir() if one.name.startswith("saas_")]
    return {title for file in files for title in re.findall(r"^title: (.+)$", file.read_text("utf-8"), re.MULTILINE)}


def test_every_rule_about_a_product_with_samples_matches_one_of_them():
    found = [hit for _, hit in hits("attack")]
    expected = titles_of_saas_rules()
    assert len(expected) > 250
    assert expected - {hit.rule.title for hit in found} == set()


def test_no_record_of_a_quiet_day_matches_a_rule_of_medium_level_or_above():
    """The rules for any product are left out: the tool weighs what they match (``attempts``), see ``test_sources``."""
    weak = (Severity.LOW, Severity.INFO)
    strong = [(file, hit) for file, hit in hits("quiet") if hit.rule.severity not in weak]
    assert [(file, hit.rule.title, hit.event.number) for file, hit in strong if not hit.rule.source.is_general] == []
