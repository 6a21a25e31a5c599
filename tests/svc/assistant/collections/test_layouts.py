"""Collectors are recognised by their folders, important members come first, and unread kinds have names."""

from __future__ import annotations

import pytest

from svc.assistant.collections.layouts import kind_words, layouts_of, rank

UAC = ["[root]/var/log/auth.log", "live_response/process/ps_auxwww.txt", "bodyfile/bodyfile.txt", "uac.log"]
VELOCIRAPTOR = [
    "uploads/auto/C%3A/Windows/System32/winevt/Logs/Security.evtx",
    "results/Windows.KapeFiles.Targets%2FUploads.json",
    "client_info.json",
]
KAPE = [
    "C/Windows/System32/winevt/logs/Security.evtx",
    "C/$MFT",
    "C/Users/mara/NTUSER.DAT",
    "2026-11-20T09_00_00_CopyLog.csv",
    "2026-11-20T09_00_00_ConsoleLog.txt",
]


@pytest.mark.parametrize(
    ("names", "layouts"),
    [
        (UAC, ["UAC collection"]),
        ([f"uac-web-3-linux-20261120/{name}" for name in UAC], ["UAC collection"]),
        (VELOCIRAPTOR, ["Velociraptor collection"]),
        (KAPE, ["KAPE collection"]),
        ([f"WS-17/{name}" for name in KAPE], ["KAPE collection"]),
        (["var/log/auth.log", "notes.txt", "results/report.json"], []),
        (["C/photos/cat.png", "uploads/cat.png", "root/a.txt"], []),
        ([], []),
    ],
    ids=[
        "UAC",
        "UAC in a folder",
        "Velociraptor",
        "KAPE",
        "KAPE in a folder",
        "a folder of logs",
        "pictures",
        "nothing",
    ],
)
def test_a_collector_is_recognised_by_its_folders(names: list[str], layouts: list[str]):
    assert layouts_of(names) == layouts


def test_what_matters_most_comes_first():
    ordered = [
        "C/Windows/System32/winevt/Logs/Security.evtx",
        "[root]/var/log/auth.log.1",
        "[root]/var/log/syslog",
        "results/Generic.Client.Info.json",
        "home/mara/.bash_history",
        "root/.ssh/authorized_keys",
        "etc/cron.d/backup",
        "mail/notice.eml",
        "capture.pcap",
        "var/log/nginx/access.log",
        "var/log/dpkg.txt",
        "live_response/process/ps.txt",
        "usr/share/doc/readme",
    ]
    assert sorted(ordered, key=rank) == ordered
    assert len({rank(name) for name in ordered}) == len(ordered)


@pytest.mark.parametrize(
    ("name", "label", "mime_type", "kind"),
    [
        ("C/$MFT", "unknown", "application/octet-stream", "NTFS master file table"),
        ("memory.raw", "unknown", "application/octet-stream", "memory image"),
        ("hiberfil.sys", "unknown", "", "memory image"),
        ("host.E01", "unknown", "", "disk image"),
        ("var/log/wtmp", "unknown", "", "binary login records"),
        ("x", "chm", "application/vnd.ms-htmlhelp", "compiled help file"),
        ("x.tif", "tif", "image/tiff", "image/tiff"),
        ("x", "unknown", "application/octet-stream", ""),
    ],
)
def test_a_kind_that_no_tool_reads_is_named(name: str, label: str, mime_type: str, kind: str):
    assert kind_words(name, label, mime_type) == kind
