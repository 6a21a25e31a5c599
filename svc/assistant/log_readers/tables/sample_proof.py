"""Prove a source definition on a sample: every record is recognised as its kind, has a time, and becomes an event."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import BinaryIO

import msgspec

from svc.assistant.findings import Gap
from svc.assistant.log_readers.lines import ReadAs, Unread
from svc.assistant.log_readers.tables import kinds, user_sources
from svc.assistant.log_readers.tables.kinds import Kind, Source, plain_name
from svc.assistant.log_readers.tables.reader import HEAD_BYTES, LEFT_OUT, read, recognised_now
from svc.assistant.sigma.event import Event

MAX_NAMED = 12  # columns in a message


class SampleError(ValueError):
    """A sample does not prove the definition; the text says what is missing."""


class Proved(msgspec.Struct, frozen=True, kw_only=True):
    """What was read of a sample. ``columns`` are ``role=column``; ``categories`` counts the events of each."""

    kind: str
    events: int
    first: str
    last: str
    columns: tuple[str, ...]
    unused: tuple[str, ...]
    categories: dict[str, int]
    log_sources: list[str]


def prove(source: Source, sample: BinaryIO) -> Proved:
    """Read a sample with the definition.

    Raises:
        SampleError: It is not recognised as a kind of the definition, or not all of it is read.
    """
    kinds.prefer([source])
    try:
        return _proved(source, sample)
    finally:
        user_sources.forget()


def _proved(source: Source, sample: BinaryIO) -> Proved:
    head = sample.read(HEAD_BYTES)
    sample.seek(0)
    found = recognised_now(head)
    own = {kind.name: kind for kind in source.kinds}
    if found.kind is None or found.kind.name not in own:
        raise SampleError(_not_recognised(found.kind, found.columns, source.kinds))
    if found.kind.unread:
        return Proved(
            kind=found.kind.name, events=0, first="", last="", columns=(), unused=(), categories={}, log_sources=[]
        )
    return _read(found.kind, sample)


def _not_recognised(found: Kind | None, columns: tuple[str, ...], own: Iterable[Kind]) -> str:
    if not columns:
        return "the sample is not a table, JSON, key=value lines, CEF, LEEF, or lines that a pattern of `lines` matches"
    plain = set(map(plain_name, columns))
    other = f"it is recognised as {found.name}" if found is not None else "it is not recognised"
    missing = min(
        ([name for name in names if name not in plain] for kind in own for names in kind.needs), key=len, default=[]
    )
    if missing:
        shown = ", ".join(columns[:MAX_NAMED])
        return f"{other}: the first record lacks the columns {', '.join(missing)} of `needs`; it has {shown}"
    return f"{other}, because more of its columns show that: name more columns in `needs`"


def _read(kind: Kind, sample: BinaryIO) -> Proved:
    events: list[Event] = []
    problems: list[str] = []
    as_what = ReadAs(kind.name)
    unread = 0
    for item in read(sample, is_loaded=True):
        match item:
            case Event():
                events.append(item)
            case ReadAs():
                as_what = item
            case Gap() if LEFT_OUT not in item.text:
                problems.append(item.text)
            case Unread():
                unread += item.count
    if not events or unread or problems:
        raise SampleError(
            f"{len(events):,} records are read, {unread:,} are not: {'; '.join(problems[:3]) or 'no record'}"
        )
    times = sorted(event.time for event in events if event.time)
    return Proved(
        kind=kind.name,
        events=len(events),
        first=times[0] if times else "",
        last=times[-1] if times else "",
        columns=as_what.columns,
        unused=as_what.unused,
        categories=dict(Counter(event.category or "activity" for event in events)),
        log_sources=sorted({"/".join(filter(None, (one.product, one.service, one.category))) for one in events}),
    )
