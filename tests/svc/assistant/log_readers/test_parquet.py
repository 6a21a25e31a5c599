"""Parquet is read as a table of events, exactly; without pyarrow the answer says what to install."""

from __future__ import annotations

import gzip
import html
import io
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from svc.assistant.file_types.identify import identify
from svc.assistant.findings import Coverage, Gap
from svc.assistant.log_readers import parquet
from svc.assistant.log_readers.lines import ReadAs, Unread
from svc.assistant.sigma.event import Event
from svc.assistant.skills.events import tool
from tests.support.inline_analyst import ask
from tests.svc.assistant.log_readers import wrappings

pyarrow = pytest.importorskip("pyarrow")
writer = pytest.importorskip("pyarrow.parquet")


def written(table: object, **options: object) -> bytes:
    content = io.BytesIO()
    writer.write_table(table, content, **options)
    return content.getvalue()


OKTA = written(pyarrow.Table.from_pylist([wrappings.record(number) for number in range(1, 8)]), row_group_size=3)


def items(content: bytes) -> list[object]:
    return list(parquet.read(io.BytesIO(content)))


def test_rows_become_the_events_of_the_product_whose_columns_they_have():
    found = items(OKTA)
    assert identify(OKTA, "x")[1] == "parquet"
    assert [item.form for item in found if isinstance(item, ReadAs)] == ["Okta System Log (mapped columns)"]
    events = [item for item in found if isinstance(item, Event)]
    assert [(one.number, one.fields["IpAddress"]) for one in events] == [(n, f"192.0.2.{n}") for n in range(1, 8)]
    assert events[0].fields["outcome.reason"] == "INVALID_CREDENTIALS"


def test_times_keep_nanoseconds_and_their_zone_and_other_types_are_text():
    nanos, moment = 1_779_333_600_123_456_789, datetime(2026, 5, 21, 3, 20, tzinfo=UTC)
    at = pyarrow.list_(pyarrow.struct({"t": pyarrow.timestamp("ns", "UTC")}))
    deep = pyarrow.struct({"at": at, "n": pyarrow.int64(), "ok": pyarrow.bool_()})
    columns = {
        "time": pyarrow.array([nanos], pyarrow.timestamp("ns", "America/New_York")),
        "local": pyarrow.array([nanos], pyarrow.timestamp("ns")),
        "seen": pyarrow.array([moment], pyarrow.timestamp("s", "UTC")),
        "day": pyarrow.array([moment.date()]),
        "user": pyarrow.array(["eve"]).dictionary_encode(),
        "src": pyarrow.array([b"192.0.2.1"]),
        "blob": pyarrow.array([b"\x00\xff"]),
        "price": pyarrow.array([Decimal("1.50")]),
        "deep": pyarrow.array([{"at": [{"t": nanos}], "n": None, "ok": True}], deep),
        "tags": pyarrow.array([[("a", "1"), ("b", "2")]], pyarrow.map_(pyarrow.string(), pyarrow.string())),
        "result": pyarrow.array(["failed"]),
    }  # fmt: skip
    [event] = [item for item in items(written(pyarrow.table(columns))) if isinstance(item, Event)]
    assert event.time == "2026-05-21T03:20:00.123Z"
    wanted = {
        "time": "2026-05-21 03:20:00.123456789Z", "local": "2026-05-21 03:20:00.123456789", "day": "2026-05-21",
        "seen": "2026-05-21 03:20:00.000Z", "user": "eve", "src": "192.0.2.1", "blob": "00ff", "price": "1.50",
        "deep.at.t": "2026-05-21 03:20:00.123456789Z", "deep.ok": "true", "tags.a": "1", "tags.b": "2",
    }  # fmt: skip
    assert {name: event.fields.get(name) for name in wanted} == wanted


@pytest.mark.parametrize("cut", [5, 200, 1_000, len(OKTA) - 9, len(OKTA) - 1])
def test_a_damaged_file_is_reported_and_never_raises(cut: int):
    found = items(OKTA[:cut])
    [gap] = [item.text for item in found if isinstance(item, Gap)]
    assert gap.startswith("the Parquet file is damaged after row 0")
    assert [item.count for item in found if isinstance(item, Unread)] == [1]
    spoilt = bytearray(OKTA)
    spoilt[cut % (len(OKTA) - 8)] ^= 0xFF
    items(bytes(spoilt))


async def test_without_pyarrow_the_answer_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    def missing(name: str) -> object:
        raise ImportError(name)

    monkeypatch.setattr(parquet, "import_module", missing)
    asked = await ask("Is anything suspicious here?", ("okta.parquet", OKTA))
    assert "pip install 'svc-jupyter[parquet]'" in html.unescape(asked.markdown)
    assert asked.state_of == {"okta.parquet": "not examined"}


@pytest.mark.parametrize("pack", [gzip.compress])
async def test_a_compressed_export_is_read_like_the_export(pack):
    for name, content in (
        ("x.parquet.gz", OKTA),
        ("x.gz", wrappings.OPEN["lines"]([wrappings.record(1)] * 9).encode()),
    ):
        asked = await ask("Is anything suspicious here?", (name, pack(content)))
        assert [one["read_as"] for one in asked.coverage["inputs"]] == ["Okta System Log (mapped columns)"]


def test_a_table_of_many_rows_and_few_bytes_is_read_in_batches(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tool, "MAX_WHOLE_EVENTS", 2_000)
    table = pyarrow.table({
        "time": pyarrow.array(["2026-11-18T03:00:00Z"] * 100_000), "user": pyarrow.array(["eve"] * 100_000),
        "src": pyarrow.array(["192.0.2.1"] * 100_000), "result": pyarrow.array(["failed"] * 100_000),
    })  # fmt: skip
    content = written(table)
    assert len(content) < 20_000
    found = list(tool.inspect(io.BytesIO(content), source="x"))
    [covered] = [item for item in found if isinstance(item, Coverage)]
    assert covered.understood < 5_000
    assert covered.total > covered.understood
