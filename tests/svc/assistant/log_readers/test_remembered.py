"""What readers and collectors remember to save time changes nothing: the same events and counts as without it."""

from __future__ import annotations

import io
import json
import random
from datetime import UTC, datetime, timedelta

import pytest

from svc.assistant.findings import NameSort
from svc.assistant.log_readers.lines import Lines
from svc.assistant.log_readers.tables.mapping import ColumnMapping
from svc.assistant.log_readers.tables.reader import read
from svc.assistant.log_readers.tables.records import TableRecord, form_of
from svc.assistant.log_readers.tables.row_events import RowEvents, _RoleColumns
from svc.assistant.log_readers.tables.times import clock
from svc.assistant.sigma import correlator
from svc.assistant.sigma.correlation import Correlation
from svc.assistant.sigma.engine import reader_of
from svc.assistant.sigma.event import Event
from svc.assistant.skills.asked.evidence import Place
from svc.assistant.skills.events.beaconing import _contact
from svc.assistant.skills.events.names_seen import NameCollector

ROLES = ("time", "user", "host", "source_address", "destination_address", "action", "outcome", "file", "url")


def event(**fields: str) -> Event:
    return Event(
        number=1, offset=0, time="2026-11-20T03:12:45.000Z", product="zeek", service="conn",
        category="network_connection", host="", event_id=None, fields=fields, excerpt="",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("unit", "year", "scale"),
    [("seconds", 1970, 1.0), ("milliseconds", 1970, 1e3), ("filetime", 1601, 1e7), ("webkit", 1601, 1e6)],
)
def test_a_time_since_an_epoch_is_the_same_whatever_times_came_before(unit: str, year: int, scale: float):
    chance = random.Random(unit)
    start = datetime(year, 1, 1, tzinfo=UTC)
    midnight = datetime(2027, 1, 1, tzinfo=UTC)  # a minute, a day and a year end there
    read_cell = clock([], unit=unit)
    for shift in (
        -60,
        -1,
        -0.0005,
        -0.0000004,
        0,
        0.0000005,
        0.9994999,
        0.9995,
        59.9999996,
        *chance.choices(range(9**9), k=50),
    ):
        cell = f"{((midnight - start).total_seconds() + shift) * scale:.6f}"
        expected = start + timedelta(seconds=float(cell) / scale)
        is_likely = 1980 < expected.year < 2100
        text = expected.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        assert read_cell(cell) == (text if is_likely else "")


def test_a_layout_says_what_the_mapping_says():
    chance = random.Random(9)
    names = [
        "timestamp", "date", "userName", "actor.user", "hostname", "srcip", "client_ip", "dstip", "action", "result",
        "path", "url",
    ]  # fmt: skip
    cells = ("", "a", "10.0.0.7", "2026-11-20T03:12:45Z", "failure")
    for _ in range(60):
        records = [{name: chance.choice(cells) for name in chance.sample(names, 7)} for _ in range(20)]
        mapping = ColumnMapping(None, records[:10])
        for values in records:
            mapping.learn(values)
            layout = _RoleColumns(mapping, values)
            for role in ROLES:
                assert layout.value(values, role) == mapping.value(values, role)


def test_columns_that_come_later_count_for_the_records_after_them():
    known = [{"time": "2026-11-20T03:12:45Z", "user": "mara", "action": "login", "srcip": "10.0.0.7"}] * 5
    later = {**known[0], "username": "bob", "hostname": "web1"}
    sample = [record | {"action": "login failed"} for record in known]
    rows = RowEvents(ColumnMapping(None, sample), sample)
    found = [rows.event(TableRecord(1, None, dict(one), "")) for one in (sample[0], later, sample[0], later)]
    assert [one.host for one in found if one] == ["", "web1", "", "web1"]
    assert found[:2] == found[2:]


@pytest.mark.parametrize("separator", [",", "\t"])
def test_an_object_in_a_cell_is_read_and_other_records_are_not_searched_for_one(separator: str):
    inner = json.dumps({"ip": "10.0.0.9"}).replace('"', '""')
    rows = [["time", "user", "action", "extra"], ["2026-11-20T03:12:45Z", "mara", "login", "x"]]
    text = "\n".join(separator.join(row) for row in rows)
    text += f'\n{separator.join(["2026-11-20T03:12:46Z", "bob", "login"])}{separator}"{inner}"\n'
    form = form_of(text)
    assert form is not None
    assert [record.may_nest for record in form.records(io.BytesIO(text.encode()))] == [False, True]
    events = [one for one in read(io.BytesIO(text.encode())) if isinstance(one, Event)]
    assert [one.fields.get("extra.ip") for one in events] == [None, "10.0.0.9"]


def test_a_line_of_columns_says_whether_it_may_hold_an_object():
    rows = ["1763600000.5\t10.0.0.1\t10.0.0.2\t-", '1763600000.6\t10.0.0.1\t10.0.0.2\t{"a": 1}']
    text = "\n".join(["#fields\tts\tid.orig_h\tid.resp_h\tnote", *rows, ""])
    form = form_of(text)
    assert form is not None
    assert [record.may_nest for record in form.records(io.BytesIO(text.encode()))] == [False, True]
    assert len(list(Lines(io.BytesIO(text.encode())))) == 3


def test_a_reply_is_no_contact_although_the_same_hosts_met_before():
    there = event(SourceIp="10.0.0.1", DestinationIp="198.51.100.7", DestinationPort="40000", SourcePort="50000")
    back = event(SourceIp="10.0.0.1", DestinationIp="198.51.100.7", DestinationPort="40000", SourcePort="443")
    assert [_contact(one) is not None for one in (there, back, there)] == [True, False, True]


def test_a_value_in_two_fields_counts_each_time():
    names = NameCollector()
    for _ in range(3):
        names.add(event(SourceIp="10.0.0.1", src_ip="10.0.0.1", TargetUserName="mara", query="a.example"))
    seen = {(one.sort, one.value): one.count for one in names.names_seen(Place("x", has_records=False)).names}
    assert seen == {
        (NameSort.ADDRESS, "10.0.0.1"): 6, (NameSort.ACCOUNT, "mara"): 3, (NameSort.DOMAIN, "a.example"): 3,
    }  # fmt: skip


def test_groups_are_the_same_in_any_case_however_many_names_there_were(monkeypatch: pytest.MonkeyPatch):
    wanted = Correlation(type="event_count", rules=("r",), timespan=60, group_by=("User",), bounds=(("gte", 3.0),))
    monkeypatch.setattr(correlator, "MAX_GROUPS", 4)
    one = correlator._Correlator(wanted)
    for number, name in enumerate(["Mara", "mara", *"abcdefg", "MARA"]):
        one.keep(event(User=name), float(number), 0, [name])
        assert len(one._keys) <= 4
    assert [moment.number for moment in one.groups[("mara",)]] == [1, 1, 1]


@pytest.mark.parametrize(
    ("field", "fields", "value"),
    [
        ("User", {"User": "a"}, "a"),
        ("User", {"user": "b"}, "b"),
        ("eventName", {"data.eventName": "c"}, None),
        ("data.eventName", {"eventname": "d"}, "d"),
        ("derived.source_address", {"IpAddress": "10.0.0.1"}, "10.0.0.1"),
        ("derived.source_address", {}, None),
        ("TimeCreated", {}, "2026-11-20T03:12:45.000Z"),
        ("", {"a": "1", "b": "2"}, "1\n2"),
    ],
)  # fmt: skip
def test_a_field_is_read_in_any_spelling(field: str, fields: dict[str, str], value: str | None):
    assert reader_of(field)(event(**fields)) == value
