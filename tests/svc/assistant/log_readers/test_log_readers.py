"""Logs that are not Windows': their lines become events with Sigma's names, and what people did is counted."""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from svc.assistant.file_types.identify import identify
from svc.assistant.findings import Finding, Gap
from svc.assistant.log_readers import auditd as event_audit
from svc.assistant.log_readers import cloudtrail as event_cloud
from svc.assistant.log_readers import syslog as event_syslog
from svc.assistant.log_readers import web_server as event_web
from svc.assistant.log_readers import windows_csv as event_csv
from svc.assistant.sigma.event import Event
from svc.assistant.skills.events.tool import inspect


def read(reader, text: str | bytes) -> list[Event]:
    content = text.encode() if isinstance(text, str) else text
    return [item for item in reader.read(io.BytesIO(content)) if isinstance(item, Event)]


def one(reader, text: str) -> Event:
    [event] = read(reader, text)
    return event


def gaps(reader, text: str) -> str:
    return " / ".join(item.text for item in reader.read(io.BytesIO(text.encode())) if isinstance(item, Gap))


def run(text: str | bytes, **options: str) -> list:
    content = text.encode() if isinstance(text, str) else text
    return list(inspect(io.BytesIO(content), source="x.log", **options))


def found(text: str | bytes, kind: str) -> list[Finding]:
    return [item for item in run(text) if isinstance(item, Finding) and item.kind == kind]


# Web servers


LINE = '192.0.2.7 - jane [20/Nov/2026:04:12:45 +0100] "GET /a.php?x=1 HTTP/1.1" 404 12'
COMBINED = f'{LINE} "https://www.example.com/" "Mozilla/5.0"'
FORMS = {
    "common": LINE,
    "combined": COMBINED,
    "virtual host": f"www.example.com:443 {COMBINED}",
    "more at the end": f'{COMBINED} 0.003 "-"',
}


@pytest.mark.parametrize("line", FORMS.values(), ids=FORMS)
def test_access_logs_in_their_usual_forms(line: str):
    event = one(event_web, line)
    assert event.time == "2026-11-20T03:12:45.000Z"
    fields = event.fields
    assert (fields["c-ip"], fields["cs-username"], fields["cs-method"]) == ("192.0.2.7", "jane", "GET")
    assert (fields["cs-uri-stem"], fields["cs-uri-query"], fields["sc-status"]) == ("/a.php", "/a.php?x=1", "404")


def test_the_client_behind_a_proxy_is_reported():
    fields = one(event_web, f'{COMBINED} "203.0.113.9, 10.0.0.1"').fields
    assert (fields["c-ip"], fields["s-proxy"]) == ("203.0.113.9", "192.0.2.7")


def test_an_encoded_target_is_also_given_decoded():
    fields = one(event_web, LINE.replace("/a.php?x=1", "/a?x=%27%20UNION%20SELECT")).fields
    assert "%27%20UNION" in fields["cs-uri-query"]
    assert "' UNION SELECT" in fields["cs-uri-query"]


def test_bytes_that_are_not_a_request_are_kept():
    assert one(event_web, LINE.replace("GET /a.php?x=1 HTTP/1.1", r"\x16\x03\x01")).fields["cs-uri"] == r"\x16\x03\x01"


IIS = """#Software: Microsoft Internet Information Services 10.0
#Fields: date time s-ip cs-method cs-uri-stem cs-uri-query s-port cs-username c-ip cs(User-Agent) cs(Referer) sc-status
2026-11-20 03:12:45 10.0.0.1 POST /owa/auth.owa a=1 443 - 203.0.113.9 Mozilla/5.0+(X11) - 302
2026-11-20 03:12:46 too few
"""


def test_the_w3c_format_takes_its_field_names_from_the_header():
    event = one(event_web, IIS)
    assert (event.number, event.time) == (3, "2026-11-20T03:12:45.000Z")
    assert (event.fields["cs-uri-query"], event.fields["cs-user-agent"]) == ("/owa/auth.owa?a=1", "Mozilla/5.0 (X11)")
    assert "1 lines are not web server lines; the first is line 4" in gaps(event_web, IIS)


ERRORS = {
    "apache": "[Fri Nov 20 03:12:45.123456 2026] [core:error] [pid 7] [client 203.0.113.9:5555] AH00126: Invalid URI",
    "nginx": '2026/11/20 03:12:45 [error] 7#7: *1 failed, client: 203.0.113.9, server: a, request: "GET /x HTTP/1.1"',
}


