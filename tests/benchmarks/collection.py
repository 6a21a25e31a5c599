"""Time, memory and coverage of one large collection, generated, as the whole analyst reads it.

    python -m tests.benchmarks.collection [--megabytes 1000] [--form zip|tar.gz|7z] [--question TEXT]

Run it by hand; no test runs it and nothing fails on its figures. The collection is that of a Linux host with a
workstation's event logs, captures and mails next to it: by bytes about half logs that tools read, half what none reads
(memory, registry hives, pictures). The stories of ``tests.support.incident`` are among its members. Printed: seconds
until the members are unpacked and until the answer, CPU time (what counts on a busy machine), the largest memory of
this process and of all its workers together, the members by outcome, and whether the answer contains each story.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import os
import random
import tarfile
import tempfile
import threading
import time
import zipfile
from collections import Counter
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import msgspec
import psutil
import py7zr

from svc.assistant.analyst import COVERAGE_TITLE, Analyst
from svc.assistant.file_types.identify import HEAD_BYTES, identify
from svc.assistant.turn import Answer, Step, Turn, TurnFile
from tests.support import incident
from tests.support.collections import evidence, zipped

MEGABYTE = 1_000_000
STORIES = {"password attack": "deploy logged in", "LSASS dump": "LSASS", "beacon": "beaconing", "phishing": "phishing"}
_POLL_SECONDS = 0.2


def members(total: int, chance: random.Random) -> Iterator[tuple[str, bytes]]:
    """Members of about ``total`` bytes together, in the order of a collector."""
    for name, data in evidence():
        yield f"[root]/{name}", data
    yield "live_response/process/ps_auxwww.txt", b"USER PID CMD\nroot 1 /sbin/init\n"
    yield "bodyfile/bodyfile.txt", b"0|/etc/passwd|1|r|0|0|9|0|0|0|0\n"
    yield "[root]/home/mara/old.zip", zipped([(f"notes/{number}.txt", b"text\n") for number in range(20)])
    made, number = 0, 0
    while made < total:
        kind = number % 10
        name, data = _member(kind, number, chance)
        yield name, data
        made += len(data)
        number += 1


def _member(kind: int, number: int, chance: random.Random) -> tuple[str, bytes]:
    match kind:
        case 0:
            return f"[root]/var/log/auth.log.{number}", b"".join(_ssh_line(line, chance) for line in range(8_000))
        case 1:
            return f"[root]/var/log/syslog.{number}", b"".join(_syslog_line(line, chance) for line in range(8_000))
        case 2:
            return f"[root]/var/log/nginx/access.log.{number}", b"".join(
                _web_line(line, chance) for line in range(8_000)
            )
        case 3:
            return f"windows/events-{number}.jsonl", incident.events() * 60
        case 4:
            return f"[root]/etc/app/{number}.conf", b"".join(b"option%d = %d\n" % (n, n) for n in range(500))
        case 5:
            return f"mail/{number}.eml", incident.mail()
        case 6:
            return f"[root]/var/log/archive/auth.log.{number}.gz", gzip.compress(_ssh_line(number, chance) * 5_000)
        case 7:
            return f"windows/Users/u{number}/NTUSER.DAT", b"regf" + chance.randbytes(1_500_000)
        case 8:
            return f"[root]/srv/pictures/{number}.jpg", b"\xff\xd8\xff\xe0" + chance.randbytes(900_000)
        case _:
            return f"memory/{number}.mem", chance.randbytes(1_200_000)


def _clock(line: int) -> bytes:
    return b"%02d:%02d:%02d" % (line // 3_600 % 24, line // 60 % 60, line % 60)


def _ssh_line(line: int, chance: random.Random) -> bytes:
    user = chance.choice([b"root", b"admin", b"mara"])
    return b"Nov 20 %b web-3 sshd[%d]: Failed password for %b from 203.0.113.%d port %d ssh2\n" % (
        _clock(line), line, user, chance.randrange(200), 1_024 + line,
    )  # fmt: skip


def _syslog_line(line: int, chance: random.Random) -> bytes:
    return b"Nov 20 %b web-3 app[%d]: job %d finished in %d ms\n" % (_clock(line), line, line, chance.randrange(9_999))


def _web_line(line: int, chance: random.Random) -> bytes:
    return b'198.51.100.%d - - [20/Nov/2026:%b +0000] "GET /page/%d HTTP/1.1" 200 %d "-" "Mozilla/5.0"\n' % (
        chance.randrange(250), _clock(line), line % 300, chance.randrange(9_999),
    )  # fmt: skip


def write(path: Path, form: str, total: int) -> tuple[int, int]:
    """Write the collection; return its number of members and their bytes."""
    count = size = 0
    chance = random.Random(12)
    with _Archive(path, form) as archive:
        for name, data in members(total, chance):
            archive.add(name, data)
            count += 1
            size += len(data)
    return count, size


class _Archive:
    """A new archive of one of three forms."""

    def __init__(self, path: Path, form: str) -> None:
        self._form = form
        self._archive = {
            "zip": lambda: zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1),
            "tar.gz": lambda: tarfile.open(path, "w:gz", compresslevel=1),  # noqa: SIM115 - closed by __exit__
            "7z": lambda: py7zr.SevenZipFile(path, "w", filters=[{"id": py7zr.FILTER_LZMA2, "preset": 0}]),
        }[form]()

    def __enter__(self) -> _Archive:
        return self

    def __exit__(self, *_: object) -> None:
        self._archive.close()

    def add(self, name: str, data: bytes) -> None:
        match self._form:
            case "zip":
                self._archive.writestr(name, data)
            case "7z":
                self._archive.writestr(data, name)
            case _:
                info = tarfile.TarInfo(name)
                info.size = len(data)
                self._archive.addfile(info, BytesIO(data))


class Memory:
    """The largest resident memory of this process, and of its descendants together, while it runs."""

    def __init__(self) -> None:
        self.own = self.workers = 0
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Memory:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _watch(self) -> None:
        process = psutil.Process()
        while not self._is_over.wait(_POLL_SECONDS):
            self.own = max(self.own, process.memory_info().rss)
            self.workers = max(self.workers, sum(_resident(child) for child in process.children(recursive=True)))


def _resident(process: psutil.Process) -> int:
    try:
        return process.memory_full_info().uss
    except psutil.Error:
        return 0


def cpu_seconds() -> tuple[float, float]:
    """CPU time of this process, and of the workers that have ended, which are children of its children."""
    own = psutil.Process().cpu_times()
    servers = [child.cpu_times() for child in psutil.Process().children()]
    return own.user + own.system, sum(one.children_user + one.children_system for one in servers)


async def measure(path: Path, name: str, question: str) -> None:
    """Ask the question about the collection and print the figures."""
    with path.open("rb") as file:
        mime_type, label = identify(file.read(HEAD_BYTES), name)
    file = TurnFile(name=name, size=path.stat().st_size, sha256="", mime_type=mime_type, label=label, source=path)
    analyst = Analyst()
    await analyst.start()
    began = time.perf_counter()
    unpacked = None
    steps: list[Step] = []
    markdown = ""
    with Memory() as memory:
        async for step in analyst.answer(Turn(session_id="benchmark", prompt=question, files=(file,))):
            if isinstance(step, Answer):
                markdown = step.markdown
            else:
                unpacked = unpacked or (time.perf_counter() - began if " tasks: " in step.content else None)
                steps.append(step)
    seconds = time.perf_counter() - began
    cpu = cpu_seconds()
    await analyst.close()
    print(f"unpacked after {unpacked or 0:.1f} s; answered after {seconds:.1f} s; {len(steps):,} steps")
    print(f"CPU time: {cpu[0]:.1f} s in this process, {cpu[1]:.1f} s in workers")
    print(f"memory: {memory.own / MEGABYTE:,.0f} MB, and {memory.workers / MEGABYTE:,.0f} MB in all workers together")
    [coverage] = [msgspec.json.decode(step.content) for step in steps if step.title == COVERAGE_TITLE]
    for (state, reason), count in Counter((one["state"], _shape(one)) for one in coverage["inputs"]).most_common():
        print(f"{count:6,} {state}: {reason}")
    for story, words in STORIES.items():
        print(f"{story}: {'told' if words in markdown.partition('###')[0] else 'NOT TOLD'}")


def _shape(one: dict[str, str]) -> str:
    return one["read_as"] if one["state"] != "not examined" else one["reason"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=1_000)
    parser.add_argument("--form", choices=("zip", "tar.gz", "7z"), default="zip")
    parser.add_argument("--question", default="What happened on this host?")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["SVC_STATE_DIR"] = folder
        path = Path(folder, f"case.{options.form}")
        count, size = write(path, options.form, options.megabytes * MEGABYTE)
        packed = path.stat().st_size
        print(f"{count:,} members, {size / MEGABYTE:,.0f} MB; {packed / MEGABYTE:,.0f} MB as {options.form}")
        asyncio.run(measure(path, path.name, options.question))


if __name__ == "__main__":
    main()
