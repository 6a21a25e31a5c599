"""How fast one core reads logs and mail, beside a peer that only parses, by processor time, at 1, 2 and 4 times a size.

    python -m tests.benchmarks.reading [evtx] [auth] [syslog] [jsonl] [conn] [csv] [mbox] [split] [--scale N]

The whole tool with its worker's reader and garbage collection in this process; ``split`` only takes an mbox apart.
``search``: how fast the file is looked through for text that addresses an analyst or a model, which comes before the
tool. Peers: ``evtx`` with ``json.loads``, ``str.split``, ``json.loads``, ``csv``, ``mailbox`` with ``email``, and
``mailbox`` alone. A first run, not counted, loads the tables. ``4x / 1x`` is 4 if the time is linear. ``auth`` has only
failed logins, ``syslog`` what cron and sudo write as well.
"""

from __future__ import annotations

import argparse
import csv
import json
import mailbox
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count, islice
from pathlib import Path

from evtx import PyEvtxParser

from svc.assistant.findings import InputKind
from svc.assistant.instruction_text.scan import PIECE_BYTES, Scanner
from svc.assistant.skills.mail.mailbox import Mailbox
from svc.assistant.workers import process
from svc.assistant.workers.process import JobRequest, Limits
from tests.benchmarks.large_logs import MEGABYTE, auth_lines, conn_lines, sysmon_lines
from tests.support import evtx_writer
from tests.support.mail_variety.build import HALVES, hard_ham

_PER_CHUNK = 50  # records
_FROM = b"From a@b.example Tue Mar 11 09:30:00 2025\n"


@dataclass(frozen=True)
class Row:
    """An input that is made in a given size, and what reads it."""

    tool: str
    kind: InputKind
    make: Callable[[int], bytes]
    size: int  # at 1x, for ``make``
    peer_name: str
    peer: Callable[[Path], object]
    is_counted: bool = False  # in records, otherwise in MB
    read: Callable[[Path], object] | None = None  # instead of the tool


def logons(records: int) -> bytes:
    """A Security log of accepted and failed logons."""
    chunks = [
        [
            evtx_writer.Record(
                number=number + 1,
                event_id=4625 if number % 3 else 4624,
                data={"TargetUserName": f"user{number % 40}", "IpAddress": f"10.0.0.{number % 250}", "LogonType": "3"},
            )
            for number in range(start, start + _PER_CHUNK)
        ]
        for start in range(0, records, _PER_CHUNK)
    ]
    return evtx_writer.evtx(*chunks)


def failed_logins() -> Iterator[str]:
    """Lines of an SSH server under attack."""
    for number in count():
        clock = f"{number // 3600 % 24:02}:{number // 60 % 60:02}:{number % 60:02}"
        yield (
            f"Nov 20 {clock} web1 sshd[{number % 30_000}]: Failed password for user{number % 300} "
            f"from 203.0.{number % 7}.{number % 250} port 22 ssh2"
        )


def login_rows() -> Iterator[str]:
    """Sign-ins as CSV, a third of which fail."""
    yield "time,user,source_ip,country,app,outcome"
    for number in count():
        clock = f"{number // 3600 % 24:02}:{number // 60 % 60:02}:{number % 60:02}"
        yield (
            f"2026-11-{1 + number // 86_400 % 28:02}T{clock}Z,user{number % 300}@corp.example,203.0.113.{number % 250},"
            f"DE,app {number % 7},{'failure' if number % 3 == 0 else 'success'}"
        )


def newsletters() -> Iterator[bytes]:
    """Newsletters and notices as an mbox has them, each with a number of its own."""
    letters = [raw.replace(b"\r\n", b"\n") for half in HALVES for _, raw in hard_ham(half)]
    for number in count(1):
        raw = letters[number % len(letters)].replace(b"Subject: ", b"Subject: No. %d " % number, 1)
        yield _FROM + raw.replace(b"\nFrom ", b"\n>From ").rstrip(b"\n") + b"\n\n"


def _mbox(mails: int) -> bytes:
    return b"".join(islice(newsletters(), mails))


def _lines(lines: Callable[[], Iterator[str]]) -> Callable[[int], bytes]:
    return lambda number: ("\n".join(islice(lines(), number)) + "\n").encode()


def _parse_lines(parse: Callable[[str], object]) -> Callable[[Path], object]:
    def read_all(path: Path) -> None:
        with path.open(encoding="utf-8") as file:
            for line in file:
                parse(line)

    return read_all