@pytest.mark.parametrize("product", ERRORS)
def test_error_logs_name_the_client(product: str):
    event = one(event_web, ERRORS[product])
    assert (event.product, event.service, event.fields["c-ip"]) == (product, "error", "203.0.113.9")
    assert event.time == "2026-11-20T03:12:45"


def access(client: str, path: str, status: int, method: str = "GET", agent: str = "Mozilla/5.0") -> str:
    return f'{client} - - [20/Nov/2026:03:12:45 +0000] "{method} {path} HTTP/1.1" {status} 9 "-" "{agent}"\n'


def test_an_attack_with_a_successful_response_is_more_severe():
    quiet = "".join(access("198.51.100.3", "/index.html", 200) for _ in range(20))
    refused = found(quiet + access("203.0.113.9", "/?id=1%20union%20select%201", 404), "web_client")
    answered = found(quiet + access("203.0.113.9", "/?id=1%20union%20select%201", 200), "web_client")
    assert [f.facts.client for f in refused] == ["203.0.113.9"]
    assert (refused[0].severity, answered[0].severity) == ("medium", "high")
    assert answered[0].facts.answered == 1


@pytest.mark.parametrize(
    ("path", "what"),
    [
        ("/uploads/s72_Shell.php", "a file named like a web shell"),
        ("/w00tw00t.at.ISC.SANS.DFind:)", "a page that only a scanner asks for"),
        ("/?author=3", "lists a site's user names"),
        ("/wp-json/wp/v2/users", "lists a site's user names"),
        ("/.git/config", "asks for files with secrets"),
        ("http://azenv.example/", "asks the server to be a proxy"),
        ("/list.php?id=1%27%20AND%201=1--%20-", "SQL injection"),
        ("/item?id=7%20order%20by%2012--", "SQL injection"),
        ("/a?q=%253Csvg%2520onload%253Dalert(1)%253E", "script injected into a request"),
        ("/i.php?f=php://filter/convert.base64-encode/resource=x", "a path that climbs out of the web folder"),
        ("/vendor/phpunit/phpunit/src/Util/PHP/eval-stdin.php", "a known hole of a product is tried"),
    ],
)
def test_requests_made_only_by_attackers_are_reported(path: str, what: str):
    (client,) = found(access("203.0.113.9", path, 404), "web_client")
    assert [row.attack for row in client.facts.by_attack] == [what]


@pytest.mark.parametrize(
    "path",
    [
        "/list?author=miller&x=o'brien", "/search?q=select+a+union+rep+order+by+name", "/a?from=users&select=all",
        "/r?to=https://shop.example/a", "/docs/author=1/", "/books?id=5&or=1", "/environment",
        "/it's-fine?x='quoted'&y=1",
    ],
)  # fmt: skip
def test_harmless_urls_that_resemble_attacks_are_not_reported(path: str):
    assert not found(access("198.51.100.3", path, 200), "web_client")


def test_a_proxied_connection_is_reported():
    (client,) = found(access("203.0.113.9", "mail.example:25", 200, "CONNECT"), "web_client")
    assert [row.attack for row in client.facts.by_attack] == ["asks the server to be a proxy"]
    assert (client.severity, client.techniques) == ("medium", ("T1090",))


REFUSED = {
    "apache": "[Fri Nov 20 03:12:4{0}.1 2026] [auth_basic:error] [pid 1:tid 2] [client 203.0.113.9:5000{0}] "
    'AH01617: user admin: authentication failure for "/private": Password Mismatch',
    "apache, unknown": "[Fri Nov 20 03:12:4{0} 2026] [error] [client 203.0.113.9] user admin not found: /private",
    "nginx": '2026/11/20 03:12:4{0} [error] 8#8: *{0} user "admin": password mismatch, client: 203.0.113.9, server: x, '
    'request: "GET /private HTTP/1.1", host: "x"',
    "nginx, unknown": '2026/11/20 03:12:4{0} [error] 8#8: *{0} user "admin" was not found in "/etc/nginx/.htpasswd", '
    'client: 203.0.113.9, server: x, request: "GET /private HTTP/1.1", host: "x"',
}


@pytest.mark.parametrize("line", REFUSED.values(), ids=REFUSED)
def test_refused_logins_of_an_error_log_are_counted_exactly(line: str):
    (client,) = found("\n".join(line.format(second) for second in range(7)), "web_client")
    assert (client.facts.denied, client.facts.accounts) == (7, ["admin"])
    assert client.techniques == ("T1110",)
    assert not found("\n".join(line.format(second) for second in range(4)), "web_client")


