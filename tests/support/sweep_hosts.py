"""A sweep of twelve hosts: a folder with a notebook, a table of cases, and one log per host.

One host was broken into, one has an empty log, the log of one is missing, and the others had an ordinary night.

    python -m tests.support.sweep_hosts FOLDER        writes the folder
"""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import nbformat

from tests.support.reports import save_notebook

NIGHT = datetime(2026, 11, 20, 1, 30, tzinfo=UTC)
COMPROMISED, EMPTY, MISSING = "web-3.dmz.example.org", "db-2.example.org", "mail-1.example.org"
HOSTS = (
    *("web-1.dmz.example.org", "web-2.dmz.example.org", COMPROMISED, "db-1.example.org", EMPTY, MISSING),
    *("mail-2.example.org", "build-1.example.org", "build-2.example.org", "vpn-1.example.org", "dns-1.example.org"),
    "files-1.example.org",
)
ATTACKER = "203.0.113.77"
TITLE = "# Logins of the night\n\nEvery morning: who logged in, and did anyone get in who should not."
WIDE = """import pandas
from IPython.display import display
display(pandas.DataFrame([[f"{host} value {n} that is rather long" for n in range(14)]] * 3,
        columns=[f"column_{n:02}" for n in range(13)] + ["last_column"]))"""
"""A cell with a table that is wider than any paper."""


def log_of(host: str, number: int) -> str:
    """One night of a host's ``auth.log``."""
    short = host.partition(".")[0]
    lines = []
    for hour in range(6):
        at = NIGHT + timedelta(hours=hour, minutes=7 * number % 60)
        source = f"192.0.2.{20 + number}"
        lines += [(at, f"sshd[{800 + hour}]: Accepted publickey for jon from {source} port {40_000 + hour} ssh2")]
        lines += [
            (
                at + timedelta(minutes=3),
                f"CRON[{900 + hour}]: pam_unix(cron:session): session opened for user root(uid=0) by (uid=0)",
            )
        ]
    if host == COMPROMISED:
        lines += _break_in()
    return "".join(f"{at:%b %d %H:%M:%S} {short} {text}\n" for at, text in sorted(lines))


def _break_in() -> list[tuple[datetime, str]]:
    """Passwords are tried until one fits; then an account is made."""
    start = NIGHT + timedelta(hours=1)
    accounts = ("root", "backup", "deploy", "invalid user oracle")
    tries = [
        (
            start + timedelta(seconds=5 * n),
            f"sshd[{2000 + n}]: Failed password for {accounts[n % 4]} from {ATTACKER} port {50_000 + n} ssh2",
        )
        for n in range(240)
    ]
    return [
        *tries,
        (start + timedelta(minutes=21), f"sshd[2300]: Accepted password for deploy from {ATTACKER} port 50900 ssh2"),
        (
            start + timedelta(minutes=22),
            "sudo:   deploy : TTY=pts/1 ; PWD=/tmp ; USER=root ; COMMAND=/usr/sbin/useradd svcmon",
        ),
        (
            start + timedelta(minutes=22),
            "useradd[2311]: new user: name=svcmon, UID=1007, GID=1007, home=/home/svcmon, shell=/bin/sh",
        ),
    ]


def write(folder: Path) -> Path:
    """Write notebook, table and logs into a folder; return it."""
    logs = folder / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    for number, host in enumerate(HOSTS):
        if host != MISSING:
            (logs / f"{host}.log").write_text("" if host == EMPTY else log_of(host, number))
    rows = "".join(f"{host},logs/{host}.log\n" for host in HOSTS)
    (folder / "hosts.csv").write_text(f"host,log\n{rows}")
    path = save_notebook(
        folder / "nightly.ipynb",
        'host = ""\nlog = ""',
        "from pathlib import Path\n%load_ext svc_jupyter\nevidence = Path(log)",
        "%%svc --attach {evidence}\nWhich accounts were brute-forced, and did anyone get in?",
        WIDE,
        "%%svc --attach {evidence} --into indicators\nExtract the indicators, as a table.",
    )
    notebook = nbformat.read(path, as_version=4)
    notebook.cells.insert(0, nbformat.v4.new_markdown_cell(TITLE))
    nbformat.write(notebook, path)
    return folder


if __name__ == "__main__":
    write(Path(sys.argv[1]))
