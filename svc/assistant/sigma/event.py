"""One record of any log, as every reader gives it and every rule sees it. Decides nothing.

Field names are Sigma's (``Image``, ``CommandLine``, ``TargetUserName``, ``c-uri``, ``sc-status``), so that a rule
written for anybody's logs runs on these. Source of the names: Sigma's taxonomy (sigmahq.io/docs/basics/log-sources).
"""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec

MAX_EXCERPT_CHARS = 400


class Event(msgspec.Struct, kw_only=True):
    """One record. ``number`` is its line or record number, from 1; ``offset`` is in bytes, where known.

    ``time`` is ISO 8601 in UTC with milliseconds; "" where the record has none; as it stands where its zone is unknown.
    ``product``, ``service`` and ``category`` are Sigma's log source, "" where there is none. ``fields`` is flat.
    ``excerpt`` is the record as it stands, cut to MAX_EXCERPT_CHARS.
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


def seconds_of(time: str) -> float | None:
    """An event's time as seconds since 1970; None where it has none, or one in a form that is not ISO 8601."""
    try:
        moment = datetime.fromisoformat(time)
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