def test_a_scan_seen_only_in_the_error_log_is_reported():
    line = "[Fri Nov 20 03:12:45 2026] [error] [client 203.0.113.9] File does not exist: /var/www/html/{}"
    (client,) = found("\n".join(line.format(f"admin{number}") for number in range(25)), "web_client")
    assert client.facts.missing == 25


@pytest.mark.parametrize("path", ["/seashell.php", "/docs/shell-scripting.html", "/shells/index.php", "/shell/"])
def test_pages_about_web_shells_are_not_web_shells(path: str):
    assert not found(access("203.0.113.9", path, 200), "web_client")


def test_probing_and_guessing_are_distinguished_from_browsing():
    log = "".join(access("203.0.113.9", f"/secret{n}.bak", 404) for n in range(30))
    log += "".join(access("203.0.113.10", "/wp-login.php", 200, "POST") for _ in range(40))
    log += "".join(access("198.51.100.3", f"/page{n}", 200) for n in range(40))
    by_client = {f.facts.client: f for f in found(log, "web_client")}
    assert set(by_client) == {"203.0.113.9", "203.0.113.10"}
    assert "T1595.002" in by_client["203.0.113.9"].techniques
    assert "T1110" in by_client["203.0.113.10"].techniques


LOGIN_POST = '192.0.2.8 - - [20/Nov/2026:03:12:4{} +0000] "POST /wp-login.php HTTP/1.1" 200 9 "-" "Mozilla/5.0"'


def test_logins_faster_than_a_person_types_are_guesses():
    hasty = [LOGIN_POST.format(second) for second in range(5)]
    (client,) = found("\n".join(hasty), "web_client")
    assert client.facts.what == ["guesses passwords at /wp-login.php (5 times)"]
    assert not found("\n".join(hasty[:4]), "web_client")


@pytest.mark.parametrize("head", ["Nov 20 03:12:45 web1 nginx[7]: ", "<142>2026-11-20T03:12:45+00:00 web1 httpd: "])
def test_an_access_log_forwarded_by_syslog_is_a_web_log(head: str):
    lines = "\n".join(head + LOGIN_POST.format(second) for second in range(5))
    assert identify(lines.encode(), "x.log")[1] == "weblog"
    assert found(lines, "web_client")


def test_the_summary_counts_exactly():
    log = access("203.0.113.9", "/a", 200) * 3 + access("203.0.113.9", "/b", 404) * 2 + access("192.0.2.1", "/a", 200)
    [summary] = found(log, "web_summary")
    assert (summary.facts.requests, summary.facts.clients) == (6, 2)
    assert [(row.status, row.count) for row in summary.facts.by_status] == [("200", 4), ("404", 2)]
    assert [row.requests for row in summary.facts.by_client] == [5, 1]


# The audit log


AUDIT = (
    "type=SYSCALL msg=audit(1763600000.123:456): arch=c000003e syscall=59 success=yes a0=55d a1=55e ppid=7 pid=8 "
    'auid=1000 uid=0 tty=pts0 ses=1 comm="sh" exe="/usr/bin/dash" key="exec"\x1dUID="root" AUID="jane"\n'
    'type=EXECVE msg=audit(1763600000.123:456): argc=3 a0="sh" a1="-c" a2=6375726C206874747020\n'
    'type=CWD msg=audit(1763600000.123:456): cwd="/tmp"\n'
    "type=PROCTITLE msg=audit(1763600000.123:456): proctitle=7368002D63\n"
    "type=EOE msg=audit(1763600000.123:456):\n"
)


def test_records_of_one_event_are_joined():
    execve = next(event for event in read(event_audit, AUDIT) if event.fields["type"] == "EXECVE")
    assert (execve.product, execve.service, execve.category) == ("linux", "auditd", "process_creation")
    assert execve.time == "2025-11-20T00:53:20.123Z"
    fields = execve.fields
    assert (fields["a0"], fields["a2"], fields["CommandLine"]) == ("sh", "curl http", "sh -c curl http")
    assert (fields["Image"], fields["User"], fields["auid"], fields["key"]) == ("/usr/bin/dash", "root", "jane", "exec")
    assert fields["CurrentDirectory"] == "/tmp"


