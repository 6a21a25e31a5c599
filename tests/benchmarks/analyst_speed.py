"""Tool speed in worker processes, compared with peers that do less, on generated inputs in one run.

Rows: indicators against ioc-finder plain (MB/s), event logs against ``evtx`` alone (records/s), captures against dpkt
alone, unpacked to its TCP and UDP (packets/s). Without a peer: rules over 100,000 events, 10 MB of log. Of each: the
first INFO, the processor time and the most memory of its worker. Ours includes the worker's feed and its findings.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import dpkt
import psutil
from evtx import PyEvtxParser

from svc.assistant.analyst import Analyst
from svc.assistant.file_types.identify import HEAD_BYTES, identify
from svc.assistant.turn import Turn, TurnFile
from tests.support import captures, evtx_writer

HERE = Path(__file__).parent


MB = 1_000_000
WATCH_SECONDS = 0.02
PEER_SECONDS = 600


@dataclass
class Run:
    """One question: how long it took, until the first INFO; its worker's processor time and most memory in bytes."""

    seconds: float
    first_seconds: float
    processor_seconds: float
    memory_bytes: int


@dataclass
class Row:
    """What is measured in each round. ``amount`` in ``unit``; ``peer`` gives its seconds for the same."""

    name: str
    question: str
    path: Path
    amount: float
    unit: str
    peer_name: str = ""
    peer: Callable[[Path], float] | None = None
    runs: list[Run] = field(default_factory=list)
    peer_seconds: list[float] = field(default_factory=list)


@contextlib.contextmanager
def peer_python(folder: Path | None) -> Iterator[Path]:
    """The interpreter of an environment that has the peers; a temporary one if no folder is given."""
    with contextlib.ExitStack() as stack:
        where = folder or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="svc-peers-")))
        python = where / "bin" / "python"
        if not python.exists():
            venv.create(where, with_pip=True)
            wanted = str(HERE / "peers" / "analyst.txt")
            subprocess.run([python, "-m", "pip", "install", "-q", "-r", wanted], check=True)
        yield python


async def measure(rounds: int, python: Path) -> None:
    """Make the inputs, measure round by round, print."""
    with tempfile.TemporaryDirectory(prefix="svc-speed-") as name:
        rows = made_rows(Path(name), python)
        for number in range(rounds):
            for row in rows:
                print(f"speeds: round {number + 1} of {rounds}, {row.name}", file=sys.stderr)
                await one_round(row, is_peer_first=number % 2 == 1)
    print_rows(rows)


async def one_round(row: Row, *, is_peer_first: bool) -> None:
    """Ours and the peer's, one after the other."""

    async def ours() -> None:
        row.runs.append(await ask(row.question, row.path))

    async def theirs() -> None:
        if row.peer is not None:
            row.peer_seconds.append(await asyncio.to_thread(row.peer, row.path))

    steps: list[Callable[[], Awaitable[None]]] = [theirs, ours] if is_peer_first else [ours, theirs]
    for step in steps:
        await step()


async def ask(question: str, path: Path) -> Run:
    """The question through the whole analyst with warm workers, as a service has them."""
    with path.open("rb") as content:
        mime_type, label = identify(content.read(HEAD_BYTES), path.name)
    file = TurnFile(name=path.name, size=path.stat().st_size, sha256="", mime_type=mime_type, label=label, source=path)
    analyst = Analyst()
    await analyst.start()
    async for _ in analyst.answer(Turn(session_id="warm", prompt="decode aGVsbG8gd29ybGQ=")):
        pass
    first = 0.0
    watch = asyncio.create_task(most_used())
    started = time.perf_counter()
    async for _ in analyst.answer(Turn(session_id="speed", prompt=question, files=(file,))):
        first = first or time.perf_counter() - started
    seconds = time.perf_counter() - started
    watch.cancel()
    await analyst.close()
    processor_seconds, memory_bytes = await watch
    return Run(seconds=seconds, first_seconds=first, processor_seconds=processor_seconds, memory_bytes=memory_bytes)


