"""Events as JSON in every form that is about: the same event comes out of each."""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from svc.assistant.findings import Gap
from svc.assistant.log_readers.json_objects import MAX_LINE_BYTES
from svc.assistant.log_readers.windows_json import read
from svc.assistant.sigma.event import Event

CHANNEL = "Microsoft-Windows-Sysmon/Operational"
PROVIDER = "Microsoft-Windows-Sysmon"
TIME = "2026-11-20T03:12:45.123Z"
DATA = {"Image": r"C:\Windows\System32\cmd.exe", "ProcessId": 6700, "CommandLine": "cmd /c whoami"}
SYSTEM = {"EventID": 1, "Channel": CHANNEL, "Computer": "pc1", "EventRecordID": 7}
ELASTIC = {"event_id": 1, "channel": CHANNEL, "provider_name": PROVIDER, "computer_name": "pc1", "event_data": DATA}


def outcomes(content: bytes | str) -> tuple[list[Event], list[str]]:
    items = list(read(io.BytesIO(content.encode() if isinstance(content, str) else content)))
    return [item for item in items if isinstance(item, Event)], [item.text for item in items if isinstance(item, Gap)]


FORMS = {
    "flat": {"EventID": 1, "Channel": CHANNEL, "Hostname": "pc1", "TimeCreated": TIME, **DATA},
    "flat, event id as text": {"EventID": "1", "Channel": CHANNEL, "Hostname": "pc1", "@timestamp": TIME, **DATA},
    "NXLog": {
        "EventID": 1, "SourceName": PROVIDER, "Channel": CHANNEL, "Hostname": "pc1", "EventTime": "2026-11-20 04:12:45",
        "@timestamp": TIME, "SeverityValue": 2, "Message": "Process Create:\r\n…", **DATA,
    },
    "nested, attributes under #attributes": {
        "Event": {
            "System": {
                **SYSTEM,
                "Provider": {"#attributes": {"Name": PROVIDER}},
                "TimeCreated": {"#attributes": {"SystemTime": TIME}},
            },
            "EventData": DATA,
        }
    },
    "nested, attributes beside": {
        "Event": {"System": {**SYSTEM, "TimeCreated_attributes": {"SystemTime": TIME}}, "EventData": DATA}
    },
    "nested, named values": {
        "Event": {
            "System": {**SYSTEM, "EventID": {"#text": "1"}, "TimeCreated": {"@SystemTime": TIME}},
            "EventData": {"Data": [{"@Name": name, "#text": str(value)} for name, value in DATA.items()]},
        }
    },
    "nested without Event": {"System": {**SYSTEM, "TimeCreated": {"SystemTime": TIME}}, "EventData": DATA},
    "Elastic": {"@timestamp": TIME, "winlog": ELASTIC, "host": {"name": "pc1"}, "message": "Process Create"},
    "Elastic, event code": {
        "@timestamp": TIME, "event": {"code": "1"}, "host": {"name": "pc1"},
        "winlog": {"channel": CHANNEL, "event_data": DATA},
    },
    "Elastic, dotted": {"@timestamp": TIME, **{
        f"winlog.{name}": value for name, value in ELASTIC.items() if name != "event_data"
    }, **{f"winlog.event_data.{name}": value for name, value in DATA.items()}},
    "Elastic, search result": {"_index": "x", "_source": {"@timestamp": TIME, "winlog": ELASTIC}},
    "Elastic, old": {"@timestamp": TIME, "log_name": CHANNEL, "source_name": PROVIDER, "event_id": 1,
                     "computer_name": "pc1", "event_data": DATA},
    "Splunk": {"result": {"EventID": 1, "Channel": CHANNEL, "Computer": "pc1", "SystemTime": TIME, **DATA}},
    "EvtxECmd": {
        "EventId": 1, "Channel": CHANNEL, "Provider": PROVIDER, "Computer": "pc1",
        "TimeCreated": "2026-11-20T03:12:45.1230000+00:00",
        "Payload": json.dumps({"EventData": {"Data": [
            {"@Name": name, "#text": str(value)} for name, value in DATA.items()
        ]}}),
    },
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_every_format_gives_the_same_event(form: dict[str, object]):
    [event], gaps = outcomes(json.dumps(form) + "\n")
    assert (event.service, event.category, event.event_id) == ("sysmon", "process_creation", 1)
    assert (event.time, event.host, event.number) == (TIME, "pc1", 1)
    assert event.fields["Image"] == DATA["Image"]
    assert event.fields["ProcessId"] == "6700"
    assert gaps == []


FLAT = json.dumps(FORMS["flat"])
PRETTY = json.dumps(FORMS["flat"], indent=2)
LAYOUTS = {
    "lines": f"{FLAT}\n{FLAT}\n",
    "lines with empty ones": f"\n\n{FLAT}\n\n{FLAT}",
    "carriage returns": f"{FLAT}\r\n{FLAT}\r\n",
    "byte order mark": f"\ufeff{FLAT}\n{FLAT}",
    "list on one line": f"[{FLAT}, {FLAT}]",
    "list, a line each": f"[\n{FLAT},\n{FLAT}\n]",
    "indented list": json.dumps([FORMS["flat"], FORMS["flat"]], indent=2),
    "indented, one after another": f"{PRETTY}\n{PRETTY}",
    "hits of a search": json.dumps({"took": 1, "hits": {"hits": [FORMS["flat"], FORMS["flat"]]}}),
    "list under a name": json.dumps({"Events": [FORMS["flat"], FORMS["flat"]]}, indent=1),
}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_every_layout_is_read(layout: str):
    events, gaps = outcomes(layout)
    assert [event.fields["CommandLine"] for event in events] == ["cmd /c whoami"] * 2
    assert gaps == []


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
def test_events_exported_by_windows_are_read(encoding: str):
    assert len(outcomes(f"{FLAT}\r\n{FLAT}\r\n".encode(encoding))[0]) == 2


def test_broken_and_foreign_lines_are_counted_and_the_rest_is_read():
    events, gaps = outcomes(f'{FLAT}\n{{"broken": \n{{"a": 1}}\n{FLAT}\n')
    assert [event.number for event in events] == [1, 4]
    assert gaps == [
        "1 lines or objects were skipped as damaged: not a JSON object; the first is 2",
        "1 lines or objects were skipped as JSON, but not a Windows event; the first is 3",
    ]


def test_a_line_over_the_limit_is_skipped_and_reported():
    events, gaps = outcomes(f'{FLAT}\n{{"EventID": 1, "x": "{"a" * MAX_LINE_BYTES}"}}\n{FLAT}\n')
    assert [event.number for event in events] == [1, 3]
    assert "longer than" in gaps[0]


def test_invalid_utf8_does_not_lose_the_event():
    [event], _ = outcomes(FLAT.replace("whoami", "who\\u00e4mi").encode().replace(b"who", b"\xff\xfewho"))
    assert event.event_id == 1


def test_a_timestamp_without_a_zone_is_kept_unchanged():
    [event], _ = outcomes(json.dumps({"EventID": 1, "Channel": CHANNEL, "EventTime": "2026-11-20 04:12:45"}))
    assert event.time == "2026-11-20 04:12:45"


def test_deep_nesting_is_neither_an_event_nor_a_failure():
    events, gaps = outcomes(f'{FLAT}\n{{"a":{"[" * 100_000}\n')
    assert len(events) == 1
    assert gaps


@given(st.binary(max_size=300))
@settings(max_examples=50, deadline=None)
def test_any_bytes_are_read(content: bytes):
    outcomes(content)
    outcomes(FLAT.encode() + b"\n" + content)


NAMES = st.sampled_from(
    ["EventID", "Channel", "System", "EventData", "Data", "winlog", "event_data", "#text", "Payload", "UserData", "x"]
)
SHAPES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=12,
)


@given(SHAPES)
@settings(max_examples=100, deadline=None)
def test_any_shape_is_read(value: object):
    outcomes(json.dumps({"EventID": 1, "Channel": "Security", "a": value}))
    outcomes(json.dumps({"Event": value, "System": value, "EventID": 4, "Channel": value}))
