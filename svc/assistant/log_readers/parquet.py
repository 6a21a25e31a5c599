"""Read a Parquet file as a table of events, with pyarrow (the extra ``parquet``), batch by batch.

Times become text with all their digits, those with a zone in UTC; nested columns become dotted names.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any, BinaryIO

from svc.assistant.findings import Gap
from svc.assistant.log_readers.flatten import flatten
from svc.assistant.log_readers.lines import ReadItem, Unread
from svc.assistant.log_readers.tables.reader import read_form
from svc.assistant.log_readers.tables.records import MAX_COLUMNS, TableRecord
from svc.assistant.sigma.event import MAX_EXCERPT_CHARS

BATCH_ROWS = 500
MAX_FOOTER_STRING = 16 * 1024 * 1024  # bytes, of one text in the footer
MAX_FOOTER_ITEMS = 200_000
MAX_TYPE_DEPTH = 20
NOT_INSTALLED = "Parquet needs pyarrow, which is not installed. Run: pip install 'svc-jupyter[parquet]'"
_MARK = b"PAR1"
_Arrow = Any  # pyarrow has no types


def is_parquet(head: bytes) -> bool:
    """Return whether a file's first bytes are Parquet's."""
    return head.startswith(_MARK)


def read(content: BinaryIO) -> Iterator[ReadItem]:
    """Yield how the table was read, then its events; an event's number is its row, from 1."""
    try:
        pyarrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError:
        yield Gap(text=NOT_INSTALLED, in_headline=True)
        return
    form = ParquetForm(pyarrow, parquet)
    yield from read_form(form, content)


class ParquetForm:
    """A Parquet file as a form of table."""

    name = "Parquet table"

    def __init__(self, pyarrow: _Arrow, parquet: _Arrow) -> None:
        self.header: tuple[str, ...] = ()
        self._pyarrow, self._parquet = pyarrow, parquet
        self._damage = ""
        self._total = self._read = 0

    def records(self, content: BinaryIO) -> Iterator[TableRecord]:
        """Yield the rows, flat."""
        self._damage, self._total, self._read = "", 0, 0
        errors = (self._pyarrow.ArrowException, OSError, ValueError, OverflowError, NotImplementedError)
        try:
            file = self._parquet.ParquetFile(
                content, thrift_string_size_limit=MAX_FOOTER_STRING, thrift_container_size_limit=MAX_FOOTER_ITEMS
            )
            names = list(dict.fromkeys(file.schema_arrow.names))[:MAX_COLUMNS]
            self._total = max(0, file.metadata.num_rows)
            self.header = tuple(names)
            for batch in file.iter_batches(batch_size=BATCH_ROWS, columns=names, use_threads=False):
                for row in self._rows(batch):
                    self._read += 1
                    yield self._record(row)
        except errors as error:
            self._damage = " ".join(str(error).split())[:200] or type(error).__name__

    def _rows(self, batch: _Arrow) -> Iterator[dict[str, object]]:
        columns = []
        for column in batch.columns:
            in_utc = column.cast(self._type(column.type, is_text=False))
            columns.append(in_utc.cast(self._type(in_utc.type, is_text=True)).to_pylist())
        for cells in zip(*columns, strict=True):
            yield dict(zip(batch.schema.names, cells, strict=True))

    def _type(self, found: _Arrow, *, is_text: bool, depth: int = 0) -> _Arrow:
        """Return a type with times in UTC or, with ``is_text``, as text with nanoseconds; also inside others."""
        arrow, types = self._pyarrow, self._pyarrow.types
        if depth > MAX_TYPE_DEPTH:
            raise ValueError("columns are nested too deeply")

        def inner(one: _Arrow) -> _Arrow:
            return self._type(one, is_text=is_text, depth=depth + 1)

        if types.is_dictionary(found):
            return inner(found.value_type)
        if types.is_timestamp(found) and not is_text:
            return arrow.timestamp(found.unit, "UTC") if found.tz else found
        if types.is_temporal(found) and is_text and not types.is_duration(found) and not types.is_interval(found):
            return arrow.string()
        if types.is_struct(found):
            return arrow.struct([arrow.field(one.name, inner(one.type)) for one in found])
        if types.is_list(found) or types.is_large_list(found) or types.is_fixed_size_list(found):
            return arrow.large_list(inner(found.value_type))
        if types.is_map(found):
            return arrow.map_(inner(found.key_type), inner(found.item_type))
        return found

    def _record(self, row: dict[str, object]) -> TableRecord:
        values: dict[str, str] = {}
        for name, cell in row.items():
            flatten(values, name, _plain(cell))
        excerpt = " ".join(f"{name}={cell}" for name, cell in values.items() if cell)
        return TableRecord(self._read, None, values, excerpt[:MAX_EXCERPT_CHARS])

    def gaps(self) -> Iterator[Gap | Unread]:
        """Yield what was damaged."""
        if self._damage:
            rest = max(1, self._total - self._read)
            yield Gap(text=f"the Parquet file is damaged after row {self._read:,} ({self._damage})", in_headline=True)
            yield Unread(rest)


def _plain(cell: object) -> object:
    """Return a cell with what JSON does not have as text: bytes, decimals, durations, maps."""
    if isinstance(cell, bytes):
        text = cell.decode("utf-8", errors="replace")
        return text if text.isprintable() and "\ufffd" not in text else cell.hex()
    if isinstance(cell, dict):
        return {name: _plain(inner) for name, inner in cell.items()}
    if isinstance(cell, list):
        if cell and all(isinstance(one, tuple) and len(one) == 2 for one in cell):
            return {str(name): _plain(inner) for name, inner in cell}
        return [_plain(one) for one in cell]
    return cell if cell is None or isinstance(cell, str | bool | int | float) else str(cell)
