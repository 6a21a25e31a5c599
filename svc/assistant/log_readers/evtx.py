"""Read Windows event logs (EVTX). A damaged chunk or record becomes a gap with its place; reading continues after it.

Format: libevtx's description. A header of 4,096 bytes precedes chunks of 65,536, each with its records and its own
tables of names and templates. Each chunk goes to the library evtx by itself, after its tables are checked: a circular
table would make the library loop forever.
"""

from __future__ import annotations

import io
import re
import struct
from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO

import msgspec

from svc.assistant.findings import Gap
from svc.assistant.log_readers.lines import ReadItem, Unread, ended_early
from svc.assistant.log_readers.windows_nested import nested_event
from svc.assistant.sigma.event import Event

if TYPE_CHECKING:
    from evtx import PyRecordsIterator

MAGIC = b"ElfFile\x00"
HEADER_BYTES = 4_096
CHUNK_BYTES = 65_536
MAX_GAPS = 20  # reported one by one; the rest are counted
MAX_CHUNK_ERRORS = 100  # after which the rest of a chunk is skipped
_CHUNK_MAGIC = b"ElfChnk\x00"
_COUNT_AT = 42  # in the file's header: the number of chunks, 16 bits
_TABLES = range(128, 128 + 4 * (64 + 32), 4)  # in a chunk: the starts of 64 chains of names and 32 of templates
_RECORD = re.compile(r"record(?: id| number)?:? (\d+)")
_decode = msgspec.json.Decoder(dict[str, object]).decode


def read(content: BinaryIO) -> Iterator[ReadItem]:
    """Yield the events in the file's order; an event's number is its EventRecordID."""
    head = content.read(HEADER_BYTES)
    if len(head) < HEADER_BYTES:
        yield Gap(text=f"damaged at byte {len(head):,}: the file ends within its header; not examined")
        return
    stated = int.from_bytes(head[_COUNT_AT : _COUNT_AT + 2], "little")
    gaps = 0
    for item in _chunks(content, stated):
        if isinstance(item, Event):
            yield item
            continue
        gaps += 1
        if gaps <= MAX_GAPS:
            yield Gap(text=item)
    if gaps > MAX_GAPS:
        yield Gap(text=f"{gaps - MAX_GAPS:,} more damaged places were skipped")
    if gaps:
        yield Unread(gaps)


def _chunks(content: BinaryIO, stated: int) -> Iterator[Event | str]:
    """Yield the events and what is damaged, chunk by chunk; ``stated`` is the number of chunks in the header."""
    number, invalid = 0, 0  # invalid: how many consecutive chunks are invalid
    while chunk := content.read(CHUNK_BYTES):
        place = f"damaged at byte {HEADER_BYTES + number * CHUNK_BYTES:,} (chunk {number})"
        if not chunk.startswith(_CHUNK_MAGIC):
            if number < stated or chunk.strip(b"\x00"):  # Windows allocates empty chunks at the end
                invalid += 1
        else:
            if invalid:
                yield _describe_invalid(number, invalid)
                invalid = 0
            if len(chunk) < CHUNK_BYTES:
                yield f"{place}: the file ends after {len(chunk):,} bytes of it"
                chunk = chunk.ljust(CHUNK_BYTES, b"\x00")
            whole = _without_circles(chunk)
            if whole is not chunk:
                yield f"{place}: its tables are circular; its records were read without them"
            yield from _records(whole, place)
        number += 1
    if invalid:
        yield _describe_invalid(number, invalid)
    if number < stated and not ended_early(content):
        yield f"the header states {stated:,} chunks, but the file ends after {number:,}"


def _describe_invalid(end: int, count: int) -> str:
    """Describe ``count`` invalid chunks before chunk ``end``."""
    first = end - count
    place = HEADER_BYTES + first * CHUNK_BYTES
    if count == 1:
        return f"damaged at byte {place:,} (chunk {first}): not a valid chunk; not examined"
    return f"damaged at byte {place:,} (chunks {first} to {end - 1}): no valid chunks; not examined"


def _without_circles(chunk: bytes) -> bytes:
    """Return the chunk without the circular chains of its tables; the same object if there are none."""
    mended: bytearray | None = None
    for table in _TABLES:
        seen: set[int] = set()
        (offset,) = struct.unpack_from("<I", chunk, table)
        while 0 < offset <= CHUNK_BYTES - 4 and offset not in seen:
            seen.add(offset)
            (offset,) = struct.unpack_from("<I", chunk, offset)
        if offset in seen:
            mended = bytearray(chunk) if mended is None else mended
            struct.pack_into("<I", mended, table, 0)
    return chunk if mended is None else bytes(mended)


def _records(chunk: bytes, place: str) -> Iterator[Event | str]:
    from evtx import PyEvtxParser

    try:
        records = PyEvtxParser(io.BytesIO(_HEADER_OF_ONE + chunk), number_of_threads=1).records_json()
    except Exception as error:  # noqa: BLE001 - a damaged header can raise anything in the library
        yield f"{place}: {_error_text(error)}"
        return
    errors = 0
    while errors < MAX_CHUNK_ERRORS:
        outcome = _next(records)
        if outcome is None:
            return
        event = None if isinstance(outcome, str) else _event(outcome)
        if event is None:
            errors += 1
            stated = outcome if isinstance(outcome, str) else "a record is not an event"
            record = _RECORD.search(stated)
            yield f"{place}{f', record {int(record[1]):,}' if record else ''}: {stated}"
        else:
            yield event
    yield f"{place}: the rest was skipped after {errors:,} damaged records"


_HEADER_OF_ONE = struct.pack("<8sQQQIHHHH", MAGIC, 0, 0, 1, 128, 1, 3, HEADER_BYTES, 1).ljust(HEADER_BYTES, b"\x00")


def _next(records: PyRecordsIterator) -> dict[str, object] | str | None:
    """Return the next record, what is damaged in its place, or None at the end."""
    try:
        record: dict[str, object] | None = next(records)
    except StopIteration:
        return None
    except (KeyboardInterrupt, SystemExit, MemoryError):
        raise
    except BaseException as error:  # noqa: BLE001 - a panic of the library is not an Exception
        return _error_text(error)
    return record


def _error_text(error: BaseException) -> str:
    return " ".join(str(error).split())[:200]


def _event(record: dict[str, object]) -> Event | None:
    data, number = record.get("data"), record.get("event_record_id")
    try:
        body = _decode(data).get("Event") if isinstance(data, str) else None
    except (msgspec.DecodeError, RecursionError):
        return None
    place = number if isinstance(number, int) else 0
    return nested_event(body, number=place, is_own_number=True) if isinstance(body, dict) else None
