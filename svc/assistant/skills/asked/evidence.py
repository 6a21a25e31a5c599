"""Where an event is in its log, for findings: evidence, first and last times."""

from __future__ import annotations

import msgspec

from svc.assistant.findings import Evidence
from svc.assistant.sigma.event import Event, without_fields


class Place(msgspec.Struct, frozen=True):
    """The log being read. ``has_records``: its events have record numbers; otherwise the number is the line's."""

    source: str
    has_records: bool

    def evidence(self, event: Event) -> Evidence:
        """Return the event as evidence."""
        return Evidence(
            source=self.source,
            excerpt=event.excerpt,
            line=None if self.has_records else event.number,
            record=event.number if self.has_records else None,
            offset=event.offset,
        )


class Span:
    """Number of events, their first and last times, and the first of them as evidence.

    ``is_slim``: these are kept without their fields, of which many spans would need too much memory.
    """

    __slots__ = ("_is_slim", "count", "events", "first", "last", "limit")

    def __init__(self, *, limit: int = 3, is_slim: bool = False) -> None:
        self._is_slim = is_slim
        self.count: int = 0
        self.first: str = ""
        self.last: str = ""
        self.events: list[Event] = []
        self.limit: int = limit

    def add(self, event: Event) -> None:
        """Count an event."""
        self.count += 1
        if event.time:
            if not self.first or event.time < self.first:
                self.first = event.time
            if event.time > self.last:
                self.last = event.time
        if len(self.events) < self.limit:
            self.events.append(without_fields(event) if self._is_slim else event)

    def merge(self, other: Span) -> None:
        """Add the events of another span."""
        self.count += other.count
        if other.first and (not self.first or other.first < self.first):
            self.first = other.first
        self.last = max(self.last, other.last)
        self.events = (self.events + other.events)[: self.limit]


def account_of(event: Event, side: str) -> str:
    """Return ``DOMAIN\\\\name`` of ``Subject`` or ``Target``; "" if the event has none."""
    name = event.fields.get(f"{side}UserName", "-")
    domain = event.fields.get(f"{side}DomainName", "-")
    if name in ("-", ""):
        return ""
    return name if domain in ("-", "") or "@" in name else f"{domain}\\{name}"


def base_name(path: str) -> str:
    """Return ``cmd.exe`` for ``C:\\\\Windows\\\\System32\\\\cmd.exe``, in lower case."""
    return path.replace("/", "\\").rpartition("\\")[2].lower().strip('"')
