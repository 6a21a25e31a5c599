"""Evidence for questions in many wordings: small logs, each with one planted story, and material nobody can use."""

from __future__ import annotations

from tests.support import incident
from tests.support.evidence_kinds import ATTACKER, KINDS

SCANNER = "203.0.113.5"  # tried, and never got in
COLLEAGUE = "198.51.100.21"  # jon, who works here
QUIET = "Nov 20 04:{:02}:07 web-3 {}\n"
LISTING = """total 64
drwxr-xr-x  5 ann staff  160 Nov 20 09:12 .
drwxr-xr-x 12 ann staff  384 Nov 19 17:40 ..
-rw-r--r--  1 ann staff 1240 Nov 18 11:02 budget
-rw-r--r--  1 ann staff  811 Nov 18 11:02 notes
-rwxr-xr-x  1 ann staff 2210 Nov 17 08:30 build
"""
PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 8


def _sshd(clock: str, pid: int, text: str) -> str:
    return f"Nov 20 {clock} web-3 sshd[{pid}]: {text} ssh2\n"


def auth() -> bytes:
    """An account whose password was guessed, a source that only failed, and a colleague's ordinary login."""
    made = [_sshd("02:58:10", 90, f"Accepted publickey for jon from {COLLEAGUE} port 40022")]
    made += [
        _sshd(f"03:02:{second:02}", 100 + second, f"Failed password for backup from {SCANNER} port 5{second:03}")
        for second in range(0, 36, 3)
    ]
    made += [
        _sshd(f"03:12:{second:02}", 200 + second, f"Failed password for mara from {ATTACKER} port 4{second:03}")
        for second in range(40)
    ]
    made.append(_sshd("03:12:50", 900, f"Accepted password for mara from {ATTACKER} port 4900"))
    return "".join(made).encode()


def quiet() -> bytes:
    """A log of an ordinary night: a colleague's login and timers."""
    timers = [QUIET.format(minute, f"CRON[{700 + minute}]: (root) CMD (/usr/bin/true)") for minute in range(20)]
    return (_sshd("03:58:10", 90, f"Accepted publickey for jon from {COLLEAGUE} port 40022") + "".join(timers)).encode()


def syslog() -> bytes:
    """The attack among messages of the kernel and of services."""
    noise = [
        f"Nov 20 01:{minute:02}:01 web-3 systemd[1]: Started Daily apt download activities.\n" for minute in range(40)
    ]
    return "".join(noise).encode() + auth()


def web() -> bytes:
    """Ordinary requests, and one client that tries injection, traversal and a web shell."""
    line = '{} - - [20/Nov/2026:02:{:02}:{:02} +0000] "GET {} HTTP/1.1" {} 512 "-" "{}"\n'
    made = [line.format("198.51.100.9", n, 1, f"/news/{n}", 200, "Mozilla/5.0") for n in range(30)]
    tried = (
        "/item?id=1%27%20UNION%20SELECT%20user,password%20FROM%20users--",
        "/item?id=1%27%20OR%20%271%27=%271",
        "/../../../../etc/passwd",
        "/cgi-bin/..%2f..%2f..%2fetc/passwd",
        "/uploads/shell.php?cmd=whoami",
        "/uploads/shell.php?cmd=cat%20/etc/passwd",
    )
    made += [line.format("203.0.113.50", 40, n, path, 200, "sqlmap/1.7") for n, path in enumerate(tried)]
    return "".join(made).encode()


EVIDENCE: dict[str, tuple[str, bytes]] = {name: made.evidence() for name, made in KINDS.items()} | {
    "auth": ("auth.log", auth()),
    "quiet": ("auth.log", quiet()),
    "syslog": ("syslog", syslog()),
    "web": ("access.log", web()),
    "windows": ("host.json", incident.events()),
    "capture": ("capture.pcap", incident.packets()),
    "empty": ("auth.log", b""),
    "white space": ("events.log", b" \n\t\n  \r\n" * 40),
    "listing": ("listing.txt", LISTING.encode()),
    "picture": ("screen.png", PNG),
}
