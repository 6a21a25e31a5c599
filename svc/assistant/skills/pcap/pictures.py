"""What the answer about a capture draws: when the suspicious traffic was, and who sent most."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from svc.assistant.findings import AnyFinding, Facts, Severity, with_facts
from svc.assistant.skills.charts import Bar, ChartMark, Periods, Series, bars, columns, lanes
from svc.assistant.skills.charts.axis import moment
from svc.assistant.skills.pcap.findings import (
    PcapActivity,
    PcapBeacon,
    PcapDnsTunnel,
    PcapHttp,
    PcapRemote,
    PcapScan,
    PcapSummary,
    PcapTalker,
    PcapTls,
    PcapUpload,
)
from svc.assistant.skills.skill import Picture

_TIMED = (PcapActivity, PcapRemote, PcapDnsTunnel, PcapHttp, PcapScan, PcapTls, PcapUpload)
_LEAST = (Severity.CRITICAL, Severity.HIGH, Severity.MEDIUM, Severity.LOW)


def pictures(findings: Sequence[AnyFinding]) -> list[Picture]:
    """Beacons and other detections over time, without any the bytes over time; and the hosts with the most traffic."""
    marks = [mark for finding in findings if finding.severity in _LEAST for mark in _marks(finding)]
    drawn = lanes("Suspicious traffic over time", marks, zone="UTC", least=3)
    return (drawn or _volume(findings)) + bars(
        "Hosts with the most traffic", _talkers(findings), unit="bytes sent and received"
    )


def _marks(finding: AnyFinding) -> Iterator[ChartMark]:
    facts = finding.facts
    if isinstance(facts, PcapBeacon):
        lane = f"beacon: {facts.client} → {facts.name or facts.server}"
        start = moment(facts.first)
        if start is not None:
            for offset in facts.offsets:
                yield _mark(finding, start + timedelta(seconds=offset), lane, facts.client)
    elif isinstance(facts, _TIMED):
        lane, client = _lane(facts)
        times = {facts.first, getattr(facts, "last", None)}
        for time in filter(None, map(moment, sorted(filter(None, times)))):
            yield _mark(finding, time, lane, client)


def _mark(finding: AnyFinding, time: datetime, lane: str, client: str) -> ChartMark:
    return ChartMark(time=time, lane=lane, label=finding.title, severity=finding.severity, ask=f"What did {client} do?")


def _lane(facts: Facts) -> tuple[str, str]:
    """The name of a detection's lane, and who made it."""
    match facts:
        case PcapActivity():
            ends = facts.client or facts.server
            return f"{facts.activity}: {ends}", ends
        case PcapRemote():
            return f"remote administration: {facts.client} → {facts.server}", facts.client
        case PcapDnsTunnel():
            return f"DNS tunnel: {facts.domain}", next(iter(facts.clients), facts.domain)
        case PcapHttp():
            return f"web request: {facts.client} → {facts.host or facts.server}", facts.client
        case PcapScan():
            return f"scan by {facts.source}", facts.source
        case PcapTls():
            return f"TLS: {facts.name or facts.server}", next(iter(facts.clients), facts.server)
        case PcapUpload():
            return f"upload: {facts.client} → {facts.name or facts.server}", facts.client
        case _:
            return "", ""


def _volume(findings: Sequence[AnyFinding]) -> list[Picture]:
    """The bytes over time; the bins of a summary have equal lengths."""
    drawn: list[Picture] = []
    for finding in with_facts(findings, PcapSummary):
        bins = finding.facts.activity
        times = [moment(one.time) for one in bins[:2]]
        if len(times) < 2 or times[0] is None or times[1] is None or times[1] <= times[0]:
            continue
        periods = Periods(start=times[0], seconds=(times[1] - times[0]).total_seconds(), unit="bytes", zone="UTC")
        drawn += columns("Traffic over time", periods, [Series(label="", counts=[one.bytes for one in bins])])
    return drawn


def _talkers(findings: Sequence[AnyFinding]) -> list[Bar]:
    return [
        Bar(
            label=f"{facts.address} ({facts.name})" if facts.name else facts.address,
            value=facts.sent + facts.received,
            ask=f"What did {facts.address} do?",
        )
        for facts in (finding.facts for finding in with_facts(findings, PcapTalker))
    ]
