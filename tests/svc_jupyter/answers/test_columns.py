"""Times, counts and truth values of findings have their types in a DataFrame; nothing is guessed and nothing lost."""

from __future__ import annotations

import io
import json
import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, timezone
from math import nan

import pandas
import polars
import pytest

from svc.assistant.findings import Finding
from svc.assistant.skills.events.tool import inspect as events
from svc_jupyter.answers.columns import ZONES, pandas_frame, polars_frame
from svc_jupyter.answers.table import Table

OPEN_SEEDS, HELD_SEEDS = range(10), range(500, 510)


def column(name: str, values: Sequence[object]) -> pandas.Series:
    return frame_of(name, values)[name]


def frame_of(name: str, values: Sequence[object]) -> pandas.DataFrame:
    return pandas_frame([name], [{name: value} for value in values])


def polars_column(name: str, values: Sequence[object]) -> polars.Series:
    return polars_frame([name], [{name: value} for value in values])[name]


def zone(name: str, values: Sequence[object]) -> object:
    return frame_of(name, values).attrs.get(ZONES, {}).get(name)


@pytest.mark.parametrize(
    ("values", "dtype", "said"),
    [
        (["2026-11-20T03:12:07Z", "2026-11-20T05:12:07.123+02:00"], "datetime64[us, UTC]", "UTC"),
        (["2026-11-20T03:12:07.1234567Z", None, nan], "datetime64[ns, UTC]", "UTC"),
        (["2026-11-20 03:12", "2026-11-20T03:12:07"], "datetime64[us]", "not stated"),
        (["2026-11-20T03:12:07Z", "2026-11-20T03:12:07"], "object", "mixed"),
        (["2026-11-20T03:12:07Z", "--11-20T03:12:07"], "object", "mixed"),
        (["--11-20T03:12:07"], "str", "not stated"),
        (["2026-13-40T03:12:07Z"], "object", "UTC"),
        (["reports@example.org", "x"], "str", None),
        ([None, None], "object", None),
        ([3, 4], "int64", None),
    ],
)
def test_times_are_times_and_say_their_zone(values: list[object], dtype: str, said: str | None):
    for name in ("first", "last", "time", "from", "activity_first", "compile_time"):
        assert str(column(name, values).dtype).replace("[ns", "[us") == dtype.replace("[ns", "[us")
        assert zone(name, values) == said


def test_a_column_that_mixes_forms_keeps_each_value():
    values = ["2026-11-20T03:12:07+01:00", "2026-11-20T03:12:07", "--11-20T03:12:07", None]
    first, second, third, fourth = column("first", values)
    assert first == pandas.Timestamp("2026-11-20T02:12:07", tz="UTC")
    assert second == pandas.Timestamp("2026-11-20T03:12:07")
    assert second.tzinfo is None
    assert third == "--11-20T03:12:07"
    assert fourth is None


def test_text_of_an_attacker_is_no_time():
    for name in ("account", "title", "excerpt", "source", "value"):
        values = ["2026-11-20T03:12:07Z"]
        assert list(column(name, values)) == values
        assert zone(name, values) is None


@pytest.mark.parametrize("seed", [*OPEN_SEEDS, *HELD_SEEDS])
def test_no_value_is_lost_or_changed(seed: int):
    chance = random.Random(seed)
    moments = [datetime(2026, 1, 1, tzinfo=UTC) + timedelta(microseconds=chance.randrange(10**14)) for _ in range(20)]
    zones = [timezone(timedelta(minutes=chance.randrange(-720, 720, 15))) for _ in moments]
    texts = [moment.astimezone(other).isoformat() for moment, other in zip(moments, zones, strict=True)]
    missing = [chance.choice([None, nan]) if chance.random() < 0.3 else text for text in texts]

    seen = column("last", missing)
    for value, text, moment in zip(seen, missing, moments, strict=True):
        assert pandas.isna(value) if not isinstance(text, str) else value == moment

    counts = [chance.choice([None, nan, chance.randrange(2**53)]) for _ in range(20)]
    for value, count in zip(column("count", counts), counts, strict=True):
        assert pandas.isna(value) if not isinstance(count, int) else value == count


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ([1, 2], "int64"),
        ([1, None], "Int64"),
        ([nan, 2**60 + 1], "Int64"),
        ([1.5, None], "float64"),
        ([1, 2.5], "float64"),
        ([True, None], "boolean"),
        ([True, False], "bool"),
        ([2**70, None], "object"),
        ([[1], None], "object"),
        (["1", "2"], "str"),
    ],
)
def test_numbers_and_truth_values_have_their_types(values: list[object], dtype: str):
    assert str(column("count", values).dtype) == dtype


