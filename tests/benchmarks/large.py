"""Time, memory, progress and completeness of very large logs, asked about as a user does: the SDK and a local service.

    python -m tests.benchmarks.large [auth] [jsonl] [conn] [--megabytes N] [--folder DIR]
                                     [--cancel SECONDS] [--limit SECONDS]

Run it by hand. Without a name: 2 GB of auth.log, 1 GB of Sysmon events as JSON lines, 1 GB of Zeek's conn.log, one
after the other, each by a service of its own in a temporary folder, with the settings that a user has who sets none.
Each log has an attack at its beginning, in its middle and at its end; a finding must name each, and the answer must not
be incomplete. Beside each rate: what a plain loop does with the first 50 MB in the same run (``json.loads``,
``str.split``). ``--cancel`` cancels each question after so many seconds, ``--limit`` gives it no more time; what was
found until then is printed.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import aclosing
from itertools import pairwise
from pathlib import Path

import psutil

from svc import local
from svc.cli.conversation import all_findings
from svc.client import AsyncSvc
from svc.errors import TurnCancelledError
from svc.messages import Message, MessageType
from svc.progress import progress_line
from svc.session import AsyncSession
from tests.benchmarks.large_logs import LOGS, MEGABYTE, Log, write

PLAIN_BYTES = 50 * MEGABYTE
_POLL_SECONDS = 0.2
_SHOWN = 12  # lines of the answer, and of the progress


class Sampled:
    """Memory and processor time of a process and its descendants, sampled while it runs.

    ``memory`` has the largest resident memory of one process by its kind; ``together`` is that of all at one moment.
    """

    def __init__(self, pid: int) -> None:
        self.memory: dict[str, int] = {}
        self.together = 0
        self._used: dict[int, float] = {}
        self._top = psutil.Process(pid)
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    @property
    def seconds(self) -> float:
        """Processor time of all processes, as far as it was seen."""
        return sum(self._used.values())

    def __enter__(self) -> Sampled:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _watch(self) -> None:
        before = {one.pid: _processor(one) for one in self._all()}
        while not self._is_over.wait(_POLL_SECONDS):
            together = 0
            for one in self._all():
                kind = "service" if one.pid == self._top.pid else "worker"
                resident = _resident(one)
                together += resident
                self.memory[kind] = max(self.memory.get(kind, 0), resident)
                self._used[one.pid] = max(self._used.get(one.pid, 0.0), _processor(one) - before.get(one.pid, 0.0))
            self.together = max(self.together, together)

    def _all(self) -> list[psutil.Process]:
        with contextlib.suppress(psutil.Error):
            return [self._top, *self._top.children(recursive=True)]
        return []


def _resident(process: psutil.Process) -> int:
    with contextlib.suppress(psutil.Error):
        return int(process.memory_full_info().uss)
    return 0


def _processor(process: psutil.Process) -> float:
    with contextlib.suppress(psutil.Error):
        times = process.cpu_times()
        return float(times.user + times.system)
    return 0.0


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


class Asked:
    """What a question gave: its messages, and when each came."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.times: list[float] = []
        self.seconds_after_cancel = 0.0
        self.folder_bytes = 0
        self.findings: list[dict[str, object]] = []

    @property
    def answer(self) -> str:
        """The answer, or what a cancelled question found."""
        wanted = [one for one in self.messages if one.is_partial_answer or one.message_type == MessageType.RESULT]
        return wanted[-1].content or "" if wanted else ""

    @property
    def longest_silence(self) -> float:
        """The longest time between two messages, in seconds."""
        return max((after - before for before, after in pairwise(self.times)), default=0.0)


async def ask(path: Path, question: str, cancel_after: float | None, asked: Asked) -> None:
    """Attach the log and ask, as a user of the SDK."""
    async with AsyncSvc() as client:
        session = await client.create_session()
        began = time.monotonic()
        file = await session.attach_file_from_disk(path)
        print(f"  attached in {time.monotonic() - began:.0f} s", flush=True)
        cancelling = asyncio.create_task(_cancel(session, cancel_after, asked))
        with contextlib.suppress(TurnCancelledError):
            async with aclosing(session.stream(question, files=[file])) as turn:
                async for message in turn:
                    asked.messages.append(message)
                    asked.times.append(time.monotonic())
                    if "usually takes" in (message.content or ""):
                        print(f"  {message.content}", flush=True)
        if asked.seconds_after_cancel:
            asked.seconds_after_cancel = time.monotonic() - asked.seconds_after_cancel
        cancelling.cancel()
        asked.findings = await all_findings(session, asked.messages)
        asked.folder_bytes = local.describe().total_bytes
        await session.delete()


