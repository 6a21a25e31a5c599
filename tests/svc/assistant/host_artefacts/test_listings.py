"""Listings and registry exports: forms of other systems, damaged lines, and what is not such a file."""

from __future__ import annotations

import io

import pytest

from svc.assistant.file_types.identify import identify
from svc.assistant.findings import Gap
from svc.assistant.log_readers.host import listings, registry_text
from svc.assistant.log_readers.host.record import Artefact, TraceKind
from svc.assistant.log_readers.lines import Unread

BUSYBOX = b"PID   USER     TIME  COMMAND\n    1 root      0:00 /bin/sh\n   12 root      0:00 nginx: master process\n"
FOREST = b"UID   PID  PPID  C STIME TTY  TIME     CMD\nroot    7     1  0 08:00 ?    00:00:01 [kworker/0:1]\n"
TASKS = '"Image Name","PID","Session Name","Session#","Mem Usage","Status","User Name","CPU Time","Window Title"\r\n'
TASKS += '"winword.exe","700","Console","1","90,000 K","Running","CORP\\mara","0:00:09","a, b"\r\n'
SS = b"""Netid State  Recv-Q Send-Q Local Address:Port Peer Address:PortProcess
tcp   LISTEN 0      128          0.0.0.0:22        0.0.0.0:*    users:(("sshd",pid=812,fd=3))
tcp   ESTAB  0      0      [2001:db8::5]:22 [2001:db8::9]:51000 users:(("sshd",pid=900,fd=4))
udp   UNCONN 0      0      127.0.0.53%lo:53        0.0.0.0:*    users:(("systemd-resolve",pid=700,fd=12))
"""
MACOS = b"""Proto Recv-Q Send-Q  Local Address          Foreign Address        (state)
tcp4       0      0  10.0.0.5.50100         198.51.100.9.443       ESTABLISHED
tcp4       0      0  *.22                   *.*                    LISTEN
"""
BOTH = (
    b"jo pts/0 192.0.2.7 Thu Nov 20 08:00 still logged in\nwtmp begins Sat Nov  1 00:00:01 2026\n"
    b"jo ssh:notty 192.0.2.8 Thu Nov 20 07:00 - 07:00  (00:00)\nbtmp begins Sat Nov  1 00:00:01 2026\n"
)


def rows(content: bytes) -> list[Artefact]:
    return [item for item in listings.read(io.BytesIO(content)) if isinstance(item, Artefact)]


def values(text: str) -> list[tuple[str, str, str]]:
    items = registry_text.read(io.BytesIO(("REGEDIT4\r\n\r\n" + text).encode()))
    return [(one.activity.value, one.where, one.what) for one in items if isinstance(one, Artefact)]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        pytest.param(
            BUSYBOX, [("root", "/bin/sh", "process 1"), ("root", "nginx: master process", "process 12")], id="busybox"
        ),
        pytest.param(FOREST, [("root", "[kworker/0:1]", "process 7")], id="with parents"),
        pytest.param(TASKS.encode(), [("CORP\\mara", "winword.exe", "process 700")], id="csv"),
    ],
)
def test_processes_of_every_form(content: bytes, expected: list[tuple[str, str, str]]) -> None:
    assert identify(content, "evidence")[1] == "listing"
    assert [(one.user, one.what, one.where) for one in rows(content)] == expected


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        pytest.param(
            SS,
            [
                ("tcp 0.0.0.0:22 listening", "", "", "sshd"),
                ("tcp [2001:db8::5]:22 to [2001:db8::9]:51000", "2001:db8::9", "estab outside", "sshd"),
                ("udp 127.0.0.53%lo:53 to 0.0.0.0:*", "0.0.0.0", "unconn inside", "systemd-resolve"),
            ],
            id="ss",
        ),
        pytest.param(
            MACOS,
            [
                ("tcp4 10.0.0.5.50100 to 198.51.100.9.443", "198.51.100.9", "established outside", ""),
                ("tcp4 *.22 listening", "", "", ""),
            ],
            id="macos",
        ),
    ],
)
def test_connections_of_every_form(content: bytes, expected: list[tuple[str, str, str, str]]) -> None:
    assert identify(content, "evidence")[1] == "listing"
    assert [(one.what, one.source, one.where, one.detail) for one in rows(content)] == expected


def test_accepted_and_failed_logins_in_one_file_are_told_apart() -> None:
    assert [(one.activity, one.source) for one in rows(BOTH)] == [
        (TraceKind.LOGIN, "192.0.2.7"),
        (TraceKind.FAILED_LOGIN, "192.0.2.8"),
    ]