def test_interleaved_events_are_separated_and_unterminated_ones_are_kept():
    lines = [
        f'type={kind} msg=audit(1763600000.123:{serial}): {"argc=1 a0=" if kind == "EXECVE" else "exe="}"p{serial}"'
        for kind in ("SYSCALL", "EXECVE")
        for serial in range(100)
    ]
    events = read(event_audit, "\n".join(lines))
    assert len(events) == 200
    near = read(event_audit, "\n".join(sorted(lines, key=lambda line: int(line.split(":")[1].split(")")[0]))))
    images = [event.fields["Image"] for event in near if event.fields["type"] == "EXECVE"]
    assert images == [f"p{serial}" for serial in range(100)]


def test_split_arguments_are_joined():
    text = 'type=EXECVE msg=audit(1.0:1): argc=2 a0="x" a1_len=8 a1[0]=41414141 a1[1]=42424242\n'
    assert one(event_audit, text).fields["a1"] == "AAAABBBB"


@pytest.mark.parametrize(
    ("before", "host"),
    [
        ("node=web1 ", "web1"),
        ("Nov 20 03:12:45 web2 audispd: node=web1 ", "web1"),
        ("Nov 20 03:12:45 web2 audit[7]: ", "web2"),
    ],
)
def test_forwarded_lines_name_their_host(before: str, host: str):
    assert one(event_audit, f"{before}type=CWD msg=audit(1.0:1): cwd=2F746D70").host == host


def test_the_message_of_a_user_record_is_parsed():
    text = "type=USER_LOGIN msg=audit(1.0:1): pid=1 msg='op=login acct=\"root\" addr=203.0.113.9 res=failed'"
    fields = one(event_audit, text).fields
    assert (fields["acct"], fields["addr"], fields["res"]) == ("root", "203.0.113.9", "failed")


def test_an_interpreted_time_is_kept_unchanged():
    assert (
        one(event_audit, "type=CWD msg=audit(11/20/2026 03:12:45.123:456) : cwd=/tmp").time == "11/20/2026 03:12:45.123"
    )


def test_an_account_creation_in_the_audit_log_is_a_notable_change():
    text = AUDIT + "type=ADD_USER msg=audit(1.0:9): pid=1 msg='op=add-user acct=\"eve\" res=success'\n"
    [deed] = found(text, "unix_change")
    assert (deed.facts.what, deed.facts.whom) == ("user created", "eve")
    [summary] = found(text, "unix_summary")
    assert [run.command for run in summary.facts.commands] == ["sh -c curl http"]


# Syslog and the journal


SYSLOG = """Nov 20 03:12:45 web1 sudo:     jane : TTY=pts/0 ; PWD=/home/jane ; USER=root ; COMMAND=/usr/bin/id -u
Nov 20 03:12:46 web1 useradd[77]: new user: name=eve, UID=0, GID=0, home=/root, shell=/bin/bash
Nov 20 03:12:47 web1 usermod[78]: add 'eve' to group 'sudo'
Nov 20 03:12:48 web1 CRON[79]: (root) CMD (run-parts /etc/cron.hourly)
Nov 20 03:12:49 web1 kernel: [12.3] rootkit: loading out-of-tree module taints kernel.
"""


def test_lines_have_program_process_message_and_service():
    events = read(event_syslog, SYSLOG)
    assert [event.service for event in events] == ["sudo", "auth", "auth", "cron", "syslog"]
    assert (events[1].fields["program"], events[1].fields["pid"], events[1].host) == ("useradd", "77", "web1")
    assert events[0].time == "--11-20T03:12:45"
    assert "no year" in gaps(event_syslog, SYSLOG)


def test_host_activity_is_listed_worst_first():
    login = "Nov 20 03:12:50 web1 sshd[7]: Accepted publickey for jane from 192.0.2.7 port 4 ssh2: RSA SHA256:x\n"
    told = [(deed.severity, deed.facts.whom) for deed in found(SYSLOG + login, "unix_change")]
    assert told[:3] == [("high", "eve"), ("high", "eve"), ("medium", "rootkit")]
    assert set(told[3:]) == {("info", "jane from 192.0.2.7"), ("info", "(root) CMD (run-parts /etc/cron.hourly)")}


def test_sudo_commands_are_listed():
    [summary] = found(SYSLOG, "unix_summary")
    assert [run.command for run in summary.facts.sudo] == ["/usr/bin/id -u"]