async def most_used() -> tuple[float, int]:
    """The most processor time and memory of any worker, until cancelled: read again and again while it lives."""
    seconds, peak = 0.0, 0
    try:
        while True:
            for server in psutil.Process().children():
                for worker in _children(server):
                    seconds = max(seconds, _processor_seconds(worker))
                    peak = max(peak, _peak_bytes(worker.pid))
            await asyncio.sleep(WATCH_SECONDS)
    except asyncio.CancelledError:
        return seconds, peak


def _processor_seconds(process: psutil.Process) -> float:
    with contextlib.suppress(psutil.Error):
        times = process.cpu_times()
        return times.user + times.system
    return 0.0


def _children(process: psutil.Process) -> list[psutil.Process]:
    with contextlib.suppress(psutil.Error):
        return list(process.children())
    return []


def _peak_bytes(pid: int) -> int:
    """``VmHWM``; 0 for a process that has gone."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return 0


def made_rows(folder: Path, python: Path) -> list[Row]:
    """Every row with its input written."""
    return [
        Row(
            "indicators of 1 MB of reports", "Extract the indicators.", _report(folder), 1.0, "MB",
            "ioc-finder", lambda path: _ioc_finder(python, path),
        ),
        Row(
            "event log, 20,000 records", "What happened on this host?", _event_log(folder, 20_000), 20_000, "records",
            "evtx", _evtx_alone,
        ),
        Row(
            "capture, 50,000 packets", "What is in this capture?", _capture(folder, 50_000), 50_000, "packets",
            "dpkt", _dpkt_alone,
        ),
        Row("rules over 100,000 events", "What happened on this host?", _events(folder, 100_000), 100_000, "events"),
        Row("10 MB of auth.log", "Which accounts were brute-forced?", _logins(folder), 10.0, "MB"),
        Row("indicators of 10 MB of log", "Extract the indicators.", _web_log(folder), 10.0, "MB"),
    ]  # fmt: skip


def _write(path: Path, lines: Iterator[str], limit_bytes: int | None = None) -> Path:
    size = 0
    with path.open("w", encoding="utf-8") as file:
        for line in lines:
            size += file.write(line + "\n")
            if limit_bytes and size >= limit_bytes:
                break
    return path


def _numbers() -> Iterator[int]:
    number = 0
    while True:
        yield number
        number += 1


def _report(folder: Path) -> Path:
    words = "The loader was sent on Monday and called its server again after a pause of some hours, as before."
    lines = (
        f"{words} It came from hxxp://cdn{n}[.]bad-host.top/a{n}.zip (203.0.{n % 256}.{n % 199}), SHA-1 {n:040x}, "
        f"CVE-2021-{10_000 + n}, and was sent by user{n}@mail{n % 50}.bad-host.top."
        for n in _numbers()
    )
    return _write(folder / "report.txt", lines, MB)


def _web_log(folder: Path) -> Path:
    lines = (
        f"198.51.{n % 100}.{n % 250} - - [20/Nov/2026:{n // 3600 % 24:02}:{n // 60 % 60:02}:{n % 60:02} +0000] "
        f'"GET /page/{n % 900}?q={n % 70} HTTP/1.1" 200 {n % 5000} "https://shop.bad-host.top/{n % 90}" "Mozilla/5.0"'
        for n in _numbers()
    )
    return _write(folder / "access.log", lines, 10 * MB)


def _logins(folder: Path) -> Path:
    lines = (
        f"Nov 20 {n // 3600 % 24:02}:{n // 60 % 60:02}:{n % 60:02} web1 sshd[{n % 30_000}]: Failed password for "
        f"user{n % 300} from 203.0.{n % 7}.{n % 250} port 22 ssh2"
        for n in _numbers()
    )
    return _write(folder / "auth.log", lines, 10 * MB)


def _events(folder: Path, count: int) -> Path:
    programs = ("cmd.exe", "svchost.exe", "notepad.exe", "powershell.exe", "net.exe")
    lines = (
        json.dumps(
            {
                "EventID": 1,
                "Channel": "Microsoft-Windows-Sysmon/Operational",
                "Hostname": f"pc{n % 9}",
                "TimeCreated": f"2026-11-20T{n // 3600 % 24:02}:{n // 60 % 60:02}:{n % 60:02}.000Z",
                "Image": f"C:\\Windows\\System32\\{programs[n % 5]}",
                "ParentImage": "C:\\Windows\\explorer.exe",
                "ProcessId": 1000 + n,
                "ParentProcessId": 900 + n % 99,
                "CommandLine": f"{programs[n % 5]} /c task{n % 1000} --run {n}",
                "User": f"CORP\\user{n % 40}",
            }
        )
        for n in range(count)
    )
    return _write(folder / "host.jsonl", lines)


def _event_log(folder: Path, count: int) -> Path:
    per_chunk = 50
    chunks = [
        [
            evtx_writer.Record(
                number=n + 1,
                event_id=4625 if n % 3 else 4624,
                data={"TargetUserName": f"user{n % 40}", "IpAddress": f"10.0.0.{n % 250}", "LogonType": "3"},
            )
            for n in range(start, start + per_chunk)
        ]
        for start in range(0, count, per_chunk)
    ]
    path = folder / "Security.evtx"
    path.write_bytes(evtx_writer.evtx(*chunks))
    return path


def _capture(folder: Path, count: int) -> Path:
    request = b"GET /%d HTTP/1.1\r\nHost: www.bad-host.top\r\nUser-Agent: a\r\n\r\n"
    reply = b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n" + b"x" * 900
    frames: list[captures.Frame] = []
    while len(frames) < count:
        n = len(frames)
        turns = [(">", request % n), ("<", reply)] * 4
        ports = (20_000 + n % 40_000, 80)
        frames += captures.conversation(turns, ports=ports, at=captures.START + n / 100)
    path = folder / "traffic.pcap"
    path.write_bytes(captures.capture(frames[:count]))
    return path


def _ioc_finder(python: Path, path: Path) -> float:
    program = str(HERE / "peers" / "ioc_finder_speed.py")
    done = subprocess.run([python, program, path], capture_output=True, text=True, check=True, timeout=PEER_SECONDS)
    return float(done.stdout.split()[0])


def _evtx_alone(path: Path) -> float:
    started = time.perf_counter()
    for record in PyEvtxParser(str(path)).records_json():
        json.loads(record["data"])
    return time.perf_counter() - started


def _dpkt_alone(path: Path) -> float:
    content = io.BytesIO(path.read_bytes())
    started = time.perf_counter()
    for _, packet in dpkt.pcap.Reader(content):
        dpkt.ethernet.Ethernet(packet)
    return time.perf_counter() - started


def figures(values: Sequence[float]) -> str:
    """Median and spread."""
    return f"{statistics.median(values):,.4g} ({min(values):,.4g} … {max(values):,.4g})"


def print_rows(rows: Sequence[Row]) -> None:
    """Each row with its spread."""
    line = "{:<30} {:<10} {:<30} {:<34} {:<24} {:<22} {:<12} {:<15} {}"
    print(
        "\n"
        + line.format("what", "unit/s", "ours", "peer", "ratio", "seconds", "processor s", "first INFO, ms", "peak, MB")
    )
    for row in rows:
        ours = [row.amount / run.seconds for run in row.runs]
        theirs = [row.amount / seconds for seconds in row.peer_seconds]
        cells = [
            row.name,
            row.unit,
            figures(ours),
            f"{row.peer_name} {figures(theirs)}" if theirs else "",
            figures([one / other for one, other in zip(ours, theirs, strict=True)]) if theirs else "",
            figures([run.seconds for run in row.runs]),
            f"{statistics.median(run.processor_seconds for run in row.runs):.2f}",
            f"{statistics.median(run.first_seconds for run in row.runs) * 1000:.0f}",
            f"{max(run.memory_bytes for run in row.runs) / MB:.0f}",
        ]
        print(line.format(*cells))
