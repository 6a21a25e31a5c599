"""Read AWS CloudTrail: files with ``Records``, JSON lines, and the output of ``lookup-events``.

Field names are joined with dots, as in Sigma's CloudTrail rules (``userIdentity.type``,
``requestParameters.userName``). Format: CloudTrail's record contents, versions 1.0x.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

import msgspec

from svc.assistant.findings import Gap
from svc.assistant.log_readers.flatten import flatten
from svc.assistant.log_readers.lines import Lines, ReadItem, Unread
from svc.assistant.sigma.event import MAX_EXCERPT_CHARS, Event

MAX_BYTES = 128 * 1024 * 1024  # of a file that is one document; the worker has eight times as much memory


class _File(msgspec.Struct):
    Records: list[msgspec.Raw] | None = None
    Events: list[msgspec.Raw] | None = None


def is_cloudtrail(head: bytes) -> bool:
    """Return whether a file's first bytes are CloudTrail's."""
    text = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if not text.startswith((b"{", b"[")):
        return False
    return b'"CloudTrailEvent"' in text or (b'"eventSource"' in text and b'"eventName"' in text)


def read(content: BinaryIO) -> Iterator[ReadItem]:
    """Yield the events in the file's order; an event's number is the record's position in the file, from 1."""
    whole = content.read(MAX_BYTES + 1)
    content.seek(0)
    is_cut = len(whole) > MAX_BYTES
    records = None if is_cut else _document(whole)
    del whole
    unread = 0
    if records is not None:
        for number, raw in enumerate(records, start=1):
            event = _event(bytes(raw), number, None)
            if event is None:
                unread += 1
            else:
                yield event
        if unread:
            yield Gap(text=f"{unread:,} records are not CloudTrail events")
            yield Unread(unread)
        return
    lines = Lines(content)
    for number, offset, line in lines:
        event = _event(line.strip(", ").encode(errors="replace"), number, offset)
        if event is None:
            lines.foreign.append(number)
        else:
            yield event
    yield from lines.gaps("CloudTrail records")
    if is_cut:
        yield Gap(text=f"the file has more than {MAX_BYTES:,} bytes and was read line by line")


def _document(content: bytes) -> list[msgspec.Raw] | None:
    """Return the records of a file that is one document; None if it is not."""
    try:
        found = msgspec.json.decode(content, type=_File | list[msgspec.Raw])
    except (msgspec.DecodeError, msgspec.ValidationError, RecursionError, UnicodeDecodeError):
        return None
    if isinstance(found, list):
        return found
    return found.Records if found.Records is not None else found.Events


def _event(raw: bytes, number: int, offset: int | None) -> Event | None:
    try:
        found = msgspec.json.decode(raw)
        if isinstance(found, dict) and isinstance(inner := found.get("CloudTrailEvent"), str):
            found = msgspec.json.decode(inner)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return None
    if not isinstance(found, dict) or "eventName" not in found:
        return None
    fields: dict[str, str] = {}
    flatten(fields, "", found)
    time = fields.get("eventTime", "")
    return Event(
        number=number,
        offset=offset,
        time=f"{time[:-1]}.000Z" if len(time) == 20 and time.endswith("Z") else time,
        product="aws",
        service="cloudtrail",
        category="",
        host=fields.get("recipientAccountId", ""),
        event_id=None,
        fields=fields,
        excerpt=_excerpt(fields),
    )


def _excerpt(fields: dict[str, str]) -> str:
    """Return the most informative part of a record that is too long to be shown."""
    shown = ("eventTime", "eventSource", "eventName", "userIdentity.arn", "sourceIPAddress", "errorCode")
    return " ".join(fields[name] for name in shown if name in fields)[:MAX_EXCERPT_CHARS]
