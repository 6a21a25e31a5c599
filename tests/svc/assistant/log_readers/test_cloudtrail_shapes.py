"""CloudTrail's records in every arrangement and naming give the same events and findings."""

from __future__ import annotations

import io
import json
from collections.abc import Callable

import pytest

from svc.assistant.file_types.identify import identify
from svc.assistant.findings import Finding
from svc.assistant.log_readers import cloudtrail
from svc.assistant.log_readers.lines import Unread
from svc.assistant.sigma.event import Event
from svc.assistant.skills.events.tool import inspect

Record = dict[str, object]


def record(name: str, **parameters: object) -> Record:
    return {
        "eventVersion": "1.08",
        "userIdentity": {"type": "IAMUser", "arn": "arn:aws:iam::123456789012:user/ben", "userName": "ben"},
        "eventTime": "2026-03-07T20:01:00Z",
        "eventSource": "iam.amazonaws.com",
        "eventName": name,
        "awsRegion": "eu-north-1",
        "sourceIPAddress": "203.0.113.66",
        "requestParameters": parameters,
        "responseElements": None,
        "recipientAccountId": "123456789012",
    }


RECORDS = [record("CreateAccessKey", userName="svc-backup"), record("DeactivateMFADevice", userName="ann")]


def snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)


def renamed(rename: Callable[[str], str], *, is_text: bool) -> list[Record]:
    return [
        {
            rename(name): json.dumps(value) if is_text and isinstance(value, dict) else value
            for name, value in one.items()
        }
        for one in RECORDS
    ]


def lines(records: list[Record]) -> str:
    return "".join(json.dumps(one) + "\n" for one in records)


def in_lower_case(value: object) -> object:
    return {name.lower(): in_lower_case(inner) for name, inner in value.items()} if isinstance(value, dict) else value


OPEN = {
    "Records": json.dumps({"Records": RECORDS}),
    "a list over many lines": json.dumps(RECORDS, indent=2),
    "JSON lines": lines(RECORDS),
    "events one after the other over many lines": "\n".join(json.dumps(one, indent=2) for one in RECORDS),
    "lookup-events": json.dumps({"Events": [{"CloudTrailEvent": json.dumps(one)} for one in RECORDS]}),
    "EventBridge": lines([{"version": "0", "id": "1", "resources": [], "detail": one} for one in RECORDS]),
    "snake case with JSON as text": lines(renamed(snake, is_text=True)),
    "lower case": lines(renamed(str.lower, is_text=False)),
}  # fmt: skip
HELD = {
    "EventBridge over many lines": json.dumps({"version": "0", "detail-type": "x", "detail": RECORDS[0]}, indent=1)
    + "\n" + json.dumps({"version": "0", "detail-type": "x", "detail": RECORDS[1]}, indent=1),
    "Lake export": lines(renamed(str.lower, is_text=True)),
    "Elasticsearch hits": lines([{"_index": "a", "_source": one} for one in RECORDS]),
    "identity in lower case": lines([{**one, "userIdentity": in_lower_case(one["userIdentity"])} for one in RECORDS]),
    "title case": lines(renamed(lambda name: name[0].upper() + name[1:], is_text=False)),
    "SQS message in EventBridge": lines([{"detail": {"detail": one}} for one in RECORDS]),
    "Windows line ends and a byte order mark": "\ufeff" + lines(RECORDS).replace("\n", "\r\n"),
    "space in the time": lines([{**one, "eventTime": "2026-03-07 20:01:00.000"} for one in RECORDS]),
}  # fmt: skip


@pytest.mark.parametrize("text", [*OPEN.values(), *HELD.values()], ids=[*OPEN, *HELD])
def test_every_arrangement_gives_the_same_events_and_findings(text: str):
    content = text.encode()
    events = [one for one in cloudtrail.read(io.BytesIO(content)) if isinstance(one, Event)]
    titles = {one.title for one in inspect(io.BytesIO(content), source="e") if isinstance(one, Finding)}

    assert identify(content, "export.json")[1] == "cloudtrail"
    assert [event.fields["eventName"] for event in events] == ["CreateAccessKey", "DeactivateMFADevice"]
    assert {event.time for event in events} == {"2026-03-07T20:01:00.000Z"}
    assert {event.fields["userIdentity.userName"] for event in events} == {"ben"}
    assert [event.fields["requestParameters.userName"] for event in events] == ["svc-backup", "ann"]
    assert {"AWS access key created for another user", "AWS MFA device removed or console login without MFA"} <= titles


def test_one_event_over_many_lines_is_one_event():
    content = json.dumps(RECORDS[0], indent=4).encode()

    [event] = [one for one in cloudtrail.read(io.BytesIO(content)) if isinstance(one, Event)]
    assert event.fields["userIdentity.type"] == "IAMUser"


def test_what_is_no_record_is_counted():
    content = (lines([RECORDS[0]]) + '{"some": "thing"}\n{broken\n').encode()

    found = list(cloudtrail.read(io.BytesIO(content)))
    assert sum(one.count for one in found if isinstance(one, Unread)) == 2


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"Records": RECORDS * 20}),
        json.dumps({"Records": RECORDS * 20}, indent=1),
        json.dumps({"Events": RECORDS * 20, "NextToken": {"a": 1}}),
        json.dumps(RECORDS * 20),
    ],
)
def test_a_large_document_is_read_record_by_record(text: str, monkeypatch: pytest.MonkeyPatch):
    whole = list(cloudtrail.read(io.BytesIO(text.encode())))
    monkeypatch.setattr(cloudtrail, "MAX_BYTES", 2_000)
    assert list(cloudtrail.read(io.BytesIO(text.encode()))) == whole
    assert len(whole) == 40


def test_a_large_document_that_is_cut_says_so(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(cloudtrail, "MAX_BYTES", 2_000)
    items = list(cloudtrail.read(io.BytesIO(json.dumps({"Records": RECORDS * 20}).encode()[:-300])))
    assert sum(isinstance(one, Event) for one in items) == 39
    assert sum(one.count for one in items if isinstance(one, Unread)) == 1
