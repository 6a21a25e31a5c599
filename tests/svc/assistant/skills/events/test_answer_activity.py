"""The answer about logs that are not Windows': sentences, tables and steps from what was counted."""

from __future__ import annotations

import io
import json

import pytest

from svc.assistant.findings import Finding
from svc.assistant.skills.answer_parts import as_sections
from svc.assistant.skills.events.activity_findings import ProductAlert
from svc.assistant.skills.events.answer import SECTION
from svc.assistant.skills.events.tool import inspect
from tests.support.openings import opening


def findings(text: str, **options: str) -> list[Finding]:
    items = inspect(io.BytesIO(text.encode()), source="x.log", **options)
    return [item for item in items if isinstance(item, Finding)]


def access(client: str, path: str, status: int) -> str:
    return f'{client} - - [20/Nov/2026:03:12:45 +0000] "GET {path} HTTP/1.1" {status} 9 "-" "Mozilla/5.0"\n'


QUIET = access("198.51.100.3", "/index.html", 200) * 5
ATTACK = QUIET + access("203.0.113.9", "/?id=1%20union%20select%201|`", 200)
SYSLOG = (
    "Nov 20 03:12:45 web1 sudo:     jane : TTY=pts/0 ; PWD=/ ; USER=root ; COMMAND=/usr/bin/id\n"
    "Nov 20 03:12:46 web1 useradd[7]: new user: name=eve, UID=0, GID=0, home=/root\n"
)


def test_an_attack_on_a_web_server_is_in_the_verdict_the_table_and_the_steps():
    found = findings(ATTACK)
    assert "1 client attacked or probed: `203[.]0[.]113[.]9`; 1 attack got a 2xx response" in opening(SECTION, found)
    body = as_sections(SECTION.folds(found))
    assert "**1 client that attacks or probes**" in body
    assert "`200` 6" in body
    assert any("203[.]0[.]113[.]9" in step for step in SECTION.next_steps(found))


def test_ordinary_requests_have_no_detections():
    assert "none looks like an attack" in SECTION.verdict(findings(QUIET))


def test_requests_that_a_rule_calls_an_attack_are_not_called_ordinary():
    said = SECTION.verdict(
        findings(QUIET + access("203.0.113.9", "/.env", 404) + access("203.0.113.9", "/.git/config", 404))
    )
    assert "Reconnaissance" in said
    assert "none looks like an attack" not in said


FIREWALL = (
    "[Thu Nov 20 03:12:01.123456 2026] [security2:error] [pid 812] [client 203.0.113.66:50000] ModSecurity: {} "
    '[id "942100"] [msg "SQL Injection Attack"] [severity "{}"] [hostname "x"] [uri "/a.php"]\n'
)
NAXSI = (
    "2026/11/20 03:12:01 [error] 812#0: *1 NAXSI_FMT: ip=203.0.113.66&server=x&uri=/a&block=1&cscore0=$SQL&score0=8, "
    'client: 203.0.113.66, server: x, request: "GET /a HTTP/1.1"\n'
)


@pytest.mark.parametrize(
    ("log", "title", "severity"),
    [
        (FIREWALL.format("Access denied with code 403.", "CRITICAL"), "SQL Injection Attack (denied)", "medium"),
        (FIREWALL.format("Warning. Pattern match", "2"), "SQL Injection Attack", "high"),
        (FIREWALL.format("Warning. Pattern match", "WARNING"), "SQL Injection Attack", "medium"),
        (FIREWALL.format("Warning. Pattern match", "5"), "SQL Injection Attack", "info"),
        (NAXSI, "score of SQL (denied)", "low"),
    ],
)
def test_what_a_web_application_firewall_names_is_its_alert(log: str, title: str, severity: str):
    found = findings(log * 2)
    [alert] = [one for one in found if isinstance(one.facts, ProductAlert)]
    assert alert.title.endswith(f" alert: {title}")
    assert (alert.severity, alert.facts.count, alert.facts.addresses) == (severity, 2, ["203.0.113.66"])
    assert "looks like an attack" not in SECTION.verdict(found)


def test_errors_of_unknown_kinds_are_not_called_harmless():
    log = "[Thu Nov 20 03:12:01.123456 2026] [php:error] [pid 812] [client 203.0.113.66:50000] PHP Fatal error: x\n"
    said = SECTION.verdict(findings(log))
    assert "none is a rejected login, and no client has many missing or refused paths" in said


def test_a_log_without_readable_events_is_not_reported_as_clean():
    found = [
        item for item in inspect(io.BytesIO(b"ElfFile\0" + bytes(4_088)), source="x.evtx") if isinstance(item, Finding)
    ]
    assert "No detections" not in (SECTION.verdict(found) if found else "")


def test_commands_and_accounts_of_a_syslog_are_shown_with_their_time():
    found = findings(SYSLOG)
    assert "User created: eve" in opening(SECTION, found)
    assert "Nov 20 03:12:45 to Nov 20 03:12:46 (zone not stated)" in opening(SECTION, found)
    assert "`/usr/bin/id`" in as_sections(SECTION.folds(found))


def test_only_the_requested_time_of_day_is_counted():
    assert [f.facts.events for f in findings(SYSLOG, after="03:12:46") if f.kind == "events_summary"] == [1]


def test_cloud_api_calls_name_user_action_and_source():
    record = {
        "eventTime": "2026-11-20T03:12:45Z",
        "eventSource": "cloudtrail.amazonaws.com",
        "eventName": "StopLogging",
        "sourceIPAddress": "203.0.113.9",
        "userIdentity": {"type": "IAMUser", "userName": "jane"},
    }
    found = findings(json.dumps({"Records": [record]}))
    assert "stop CloudTrail logging" in opening(SECTION, found)
    assert "`203[.]0[.]113[.]9`" in as_sections(SECTION.folds(found))
    assert any("Disable the access keys" in step for step in SECTION.next_steps(found))


def test_times_of_unknown_zone_are_not_labelled_as_utc():
    lines = "".join(
        f"Nov 20 03:12:{n:02} web1 useradd[{n}]: new user: name=eve{n}, UID=0, GID=0, home=/root\n" for n in range(9)
    )
    for content, zone in ((lines, "zone not stated"), (lines.replace("Nov 20 ", "2026-11-20T"), "zone not stated")):
        found = findings(content)
        titles = [picture.title for picture in SECTION.pictures(found)]
        text = "\n".join([opening(SECTION, found), as_sections(SECTION.folds(found)), *titles])
        assert "UTC" not in text
        assert f"First ({zone})" in text
        assert f"({zone})" in opening(SECTION, found)
