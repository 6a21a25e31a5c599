"""Rows of an answer: a list of dicts that is the same on every installation, with conversions to DataFrames."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, SupportsIndex, overload

from svc_jupyter.answers.columns import pandas_frame, polars_frame
from svc_jupyter.answers.listing import Listing
from svc_jupyter.errors import AskError

if TYPE_CHECKING:
    import pandas
    import polars

Row = dict[str, object]
SHOWN_ROWS = 20
HIDDEN_COLUMNS = frozenset({"why", "excerpt"})  # long texts, which make the displayed table hard to read


class Table(list[Row]):
    """A list of dicts, one per finding or input, which displays itself as a table of its first rows.

    ``columns`` are the names that each row has; rows of some kinds have more. Slices are Tables, too.
    """

    def __init__(self, rows: Iterable[Row] = (), columns: Sequence[str] = ()) -> None:
        super().__init__(rows)
        self.columns: tuple[str, ...] = tuple(columns)

    @overload
    def __getitem__(self, index: SupportsIndex, /) -> Row: ...
    @overload
    def __getitem__(self, index: slice, /) -> Table: ...
    def __getitem__(self, index: SupportsIndex | slice, /) -> Row | Table:
        found = super().__getitem__(index)
        return Table(found, self.columns) if isinstance(index, slice) else found  # type: ignore[return-value,arg-type]

    def to_pandas(self) -> pandas.DataFrame:
        """Return the rows as a pandas DataFrame.

        Times are datetime64: in UTC if the evidence states the zone, otherwise without one; ``attrs["zones"]`` says
        which ("UTC", "not stated", "mixed"). In a column that mixes such times, or has times without a year, they are
        single Timestamps or texts. Counts are integers, also if some are missing. Lists and tables in a cell are lists
        and lists of dicts, whose times are texts.

        Raises:
            AskError: pandas is not installed.
        """
        try:
            import pandas  # noqa: F401 - pandas_frame needs it
        except ImportError:
            raise AskError("to_pandas() needs pandas: pip install pandas") from None
        return pandas_frame(self._columns(), self)

    def to_polars(self) -> polars.DataFrame:
        """Return the rows as a polars DataFrame.

        Times are Datetime: in UTC if the evidence states the zone, otherwise without one. A column that mixes such
        times, or has times without a year, is text. A column whose values have different types is text, in JSON.

        Raises:
            AskError: polars is not installed.
        """
        try:
            import polars  # noqa: F401 - polars_frame needs it
        except ImportError:
            raise AskError("to_polars() needs polars: pip install polars") from None
        return polars_frame(self._columns(), self)

    def __repr__(self) -> str:
        return repr(self._listing())

    def _repr_html_(self) -> str:
        return self._listing()._repr_html_()

    def _listing(self) -> Listing:
        names = [name for name in self.columns if name not in HIDDEN_COLUMNS]
        title = f"{len(self):,} {'row' if len(self) == 1 else 'rows'}"
        if len(self) > SHOWN_ROWS:
            title += f", the first {SHOWN_ROWS} shown"
        rows = [[_text(row.get(name)) for name in names] for row in islice(self, SHOWN_ROWS)]
        return Listing(f"{title}; all columns: .to_pandas() or .to_polars()" if self else title, names, rows)

    def _columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys([*self.columns, *(name for row in self for name in row)]))


def _text(value: object) -> str:
    if value is None:
        return ""
    return ", ".join(map(_text, value)) if isinstance(value, list) else str(value)
