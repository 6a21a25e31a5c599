"""Where an event stands, for findings: evidence, and first and last times. Pure."""

from __future__ import annotations

import msgspec

from svc.assistant.findings import Evidence
from svc.assistant.sigma.event import Event


class Place(msgspec.Struct, frozen=True):
    """The log that is read. ``has_records``: its events have numbers of their own, not those of lines."""

    source: str
    has_records: bool

    def evidence(self, event: Event) -> Evidence:
        """The event as evidence."""
        return Evidence(
            source=self.source,
            excerpt=event.excerpt,
            line=None if self.has_records else event.number,
            record=event.number if self.has_records else None,
            offset=event.offset,
        )


class Span:
    """How many events, the first and last of them by time, and the first ones as evidence."""

    __slots__ = ("count", "events", "first", "last", "limit")

    def __init__(self, *, limit: int = 3) -> None:
        self.count = 0
        self.first = self.last = ""
        self.events: list[Event] = []
        self.limit = limit

    def add(self, event: Event) -> None:
        """Count it."""
        self.count += 1
        if event.time:
            if not self.first or event.time < self.first:
                self.first = event.time
            if event.time > self.last:
                self.last = event.time
        if len(self.events) < self.limit:
            self.events.append(event)


def account_of(event: Event, side: str) -> str:
    """``DOMAIN\\\\name`` of ``Subject`` or ``Target``; "" where it is not there."""
    name = event.fields.get(f"{side}UserName", "-")
    domain = event.fields.get(f"{side}DomainName", "-")
    if name in ("-", ""):
        return ""
    return name if domain in ("-", "") or "@" in name else f"{domain}\\{name}"


def base_name(path: str) -> str:
    """``cmd.exe`` of ``C:\\\\Windows\\\\System32\\\\cmd.exe``, lower case."""
    return path.replace("/", "\\").rpartition("\\")[2].lower().strip('"')