@pytest.mark.parametrize(
    ("line", "time"),
    [
        ("2026-11-20T03:12:45.5+01:00 web1 cron[7]: x", "2026-11-20T02:12:45.500Z"),
        ("<13>1 2026-11-20T03:12:45Z web1 cron 7 - - x", "2026-11-20T03:12:45.000Z"),
    ],
    ids=["rsyslog", "RFC 5424"],
)
def test_timestamps_with_a_zone_become_utc(line: str, time: str):
    event = one(event_syslog, line)
    assert (event.time, event.fields["program"], event.fields["message"]) == (time, "cron", "x")


def entry(message: object, program: str = "sshd") -> str:
    return json.dumps(
        {
            "__REALTIME_TIMESTAMP": "1763600000123456",
            "_HOSTNAME": "web1",
            "SYSLOG_IDENTIFIER": program,
            "_PID": "7",
            "MESSAGE": message,
        }
    )


def test_a_json_journal_is_read():
    event = one(event_syslog, entry("hello"))
    assert (event.time, event.host, event.service, event.fields["message"]) == (
        "2025-11-20T00:53:20.123Z",
        "web1",
        "sshd",
        "hello",
    )


def test_a_message_given_as_a_list_of_bytes_becomes_text():
    assert one(event_syslog, entry([104, 105, 300, "x"])).fields["message"] == "hi"


# CloudTrail


def call(name: str, source: str = "iam.amazonaws.com", **more: object) -> dict[str, object]:
    return {
        "eventVersion": "1.08",
        "eventTime": "2026-11-20T03:12:45Z",
        "eventSource": source,
        "eventName": name,
        "awsRegion": "eu-central-1",
        "sourceIPAddress": "203.0.113.9",
        "userIdentity": {"type": "IAMUser", "userName": "jane", "arn": "arn:aws:iam::1:user/jane"},
        "requestParameters": {"userName": "eve", "groups": [{"id": "a"}, {"id": "b"}], "tags": ["x", "y"]},
        **more,
    }


CALLS = [call("CreateUser"), call("StopLogging", "cloudtrail.amazonaws.com"), call("ListUsers")]
CLOUD_FORMS = {
    "a file of records": json.dumps({"Records": CALLS}),
    "a list": json.dumps(CALLS),
    "lines": "\n".join(map(json.dumps, CALLS)),
    "looked up": json.dumps({"Events": [{"EventName": "x", "CloudTrailEvent": json.dumps(one)} for one in CALLS]}),
}


@pytest.mark.parametrize("text", CLOUD_FORMS.values(), ids=CLOUD_FORMS)
def test_every_form_of_cloudtrail_gives_the_same_events(text: str):
    events = read(event_cloud, text)
    assert [event.fields["eventName"] for event in events] == ["CreateUser", "StopLogging", "ListUsers"]
    fields = events[0].fields
    assert (fields["userIdentity.userName"], fields["requestParameters.userName"]) == ("jane", "eve")
    assert (fields["requestParameters.groups.id"], fields["requestParameters.tags"]) == ("a\nb", "x\ny")
    assert event_cloud.is_cloudtrail(text.encode())


def test_risky_calls_are_reported_and_denied_ones_are_less_severe():
    refused = call("DeleteTrail", "cloudtrail.amazonaws.com", errorCode="AccessDenied")
    calls = {f.facts.call: f for f in found(json.dumps({"Records": [*CALLS, refused]}), "cloud_call")}
    assert (calls["cloudtrail:StopLogging"].severity, calls["cloudtrail:DeleteTrail"].severity) == ("high", "low")
    assert "iam:ListUsers" not in calls


def test_denials_of_many_different_calls_are_reported_as_probing():
    records = [call(f"Get{n % 8}", "s3.amazonaws.com", errorCode="AccessDenied") for n in range(20)]
    [refused] = found(json.dumps({"Records": records}), "cloud_refused")
    assert refused.facts.count == 20


def test_a_login_of_root_or_without_mfa_is_reported():
    def login(kind: str, mfa: str) -> dict[str, object]:
        return call(
            "ConsoleLogin",
            "signin.amazonaws.com",
            userIdentity={"type": kind, "userName": "jane", "accountId": "1"},
            responseElements={"ConsoleLogin": "Success"},
            additionalEventData={"MFAUsed": mfa},
        )

    records = [login("Root", "Yes"), login("IAMUser", "No")]
    assert [f.severity for f in found(json.dumps({"Records": records}), "cloud_login")] == ["high", "medium"]


# CSV


