"""Evidence that is not text, for the questions of ``small_hours.toml``."""

from __future__ import annotations

from collections.abc import Callable

from tests.support import host_files as made
from tests.support.bundles import logon, windows
from tests.support.captures import START, capture, conversation, question

_RUN = r"Software\Microsoft\Windows\CurrentVersion\Run"
_ASSIST = r"Software\Microsoft\Windows\CurrentVersion\Explorer\UserAssist\{CEBFF5CD-ACE2-4F4F-9178-9926F41749EA}\Count"


def _hive() -> bytes:
    ran = dict([
        made.user_assist(r"C:\Users\sara\Downloads\rclone.exe", 9, "2026-11-23 22:15:00"),
        made.user_assist(r"C:\Program Files\WinSCP\WinSCP.exe", 2, "2026-11-22 10:00:00"),
    ])  # fmt: skip
    run: dict[str, object] = {
        "OneDrive": r'"C:\Program Files\Microsoft OneDrive\OneDrive.exe" /background',
        "Helper": r"wscript.exe C:\Users\sara\AppData\Roaming\helper.vbs",
    }
    tree = {_RUN: ("2026-11-23 23:30:00", run), _ASSIST: ("2026-11-23 22:15:00", dict[str, object](ran))}
    return made.hive(made.keys(tree), name="NTUSER.DAT")


def _chrome() -> bytes:
    visits = [
        ("https://news.example/", "News", "2026-11-24 07:00:00"),
        ("https://news.example/", "News", "2026-11-24 08:00:00"),
        ("https://login.portal-update.example/new", "Update", "2026-11-24 08:03:00"),
    ]
    target = r"C:\Users\sara\Downloads\portal_setup.msi"
    return made.chrome(
        visits, [(target, "https://login.portal-update.example/portal_setup.msi", "2026-11-24 08:05:00", 0)]
    )


def _capture() -> bytes:
    request = b"GET /s.bin HTTP/1.1\r\nHost: stage.badzone.example\r\nUser-Agent: Wget/1.21\r\n\r\n"
    reply = b"HTTP/1.1 200 OK\r\nContent-Length: 3000\r\nContent-Type: application/octet-stream\r\n\r\n" + b"B" * 3000
    frames = question("stage.badzone.example", missing=False, at=START)
    frames += question("ns.badzone.example", missing=True, at=START + 1)
    frames += question("update.vendor.example", client="10.0.0.6", missing=False, at=START + 2)
    return capture(frames + conversation([(">", request), ("<", reply)], at=START + 5))


def _failed(account: str, address: str) -> dict[str, str]:
    return {
        "TargetUserName": account, "TargetDomainName": "CORP", "LogonType": "3", "IpAddress": address,
        "Status": "0xc000006d", "SubStatus": "0xc000006a", "WorkstationName": "-",
    }  # fmt: skip


def _evtx() -> bytes:
    created = {
        "TargetUserName": "svc_sync", "TargetDomainName": "CORP", "SubjectUserName": "wim", "SubjectDomainName": "CORP",
        "TargetSid": "S-1-5-21-1-2-3-1300",
    }  # fmt: skip
    added = {
        "MemberName": "CN=svc_sync,CN=Users,DC=corp", "MemberSid": "S-1-5-21-1-2-3-1300",
        "TargetUserName": "Administrators", "TargetDomainName": "Builtin", "SubjectUserName": "wim",
        "SubjectDomainName": "CORP",
    }  # fmt: skip
    return windows(
        (4625, "09:00:00", _failed("wim", "203.0.113.44")),
        (4625, "09:01:00", _failed("wim", "203.0.113.44")),
        (4625, "09:02:00", _failed("zed", "203.0.113.44")),
        (4625, "09:03:00", _failed("zed", "203.0.113.45")),
        (4624, "09:12:00", logon("wim", "203.0.113.44", kind="10")),
        (4720, "09:20:00", created),
        (4732, "09:23:00", added),
    )


MADE: dict[str, Callable[[], bytes]] = {
    "hours_hive": _hive, "hours_chrome": _chrome, "hours_capture": _capture, "hours_evtx": _evtx,
}  # fmt: skip
