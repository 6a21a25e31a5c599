"""Very large logs, generated, with attacks planted at their beginning, in their middle and at their end."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

MEGABYTE = 1_000_000
_BODIES = 5_000  # different line bodies; times and process IDs differ in each line
_PER_SECOND = 20  # lines
_DAY = 86_400
_FIRST_CONNECTION = 1_763_600_000  # seconds since 1970
_CONNECTIONS_PER_SECOND = 97


@dataclass(frozen=True)
class Log:
    """A log that is generated.

    ``lines`` are ordinary, without an end. ``attack`` gives the lines of the first, second and third attack, at the
    moment of the line with a number; ``traces`` are what a finding of each attack names.
    """

    name: str
    megabytes: int
    question: str
    lines: Callable[[], Iterator[str]]
    attack: Callable[[int, int], list[str]]
    traces: tuple[str, ...]
    plain: Callable[[str], object]


def _clock(number: int) -> str:
    second = number // _PER_SECOND
    return f"{second // 3_600 % 24:02}:{second // 60 % 60:02}:{second % 60:02}"


def _auth_bodies(chance: random.Random) -> list[str]:
    users = [f"user{number}" for number in range(300)]
    addresses = [f"203.0.113.{number}" for number in range(250)] + [f"192.0.2.{number}" for number in range(250)]
    bodies = []
    for number in range(_BODIES):
        user, address, port = chance.choice(users), chance.choice(addresses), 1_024 + number
        pid = 1_000 + chance.randrange(60_000)
        bodies.append(
            chance.choices(
                [
                    f"sshd[{pid}]: Failed password for {user} from {address} port {port} ssh2",
                    f"sshd[{pid}]: Failed password for invalid user {user} from {address} port {port} ssh2",
                    f"sshd[{pid}]: Received disconnect from {address} port {port}:11: Bye Bye [preauth]",
                    f"CRON[{pid}]: pam_unix(cron:session): session opened for user root by (uid=0)",
                    f"CRON[{pid}]: pam_unix(cron:session): session closed for user root",
                    f"sudo:   {user} : TTY=pts/0 ; PWD=/home/{user} ; USER=root ; COMMAND=/usr/bin/apt update",
                    f"sshd[{pid}]: Accepted publickey for {user} from 10.0.0.{number % 250} port {port} ssh2",
                ],
                [40, 10, 10, 15, 15, 5, 5],
            )[0]
        )
    return bodies


def auth_lines() -> Iterator[str]:
    """Lines of sshd, cron and sudo."""
    bodies = _auth_bodies(random.Random(20))
    number = 0
    while True:
        for body in bodies:
            yield f"Nov {1 + number // _PER_SECOND // _DAY % 28:2} {_clock(number)} web1 {body}"
            number += 1


def sysmon_lines() -> Iterator[str]:
    """Started processes, as JSON."""
    programs = ("cmd.exe", "svchost.exe", "notepad.exe", "net.exe", "conhost.exe")
    number = 0
    while True:
        yield json.dumps(
            {
                "EventID": 1,
                "Channel": "Microsoft-Windows-Sysmon/Operational",
                "Hostname": f"pc{number % 9}",
                "TimeCreated": f"2026-11-{1 + number // _PER_SECOND // _DAY % 28:02}T{_clock(number)}.000Z",
                "Image": f"C:\\Windows\\System32\\{programs[number % 5]}",
                "ParentImage": "C:\\Windows\\explorer.exe",
                "ProcessId": 1_000 + number,
                "ParentProcessId": 900 + number % 99,
                "CommandLine": f"{programs[number % 5]} /c task{number % 1_000} --run {number}",
                "User": f"CORP\\user{number % 40}",
            }
        )
        number += 1


_COLUMNS = (
    "ts", "uid", "id.orig_h", "id.orig_p", "id.resp_h", "id.resp_p", "proto", "service", "duration", "orig_bytes",
    "resp_bytes", "conn_state", "local_orig", "local_resp", "missed_bytes", "history", "orig_pkts", "orig_ip_bytes",
    "resp_pkts", "resp_ip_bytes", "tunnel_parents",
)  # fmt: skip


def conn_lines() -> Iterator[str]:
    """Zeek's connections as tab-separated values."""
    chance = random.Random(21)
    yield from ("#separator \\x09", "#set_separator\t,", "#empty_field\t(empty)", "#unset_field\t-", "#path\tconn")
    yield "#fields\t" + "\t".join(_COLUMNS)
    bodies = [
        f"10.0.{n % 4}.{chance.randrange(250)}\t{1_024 + n}\t198.51.100.{chance.randrange(200)}\t"
        f"{chance.choice([80, 443, 53, 8_080])}\ttcp\t{chance.choice(['http', 'ssl', '-'])}\t{chance.random():.6f}\t"
        f"{chance.randrange(9_000)}\t{chance.randrange(90_000)}\tSF\tT\tF\t0\tShADadFf\t9\t400\t8\t3000\t-"
        for n in range(_BODIES)
    ]
    number = 0
    while True:
        for body in bodies:
            yield f"{_FIRST_CONNECTION + number / _CONNECTIONS_PER_SECOND:.6f}\tC{number:x}x\t{body}"
            number += 1


