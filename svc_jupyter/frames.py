"""Write the rows of DataFrames as CSV that keeps what they hold: pandas' and polars', which are not imported here.

Times keep their nanoseconds and zones. A nested cell (a dict, a list) becomes JSON, so that its members can be read.
"""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any, Protocol, runtime_checkable

_NESTED = (dict, list, tuple, set, frozenset)
_POLARS_NESTED = ("Struct", "List", "Array", "Object", "Binary")  # dtypes that polars does not write as CSV
_POLARS_TIMES = ("Date", "Datetime", "Time")
_Polars = Any  # polars is not imported for its types


@runtime_checkable
class PolarsFrame(Protocol):
    """A polars DataFrame, recognised by its attributes."""

    shape: tuple[int, int]

    def get_columns(self) -> list[_Polars]:
        """Return the columns."""

    def slice(self, offset: int, length: int | None = None) -> PolarsFrame:
        """Return some rows."""

    def with_columns(self, *columns: _Polars) -> PolarsFrame:
        """Return the table with these columns in place of those of the same names."""

    def write_csv(self, *, include_header: bool) -> str:
        """Return the table as CSV."""


@runtime_checkable
class _PandasFrame(Protocol):
    """A pandas DataFrame; a Series has no ``isetitem``."""

    dtypes: Iterable[object]
    iloc: Any

    def copy(self, *, deep: bool) -> _PandasFrame: ...

    def isetitem(self, loc: int, value: object) -> None: ...


def write_pandas(part: Any, text: io.StringIO, *, index: bool, header: bool) -> None:  # noqa: ANN401 - any of pandas'
    """Write a DataFrame or Series as CSV."""
    if isinstance(part, _PandasFrame):
        nested = [position for position, dtype in enumerate(part.dtypes) if str(dtype) == "object"]
        nested = [position for position in nested if any(map(_is_nested, part.iloc[:, position]))]
        whole = part.copy(deep=False) if nested else part
        for position in nested:
            whole.isetitem(position, [json_text(cell) if _is_nested(cell) else cell for cell in part.iloc[:, position]])
        part = whole
    part.to_csv(text, index=index, header=header)


def polars_csv(part: PolarsFrame, *, header: bool) -> str:
    """Return a polars DataFrame as CSV."""
    nested = [column for column in part.get_columns() if type(column.dtype).__name__ in _POLARS_NESTED]
    texts = [type(column)(column.name, _texts(column), dtype=_string()) for column in nested]
    return (part.with_columns(*texts) if texts else part).write_csv(include_header=header)


def _texts(column: _Polars) -> list[str | None]:
    try:
        cells: Sequence[object] = column.cast(_with_times_as_text(column.dtype)).to_list()
    except Exception:  # noqa: BLE001 - what polars cannot cast is written with Python's times, which have microseconds
        cells = column.to_list()
    return [None if cell is None else cell_text(cell) for cell in cells]


def _string() -> _Polars:
    return sys.modules["polars"].String


def _with_times_as_text(dtype: _Polars) -> _Polars:
    """Return a dtype in which times are text, with their nanoseconds and zone."""
    name = type(dtype).__name__
    if name == "Struct":
        return type(dtype)({field.name: _with_times_as_text(field.dtype) for field in dtype.fields})
    if name == "List":
        return type(dtype)(_with_times_as_text(dtype.inner))
    return _string() if name in _POLARS_TIMES else dtype


def _is_nested(cell: object) -> bool:
    return isinstance(cell, _NESTED) or (hasattr(cell, "tolist") and bool(getattr(cell, "shape", ())))


def cell_text(cell: object) -> str:
    """Return a cell as text: nested ones as JSON, bytes decoded if they are text and else as hex digits."""
    if isinstance(cell, bytes):
        text = cell.decode("utf-8", errors="replace")
        return cell.hex() if "\ufffd" in text else text
    return json_text(cell) if _is_nested(cell) else str(cell)


def json_text(cell: object) -> str:
    """Return a nested cell as JSON; what JSON does not have is text in it."""
    try:
        return json.dumps(cell, default=_inner, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):  # a key that is no text, or a cell that contains itself
        return str(cell)


def _inner(value: object) -> object:
    if isinstance(value, set | frozenset):
        return sorted(value, key=str)
    to_list = getattr(value, "tolist", None)
    if callable(to_list):
        return to_list()
    iso = getattr(value, "isoformat", None)
    return iso() if callable(iso) else cell_text(value)
