"""Find the records with the most bytes, or of the longest duration, and what each source had in sum."""

from __future__ import annotations

import heapq
import re
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime

from svc.assistant.sigma.event import Event
from svc.assistant.skills.asked.findings import LargestRecord, RecordValue
from svc.assistant.skills.indicators.patterns import scope_of

KEPT = 3
MAX_SOURCES = 10_000
MAX_NUMBER_CHARS = 40
_TOTAL = re.compile(r"(?:^|\.)(?:bytes|totalbytes|bytestotal|networkbytes|scbytes)$")
_SENT = re.compile(
    r"(?:^|\.)(?:origbytes|sentbytes?|bytessent|bytestransferredout|requestsize|bytestoserver|outbytes|bytesout|ibyt"
    r"|csbytes|sentbyte|sourcebytes|bytesxmt)$"
)
_RECEIVED = re.compile(
    r"(?:^|\.)(?:respbytes|receivedbytes?|rcvdbytes?|bytesreceived|bytestransferredin|responsesize|bytestoclient|inbytes"
    r"|bytesin|obyt|destinationbytes|bytesrcv)$"
)
_SECONDS = re.compile(r"(?:^|\.)(?:duration|elapsedtime|durationseconds|sessionduration|td|flowage)$")
_START = re.compile(r"(?:^|\.)(?:start|starttime|firstseen|sessionstart|flowstart|stime|ts)$")
_END = re.compile(r"(?:^|\.)(?:end|endtime|lastseen|sessionend|flowend|etime|te)$")
_MEASURES = {"sent": (_SENT, _TOTAL), "received": (_RECEIVED, _TOTAL), "seconds": (_SECONDS,)}
_SOURCES = ("SourceIp", "src_ip", "c-ip", "IpAddress", "id.orig_h", "srcaddr", "clientip")
_DESTINATIONS = ("DestinationIp", "dst_ip", "cs-host", "id.resp_h", "dstaddr", "dest_ip", "r-dns", "hostname", "c-uri")
_ACCOUNTS = ("User", "TargetUserName", "cs-username")


class LargestRecords:
    """The largest of the records that it is given."""

    def __init__(self, measure: str, *, is_outward: bool) -> None:
        self._measure, self._is_outward = measure, is_outward
        self._kept: list[tuple[int, int, LargestRecord, Event]] = []
        self._by_source: Counter[str] = Counter()
        self._count = 0

    def add(self, event: Event, named: Sequence[tuple[str, str]], held: Sequence[RecordValue] = ()) -> None:
        """Compare a record; ``named`` are its columns with their plain names, ``held`` what the question asks for."""
        amount, columns = amount_of(self._measure, event, named)
        destination = _first(event, _DESTINATIONS)
        if amount is None or (self._is_outward and not _is_public(destination)):
            return
        source = _first(event, _SOURCES)
        if source and (source in self._by_source or len(self._by_source) < MAX_SOURCES):
            self._by_source[source] += amount
        record = LargestRecord(
            amount=amount, columns=columns, source=source, destination=destination, account=_first(event, _ACCOUNTS),
            time=event.time, seconds=_lasted(event, named), values=list(held),
        )  # fmt: skip
        self._count += 1
        entry = (amount, -self._count, record, event)
        if len(self._kept) < KEPT:
            heapq.heappush(self._kept, entry)
        elif entry[:2] > self._kept[0][:2]:
            heapq.heapreplace(self._kept, entry)

    def merge(self, other: LargestRecords) -> None:
        """Take in those of another set of records."""
        self._kept = sorted([*self._kept, *other._kept], key=lambda one: one[:2])[-KEPT:]
        self._by_source.update(other._by_source)

    @property
    def records(self) -> list[LargestRecord]:
        """The largest first."""
        return [one for _, _, one, _ in self._ranked()]

    @property
    def events(self) -> list[Event]:
        """The events of ``records``."""
        return [one for *_, one in self._ranked()]

    @property
    def by_source(self) -> list[RecordValue]:
        """The sums of the sources with the most."""
        return [RecordValue("source", name, count) for name, count in self._by_source.most_common(KEPT)]

    def _ranked(self) -> list[tuple[int, int, LargestRecord, Event]]:
        return sorted(self._kept, key=lambda one: one[:2], reverse=True)


def amount_of(measure: str, event: Event, named: Sequence[tuple[str, str]]) -> tuple[int | None, str]:
    """The sum of the columns that are asked for, and their names; of all bytes, the total if the record states it."""
    if (patterns := _MEASURES.get(measure)) is not None:
        held = next(filter(None, (_numbers(event, named, one) for one in patterns)), [])
    else:
        held = _numbers(event, named, _TOTAL)[:1]
        held = held or [*_numbers(event, named, _SENT)[:1], *_numbers(event, named, _RECEIVED)[:1]]
    if not held:
        return None, ""
    return round(sum(number for _, number in held)), " + ".join(name for name, _ in held)


def _numbers(event: Event, named: Sequence[tuple[str, str]], pattern: re.Pattern[str]) -> list[tuple[str, float]]:
    """The numbers of the columns with such names."""
    held = ((name, event.fields[name]) for name, plain in named if pattern.search(plain))
    return [(name, float(value)) for name, value in held if _is_number(value)]


def _lasted(event: Event, named: Sequence[tuple[str, str]]) -> int | None:
    """How long a record lasted, by its column for it, else from its start to its end."""
    if stated := _numbers(event, named, _SECONDS):
        return round(stated[0][1])
    start, end = (
        next((event.fields[name] for name, plain in named if pattern.search(plain)), "") for pattern in (_START, _END)
    )
    try:
        seconds = (_moment(end) - _moment(start)).total_seconds()
    except (ValueError, TypeError, OverflowError):  # no time, or one with and one without a zone
        return None
    return round(seconds) if seconds >= 0 else None


def _moment(text: str) -> datetime:
    if _is_number(text):
        return datetime.fromtimestamp(float(text), UTC)
    return datetime.fromisoformat(text)


def _is_number(value: str) -> bool:
    return len(value) <= MAX_NUMBER_CHARS and value.replace(".", "", 1).isdecimal()


def source_of(event: Event) -> str:
    """The address that a record about traffic is from; "" if it has none."""
    return _first(event, _SOURCES)


def _first(event: Event, names: Sequence[str]) -> str:
    return next((value for name in names if (value := event.fields.get(name, ""))), "")


def _is_public(address: str) -> bool:
    try:
        return scope_of(address) in ("public", "documentation")
    except ValueError:
        return bool(address)  # a name of the Internet