def test_a_number_beyond_a_float_is_exact():
    assert column("count", [nan, 2**60 + 1])[1] == 2**60 + 1


def test_findings_of_several_kinds_have_one_frame():
    rows = [
        {"kind": "a", "title": "x", "first": "2026-11-20T03:12:07Z", "count": 3, "is_valid": True},
        {"kind": "b", "title": "y", "rows": [{"time": "2026-11-20T03:12:07Z"}]},
    ]
    frame = Table(rows).to_pandas()
    assert frame["first"].max().year == 2026
    assert (frame["count"].sum(), str(frame["count"].dtype), str(frame["is_valid"].dtype)) == (3, "Int64", "boolean")
    assert frame["rows"][1] == [{"time": "2026-11-20T03:12:07Z"}]
    assert list(frame[frame["is_valid"].fillna(value=False)].kind) == ["a"]


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        (["2026-11-20T03:12:07Z", "2026-11-20T05:12:07.1+02:00", None], "Datetime(time_unit='ns', time_zone='UTC')"),
        (["2026-11-20 03:12", "2026-11-20T03:12:07,5"], "Datetime(time_unit='ns', time_zone=None)"),
        (["2026-11-20T03:12:07Z", "2026-11-20T03:12:07"], "String"),
        (["--11-20T03:12:07"], "String"),
        (["2026-13-40T03:12:07Z", "9999-01-01T00:00:00Z"], "String"),
        ([1, None, nan], "Int64"),
        ([1, 2.5], "Float64"),
        ([2**70, None], "Int128"),
        ([2**200, None], "String"),
        ([True, None], "Boolean"),
        ([True, 1], "String"),
        ([["a"], []], "List(String)"),
        ([[{"a": 1}], [{"b": 2}]], "String"),
        ([{"a": 1}, ["x"], "y"], "String"),
        ([None, None], "Null"),
    ],
)  # fmt: skip
def test_polars_columns_have_their_types_and_lose_nothing(values: list[object], dtype: str):
    series = polars_column("first", values)
    assert str(series.dtype) == dtype
    assert series.null_count() == sum(pandas.isna(value) is True for value in values)
    for value, kept in zip(values, series, strict=True):
        if kept is None:
            continue
        if dtype == "String":
            assert kept == value or json.loads(kept) == value
        elif dtype.startswith("Datetime"):
            assert kept == pandas.Timestamp(str(value).replace(",", ".")).floor("us")
        else:
            assert list(kept) == value if isinstance(value, list) else kept == value


def test_polars_keeps_nanoseconds():
    series = polars_column("first", ["2026-11-20T03:12:07.123456789Z", "1901-01-01T00:00:00.000000001Z"])
    assert [pandas.Timestamp(count, tz="UTC").isoformat() for count in series.to_physical()] == [
        "2026-11-20T03:12:07.123456789+00:00",
        "1901-01-01T00:00:00.000000001+00:00",
    ]


def test_the_event_ids_of_a_rule_hit_have_names():
    record = {
        "EventID": 1102, "Channel": "Security", "Computer": "DC1", "TimeCreated": "2026-11-20T03:12:07Z",
        "SubjectUserName": "bob",
    }  # fmt: skip
    content = io.BytesIO("\n".join([json.dumps(record)] * 2).encode())
    hits = [one.facts for one in events(content, source="x") if isinstance(one, Finding) and one.kind == "rule_hit"]
    named = {(*hit.event_ids, *hit.event_names) for hit in hits}
    assert named == {(1102, "the audit log was cleared")}