def test_logins_of_an_unknown_file_are_said_to_be_of_one() -> None:
    content = b"".join(b"jo pts/%d 192.0.2.7 Thu Nov 20 08:00 still logged in\n" % number for number in range(3))
    items = list(listings.read(io.BytesIO(content)))
    assert any(isinstance(one, Gap) and one.in_headline and "accepted and failed logins" in one.text for one in items)


def test_lines_that_are_no_row_are_counted() -> None:
    items = list(listings.read(io.BytesIO(BUSYBOX + b"abc def\n\xff\xfe\x00\n")))
    assert sum(one.count for one in items if isinstance(one, Unread)) == 2


@pytest.mark.parametrize(
    "text",
    [
        "The command ps prints USER and COMMAND.\n",
        "PID controllers are used\nin many machines. COMMAND them well.\n",
        "Proto buffers and State machines\n",
        "Windows Registry Editor is a program\n",
        "====\nTitle\n====\n",
    ],
)
def test_other_texts_are_no_listing(text: str) -> None:
    assert identify(text.encode() * 3, "notes.txt")[1] not in ("listing", "registryexport")


def test_values_of_a_registry_export() -> None:
    run = r"[HKEY_CURRENT_USER\Software\Microsoft\Windows\CurrentVersion\Run]"
    found = values(
        f'{run}\r\n"a"="C:\\\\x\\\\y.exe"\r\n"b"=-\r\n\r\n[HKEY_LOCAL_MACHINE\\SYSTEM\\X]\r\n@=hex(7):61,00,00,00\r\n'
    )
    key = run.strip("[]")
    assert found == [
        ("autostart", rf"{key}\a", r"C:\x\y.exe"),
        ("setting", rf"{key}\b", "b = the file deletes this value"),
        ("setting", r"HKEY_LOCAL_MACHINE\SYSTEM\X\(Default)", "(Default) = a"),
    ]


@pytest.mark.parametrize("seed", range(30))
def test_damaged_files_are_read_as_far_as_possible(seed: int) -> None:
    whole = bytearray(SS + MACOS + BOTH + TASKS.encode() + FOREST)
    for step in range(20):
        whole[(seed * 7_919 + step * 104_729) % len(whole)] = (seed + step * 37) % 256
    assert rows(bytes(whole))
    assert list(registry_text.read(io.BytesIO(bytes(whole))))


VPN_CLIENTS = """OpenVPN CLIENT LIST
Updated,2026-11-20 08:30:00
Common Name,Real Address,Bytes Received,Bytes Sent,Connected Since
mara,198.51.100.7:51000,1200,3400,2026-11-20 08:00:12
jo,203.0.113.9:40000,10,20,2026-11-20 08:10:00
ROUTING TABLE
Virtual Address,Common Name,Real Address,Last Ref
10.8.0.6,mara,198.51.100.7:51000,2026-11-20 08:29:00
GLOBAL STATS
Max bcast/mcast queue length,0
END
"""
VPN_CLIENTS_2 = """TITLE,OpenVPN 2.6.8 x86_64-pc-linux-gnu
TIME,2026-11-20 08:30:00,1795163400
HEADER,CLIENT_LIST,Common Name,Real Address,Virtual Address,Virtual IPv6 Address,Bytes Received,Connected Since
CLIENT_LIST,mara,198.51.100.7:51000,10.8.0.6,,1200,3400,2026-11-20 08:00:12,1795161612,mara,0,0,AES-256-GCM
CLIENT_LIST,jo,203.0.113.9:40000,10.8.0.10,,10,20,2026-11-20 08:10:00,1795162200,UNDEF,1,1,AES-256-GCM
HEADER,ROUTING_TABLE,Virtual Address,Common Name,Real Address,Last Ref
ROUTING_TABLE,10.8.0.6,mara,198.51.100.7:51000,2026-11-20 08:29:00,1795163340
GLOBAL_STATS,Max bcast/mcast queue length,0
END
"""


@pytest.mark.parametrize("text", [VPN_CLIENTS, VPN_CLIENTS_2, VPN_CLIENTS_2.replace(",", "\t")])
def test_connected_clients_of_a_vpn(text: str) -> None:
    assert identify(text.encode(), "status.log")[1] == "listing"
    items = list(listings.read(io.BytesIO(text.encode())))
    found = [one for one in items if isinstance(one, Artefact)]
    assert [(one.user, one.source) for one in found] == [("mara", "198.51.100.7"), ("jo", "203.0.113.9")]
    assert not any(isinstance(one, Unread) for one in items)
