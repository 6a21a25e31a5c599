"""Accuracy of the embedded analyst on labelled sets, and its speed compared with peers.

    python -m tests.benchmarks.analyst --own [--peers FOLDER]
    python -m tests.benchmarks.analyst [SET …] [--limit N] [--misses N] [--rounds 3] [--peers FOLDER] [--no-speed]

Run it by hand; no test runs it and nothing fails on its figures. ``--own`` prints one table of the project's own sets,
both halves of each, with aims and baselines (``analyst_rows.py``); it takes a few minutes.

A SET is a path: a file of JSON lines, or a folder of event logs or mails (``analyst_sets.py`` says how labels are
read). Each item goes through the whole analyst, as a user would ask; the label is not in what it sees. Printed
for each set:

- **named**: items for which anything was named; **precision**: how many first answers are right, of these;
- **recall**: items whose label is named at all; **top 1, 3, 5**: is among the first;
- seconds: median, longest, and until the first INFO;
- for techniques all of it again for the parent; for few labels, precision and recall of each; what is wrong, by kind.

The speeds (``analyst_speed.py``): each row measures ours, in its worker, and the peer on the same input in each round,
the order turned round; its ratio is the median of the rounds' ratios. Peers come from ``peers/analyst.txt``, installed
into a temporary virtual environment or ``--peers FOLDER``.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import platform
import sys
import time
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from svc.assistant.analyst import Analyst
from svc.assistant.analyst.findings_messages import FINDINGS_TITLE
from svc.assistant.findings import AnyFinding
from svc.assistant.skills.catalogue import decode_findings
from svc.assistant.turn import Answer, Turn
from tests.benchmarks.analyst_rows import measure_own
from tests.benchmarks.analyst_scores import Answered, Scores, by_label, in_terms_of, misses, parent, scores
from tests.benchmarks.analyst_sets import Item, LabelledSet, load
from tests.benchmarks.analyst_speed import measure, peer_python

FEW_LABELS = 16  # of which each is shown
MISS_CHARS = 110
PACKAGES = ("svc-jupyter", "evtx", "dpkt", "pefile", "tree-sitter")


async def answered(analyst: Analyst, labelled: LabelledSet, item: Item) -> Answered:
    """One item through the whole analyst."""
    file = item.turn_file()
    question = labelled.kind.question
    turn = Turn(
        session_id="benchmark",
        prompt=question if file else f"{question}\n\n{item.text}",
        files=(file,) if file else (),
    )
    findings: list[AnyFinding] = []
    first = None
    started = time.perf_counter()
    async for step in analyst.answer(turn):
        first = first if first is not None else time.perf_counter() - started
        if not isinstance(step, Answer) and step.title == FINDINGS_TITLE:
            findings = decode_findings(step.content)
    return Answered(
        name=item.name,
        wanted=item.label,
        ranked=labelled.kind.read(findings),
        seconds=time.perf_counter() - started,
        first_seconds=first or 0.0,
    )


async def run_sets(sets: Sequence[LabelledSet], shown_misses: int) -> None:
    """Ask, score and print, one set after the other."""
    analyst = Analyst()
    await analyst.start()
    try:
        for labelled in sets:
            results = []
            for number, item in enumerate(labelled.items, start=1):
                results.append(await answered(analyst, labelled, item))
                if number % 100 == 0:
                    print(f"{labelled.path.name}: {number:,} of {len(labelled.items):,}", file=sys.stderr)
            print_set(labelled, results, shown_misses)
    finally:
        await analyst.close()


def print_set(labelled: LabelledSet, results: Sequence[Answered], shown_misses: int) -> None:
    """The scores of one set, and what went wrong."""
    print(f"\n{labelled.path} ({labelled.kind.name}): “{labelled.kind.question}”")
    print(f"  {'':10} {'items':>6} {'named':>6} {'precision':>9} {'recall':>7} {'top 1':>6} {'top 3':>6} {'top 5':>6}")
    print_scores("label", scores(results))
    if labelled.kind.has_parents:
        print_scores("parent", scores(in_terms_of(results, parent)))
    whole = scores(results)
    print(
        f"  seconds: {whole.median_seconds:.2f} median, {whole.longest_seconds:.2f} longest, "
        f"{whole.first_seconds * 1000:.0f} ms to the first INFO (median)"
    )
    labels = by_label(results)
    if len(labels) <= FEW_LABELS:
        for label, one in labels.items():
            precision = f"{one.precision:.2f}" if one.precision is not None else "never first"
            print(f"    {label:24} {one.items:5} items, precision {precision}, recall {one.recall:.2f}")
    for kind, mine in misses(results).items():
        print(f"  {kind.value}: {len(mine)} ({len(mine) / len(results):.0%})")
        texts = {item.name: " ".join(item.text.split()) for item in labelled.items}
        for one in mine[:shown_misses]:
            said = ", ".join(one.ranked[:3]) or "nothing"
            print(f"    {one.name}: {one.wanted}, said {said}: {texts[one.name][:MISS_CHARS]}")


def print_scores(name: str, one: Scores) -> None:
    """A line of the table."""
    tops = " ".join(f"{share:6.3f}" for share in one.tops.values())
    print(f"  {name:10} {one.items:6} {one.answered:6} {one.precision:9.3f} {one.recall:7.3f} {tops}")


def print_own(peers: Path | None) -> None:
    """The table, and how long it took."""
    started = time.perf_counter()
    print("", *measure_own(peers), sep="\n")
    print(f"{time.perf_counter() - started:.0f} s")


def machine() -> str:
    """What the figures were measured on and with."""
    processors = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    name = processors[0].partition(": ")[2] if processors else platform.machine()
    packages = ", ".join(f"{package} {version(package)}" for package in PACKAGES)
    return (
        f"{name}, {os.cpu_count()} processors, {platform.system()} {platform.release()}, "
        f"Python {platform.python_version()}, load {os.getloadavg()[0]:.1f}\n{packages}"
    )


def main() -> None:
    """Parse, measure, print."""
    parser = argparse.ArgumentParser(description="Measure the embedded analyst.")
    parser.add_argument("sets", nargs="*", type=Path, metavar="SET", help="a file of JSON lines, or a folder")
    parser.add_argument("--limit", type=int, help="items of each set at most, evenly chosen")
    parser.add_argument("--misses", type=int, default=0, help="how many wrong answers of each kind to show")
    parser.add_argument("--rounds", type=int, default=3, help="of each speed")
    parser.add_argument("--peers", type=Path, help="a virtual environment with the peers, made if it is missing")
    parser.add_argument("--no-speed", action="store_true", help="the sets alone")
    parser.add_argument("--own", action="store_true", help="the table of the project's own sets alone")
    given = parser.parse_args()
    print(machine())
    if given.own:
        print_own(given.peers)
        return
    asyncio.run(run_sets([load(path, limit=given.limit) for path in given.sets], given.misses))
    if not given.no_speed:
        with peer_python(given.peers) as python:
            asyncio.run(measure(given.rounds, python))


if __name__ == "__main__":
    main()
