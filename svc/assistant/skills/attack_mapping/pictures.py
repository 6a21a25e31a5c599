"""What the answer about behaviours draws: how far along the matrix of ATT&CK the text goes."""

from __future__ import annotations

from collections.abc import Sequence

from svc.assistant.findings import AnyFinding, Confidence, with_facts
from svc.assistant.knowledge.attack_names import attack_table
from svc.assistant.skills.attack_mapping.findings import BehaviourTechnique
from svc.assistant.skills.charts import Bar, bars
from svc.assistant.skills.skill import Picture


def pictures(findings: Sequence[AnyFinding]) -> list[Picture]:
    """The techniques that the text clearly describes, by tactic."""
    by_tactic: dict[str, list[str]] = {}
    for finding in with_facts(findings, BehaviourTechnique):
        if finding.confidence is not Confidence.LOW:
            for tactic in finding.facts.tactics[:1]:
                by_tactic.setdefault(tactic, []).append(finding.facts.id)
    order = [tactic.name for tactic in attack_table().tactics]
    rows = [
        Bar(label=tactic, value=len(ids), note=", ".join(ids), ask=f"Which techniques of {tactic} are described?")
        for tactic, ids in sorted(
            by_tactic.items(), key=lambda pair: order.index(pair[0]) if pair[0] in order else len(order)
        )
    ]
    return bars("Techniques by tactic", rows, unit="techniques that the text describes")
