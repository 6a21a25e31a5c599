"""What reading a log in parts costs, beside one pass: the ratio of processor time, and the size of what is handed on.

    python -m tests.benchmarks.parts [auth] [jsonl] [conn] [--megabytes N] [--parts N]

Both read the same generated log in this process, one after the other in each round, with the states packed and unpacked
as between two workers; the findings must be equal. A smaller log than one part has too many parts for its size, so the
last column says what the same cost is for each 256 MiB.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import msgspec

from svc.assistant.findings import InputKind, Progress
from svc.assistant.workers import process
from svc.assistant.workers.frames import PartEnd, PartPlan
from svc.assistant.workers.process import JobRequest, Limits
from tests.benchmarks.large_logs import LOGS, MEGABYTE, write

ROUNDS = 3


def read(name: str, path: Path, part_bytes: int) -> tuple[float, list[bytes], list[int]]:
    """Seconds of processor time, what was found, and the sizes of the states; ``part_bytes`` 0 is one pass."""
    tool = "logins" if name == "auth" else "events"
    found, states = [], []
    began, state = time.process_time(), b""
    plan = PartPlan(size=part_bytes) if part_bytes else None
    while True:
        request = JobRequest(
            tool=f"svc.assistant.skills.{tool}.tool:inspect",
            input=InputKind.LINES if name == "auth" else InputKind.BINARY,
            name=path.name,
            limits=Limits(cpu_seconds=100_000, wall_seconds=100_000.0),
            path=str(path),
            part=plan,
        )
        ended = None
        for item in process._events(process._load(request.tool), request, b"", lambda _: None, lambda: False, state):
            if isinstance(item, PartEnd):
                ended = item
            elif not isinstance(item, Progress):
                found.append(msgspec.msgpack.encode(item))
        if ended is None:
            return time.process_time() - began, found, states
        state = ended.state
        states.append(len(state))
        plan = PartPlan(size=part_bytes, start=ended.start, has_state=True)


def measure(name: str, folder: Path, megabytes: int, parts: int) -> None:
    """Print a row for one log."""
    path = folder / LOGS[name].name
    write(path, LOGS[name], megabytes)
    size = path.stat().st_size
    rounds = []
    for _ in range(ROUNDS):
        whole, found, _ = read(name, path, 0)
        split, found_in_parts, states = read(name, path, size // parts)
        assert found == found_in_parts, "the findings differ"
        rounds.append((split / whole, whole, (split - whole) / len(states)))
    ratio, whole, each = sorted(rounds)[ROUNDS // 2]
    of_full_part = each / (whole * Limits().part_bytes / size)
    print(
        f"{path.name}: {size / MEGABYTE:.0f} MB, {whole:.1f} s at once; {len(states) + 1} parts: ratio {ratio:.2f}, "
        f"{each:.2f} s for each end, states of at most {max(states) / MEGABYTE:.1f} MB; "
        f"{of_full_part:.1%} of each 256 MiB",
        flush=True,
    )
    path.unlink()


def main() -> None:
    """Measure the logs that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("logs", nargs="*", choices=[*LOGS, []])
    parser.add_argument("--megabytes", type=int, default=20)
    parser.add_argument("--parts", type=int, default=4)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="svc-parts-") as name:
        for log in asked.logs or LOGS:
            measure(log, Path(name), asked.megabytes, asked.parts)


if __name__ == "__main__":
    main()
