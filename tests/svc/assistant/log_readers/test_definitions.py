"""What a definition can say: wrapped records, times, outcomes, fields, conditions, records of several kinds."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator

import msgspec
import pytest

from svc.assistant.findings import Gap
from svc.assistant.log_readers.lines import ReadAs, Unread
from svc.assistant.log_readers.tables import kinds, reader
from svc.assistant.log_readers.tables.kinds import Kind, Source
from svc.assistant.log_readers.tables.reader import read, recognise
from svc.assistant.sigma.event import Event
from tests.svc.assistant.log_readers import wrappings

ACME = """
source = "the tests"
version = "1"
date = 2026-11-22
"""


@pytest.fixture
def define() -> Iterator[object]:
    """Define a kind for one test."""

    def defined(**parts: object) -> None:
        kind = msgspec.convert({"name": "Acme log", "needs": [["acmetime", "acmeact"]], **parts}, Kind)
        kinds.prefer([msgspec.convert({**msgspec.toml.decode(ACME), "kinds": [kind]}, Source)])
        reader._recognised.cache_clear()

    yield defined
    kinds.prefer([])
    reader._recognised.cache_clear()


def everything(content: str | bytes) -> list[object]:
    return list(read(io.BytesIO(content.encode() if isinstance(content, str) else content)))


def events(content: str | bytes) -> list[Event]:
    return [item for item in everything(content) if isinstance(item, Event)]


def lines(*records: dict[str, object]) -> str:
    return "".join(json.dumps({"acmeTime": "2026-11-18T03:00:00", "acmeAct": "x", **one}) + "\n" for one in records)


@pytest.mark.parametrize("writer", [*wrappings.OPEN.items(), *wrappings.HELD.items()], ids=lambda one: one[0])
def test_a_record_is_read_in_whatever_it_is_wrapped(writer: tuple[str, wrappings.Writer]):
    written = writer[1]([wrappings.record(number) for number in range(1, 6)])
    content = written.encode() if isinstance(written, str) else written
    found = events(content)
    assert [one.fields["Outcome"] for one in found] == ["failure"] * 5
    assert [one.fields["TargetUserName"] for one in found] == [f"user{number}@example.org" for number in range(1, 6)]
    assert [one.fields["IpAddress"] for one in found] == [f"192.0.2.{number}" for number in range(1, 6)]
    assert [one.time for one in found] == [f"2026-11-18T03:{number:02}:00.000Z" for number in range(1, 6)]
    assert {(one.product, one.service, one.category) for one in found} == {("okta", "okta", "authentication")}
    assert [one.fields["eventType"] for one in found] == ["user.session.start"] * 5
    assert not [item for item in everything(content) if isinstance(item, Unread)]
    shown = recognise(content[:65_536])
    assert (shown.kind.name if shown.kind else "", shown.is_events) == ("Okta System Log", True)


@pytest.mark.parametrize(
    ("parts", "record", "time"),
    [
        ({}, {}, "2026-11-18T03:00:00"),
        ({"is_utc": True}, {}, "2026-11-18T03:00:00.000Z"),
        ({"zone": "+0530"}, {}, "2026-11-17T21:30:00.000Z"),
        ({"zone": "Europe/Berlin"}, {"acmeTime": "2026-07-18 03:00:00"}, "2026-07-18T01:00:00.000Z"),
        ({"zone": "Europe/Berlin"}, {"acmeTime": "2026-07-18T03:00:00Z"}, "2026-07-18T03:00:00.000Z"),
        ({"zone": "no such zone"}, {}, "2026-11-18T03:00:00"),
        ({"zone_column": "tz"}, {"tz": "+0100"}, "2026-11-18T02:00:00.000Z"),
        ({"zone_column": "tz", "zone": "-02:00"}, {"tz": ""}, "2026-11-18T05:00:00.000Z"),
        ({"zone_column": "tz"}, {"tz": "../../../etc/passwd"}, "2026-11-18T03:00:00"),
        ({"time_unit": "filetime"}, {"acmeTime": 134238072005000000}, "2026-05-21T03:20:00.500Z"),
        ({"time_unit": "webkit"}, {"acmeTime": 13423807200500000}, "2026-05-21T03:20:00.500Z"),
        ({"time_unit": "cocoa"}, {"acmeTime": 801026400}, "2026-05-21T03:20:00.000Z"),
        ({"time_unit": "seconds"}, {"acmeTime": "99999999999999999999"}, ""),
        ({"time_unit": "nanoseconds"}, {"acmeTime": "1779333600500000000"}, "2026-05-21T03:20:00.500Z"),
        ({}, {"acmeTime": "18-Nov-2026 02:14:03.123"}, "2026-11-18T02:14:03.123"),
        ({}, {"acmeTime": "Wed, 18 Nov 2026 02:14:03 +0100"}, "2026-11-18T01:14:03.000Z"),
    ],
)
def test_a_time_has_the_zone_and_unit_of_the_definition(define, parts, record, time):
    define(category="activity", columns={"time": ["acmetime"]}, **parts)
    [found] = events(lines(record))
    assert found.time == time


def test_outcomes_are_translated_also_a_missing_one(define):
    define(columns={"outcome": ["code"]}, outcomes={"7": "failure", "": "success", "OK": "success", "*": "failure"})
    found = events(lines({"code": "7"}, {}, {"code": "ok"}, {"code": "weird"}))
    assert [one.fields["Outcome"] for one in found] == ["failure", "success", "success", "failure"]


def test_fields_are_joined_cut_and_translated_under_the_names_of_public_rules(define):
    define(
        fields={
            "gcp.audit.method_name": ["acmeact"],
            "TargetObject": {"columns": ["key", "value"], "joined": "\\"},
            "RoleName": {"columns": ["arn"], "part": "role/([^/]{1,64})$"},
            "eventService": {"columns": ["app"], "values": {"admin": "admin.googleapis.com", "*": "other"}},
            "Absent": ["nothing"],
        }
    )
    [found] = events(lines({"key": "HKLM\\Run", "value": "x", "arn": "arn:aws:iam::1:role/ops", "app": "admin"}))
    wanted = {
        "gcp.audit.method_name": "x", "TargetObject": "HKLM\\Run\\x", "RoleName": "ops",
        "eventService": "admin.googleapis.com", "acmeAct": "x",
    }  # fmt: skip
    assert {name: found.fields.get(name) for name in wanted} == wanted
    assert "Absent" not in found.fields


def test_conditions_look_at_several_columns(define):
    login = {"column": "acmeact", "matches": "^in$", "also": {"who": "."}, "unless": {"kind": "^service$"}}
    define(
        category="activity",
        product="acme",
        when=[
            {"column": "acmeact", "matches": "^heartbeat$", "skip": True},
            {**login, "category": "authentication", "service": "door", "sets": {"LogonType": "10"}},
        ],
    )
    content = lines(
        {"acmeAct": "in", "who": "ann"},
        {"acmeAct": "in", "who": "job", "kind": "service"},
        {"acmeAct": "in"},
        {"acmeAct": "heartbeat"},
    )
    found = events(content)
    assert [(one.category, one.service, one.fields.get("LogonType")) for one in found] == [
        ("authentication", "door", "10"),
        ("", "", None),
        ("", "", None),
    ]
    assert [item.text.split()[0] for item in everything(content) if isinstance(item, Gap)] == ["1"]


def test_each_item_of_an_array_is_an_event_with_the_rest_of_its_record(define):
    define(needs=[["acmetime", "eventsname"]], each="events", category="activity", columns={"action": ["eventsname"]})
    many = {"who": "ann", "events": [{"name": "a", "parameters": [{"name": "USER", "value": "bob"}]}, {"name": "b"}]}
    found = events(lines(many, {"events": []}, {"events": [{"name": "c"}]}))
    assert [one.fields.get("Action") for one in found] == ["a", "b", "x", "c"]
    assert [one.number for one in found] == [1, 1, 2, 3]
    assert [one.fields.get("who") for one in found[:2]] == ["ann", "ann"]
    assert found[0].fields["events.parameters.USER"] == "bob"
    assert "events.parameters.USER" not in found[1].fields


def test_each_also_works_below_a_prefix(define):
    define(needs=[["acmetime", "eventsname"]], each="events", category="activity", columns={"action": ["eventsname"]})
    inner = {"acmeTime": "2026-11-18T03:00:00", "events": [{"name": "a"}, {"name": "b"}], "who": "ann", "no": 1}
    found = events("".join(json.dumps({"wrapped": {"deep": inner}}) + "\n" for _ in range(3)))
    assert [one.fields["Action"] for one in found] == ["a", "b"] * 3
    assert found[0].time == "2026-11-18T03:00:00"


def test_named_parameters_become_fields_and_cannot_replace_others(define):
    define()
    parameters = [
        {"Name": "ForwardTo", "Value": "x@example.org"},
        {"Name": "Name", "Value": "no"},
        {"Name": "a\nb", "Value": 1},
    ]
    [found] = events(lines({"Parameters": parameters}))
    assert found.fields["Parameters.ForwardTo"] == "x@example.org"
    assert found.fields["Parameters.Name"] == "ForwardTo\nName\na\nb"


def test_records_of_several_kinds_in_one_file_are_each_read_as_their_own():
    okta = [wrappings.record(number) for number in range(1, 4)]
    gcp = {
        "protoPayload": {"methodName": "SetIamPolicy", "authenticationInfo": {"principalEmail": "a@example.org"}},
        "timestamp": "2026-11-18T03:00:00Z",
    }
    found = everything("".join(json.dumps(one) + "\n" for one in [okta[0], gcp, *okta[1:], gcp]))
    assert [one.product for one in found if isinstance(one, Event)] == ["okta", "gcp", "okta", "okta", "gcp"]
    shown = [one.form for one in found if isinstance(one, ReadAs)]
    assert shown[-1] == "Okta System Log and GCP audit log (mapped columns)"


def test_a_kind_that_is_not_read_is_counted_in_a_mixed_file(define):
    define(needs=[["acmelist", "acmetime"]], unread="ask about its hashes")
    okta = [wrappings.record(number) for number in range(1, 4)]
    found = everything("".join(json.dumps(one) + "\n" for one in [*okta, {"acmeList": 1, "acmeTime": 2}]))
    assert [item.count for item in found if isinstance(item, Unread)] == [1]
    assert [item.text for item in found if isinstance(item, Gap)] == [
        "1 records look like a Acme log; ask about its hashes"
    ]


def test_a_row_of_athena_is_read_by_its_members(define):
    define(needs=[["acmetime", "useridentitytype"]], columns={"user": ["useridentityarn"]}, category="activity")
    context = "{attributes={mfa=false}, x=[1, 2]}"
    cell = f"{{type=IAMUser, arn=arn:aws:iam::1:user/eve, invokedby=null, sessioncontext={context}}}"
    [found] = events(f'acmetime,useridentity,acmeact\n2026-11-18T03:00:00Z,"{cell}",x\n')
    assert found.fields["User"] == "arn:aws:iam::1:user/eve"
    assert found.fields["useridentity.sessioncontext.attributes.mfa"] == "false"
    assert "useridentity.invokedby" not in found.fields


@pytest.mark.parametrize(
    "cell", ["{a=" * 9_000, "{" * 60_000, "{a=b" + ", c=d" * 9_000, '{"a":' * 5_000, "[{" * 30_000]
)
def test_a_hostile_cell_stays_as_it_is(cell: str):
    quoted = cell.replace('"', '""')
    [found] = events(f'time,user,src,result,extra\n2026-11-18T03:00:00Z,eve,192.0.2.1,success,"{quoted}"\n')
    assert found.fields["extra"] == cell
    assert len(found.fields) < 400


@pytest.mark.parametrize(
    "line",
    [
        "CEF:0|Check Point|VPN-1|1|1|Accept|5|src=192.0.2.1 dst=198.51.100.2 dpt=22 act=Accept rt=1795000000000",
        'date=2026-11-18 time=03:00:00 devname="fw" srcip=192.0.2.1 dstip=198.51.100.2 dstport=22 action="accept"',
    ],
)
def test_named_values_of_a_line_in_a_column_are_columns(line: str):
    quoted = line.replace('"', '""')
    found = events('"_time","_raw","host"\n' + f'"2026-11-18T03:00:00Z","{quoted}","collector"\n' * 5)
    assert [one.fields.get("SourceIp") or one.fields.get("src") for one in found] == ["192.0.2.1"] * 5
    assert {one.fields.get("DestinationPort") for one in found} == {"22"}


def test_a_prefix_is_renamed_for_rules_whatever_its_case(define: Callable[..., None]):
    define(prefixes={"request.parameters.": "Parameters."})
    [event] = events(lines({"Request": {"Parameters": [{"name": "ForwardTo", "value": "a@example.org"}]}}))
    assert event.fields["Parameters.ForwardTo"] == event.fields["Request.Parameters.ForwardTo"] == "a@example.org"


def test_the_old_value_of_a_named_value_is_a_field(define: Callable[..., None]):
    define()
    [event] = events(
        lines({"Changed": [{"Name": "Mfa", "NewValue": "[]", "OldValue": "[1]"}, {"Name": "X", "OldValue": "1"}]})
    )
    assert (event.fields["Changed.Mfa"], event.fields["Changed.Mfa.OldValue"]) == ("[]", "[1]")
    assert "Changed.X" not in event.fields


@pytest.mark.parametrize(("user", "domain"), [("ann@corp.example", "corp.example"), ("ann", ""), ("", "")])
def test_the_domain_of_the_actor_is_a_field_for_rules_about_other_domains(
    define: Callable[..., None], user: str, domain: str
):
    define(columns={"user": ["who"]}, category="activity")
    [event] = events(lines({"who": user}))
    found = (event.fields.get("UserDomain", ""), event.fields.get("UserSubdomains", ""))
    assert found == ((f"@{domain}", f".{domain}") if domain else ("", ""))


def test_a_record_that_has_a_list_of_objects_is_not_taken_for_an_export_with_a_list(define: Callable[..., None]):
    define()
    details = {"title": "a", "b": 1, "c": 2, "d": 3, "e": 4}
    record = {"acmeAct": "x", "acmeTime": "2026-11-18T03:00:00", "findings": [{"a": 1}, {"a": 2}], "data": details}
    [event] = events(json.dumps(record) + "\n")
    assert (event.fields["acmeAct"], event.fields["data.title"]) == ("x", "a")
