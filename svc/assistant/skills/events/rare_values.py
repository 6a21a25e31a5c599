"""What happens once or twice in a log that tells of the same things hundreds of times. Pure. Finding kind: ``events``.

Rare is not bad: it is where an analyst looks after what the rules say.
"""

from __future__ import annotations

from collections.abc import Iterator

from svc.assistant.findings import Confidence
from svc.assistant.findings import LooseFinding as Finding
from svc.assistant.sigma.event import Event
from svc.assistant.skills.events.evidence import Place, base_name

LEAST_OBSERVED = 50  # of a kind, before once among them is rare
RARE_COUNT = 2  # at most so often
RARE_SHARE = 0.01  # and at most that part of all of the kind
MAX_VALUES = 50_000  # told apart of a kind
MAX_LISTED = 20  # of a kind


class _Values:
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
            self.firsts[value] = event


class RareValues:
    """Counts programs, their folders, who starts whom, services, tasks and names looked up."""

    def __init__(self) -> None:
        self._kinds: dict[str, _Values] = {}

    def add(self, event: Event) -> None:
        """Count what the event tells of."""
        for kind, value in _observed(event):
            values = self._kinds.get(kind)
            if values is None:
                values = self._kinds[kind] = _Values()
            values.add(value, event)

    def findings(self, place: Place) -> Iterator[Finding]:
        """Kind by kind, the rarest first."""
        for kind, values in self._kinds.items():
            if values.total < LEAST_OBSERVED:
                continue
            most = min(RARE_COUNT, max(1, int(RARE_SHARE * values.total)))
            rare = sorted(
                (values.counts[v], event.time, v) for v, event in values.firsts.items() if values.counts[v] <= most
            )
            if len(rare) > len(values.counts) // 2:
                continue  # where most things happen once, once says nothing
            for count, first, value in rare[:MAX_LISTED]:
                yield Finding(
                    kind="rare",
                    title=f"{kind} seen {count:,} times among {values.total:,}: {value}",
                    confidence=Confidence.LOW,
                    evidence=(place.evidence(values.firsts[value]),),
                    attributes={
                        "what": kind,
                        "value": value,
                        "count": count,
                        "total": values.total,
                        "first": first or None,
                        "host": values.firsts[value].host,
                    },
                )


def _observed(event: Event) -> Iterator[tuple[str, str]]:
    fields = event.fields
    if event.category == "process_creation":
        image = fields.get("Image", "").lower()
        program, parent = base_name(image), base_name(fields.get("ParentImage", ""))
        yield "program", program
        yield "program's folder", image.rpartition("\\")[0] or image.rpartition("/")[0]
        if parent:
            yield "parent and program", f"{parent} → {program}"
    elif event.category == "dns_query":
        yield "name looked up", fields.get("QueryName", "").lower()
    elif event.event_id in (7045, 4697) and event.service in ("system", "security"):
        yield "service", fields.get("ServiceName", "")
    elif event.event_id in (4698, 106) and "TaskName" in fields:
        yield "task", fields["TaskName"]