async def _cancel(session: AsyncSession, after: float | None, asked: Asked) -> None:
    if after is not None:
        await asyncio.sleep(after)
        asked.seconds_after_cancel = time.monotonic()
        await session.cancel()


def measure(log: Log, folder: Path, megabytes: int, cancel_after: float | None) -> None:
    """Generate the log, ask, and print what came of it."""
    path = folder / log.name
    count = write(path, log, megabytes)
    size, plain = path.stat().st_size / MEGABYTE, plain_rate(path, log.plain)
    print(f"{log.name}: {size:,.0f} MB, {count:,} lines", flush=True)
    asked = Asked()
    local.find_or_start()
    began = time.monotonic()
    with Sampled(local.describe().pid or 0) as sampled:
        asyncio.run(ask(path, log.question, cancel_after, asked))
    seconds, rate = time.monotonic() - began, size / max(sampled.seconds, 1e-6)
    memory = ", ".join(f"{kind} {size / MEGABYTE:,.0f} MB" for kind, size in sampled.memory.items())
    print(
        f"  {seconds:,.0f} s, {sampled.seconds:,.0f} s of processor time: {rate:.2f} MB/s, plain loop {plain:.1f}\n"
        f"  peak: {memory}, all together {sampled.together / MEGABYTE:,.0f} MB; "
        f"this client {psutil.Process().memory_info().rss / MEGABYTE:,.0f} MB\n"
        f"  {len(asked.messages):,} messages, at most {asked.longest_silence:.0f} s apart\n"
        f"  the service's folder has {asked.folder_bytes / MEGABYTE:,.0f} MB, and "
        f"{local.describe().total_bytes / MEGABYTE:,.0f} MB once the session is deleted",
        flush=True,
    )
    show(log, asked)
    local.stop()
    path.unlink()


def show(log: Log, asked: Asked) -> None:
    """Print some of the progress, the beginning of the answer, and which attacks it and the findings name."""
    counted = [progress_line(one.actor, one.progress) for one in asked.messages if one.progress]
    print("    " + "\n    ".join(counted[:: max(1, len(counted) // _SHOWN)]))
    if asked.seconds_after_cancel:
        print(f"  ended {asked.seconds_after_cancel:.1f} s after the cancel")
    print("  | " + "\n  | ".join(asked.answer.splitlines()[:_SHOWN]))
    rows = [str(one) for one in asked.findings if one.get("severity") != "info"]
    named = [trace for trace in log.traces if any(trace in row for row in rows)]
    told = [trace for trace in log.traces if trace in asked.answer]
    is_whole = "ncomplete" not in asked.answer
    print(f"  read {'whole' if is_whole else 'in part'}; {len(asked.findings):,} findings", flush=True)
    print(f"  attacks with a finding: {len(named)} of {len(log.traces)}; in the answer: {len(told)}", flush=True)


def main() -> None:
    """Measure the logs that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("logs", nargs="*", choices=[*LOGS, []])
    parser.add_argument("--megabytes", type=int)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--cancel", type=float, metavar="SECONDS")
    parser.add_argument("--limit", type=float, metavar="SECONDS")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="svc-large-", dir=options.folder) as name:
        os.environ["SVC_STATE_DIR"] = str(Path(name, "state"))
        if options.limit is not None:
            os.environ |= {"SVC_TURN_SECONDS": f"{options.limit}", "SVC_TURN_SECONDS_PER_GIB": "0"}
        try:
            for log in [LOGS[one] for one in options.logs or LOGS]:
                measure(log, Path(name), options.megabytes or log.megabytes, options.cancel)
        finally:
            local.stop()


if __name__ == "__main__":
    main()