MESSAGE = "An account failed to log on.\n\nSubject:\n\tAccount Name:\t-\n\nLogon Type:\t3\n\n"
MESSAGE += "Account For Which Logon Failed:\n"
MESSAGE += "\tAccount Name:\teve\n\nNetwork Information:\n\tSource Network Address:\t203.0.113.9\n"
_PROVIDER = "Microsoft-Windows-Security-Auditing"
_VIEWER = "Level,Date and Time,Source,Event ID,Task Category\nInformation,20/11/2026 03:12:45"
_SHELL = '#TYPE x\n"Id","TimeCreated","ProviderName","LogName","MachineName","Message"\n"4625","20.11.2026 03:12:45"'
_SEARCH = "EventCode;host;Channel;winlog.event_data.TargetUserName;LogonType;IpAddress\n4625;DC1;Security;eve;3"
TABLES = {
    "Event Viewer": f'{_VIEWER},{_PROVIDER},4625,Logon,"{MESSAGE}"\n',
    "PowerShell": f'{_SHELL},"{_PROVIDER}","Security","DC1","{MESSAGE}"\n',
    "a search system": f"{_SEARCH};203.0.113.9\n",
}


@pytest.mark.parametrize("text", TABLES.values(), ids=TABLES)
def test_table_rows_of_windows_events_have_the_fields_of_the_event(text: str):
    assert event_csv.is_event_csv(text.encode())
    event = one(event_csv, text)
    assert (event.product, event.service, event.event_id) == ("windows", "security", 4625)
    names = ("TargetUserName", "IpAddress", "LogonType")
    assert [event.fields[name] for name in names] == ["eve", "203.0.113.9", "3"]


def test_other_tables_are_not_read_as_events():
    assert not event_csv.is_event_csv(b"name,price\na,1\n")


# All


LABELS = {
    "weblog": (COMBINED + "\n") * 3,
    "auditlog": AUDIT,
    "syslog": SYSLOG.replace("sudo:", "snapd:"),
    "journal": entry("a") + "\n" + entry("b"),
    "cloudtrail": CLOUD_FORMS["a file of records"],
}


@pytest.mark.parametrize("label", LABELS)
def test_log_types_are_recognised_by_content(label: str):
    assert identify(LABELS[label].encode(), "x")[1] == label


@pytest.mark.parametrize("label", LABELS)
def test_the_log_is_read_according_to_its_format(label: str):
    [summary] = found(LABELS[label], "events_summary")
    assert summary.facts.events


@given(st.sampled_from(sorted(LABELS)), st.binary(max_size=300), st.integers(0, 2_000))
@settings(max_examples=25, deadline=None)
def test_any_damage_is_skipped(label: str, junk: bytes, at: int):
    check_damage(label, junk, at)


@pytest.mark.long
@pytest.mark.timeout(600)
@given(st.sampled_from(sorted(LABELS)), st.binary(max_size=300), st.integers(0, 2_000))
@settings(max_examples=1_500, deadline=None)
def test_much_damage_is_skipped(label: str, junk: bytes, at: int):
    check_damage(label, junk, at)


def check_damage(label: str, junk: bytes, at: int) -> None:
    content = LABELS[label].encode()
    assert run(content[:at] + junk + content[at:])
    for reader in (event_audit, event_cloud, event_csv, event_syslog, event_web):
        list(reader.read(io.BytesIO(content[:at] + junk)))


@pytest.mark.parametrize("reader", [event_audit, event_syslog, event_web], ids=["audit", "syslog", "web"])
def test_a_huge_line_is_cut_and_reported(reader):
    assert "longer than 65,536 bytes" in gaps(reader, "x" * 200_000 + "\n")


HOSTILE = {
    "audit": (event_audit, "node=" * 13_000),
    "audit type": (event_audit, "type=" * 13_000),
    "access": (event_web, "a " * 30_000 + "["),
    "quotes": (event_web, LINE.replace("GET", '\\"' * 30_000)),
    "syslog": (event_syslog, "Nov 20 03:12:45 a sudo: x : " + "PWD= ; USER=x ; " * 4_000),
}


@pytest.mark.timeout(5)
@pytest.mark.parametrize(("reader", "line"), HOSTILE.values(), ids=HOSTILE)
def test_lines_crafted_to_be_slow_are_read_quickly(reader, line: str):
    list(reader.read(io.BytesIO(f"{line}\n".encode() * 20)))
    run(f"{line}\n" * 20)
