"""What the answer about events draws: the worst moments, the worst process tree, attacking clients and sources."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from svc.assistant.findings import AnyFinding, Severity, with_facts
from svc.assistant.skills.charts import Bar, Branch, ChartMark, bars, lanes, tree
from svc.assistant.skills.charts.axis import moment
from svc.assistant.skills.events.findings import (
    LogonSource,
    ProcessNode,
    ProcessTree,
    Timeline,
    TimelineMoment,
    WebClient,
)
from svc.assistant.skills.skill import Picture
from svc.untrusted.markup import plural


def pictures(findings: Sequence[AnyFinding]) -> list[Picture]:
    """The timeline, the most severe process tree, clients and sources; each only if there are enough items."""
    drawn: list[Picture] = []
    for found in with_facts(findings, Timeline):
        drawn += _timeline(found.facts)
    flagged = [finding.facts for finding in with_facts(findings, ProcessTree) if finding.facts.flagged]
    for one in flagged[:1]:
        drawn += tree(f"Processes on {one.host}", _branches(one))
    return drawn + _clients(findings) + _sources(findings)


def _timeline(timeline: Timeline) -> list[Picture]:
    """The moments that share a clock: all in UTC, or all without a zone; of both kinds only those in UTC."""
    placed = [(one, time) for one in timeline.moments if (time := moment(one.time)) is not None]
    in_utc = [(one, time) for one, time in placed if one.time.endswith(("Z", "+00:00"))]
    missing = timeline.left_out + len(timeline.moments) - len(in_utc or placed)
    note = f"{plural(missing, 'less severe or undated moment')} not drawn" if missing else ""
    marks = [_mark(one, time) for one, time in in_utc or placed]
    return lanes("Most severe moments", marks, zone="UTC" if in_utc else "zone not stated", note=note)


def _mark(one: TimelineMoment, time: datetime) -> ChartMark:
    times = f", {one.count:,} times" if one.count > 1 else ""
    return ChartMark(
        time=time,
        lane=one.what,
        label=f"{one.host}{times}",
        severity=one.severity,
        ask=f"What is known about {one.what}?",
    )


def _branches(found: ProcessTree) -> list[Branch]:
    """The tree from its list of depths, built from the end, so that the children of each node are complete."""
    waiting: dict[int, list[Branch]] = {}
    for node in reversed(found.nodes):
        waiting.setdefault(node.depth, []).append(_branch(node, waiting.pop(node.depth + 1, [])))
    return list(reversed(waiting.get(0, [])))


def _branch(node: ProcessNode, children: Sequence[Branch]) -> Branch:
    name = node.command or node.image
    return Branch(
        label=name,
        note="; ".join(node.rules),
        severity=node.severity if node.rules else Severity.INFO,
        ask=f"What did {node.image or name} do?",
        children=tuple(reversed(children)),
    )


def _clients(findings: Sequence[AnyFinding]) -> list[Picture]:
    rows = []
    for finding in with_facts(findings, WebClient):
        client = finding.facts
        attacks = sum(one.count for one in client.by_attack)
        note = f"{client.requests:,}" + (f", {plural(attacks, 'attack')}" if attacks else "")
        ask = f"What did {client.client} do?"
        rows.append(Bar(label=client.client, value=client.requests, note=note, severity=finding.severity, ask=ask))
    return bars("Suspicious web clients", rows, unit="requests")


def _sources(findings: Sequence[AnyFinding]) -> list[Picture]:
    rows = [
        Bar(
            label=finding.facts.source,
            value=finding.facts.failures,
            note=f"{finding.facts.failures:,}, {plural(finding.facts.accounts, 'account')}",
            severity=finding.severity,
            ask=f"What did {finding.facts.source} do?",
        )
        for finding in with_facts(findings, LogonSource)
    ]
    return bars("Failed logons by source", rows, unit="failed logons")
