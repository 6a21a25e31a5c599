"""Measure how fast the exports of each source are read, beside a plain loop over the same bytes in the same run.

    python -m tests.benchmarks.sources [RECORDS]

Prints events per second of the reader, records per second of ``json.loads`` or ``csv.reader``, and their ratio.
"""

from __future__ import annotations

import csv
import io
import json
import sys
import time
from collections.abc import Callable

from svc.assistant.log_readers.tables.reader import read, recognise
from svc.assistant.sigma.event import Event
from tests.svc.assistant.sources.expected import PROOFS

RECORDS = 5_000


def repeated(content: bytes, records: int) -> bytes | None:
    """A sample with its lines repeated; None if it does not consist of lines."""
    lines = content.splitlines(keepends=True)
    is_json = content.startswith(b"{")
    head, body = ([], lines) if is_json else (lines[:1], lines[1:])
    if not body or (is_json and not all(line.startswith(b"{") and line.rstrip().endswith(b"}") for line in lines)):
        return None
    return b"".join([*head, *body * (records // len(body) + 1)])


def plain_loop(content: bytes) -> int:
    """The least that a reader does: parse each record."""
    if content.startswith(b"{"):
        return sum(1 for line in content.splitlines() if json.loads(line))
    return sum(1 for row in csv.reader(io.StringIO(content.decode())) if row)


def rate(work: Callable[[bytes], int], content: bytes) -> float:
    """Return how many records a second of processor time takes."""
    start = time.process_time()
    count = work(content)
    return count / max(time.process_time() - start, 1e-6)


def events(content: bytes) -> int:
    """Read all events."""
    return sum(1 for item in read(io.BytesIO(content)) if isinstance(item, Event))


def main() -> None:
    """Measure one sample of each source."""
    records = int(sys.argv[1]) if len(sys.argv) > 1 else RECORDS
    print(f"{'source':45} {'events/s':>10} {'plain/s':>10} {'ratio':>6}")
    for proof in PROOFS:
        for sample in proof.expected.samples[:1]:
            content = (proof.folder / sample.file).read_bytes()
            large = repeated(content, records) if recognise(content[:65_536]).is_events else None
            if large is None:
                continue
            read_rate, plain_rate = rate(events, large), rate(plain_loop, large)
            print(f"{proof.name:45} {read_rate:>10,.0f} {plain_rate:>10,.0f} {plain_rate / read_rate:>6.1f}")


if __name__ == "__main__":
    main()
