"""One record of any log, as every log reader returns it and every rule receives it.

Field names are Sigma's (``Image``, ``CommandLine``, ``TargetUserName``, ``c-uri``, ``sc-status``), so that any
Sigma rule runs on these events. Source of the names: Sigma's taxonomy (sigmahq.io/docs/basics/log-sources).
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache

import msgspec

MAX_EXCERPT_CHARS = 400
_MAX_TIME_CHARS = 60  # of ISO 8601


class Verdict(msgspec.Struct, frozen=True):
    """What another product says about a record: the product, the name of its detection, its rating.

    ``is_denied``: it prevented what it detected.
    """

    product: str
    name: str
    level: str
    is_denied: bool = False


class Event(msgspec.Struct, kw_only=True):
    """One record. ``number`` is its line or record number, from 1; ``offset`` is in bytes, None if unknown.

    ``time`` is ISO 8601 in UTC with milliseconds; "" if the record has none; unchanged if its zone is unknown.
    ``product``, ``service`` and ``category`` are Sigma's log source, "" if there is none. ``fields`` is flat.
    ``excerpt`` is the original record, cut to MAX_EXCERPT_CHARS. ``verdict`` is the exporting product's own, if any.
    """

    number: int
    offset: int | None
    time: str
    product: str
    service: str
    category: str
    host: str
    event_id: int | None
    fields: dict[str, str]
    excerpt: str
    verdict: Verdict | None = None


def without_fields(event: Event, *, has_excerpt: bool = True) -> Event:
    """Return where an event is and what it was, without its fields: a tenth of the memory, to keep as evidence."""
    return Event(
        number=event.number, offset=event.offset, time=event.time, product=event.product, service=event.service,
        category=event.category, host=event.host, event_id=event.event_id, fields={},
        excerpt=event.excerpt if has_excerpt else "",
    )  # fmt: skip


def seconds_of(time: str) -> float | None:
    """Return an event's time as seconds since 1970; None if it has none or it is not ISO 8601."""
    return _parsed(time) if len(time) <= _MAX_TIME_CHARS else _parsed.__wrapped__(time)


@lru_cache(maxsize=8_192)  # several collectors ask about each event of a batch, one after the other
def _parsed(time: str) -> float | None:
    try:
        moment = datetime.fromisoformat(time)
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
