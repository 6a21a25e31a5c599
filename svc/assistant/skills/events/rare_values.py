"""Find values that occur once or twice in a log that has hundreds of their type.

Rare is not malicious: it is where an analyst looks next, after the rules.
"""

from __future__ import annotations

from collections.abc import Iterator

from svc.assistant.findings import Confidence, Finding
from svc.assistant.sigma.event import Event, without_fields
from svc.assistant.skills.asked.evidence import Place, base_name
from svc.assistant.skills.events.findings import RareValue

MIN_OBSERVED = 50  # values of a type, fewer say nothing about what is rare
RARE_COUNT = 2  # at most so often
RARE_SHARE = 0.01  # and at most that share of its type
MAX_VALUES = 50_000  # different ones counted per type
MAX_LISTED = 20  # per type


class _ValueCounts:
    __slots__ = ("counts", "firsts", "total")

    def __init__(self) -> None:
        self.total = 0
        self.counts: dict[str, int] = {}
        self.firsts: dict[str, Event] = {}

    def add(self, value: str, event: Event) -> None:
        self.total += 1
        if value in self.counts:
            self.counts[value] += 1
            if self.counts[value] > RARE_COUNT:
                self.firsts.pop(value, None)
        elif len(self.counts) < MAX_VALUES:
            self.counts[value] = 1
            self.firsts[value] = without_fields(event)


class RareValues:
    """Counts programs, their folders, parent processes, services, tasks and DNS names."""

    def __init__(self) -> None:
        self._kinds: dict[str, _ValueCounts] = {}

    def add(self, event: Event) -> None:
        """Count the values of an event."""
        for kind, value in _observed(event):
            values = self._kinds.get(kind)
            if values is None:
                values = self._kinds[kind] = _ValueCounts()
            values.add(value, event)

    def findings(self, place: Place) -> Iterator[Finding[RareValue]]:
        """Yield rare values type by type, the rarest first."""
        for kind, values in self._kinds.items():
            if values.total < MIN_OBSERVED:
                continue
            most = min(RARE_COUNT, max(1, int(RARE_SHARE * values.total)))
            rare = sorted(
                (values.counts[v], event.time, v) for v, event in values.firsts.items() if values.counts[v] <= most
            )
            if len(rare) > len(values.counts) // 2:
                continue  # if most values occur once, a single occurrence is not unusual
            for count, first, value in rare[:MAX_LISTED]:
                yield Finding(
                    title=f"rare {kind} ({count:,} of {values.total:,}): {value}",
                    confidence=Confidence.LOW,
                    evidence=(place.evidence(values.firsts[value]),),
                    facts=RareValue(
                        what=kind,
                        value=value,
                        count=count,
                        total=values.total,
                        first=first or None,
                        host=values.firsts[value].host,
                    ),
                )


def _observed(event: Event) -> Iterator[tuple[str, str]]:
    fields = event.fields
    if event.category == "process_creation":
        image = fields.get("Image", "").lower()
        program, parent = base_name(image), base_name(fields.get("ParentImage", ""))
        yield "program", program
        yield "program folder", image.rpartition("\\")[0] or image.rpartition("/")[0]
        if parent:
            yield "parent and child process", f"{parent} → {program}"
    elif event.category == "dns_query":
        yield "DNS name", fields.get("QueryName", "").lower()
    elif event.event_id in (7045, 4697) and event.service in ("system", "security"):
        yield "service", fields.get("ServiceName", "")
    elif event.event_id in (4698, 106) and "TaskName" in fields:
        yield "task", fields["TaskName"]
