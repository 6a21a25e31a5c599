"""DataFrames are sent without loss: nanoseconds, zones, nested cells; the analyst reads them as the same events."""

from __future__ import annotations

import io
from datetime import UTC, datetime

import pandas
import polars
import pytest

from svc.assistant.log_readers.tables.reader import read
from svc.assistant.sigma.event import Event
from svc_jupyter.attachments import LargeValue, from_value, from_variable
from tests.svc.assistant.log_readers import wrappings

TIME = "2026-11-18T03:00:00.123456789"
RECORDS = [wrappings.record(number) for number in range(1, 6)]


def events(content: bytes) -> list[Event]:
    return [item for item in read(io.BytesIO(content)) if isinstance(item, Event)]


@pytest.mark.parametrize("frame", [pandas.DataFrame(RECORDS), polars.DataFrame(RECORDS)], ids=["pandas", "polars"])
def test_nested_records_in_a_frame_are_read_as_the_same_events(frame: object):
    attached = from_value("v", frame)
    assert attached.name == "v.csv"
    assert isinstance(attached.content, bytes)
    found = events(attached.content)
    assert [one.fields["IpAddress"] for one in found] == [f"192.0.2.{number}" for number in range(1, 6)]
    assert [one.fields["TargetUserName"] for one in found] == [f"user{number}@example.org" for number in range(1, 6)]
    assert {one.product for one in found} == {"okta"}


def test_pandas_keeps_nanoseconds_and_zones_also_in_nested_cells():
    moment = pandas.Timestamp(TIME, tz="Europe/Berlin")
    frame = pandas.DataFrame({"t": [moment], "n": [{"at": moment, "tags": {"b", "a"}, "raw": b"x"}], "l": [[1, None]]})
    [header, row, rest] = from_value("v", frame).content.decode().split("\n")
    assert (header, rest) == ("t,n,l", "")
    assert row.startswith("2026-11-18 03:00:00.123456789+01:00,")
    assert '""at"": ""2026-11-18T03:00:00.123456789+01:00"", ""tags"": [""a"", ""b""], ""raw"": ""x""' in row
    assert row.endswith('"[1, null]"')
    assert isinstance(frame["n"][0], dict)  # the user's table is unchanged


def test_polars_keeps_nanoseconds_and_zones_also_in_nested_cells():
    at = polars.col("t").str.to_datetime(time_unit="ns").dt.replace_time_zone("Europe/Berlin")
    frame = polars.DataFrame({"t": [TIME], "raw": [b"x\xff"], "text": [b"word"], "kind": ["a"]}).with_columns(
        at, polars.col("kind").cast(polars.Categorical), polars.struct(x=at, y=polars.lit(1)).alias("n"),
        polars.concat_list(at).alias("l"), polars.struct(d=polars.duration(seconds=3)).alias("d"),
    )  # fmt: skip
    content = from_value("v", frame).content
    assert content.startswith(b"t,raw,text,kind,n,l,d\n2026-11-18T03:00:00.123456789+0100,78ff,word,a,")
    assert content.count(b"123456789") == 3


def test_cells_that_json_does_not_have_are_text_and_a_cell_that_contains_itself_is_no_error():
    loop: list[object] = []
    loop.append(loop)
    frame = pandas.DataFrame({"a": [loop, {(1, 2): 3}, datetime(2026, 11, 18, tzinfo=UTC), None]})
    lines = from_value("v", frame).content.decode().splitlines()
    assert lines[1:] == ["[[...]]", '"{(1, 2): 3}"', "2026-11-18 00:00:00+00:00", '""']


def test_a_large_polars_frame_is_converted_piece_by_piece_to_the_same_bytes():
    frame = polars.DataFrame({"a": range(250_000), "n": [{"x": 1}] * 250_000})
    large = from_variable("frame", frame)
    assert isinstance(large, LargeValue)
    assert (large.name, large.kind, large.total) == ("frame.csv", "DataFrame of 250,000 rows, 2 columns", 250_000)
    pieces = list(large.pieces())
    assert len(pieces) == 5
    assert pieces[-1][0] == 250_000
    whole = b"".join(piece for _, piece in pieces)
    assert whole.startswith(b'a,n\n0,"{""x"": 1}"\n')
    assert whole.count(b"\n") == 250_001


def test_an_empty_polars_frame_is_its_header():
    assert from_value("v", polars.DataFrame({"a": [], "b": []})).content == b"a,b\n"
