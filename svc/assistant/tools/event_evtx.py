"""Windows event logs (EVTX) as events. A damaged chunk or record is a Gap with its place; what comes after is read.

The format: Windows' own, as the library evtx reads it: a header of 4,096 bytes, then chunks of 65,536 with a checksum.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO

import msgspec

from svc.assistant.tools import Gap
from svc.assistant.tools.event import Event
from svc.assistant.tools.event_nested import nested_event

if TYPE_CHECKING:
    from evtx import PyRecordsIterator

HEADER_BYTES = 4_096
CHUNK_BYTES = 65_536
MAX_RECORDS = 5_000_000  # 80 GB of log would have more
MAX_GAPS = 20  # named one by one; the rest are counted
_CHUNK = re.compile(r"chunk number (\d+)|chunk (\d+)|in chunk (\d+)")
_RECORD = re.compile(r"record(?: id| number)?:? (\d+)")
_decode = msgspec.json.Decoder(dict[str, object]).decode


def read(feed: BinaryIO) -> Iterator[Event | Gap]:
    """The log's events in the file's order. A number is the record's own (EventRecordID)."""
    from evtx import PyEvtxParser

    gaps: list[str] = []
    number = 0
    try:
        records = PyEvtxParser(feed, number_of_threads=1).records_json()
    except BaseException as error:  # a panic of the library is no Exception
        if isinstance(error, KeyboardInterrupt | SystemExit | MemoryError):
            raise
        yield Gap(text=f"damaged at byte 0: {_said(error)}; nothing in it was looked at")
        return
    while number < MAX_RECORDS:
        outcome = _next(records)
        if outcome is None:
            break
        if isinstance(outcome, str):
            gaps.append(outcome)
            if len(gaps) <= MAX_GAPS:
                yield Gap(text=outcome)
            continue
        number += 1
        event = _event(outcome, number)
        if event is None:
            gaps.append(f"record {number:,} of the file has no System element; it was not looked at")
        else:
            yield event
    if len(gaps) > MAX_GAPS:
        yield Gap(text=f"{len(gaps) - MAX_GAPS:,} more damaged places were passed over")
    if number >= MAX_RECORDS:
        yield Gap(text=f"only the first {MAX_RECORDS:,} records were looked at")


def _next(records: PyRecordsIterator) -> dict[str, object] | str | None:
    """The next record, what is damaged in its place, or None at the end."""
    try:
        record: dict[str, object] | None = next(records)
        return record
    except StopIteration:
        return None
    except BaseException as error:  # a panic of the library is no Exception
        if isinstance(error, KeyboardInterrupt | SystemExit | GeneratorExit | MemoryError):
            raise
        return _damage(error)


def _damage(error: BaseException) -> str:
    text = _said(error)
    chunk = _CHUNK.search(text)
    if chunk is None:
        record = _RECORD.search(text)
        return f"damaged at record {record[1]}: {text}" if record else f"damaged: {text}"
    number = int(next(group for group in chunk.groups() if group))
    return f"damaged at byte {HEADER_BYTES + number * CHUNK_BYTES:,} (chunk {number}): {text}"


def _said(error: BaseException) -> str:
    return " ".join(str(error).split())[:200]


def _event(record: dict[str, object], number: int) -> Event | None:
    data = record.get("data")
    try:
        body = _decode(data).get("Event") if isinstance(data, str) else None
    except (msgspec.DecodeError, RecursionError):
        return None
    return nested_event(body, number=number, is_own_number=True) if isinstance(body, dict) else None