def _parse_csv(path: Path) -> None:
    with path.open(encoding="utf-8", newline="") as file:
        for _ in csv.reader(file):
            pass


def _parse_evtx(path: Path) -> None:
    for record in PyEvtxParser(str(path), number_of_threads=1).records_json():
        json.loads(record["data"])


def _parse_mails(path: Path) -> None:
    for message in mailbox.mbox(path):
        for part in message.walk():
            part.get_payload(decode=True)


def _split_mails(path: Path) -> None:
    with path.open("rb") as file:
        for _ in Mailbox(file, path.stat().st_size + 1):
            pass


def _split_by_peer(path: Path) -> None:
    box = mailbox.mbox(path)
    for key in box.iterkeys():
        box.get_bytes(key)


ROWS = {
    "evtx": Row("events", InputKind.BINARY, logons, 10_000, "evtx", _parse_evtx, is_counted=True),
    "auth": Row("logins", InputKind.LINES, _lines(failed_logins), 30_000, "split", _parse_lines(str.split)),
    "syslog": Row("logins", InputKind.LINES, _lines(auth_lines), 30_000, "split", _parse_lines(str.split)),
    "jsonl": Row(
        "events", InputKind.BINARY, _lines(sysmon_lines), 10_000, "json", _parse_lines(json.loads), is_counted=True
    ),
    "conn": Row(
        "events", InputKind.BINARY, _lines(conn_lines), 20_000, "split", _parse_lines(lambda line: line.split("\t"))
    ),
    "csv": Row("events", InputKind.BINARY, _lines(login_rows), 20_000, "csv", _parse_csv, is_counted=True),
    "mbox": Row("mail", InputKind.BINARY, _mbox, 400, "email", _parse_mails),
    "split": Row("mail", InputKind.BINARY, _mbox, 2_000, "mailbox", _split_by_peer, read=_split_mails),
}  # fmt: skip


def read(row: Row, path: Path) -> None:
    """Run the row's work over the whole file: as a rule its tool."""
    if row.read is not None:
        row.read(path)
        return
    request = JobRequest(
        tool=f"svc.assistant.skills.{row.tool}.tool:inspect", input=row.kind, name=path.name, path=str(path),
        limits=Limits(cpu_seconds=100_000, wall_seconds=100_000.0),
    )  # fmt: skip
    for _ in process._events(process._load(request.tool), request, b"", lambda _: None):
        pass


def search(path: Path) -> None:
    """Look through the file as a worker does before its tool."""
    with path.open("rb") as file:
        Scanner(path.name).read(iter(lambda: file.read(PIECE_BYTES), b""))


def seconds(work: Callable[[Path], object], path: Path) -> float:
    """The processor time of the work."""
    start = time.process_time()
    work(path)
    return time.process_time() - start


def measure(name: str, row: Row, folder: Path, scale: float) -> None:
    """Print a row."""
    path, taken, plain, amount = folder / f"{name}.log", [], 0.0, 0.0
    for times in (0.1, 1, 2, 4):
        number = int(row.size * scale * times)
        path.write_bytes(row.make(number))
        taken.append(seconds(lambda path: read(row, path), path))
        plain = seconds(row.peer, path)
        amount = number if row.is_counted else path.stat().st_size / MEGABYTE
    rate, plain_rate = amount / taken[-1], amount / plain
    unit = "records/s" if row.is_counted else "MB/s"
    searched = path.stat().st_size / MEGABYTE / seconds(search, path)
    print(
        f"{name:7} {rate:>9,.{0 if row.is_counted else 2}f} {unit:9} {row.peer_name:>7} "
        f"{plain_rate:>11,.{0 if row.is_counted else 2}f} {plain_rate / rate:>6.1f} {taken[-1] / taken[1]:>8.2f} "
        f"{searched:>6.1f} MB/s",
        flush=True,
    )


def main() -> None:
    """Measure the rows that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", choices=[*ROWS, []])
    parser.add_argument("--scale", type=float, default=1.0)
    asked = parser.parse_args()
    process.collect_seldom()
    print(f"{'input':7} {'ours':>9} {'':9} {'peer':>7} {'its rate':>11} {'ratio':>6} {'4x / 1x':>8} {'search':>11}")
    with tempfile.TemporaryDirectory(prefix="svc-reading-") as name:
        for row in asked.rows or ROWS:
            measure(row, ROWS[row], Path(name), asked.scale)


if __name__ == "__main__":
    main()
