"""What an answer shows before anything is opened."""

from __future__ import annotations

from collections.abc import Sequence

from svc.assistant.findings import AnyFinding
from svc.assistant.skills.skill import Section


def opening(section: Section, findings: Sequence[AnyFinding]) -> str:
    """The verdict and the facts of one skill."""
    return "\n".join([section.verdict(findings), *section.facts(findings)])
