"""Build a finding about an activity: who, with whom, how often, in which packets. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from svc.assistant.findings import Confidence, Finding, Severity
from svc.assistant.skills.pcap.dns import address_text
from svc.assistant.skills.pcap.findings import ActivityType, PcapActivity
from svc.assistant.skills.pcap.flows import Flow
from svc.assistant.skills.pcap.labels import CaptureNames, iso

MAX_LISTED = 20
_EVIDENCE = 3  # packets


class Sighting(msgspec.Struct, frozen=True):
    """One packet of an activity."""

    number: int
    seconds: float
    flow: Flow | None = None
    name: str = ""


class ActivityJudgement(msgspec.Struct, frozen=True):
    """What an activity means."""

    title: str
    severity: Severity
    techniques: tuple[str, ...]
    why: str
    confidence: Confidence = Confidence.MEDIUM


def activity(
    kind: ActivityType,
    judged: ActivityJudgement,
    seen: Sequence[Sighting],
    names: CaptureNames,
    *,
    protocol: str,
    client: bytes = b"",
    server: bytes = b"",
    port: int | None = None,
    count: int = 0,
) -> Finding[PcapActivity]:
    """Return the finding. ``seen`` is not empty; ``count`` 0: as many as were seen."""
    listed = [*dict.fromkeys(one.name for one in seen if one.name)]
    times = [one.seconds for one in seen]
    return Finding(
        title=judged.title,
        severity=judged.severity,
        confidence=judged.confidence,
        why=judged.why,
        evidence=tuple(
            names.packet(one.number, f"{names.flow(one.flow) if one.flow else ''} {one.name}".strip())
            for one in seen[:_EVIDENCE]
        ),
        techniques=judged.techniques,
        facts=PcapActivity(
            activity=kind,
            protocol=protocol,
            client=address_text(client) if client else "",
            server=address_text(server) if server else "",
            port=port,
            count=count or len(seen),
            names=listed[:MAX_LISTED],
            packets=[one.number for one in seen[:MAX_LISTED]],
            first=iso(min(times)),
            last=iso(max(times)),
        ),
    )


def listing(seen: Sequence[Sighting], limit: int = 3) -> str:
    """``a, b, c and 4 more``: the different names."""
    found = [*dict.fromkeys(one.name for one in seen if one.name)]
    more = f" and {len(found) - limit:,} more" if len(found) > limit else ""
    return ", ".join(found[:limit]) + more


def is_dense(times: list[float], count: int, pause: float) -> bool:
    """Whether ``count`` of the moments follow one another with a mean pause of at most ``pause`` seconds."""
    ordered = sorted(times)
    ends = zip(ordered, ordered[count - 1 :], strict=False)
    return any(last - first <= pause * (count - 1) for first, last in ends)
