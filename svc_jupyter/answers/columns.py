"""DataFrames of an answer's rows, whose columns have the types of what they hold: times, whole numbers, truth values.

Findings arrive as JSON, in which a time is a text. A column whose name says that it holds times (``first``, ``last``,
``time`` …) becomes datetime64: in UTC if its values state their zone, without a zone if none does. If some do and some
do not, or if a log states no year, its values are Timestamps, and texts if there is no full time: nothing is
guessed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC as UTC_ZONE
from datetime import datetime
from math import nan
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas
    import polars

ZONES = "zones"
"""Key of ``DataFrame.attrs``: for each column of times "UTC", "not stated" or "mixed"."""
UTC, NOT_STATED, MIXED = "UTC", "not stated", "mixed"
_TIME_NAME = re.compile(r"(?:.*_)?(?:first|last|time|from|to|start|end|date|expires|before|after|seen|at|when)")
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(Z|[+-]\d\d:?\d\d)?", re.ASCII)
_NO_YEAR = re.compile(r"--\d\d-\d\d[T ]\d\d:\d\d")
_MAX_TIME_CHARS = 40
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC_ZONE)


def pandas_frame(names: Iterable[str], rows: Sequence[Mapping[str, object]]) -> pandas.DataFrame:
    """Build a pandas DataFrame from rows; a missing value is None or NaN."""
    import pandas

    columns = {name: [row.get(name, nan) for row in rows] for name in names}
    frame = pandas.DataFrame({name: _typed(name, values) for name, values in columns.items()})
    zones = {name: zone for name, values in columns.items() if (zone := _zone(name, values))}
    if zones:
        frame.attrs[ZONES] = zones
    return frame


def polars_frame(names: Iterable[str], rows: Sequence[Mapping[str, object]]) -> polars.DataFrame:
    """Build a polars DataFrame from rows; a missing value is null."""
    import polars

    return polars.DataFrame([_series(name, [row.get(name) for row in rows]) for name in names])


def _typed(name: str, values: Sequence[object]) -> object:
    import pandas

    if _TIME_NAME.fullmatch(name) and any(_is_time(value) for value in values):
        return _times(values)
    series = pandas.Series(values) if len(values) else pandas.Series(values, dtype=object)
    if series.dtype == "float64" and _are_all(int, values):
        return _nullable(values, "Int64", series)
    if series.dtype == object and _are_all(bool, values):
        return _nullable(values, "boolean", series)
    return series


def _nullable(values: Sequence[object], kind: str, otherwise: pandas.Series) -> object:
    import pandas

    known = [None if _is_missing(value) else value for value in values]
    try:
        return pandas.Series(known, dtype=kind)
    except (OverflowError, TypeError, ValueError):  # a number beyond 64 bits
        return otherwise


def _times(values: Sequence[object]) -> object:
    """The times as datetime64 if all have the same form, otherwise as single Timestamps."""
    import pandas

    is_zoned = _is_zoned_column(values)
    if is_zoned is not None:
        known = [None if _is_missing(value) else value for value in values]
        times = pandas.to_datetime(pandas.Series(known), format="ISO8601", utc=is_zoned, errors="coerce")
        if int(times.isna().sum()) == known.count(None):
            return times
    return pandas.Series([_moment(value) for value in values], dtype=object)


def _moment(value: object) -> object:
    import pandas

    if not _is_time(value):
        return value
    try:
        moment = pandas.Timestamp(str(value))
    except ValueError:  # no such day
        return value
    return moment.tz_convert("UTC") if moment.tzinfo else moment


def _series(name: str, values: Sequence[object]) -> polars.Series:
    import polars

    known = [None if _is_missing(value) else value for value in values]
    is_zoned = _is_zoned_column(known) if _TIME_NAME.fullmatch(name) else None
    try:
        if is_zoned is not None:
            counts = [None if value is None else _nanoseconds(str(value)) for value in known]
            return polars.Series(name, counts, dtype=polars.Datetime("ns", "UTC" if is_zoned else None))
        if (series := _plain_series(name, known)) is not None:
            return series
    except (ValueError, OverflowError, TypeError, polars.exceptions.PolarsError):  # no such day; different types
        pass
    texts = [value if value is None or isinstance(value, str) else _json(value) for value in known]
    return polars.Series(name, texts, dtype=polars.String)


def _plain_series(name: str, known: Sequence[object]) -> polars.Series | None:
    """The values with polars' own type for them; None if they have different types, or if it would drop some."""
    import polars

    kinds = {type(value) for value in known if value is not None}
    if kinds == {int, float}:
        return polars.Series(name, known, dtype=polars.Float64)
    if len(kinds) > 1:
        return None
    series = polars.Series(name, known, strict=True)
    is_nested = bool(kinds & {list, dict})  # of dicts with different keys polars keeps those of the first
    return None if is_nested and series.to_list() != known else series


def _nanoseconds(text: str) -> int:
    """The nanoseconds from 1970 to a time; one without a zone is counted as if in UTC.

    Raises:
        ValueError: There is no such day or time.
        OverflowError: 64 bits do not suffice.
    """
    whole, _, rest = text.replace(",", ".").partition(".")
    digits = re.match(r"\d*", rest)
    fraction = digits[0] if digits else ""
    moment = datetime.fromisoformat(whole + rest[len(fraction) :])
    seconds = (moment if moment.tzinfo else moment.replace(tzinfo=UTC_ZONE)) - _EPOCH
    count = (seconds.days * 86_400 + seconds.seconds) * 1_000_000_000 + int(fraction.ljust(9, "0"))
    if abs(count) >= 2**63:
        raise OverflowError(text)
    return count


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _is_zoned_column(values: Sequence[object]) -> bool | None:
    """Whether the times of a column state their zone; None if they differ, or not all values are times."""
    texts = [value for value in values if not _is_missing(value)]
    zoned = {_is_zoned(value) if _is_time(value) else None for value in texts}
    return zoned.pop() if len(zoned) == 1 else None


def _zone(name: str, values: Sequence[object]) -> str:
    """What the times of a column say of their zone; "" if it has no times."""
    if not _TIME_NAME.fullmatch(name):
        return ""
    zoned = {_is_zoned(value) for value in values if _is_time(value) or _has_no_year(value)}
    return MIXED if len(zoned) > 1 else UTC if zoned == {True} else NOT_STATED if zoned else ""


def _is_time(value: object) -> bool:
    return isinstance(value, str) and len(value) <= _MAX_TIME_CHARS and _TIME.fullmatch(value) is not None


def _has_no_year(value: object) -> bool:
    return isinstance(value, str) and _NO_YEAR.match(value) is not None


def _is_zoned(value: object) -> bool:
    found = _TIME.fullmatch(value) if isinstance(value, str) else None
    return found is not None and found[1] is not None


def _is_missing(value: object) -> bool:
    return value is None or (isinstance(value, float) and value != value)


def _are_all(kind: type, values: Sequence[object]) -> bool:
    """Whether all values that are not missing have exactly this type, and there is one."""
    kinds = {type(value) for value in values if not _is_missing(value)}
    return kinds == {kind}
