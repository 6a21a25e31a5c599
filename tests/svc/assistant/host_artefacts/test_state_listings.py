"""Listings of files, sessions, kernel modules and containers: an attack is found, its ordinary twin is not."""

from __future__ import annotations

import io

import pytest

from svc.assistant.file_types.identify import identify
from svc.assistant.findings import Finding, Severity
from svc.assistant.skills.host_artefacts.answer import verdict
from svc.assistant.skills.host_artefacts.findings import HostActivity, HostSign, HostSummary
from svc.assistant.skills.host_artefacts.tool import inspect

LISTINGS = {
    "ls -l": (
        "-rwsr-xr-x 1 root root 1234 Nov 20 03:12 {0}\n-rwsr-xr-x 1 root root 68208 Mar  1  2025 /usr/bin/passwd\n",
        ("/dev/shm/.x", "/usr/bin/sudo"),
        "Program with the rights of its owner (SUID) in a folder that any user can write to",
        {"file presence": 2},
    ),
    "find -ls": (
        ("  1310721      4 drwxr-xr-x   3 root     root         4096 Nov 20 03:12 /var/www/html\n"
        "  1310722      8 -rw-r--r--   1 www-data www-data     6400 Nov 20 03:12 {0}\n"
        "find: '/proc/1': Permission denied\n"),
        ("/var/www/html/wp-content/uploads/2026/11/a.php", "/var/www/html/wp-content/uploads/2026/11/a.jpg"),
        "Script in a folder for uploads of a web server",
        {"file presence": 2},
    ),
    "a shell with the bit": (
        "-rwsr-xr-x 1 root root 1234 2026-11-20 03:12:45.123456789 +0100 {0}\n",
        ("/opt/backup/bash", "/opt/backup/agent"),
        "Shell or interpreter with the rights of its owner (SUID)",
        {"file presence": 1},
    ),
    "getcap": (
        "/usr/bin/ping cap_net_raw=ep\n{0}\n",
        ("/usr/bin/perl5.36 cap_setuid+ep", "/usr/bin/perl5.36 cap_net_bind_service+ep"),
        "Interpreter or tool that may become root (capability)",
        {"right": 2},
    ),
    "w": (
        (" 03:12:00 up 1 day,  2:00,  2 users,  load average: 0.00, 0.01, 0.05\n"
        "USER     TTY      FROM             LOGIN@   IDLE   JCPU   PCPU WHAT\n"
        "root     pts/1    {0}    03:12    1.00s  0.04s  0.00s vim notes\n"
        "alice    pts/0    10.0.0.9         Thu08    5:00   0.10s  0.00s -bash\n"),
        ("203.0.113.50", "10.0.0.50"),
        "Login as root or Administrator from outside",
        {"login": 2, "running process": 2},
    ),
    "lsmod": (
        ("Module                  Size  Used by\n{0}            16384  0\next4                  978944  1\n"
        "mbcache                16384  1 ext4\n"),
        ("diamorphine", "dm_crypt"),
        "Kernel module named like a rootkit",
        {"kernel module": 3},
    ),
    "docker ps": (
        ('CONTAINER ID   IMAGE                 COMMAND                  CREATED        STATUS       PORTS     NAMES\n'
        'a1b2c3d4e5f6   {0}     "/run -o pool"           2 hours ago    Up 2 hours             happy\n'
        'b1b2c3d4e5f6   nginx:1.27            "/docker-entrypoint.…"   2 days ago     Up 2 days    80/tcp    web\n'),
        ("evil/xmrig:latest", "postgres:17-slim"),
        "Cryptominer",
        {"running process": 2},
    ),
    "Get-Process": (
        ("Handles  NPM(K)    PM(K)      WS(K)     CPU(s)     Id  SI ProcessName\n"
        "-------  ------    -----      -----     ------     --  -- -----------\n"
        "    123      12    20000      30000       0.50   4711   1 {0}\n"
        "    900      40   120000     130000      10.50    612   1 explorer\n"
        "    100       9     2000       3000                 88   0 lsass\n"),
        ("mimikatz", "notepad"),
        "Attack tool running",
        {"running process": 3},
    ),
}  # fmt: skip


def read(text: str) -> tuple[set[str], dict[str, int], str]:
    """What is rated medium or higher, how many rows of each kind there are, and the verdict."""
    found = [one for one in inspect(io.BytesIO(text.encode()), source="x.txt") if isinstance(one, Finding)]
    signs = {one.title for one in found if isinstance(one.facts, HostSign) and one.severity not in ("low", "info")}
    counts = {one.facts.activity: one.facts.count for one in found if isinstance(one.facts, HostActivity)}
    return signs, counts, verdict(found)


@pytest.mark.parametrize("name", LISTINGS)
def test_a_listing_is_read_and_its_twin_is_quiet(name: str):
    text, (attack, quiet), title, counts = LISTINGS[name]
    assert identify(text.format(attack).encode(), "x.txt")[1] == "listing"
    signs, counted, said = read(text.format(attack))
    assert title in signs
    assert counted == counts
    assert "of an attack: " in said
    signs, counted, said = read(text.format(quiet))
    assert (signs, counted) == (set(), counts)
    assert "No sign of an attack among" in said


def test_windows_sessions_are_logins():
    text = (
        " USERNAME              SESSIONNAME        ID  STATE   IDLE TIME  LOGON TIME\n"
        ">bob                   console             1  Active      none   11/20/2026 3:10 AM\n"
        " administrator                             2  Disc            .  11/20/2026 3:12 AM\n"
    )
    assert read(text)[1] == {"login": 2}


def test_a_weak_sign_is_named_instead_of_none():
    text = (
        "Interface: 10.0.0.5 --- 0x4\n  Internet Address      Physical Address      Type\n"
        "  10.0.0.1              00-15-5d-01-02-03     dynamic\n  10.0.0.9              00-15-5d-01-02-03     dynamic\n"
    )
    found = [one for one in inspect(io.BytesIO(text.encode()), source="x") if isinstance(one, Finding)]
    assert {one.severity for one in found if isinstance(one.facts, HostSign)} == {Severity.LOW}
    assert any(isinstance(one.facts, HostSummary) for one in found)
    assert verdict(found).startswith("**1 weak sign of an attack: Two addresses with the same hardware address**")
