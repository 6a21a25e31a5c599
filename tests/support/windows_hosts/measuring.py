"""What the analyst makes of a scenario, for figures."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from io import BytesIO

from svc.assistant.findings import AnyFinding, Finding, Severity, with_facts
from svc.assistant.knowledge.attack_names import current_tactics
from svc.assistant.skills.events import answer, tool
from svc.assistant.skills.events.findings import EventTactics
from tests.support.windows_hosts.reading import Scenario

BAD = (Severity.CRITICAL, Severity.HIGH)


def findings_of(content: bytes, name: str) -> list[AnyFinding]:
    """Everything found in a log."""
    return [one for one in tool.inspect(BytesIO(content), source=name) if isinstance(one, Finding)]


def severe(found: Iterable[AnyFinding]) -> list[str]:
    """The titles of what is rated high or critical."""
    return [f"{one.title} ({one.severity.value})" for one in found if one.severity in BAD]


def verdict_of(found: list[AnyFinding]) -> str:
    """The bold line."""
    return answer.verdict(found)


@dataclass(frozen=True)
class Named:
    """What was named of an attack."""

    scenario: Scenario
    tactics: tuple[str, ...]
    techniques: tuple[str, ...]

    @property
    def is_tactic_first(self) -> bool:
        wanted = current_tactics([self.scenario.tactic], [self.scenario.technique])
        return bool(self.tactics) and self.tactics[0] in wanted

    @property
    def is_technique_first(self) -> bool:
        return self.techniques[:1] == (self.scenario.technique,)


def named(scenario: Scenario) -> Named:
    """The tactics and techniques of the whole log, in the order in which they are named."""
    found = findings_of(scenario.as_json_lines(), "events.json")
    whole = with_facts(found, EventTactics)
    return Named(
        scenario,
        tuple(row.tactic for one in whole for row in one.facts.by_tactic),
        tuple(technique for one in whole for technique in one.techniques),
    )
