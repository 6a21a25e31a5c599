"""Read the system resource usage monitor of Windows (``SRUDB.dat``): network use and activity of each program, by hour.

The database has the format ESE, which libesedb reads (extra ``host``). Times are when an hour's figures were written,
in UTC. Sources: the public research on SRUM; libesedb's documentation.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import BinaryIO, Protocol

from svc.assistant.findings import Gap
from svc.assistant.log_readers.host.record import Artefact, Item, TraceKind, iso
from svc.assistant.log_readers.lines import Unread

MAX_ROWS = 300_000

MISSING = "install svc-jupyter[host] to read SRUDB.dat (the library libesedb is not installed); not examined"
NETWORK = "{973F5D5C-1D90-4944-BE8E-24B94231A174}"
_APPLICATIONS = "{D10CA2FE-6FCF-4F6D-848E-B2E99266FA89}"
_IDS = "SruDbIdMapTable"
_OLE_EPOCH = datetime(1899, 12, 30, tzinfo=UTC)
_SID = 3


class _LongValue(Protocol):
    def get_data(self) -> bytes | None: ...


class _UsageRecord(Protocol):
    def get_value_data(self, column: int) -> bytes | None: ...

    def is_long_value(self, column: int) -> bool: ...

    def get_value_data_as_long_value(self, column: int) -> _LongValue: ...


class _Column(Protocol):
    name: str


class _UsageTable(Protocol):
    number_of_records: int
    number_of_columns: int

    def get_record(self, index: int) -> _UsageRecord: ...

    def get_column(self, index: int) -> _Column: ...


class _Database(Protocol):
    def open_file_object(self, content: BinaryIO) -> None: ...

    def get_table_by_name(self, name: str) -> _UsageTable | None: ...


def read(content: BinaryIO) -> Iterator[Item]:
    """Yield network use and activity, by program and hour."""
    try:
        import pyesedb
    except ImportError:
        yield Gap(text=MISSING, in_headline=True)
        yield Unread(1)
        return
    database: _Database = pyesedb.file()
    try:
        database.open_file_object(content)
        names = _names(database)
        yield from _table(database, NETWORK, names, TraceKind.NETWORK)
        yield from _table(database, _APPLICATIONS, names, TraceKind.RAN)
    except (OSError, ValueError, MemoryError, struct.error) as error:
        yield Gap(
            text=f"the database is damaged; what was read before is listed ({type(error).__name__})", in_headline=True
        )
        yield Unread(1)
    yield Gap(text="SRUM keeps 30 to 60 days; the newest hour may still be in the registry, which was not read")


def _names(database: _Database) -> dict[int, str]:
    """The names of programs and accounts by number."""
    table = database.get_table_by_name(_IDS)
    names: dict[int, str] = {}
    if table is None:
        return names
    columns = _columns(table)
    for index in range(min(table.number_of_records, MAX_ROWS)):
        record = table.get_record(index)
        kind = _number(record, columns.get("IdType"))
        raw = _bytes(record, columns.get("IdBlob"))
        number = _number(record, columns.get("IdIndex"))
        names[number] = _sid(raw) if kind == _SID else raw.decode("utf-16-le", errors="replace").strip("\x00")
    return names


def _table(database: _Database, name: str, names: dict[int, str], activity: TraceKind) -> Iterator[Item]:
    table = database.get_table_by_name(name)
    if table is None:
        return
    columns = _columns(table)
    count = table.number_of_records
    for index in range(min(count, MAX_ROWS)):
        record = table.get_record(index)
        program = names.get(_number(record, columns.get("AppId")), "(unknown program)")
        sent, received = (_number(record, columns.get(one)) for one in ("BytesSent", "BytesRecvd"))
        detail = (
            f"{sent:,} bytes sent, {received:,} received" if activity is TraceKind.NETWORK else "active in this hour"
        )
        time = _time(record, columns.get("TimeStamp"))
        yield Artefact(
            number=index + 1,
            activity=activity,
            what=program,
            user=names.get(_number(record, columns.get("UserId")), ""),
            detail=detail,
            time=time,
            time_means="hour recorded",
            excerpt=f"{time} {program} {detail}",
        )
    if count > MAX_ROWS:
        yield Gap(text=f"only the first {MAX_ROWS:,} of {count:,} records were read", in_headline=True)
        yield Unread(count - MAX_ROWS)


def _columns(table: _UsageTable) -> dict[str, int]:
    return {table.get_column(index).name: index for index in range(table.number_of_columns)}


def _bytes(record: _UsageRecord, column: int | None) -> bytes:
    if column is None:
        return b""
    if record.is_long_value(column):
        return record.get_value_data_as_long_value(column).get_data() or b""
    return record.get_value_data(column) or b""


def _number(record: _UsageRecord, column: int | None) -> int:
    data = _bytes(record, column)
    return int.from_bytes(data[:8], "little")


def _time(record: _UsageRecord, column: int | None) -> str:
    data = _bytes(record, column)
    days = struct.unpack("<d", data[:8])[0] if len(data) >= 8 else 0.0
    return iso(_OLE_EPOCH + timedelta(days=days)) if 1 < days < 2_000_000 else ""


def _sid(data: bytes) -> str:
    if len(data) < 8 or len(data) < 8 + 4 * data[1]:
        return data.hex()
    parts = struct.unpack_from(f"<{data[1]}I", data, 8)
    return "-".join(["S", str(data[0]), str(int.from_bytes(data[2:8], "big")), *map(str, parts)])
