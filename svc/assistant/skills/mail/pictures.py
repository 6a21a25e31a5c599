"""The picture of a mail: its path, with the delay of each hop."""

from __future__ import annotations

from collections.abc import Sequence

from svc.assistant.findings import AnyFinding, Severity, with_facts
from svc.assistant.skills.charts import Bar, bars
from svc.assistant.skills.mail.findings import MailHop, MailVerdict
from svc.assistant.skills.skill import Picture


def pictures(findings: Sequence[AnyFinding]) -> list[Picture]:
    """The hops of a single mail with their delays; nothing if no server was slow."""
    if len(with_facts(findings, MailVerdict)) != 1:
        return []
    rows = [_bar(finding.facts) for finding in with_facts(findings, MailHop)]
    return bars("Path of the mail and delays", rows, unit="seconds at each server, oldest first")


def _bar(hop: MailHop) -> Bar:
    client = hop.ip or hop.reverse or hop.sender or "not stated"
    first = "first server" if hop.number == 1 else "not stated"
    return Bar(
        label=f"{hop.number}. {hop.by or 'server not stated'} from {client}",
        value=max(0, hop.delay_seconds or 0),
        note=first if hop.delay_seconds is None else f"{hop.delay_seconds:,} s",
        severity=Severity.MEDIUM if hop.notes else Severity.INFO,
        ask=f"What is known about {client}?",
    )
