"""The journal's export format, ModSecurity's audit log and the reports of scanners."""

from __future__ import annotations

import io
import struct

import pytest

from svc.assistant.file_types.identify import identify
from svc.assistant.findings import Finding, Gap, Severity, ToolEvent
from svc.assistant.log_readers.applications import journal_export, modsecurity
from svc.assistant.log_readers.applications.scan_reports import scanner_of
from svc.assistant.sigma.event import Event
from svc.assistant.skills.events.tool import inspect


def findings(content: bytes) -> dict[str, Severity]:
    return {item.title: item.severity for item in tool_events(content) if isinstance(item, Finding)}


def tool_events(content: bytes) -> list[ToolEvent]:
    return list(inspect(io.BytesIO(content), source="x"))


def entry(message: bytes, *, is_binary: bool = False) -> bytes:
    value = b"MESSAGE\n" + struct.pack("<Q", len(message)) + message if is_binary else b"MESSAGE=" + message
    return (
        b"__CURSOR=s=abc;i=1\n__REALTIME_TIMESTAMP=1795144320000000\n_HOSTNAME=web1\nSYSLOG_IDENTIFIER=sshd\n"
        + value + b"\n\n"
    )  # fmt: skip


@pytest.mark.parametrize("is_binary", [False, True])
def test_an_export_of_the_journal_is_read(is_binary: bool):
    login = b"Accepted password for root from 203.0.113.5 port 50222 ssh2"
    content = entry(b"two\nlines \x1b", is_binary=True) + entry(login, is_binary=is_binary)
    events = [item for item in journal_export.read(io.BytesIO(content)) if isinstance(item, Event)]
    assert identify(content, "x")[1] == "eventtable"
    assert [(event.number, event.time, event.host) for event in events] == [
        (1, "2026-11-20T03:12:00.000Z", "web1"),
        (2, "2026-11-20T03:12:00.000Z", "web1"),
    ]
    assert findings(content)["SSH login as root"] is Severity.MEDIUM


def test_an_export_that_is_cut_is_read_up_to_there():
    content = entry(b"hello") + b"__CURSOR=x\n__REALTIME_TIMESTAMP=1795144320000000\nMESSAGE\n\xff\xff\xff"
    events = [item for item in journal_export.read(io.BytesIO(content)) if isinstance(item, Event)]
    assert [event.fields["message"] for event in events] == ["hello", ""]


MODSECURITY = """\
--a1b2c3d4-A--
[20/Nov/2026:03:10:00 +0100] Y0abc 203.0.113.5 51000 10.0.0.5 443
--a1b2c3d4-B--
GET {0} HTTP/1.1
Host: example.com
User-Agent: curl/8

--a1b2c3d4-F--
HTTP/1.1 {1} Forbidden
--a1b2c3d4-H--
Message: {2} [file "/etc/x.conf"] [id "942100"] [msg "SQL Injection Attack Detected"] [severity "CRITICAL"]

--a1b2c3d4-Z--

"""


def test_an_audit_log_of_modsecurity_is_read():
    first = MODSECURITY.format("/?id=1'%20or%201=1", 403, "Access denied with code 403 (phase 2).")
    content = (first + MODSECURITY.format("/quiet", 200, "Warning. Pattern match")).encode()
    events = [item for item in modsecurity.read(io.BytesIO(content)) if isinstance(item, Event)]
    assert [(event.number, event.time, event.fields["sc-status"]) for event in events] == [
        (1, "2026-11-20T02:10:00.000Z", "403"),
        (15, "2026-11-20T02:10:00.000Z", "200"),
    ]
    assert events[0].verdict is not None
    assert events[1].verdict is not None
    assert (events[0].verdict.is_denied, events[1].verdict.is_denied) == (True, False)
    assert findings(content)["ModSecurity alert: SQL Injection Attack Detected"] is Severity.HIGH


REPORTS = {
    "ClamAV": (
        (
            "/srv/a.txt: OK\n/srv/c99.php: Php.Webshell.C99-1 FOUND\n\n----------- SCAN SUMMARY -----------\n"
            "Known viruses: 8700000\nInfected files: 1\n"
        ),
        {"ClamAV alert: Php.Webshell.C99-1": Severity.HIGH},
    ),
    "Rootkit Hunter": (
        (
            "[03:10:00] Info: Start date is Fri Nov 20\n[03:10:01] Checking for rootkits...\n"
            "[03:10:05]   Diamorphine LKM                              [ Warning ]\n"
            "[03:10:05]   Adore Rootkit                                [ Not found ]\n"
            "[03:10:06] Warning: Hidden file found: /dev/shm/.x\n"
        ),
        {
            "Rootkit Hunter alert: Diamorphine LKM": Severity.MEDIUM,
            "Rootkit Hunter alert: Hidden file found: /dev/shm/.x": Severity.MEDIUM,
        },
    ),
    "chkrootkit": (
        (
            "ROOTDIR is `/'\nChecking `ls'... not infected\nChecking `bindshell'... INFECTED PORTS: ( 465)\n"
            "Checking `lkm'... nothing found\n"
        ),
        {"chkrootkit alert: bindshell: INFECTED PORTS: ( 465)": Severity.HIGH},
    ),
}


@pytest.mark.parametrize("scanner", REPORTS)
def test_a_scanners_findings_are_kept_and_named_its_own(scanner: str):
    text, wanted = REPORTS[scanner]
    assert scanner_of(text.encode()) == scanner
    assert identify(text.encode(), "x")[1] == "applog"
    found = findings(text.encode())
    assert {title: severity for title, severity in found.items() if "alert" in title} == wanted
    gaps = [item.text for item in tool_events(text.encode()) if isinstance(item, Gap)]
    assert f"what {scanner} did not look for, or skipped, is not known" in gaps


@pytest.mark.parametrize("text", ["[03:10:00] hello\n[03:10:01] Warning: x\n", "a: OK\nb\nc\nd\ne\n", ""])
def test_what_no_scanner_printed_is_no_report(text: str):
    assert scanner_of(text.encode()) == ""
