"""The columns of ``answer.findings`` with the types of what they hold: times, whole numbers, truth values.

Findings arrive as JSON, in which a time is a text. A column whose name says that it holds times (``first``, ``last``,
``time`` …) becomes datetime64: in UTC if its values state their zone, without a zone if none does. If some do and some
do not, or if a log states no year, its values are Timestamps, and texts if there is no full time: nothing is
guessed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas

ZONES = "zones"
"""Key of ``DataFrame.attrs``: for each column of times "UTC", "not stated" or "mixed"."""
UTC, NOT_STATED, MIXED = "UTC", "not stated", "mixed"
_TIME_NAME = re.compile(r"(?:.*_)?(?:first|last|time|from|to|start|end|date|expires|before|after|seen|at|when)")
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(Z|[+-]\d\d:?\d\d)?", re.ASCII)
_NO_YEAR = re.compile(r"--\d\d-\d\d[T ]\d\d:\d\d")
_MAX_TIME_CHARS = 40


def typed_frame(columns: Mapping[str, Sequence[object]]) -> pandas.DataFrame:
    """Build a DataFrame from the columns of findings; None and NaN are missing values."""
    import pandas

    frame = pandas.DataFrame({name: _typed(name, values) for name, values in columns.items()})
    zones = {name: zone for name, values in columns.items() if (zone := _zone(name, values))}
    if zones:
        frame.attrs[ZONES] = zones
    return frame


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

    texts = [value for value in values if not _is_missing(value)]
    zoned = [_is_zoned(value) for value in texts if _is_time(value)]
    if len(zoned) == len(texts) and len(set(zoned)) == 1:
        known = [None if _is_missing(value) else value for value in values]
        times = pandas.to_datetime(pandas.Series(known), format="ISO8601", utc=zoned[0], errors="coerce")
        if int(times.notna().sum()) == len(texts):
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
