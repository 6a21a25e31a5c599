"""Time, memory and completeness of very large logs, generated, as the whole analyst reads them.

    python -m tests.benchmarks.large [auth] [jsonl] [conn] [--megabytes N] [--folder DIR] [--cancel]

Run it by hand. Without a name: 2 GB of auth.log, 1 GB of Sysmon events as JSON lines, 1 GB of Zeek's conn.log, one
after the other, in a temporary folder. Each ends with a story that only the last lines tell; the answer must have it
and must not be incomplete. The limits are those of a service with its default settings. Beside each rate: what a plain
loop does with the first 50 MB in the same run (``json.loads``, ``str.split``). ``--cancel`` cancels each question at a
random moment and prints the first lines of the partial answer.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from svc.assistant.analyst import Analyst
from svc.assistant.file_types.identify import HEAD_BYTES, identify
from svc.assistant.turn import Answer, Turn, TurnFile
from svc.assistant.workers.job_limits import turn_limit
from svc.assistant.workers.payer import STOP, TURN_END, StopRequest
from svc.service.settings import Settings
from svc.service.turns.turns import JOBS_SHARE
from tests.benchmarks.collection import Memory, cpu_seconds

MEGABYTE = 1_000_000
PLAIN_BYTES = 50 * MEGABYTE
_BODIES = 5_000  # different line bodies; times and process IDs differ in each line
_PER_SECOND = 20  # lines
_DAY = 86_400


@dataclass(frozen=True)
class Log:
    """A log that is generated: its lines until there are enough, the lines that end it, and what they mean."""

    name: str
    megabytes: int
    question: str
    lines: Callable[[], Iterator[str]]
    last: tuple[str, ...]
    story: tuple[str, ...]
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
            yield f"{1_763_600_000 + number / 97:.6f}\tC{number:x}x\t{body}"
            number += 1


def _guessed() -> tuple[str, ...]:
    failed = "sshd[7]: Failed password for backup from 198.51.100.77 port 4711 ssh2"
    lines = [f"Nov 28 23:59:{second:02} web1 {failed}" for second in range(20, 50)]
    return (*lines, "Nov 28 23:59:58 web1 sshd[7]: Accepted password for backup from 198.51.100.77 port 4711 ssh2")


_DUMP = json.dumps(
    {
        "EventID": 1,
        "Channel": "Microsoft-Windows-Sysmon/Operational",
        "Hostname": "pc-last",
        "TimeCreated": "2026-11-28T23:59:59.000Z",
        "Image": "C:\\Windows\\System32\\rundll32.exe",
        "ParentImage": "C:\\Windows\\System32\\cmd.exe",
        "ProcessId": 77,
        "ParentProcessId": 76,
        "CommandLine": "rundll32.exe C:\\windows\\System32\\comsvcs.dll, MiniDump 624 C:\\temp\\lsass.dmp full",
        "User": "CORP\\mallory",
    }
)
_SCAN = tuple(
    f"1763999999.{port:06}\tCscan{port}\t10.0.9.9\t50000\t10.0.0.1\t{port}\ttcp\t-\t0.000100\t0\t0\tS0\tT\tT\t0\tS\t1\t44"
    "\t0\t0\t-"
    for port in range(1, 1_500)
)
LOGS = {
    "auth": Log(
        "auth.log", 2_000, "Which accounts were brute-forced?", auth_lines, _guessed(),
        ("198.51.100.77", "backup"), str.split,
    ),
    "jsonl": Log(
        "sysmon.jsonl", 1_000, "What happened on this host?", sysmon_lines, (_DUMP,), ("LSASS",), json.loads,
    ),
    "conn": Log(
        "conn.log", 1_000, "Is anything suspicious here?", conn_lines, _SCAN, ("10.0.9.9",),
        lambda line: line.split("\t"),
    ),
}  # fmt: skip


def write(path: Path, log: Log, megabytes: int) -> int:
    """Write the log; return its number of lines."""
    count = size = 0
    lines = log.lines()
    with path.open("w", encoding="utf-8") as file:
        while size < megabytes * MEGABYTE:
            block = list(islice(lines, _BODIES))
            size += file.write("\n".join(block) + "\n")
            count += len(block)
        file.write("\n".join(log.last) + "\n")
    return count + len(log.last)


def plain_rate(path: Path, parse: Callable[[str], object]) -> float:
    """How many MB a plain loop reads in a second of processor time."""
    done, start = 0, time.process_time()
    with path.open(encoding="utf-8") as file:
        for line in file:
            if line[0] != "#":
                parse(line)
            done += len(line)
            if done >= PLAIN_BYTES:
                break
    return done / MEGABYTE / (time.process_time() - start)


async def ask(path: Path, question: str, cancel_after: float | None = None) -> str:
    """The answer to the question about the file, within the limits of a service."""
    settings, size = Settings(), path.stat().st_size
    with path.open("rb") as content:
        mime_type, label = identify(content.read(HEAD_BYTES), path.name)
    file = TurnFile(name=path.name, size=size, sha256="", mime_type=mime_type, label=label, source=path)
    limit = turn_limit(settings.turn_seconds, settings.turn_seconds_per_gib, settings.max_turn_seconds, size)
    analyst, stop, markdown = Analyst(), StopRequest(), ""
    await analyst.start()
    loop = asyncio.get_running_loop()
    TURN_END.set(loop.time() + limit * JOBS_SHARE)
    STOP.set(stop)
    if cancel_after is not None:
        loop.call_later(cancel_after, stop.request)
    async for step in analyst.answer(Turn(session_id="large", prompt=question, files=(file,))):
        if isinstance(step, Answer):
            markdown = step.markdown
        elif "usually takes" in step.content:
            print(step.content, flush=True)
    await analyst.close()
    return markdown


def measure(log: Log, folder: Path, megabytes: int, *, is_cancelled: bool) -> None:
    """Generate the log, ask, and print a row."""
    path = folder / log.name
    count = write(path, log, megabytes)
    size = path.stat().st_size / MEGABYTE
    plain = plain_rate(path, log.plain)
    cancel_after = random.uniform(0.1, size / 10) if is_cancelled else None
    began, before = time.perf_counter(), cpu_seconds()[1]
    with Memory() as memory:
        markdown = asyncio.run(ask(path, log.question, cancel_after))
    seconds, used = time.perf_counter() - began, cpu_seconds()[1] - before
    path.unlink()
    rate = size / max(used, 1e-6)
    print(
        f"{log.name}: {size:,.0f} MB, {count:,} lines; {seconds:,.0f} s, {used:,.0f} s of processor time\n"
        f"  {rate:.2f} MB/s of processor time, plain loop {plain:.1f}, ratio {plain / rate:.1f}\n"
        f"  peak {memory.workers / MEGABYTE:,.0f} MB of the worker, {memory.own / MEGABYTE:,.0f} MB of the service",
        flush=True,
    )
    if cancel_after is not None:
        print(f"  cancelled after {cancel_after:.1f} s:\n  " + "\n  ".join(markdown.splitlines()[:6]))
        return
    missing = [words for words in log.story if words not in markdown]
    is_whole = "ncomplete" not in markdown
    print(f"  read {'whole' if is_whole else 'in part'}; story {'found' if not missing else f'without {missing}'}")


def main() -> None:
    """Measure the logs that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("logs", nargs="*", choices=[*LOGS, []])
    parser.add_argument("--megabytes", type=int)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--cancel", action="store_true")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="svc-large-", dir=asked.folder) as name:
        for log in [LOGS[one] for one in asked.logs or LOGS]:
            measure(log, Path(name), asked.megabytes or log.megabytes, is_cancelled=asked.cancel)


if __name__ == "__main__":
    main()