_ATTACKERS = ("198.51.100.77", "198.51.100.78", "198.51.100.79")
_GUESSED = ("backup", "deploy", "postgres")


def _guessed(which: int, number: int) -> list[str]:
    """A password is guessed."""
    stamp = f"Nov {1 + number // _PER_SECOND // _DAY % 28:2} {_clock(number)} web1 sshd[7]:"
    from_there = f"password for {_GUESSED[which]} from {_ATTACKERS[which]} port 4711 ssh2"
    return [f"{stamp} Failed {from_there}"] * 30 + [f"{stamp} Accepted {from_there}"]


_COMMANDS = (
    "rundll32.exe C:\\windows\\System32\\comsvcs.dll, MiniDump 624 C:\\temp\\lsass.dmp full",
    "vssadmin.exe delete shadows /all /quiet",
    "wevtutil.exe cl Security",
)
_HOSTS = ("victim-1", "victim-2", "victim-3")


def _dangerous(which: int, number: int) -> list[str]:
    """A program is started that ordinary users do not start."""
    command = _COMMANDS[which]
    started = {
        "EventID": 1,
        "Channel": "Microsoft-Windows-Sysmon/Operational",
        "Hostname": _HOSTS[which],
        "TimeCreated": f"2026-11-{1 + number // _PER_SECOND // _DAY % 28:02}T{_clock(number)}.500Z",
        "Image": f"C:\\Windows\\System32\\{command.split()[0]}",
        "ParentImage": "C:\\Windows\\System32\\cmd.exe",
        "ProcessId": 77,
        "ParentProcessId": 76,
        "CommandLine": command,
        "User": "CORP\\mallory",
    }
    return [json.dumps(started)]


_SCANNERS = ("10.0.9.7", "10.0.9.8", "10.0.9.9")


def _scanned(which: int, number: int) -> list[str]:
    """A host tries the ports of another."""
    moment = _FIRST_CONNECTION + number / _CONNECTIONS_PER_SECOND
    return [
        f"{moment + port / 1e6:.6f}\tCscan{port}\t{_SCANNERS[which]}\t50000\t10.0.0.{which + 1}\t{port}\ttcp\t-\t0.0001"
        "\t0\t0\tS0\tT\tT\t0\tS\t1\t44\t0\t0\t-"
        for port in range(1, 1_500)
    ]


LOGS = {
    "auth": Log(
        "auth.log", 2_000, "Which accounts were brute-forced, and did anyone get in?", auth_lines, _guessed,
        _ATTACKERS, str.split,
    ),
    "jsonl": Log(
        "sysmon.jsonl", 1_000, "What happened on these hosts?", sysmon_lines, _dangerous, _HOSTS, json.loads,
    ),
    "conn": Log(
        "conn.log", 1_000, "Is anything suspicious here?", conn_lines, _scanned, _SCANNERS,
        lambda line: line.split("\t"),
    ),
}  # fmt: skip


def write(path: Path, log: Log, megabytes: int) -> int:
    """Write the log, with an attack after the first lines, one in the middle and one at the end; return its lines."""
    count = size = 0
    attacks = iter(enumerate((0, megabytes * MEGABYTE // 2, megabytes * MEGABYTE)))
    which, due = next(attacks)
    lines = log.lines()
    with path.open("w", encoding="utf-8") as file:
        while size < due or which < len(log.traces) - 1:
            block = list(islice(lines, _BODIES))
            if size >= due:
                block += log.attack(which, count)
                which, due = next(attacks)
            size += file.write("\n".join(block) + "\n")
            count += len(block)
        last = log.attack(which, count)
        file.write("\n".join(last) + "\n")
    return count + len(last)
