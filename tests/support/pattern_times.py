"""Measure how the time of every pattern grows with hostile inputs; prints a line of JSON for each that grows too fast.

    python -m tests.support.pattern_times SHARE OF SIZE

Measures pattern number SHARE, SHARE + OF, … The time is this thread's processor time, so other programs hardly disturb
it.
"""

from __future__ import annotations

import argparse
import json
import re
import signal
import time
from collections.abc import Iterator
from types import FrameType
from typing import Any, NoReturn

from tests.support.hostile_strings import CORPUS, RUNS, Growing, hostile_to
from tests.support.pattern_sites import ANCHORED, Known, all_patterns

GROWTH = 4  # between two sizes
SUPER_LINEAR = 9.0  # quadratic time grows 16 times between them, linear time 4
FLOOR_SECONDS = 1e-6  # for each character of the larger input; less is fast enough whatever its growth
TRIES = 3
SHORT = 10  # inputs made for a pattern, in the short form
LONGER = 8  # than other inputs: runs of one character
STOP_SECONDS = 3.0


class _TooSlow(Exception):
    pass


def _on_alarm(_signal: int, _frame: FrameType | None) -> NoReturn:
    raise _TooSlow


def _run(pattern: re.Pattern[Any], text: Any, methods: set[str]) -> None:
    if methods - ANCHORED:
        for _ in pattern.finditer(text):
            pass
    for method in methods & ANCHORED:
        getattr(pattern, method)(text)


def seconds(pattern: re.Pattern[Any], text: str, methods: set[str], tries: int = 1) -> float:
    """The least processor time of a few runs; more than STOP_SECONDS counts as endless."""
    subject: Any = text.encode("utf-8") if isinstance(pattern.pattern, bytes) else text
    best = float("inf")
    for _ in range(tries):
        signal.setitimer(signal.ITIMER_VIRTUAL, STOP_SECONDS)
        start = time.thread_time()
        try:
            _run(pattern, subject, methods)
        except _TooSlow:
            return float("inf")
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        best = min(best, time.thread_time() - start)
    return best


def growth(pattern: re.Pattern[Any], growing: Growing, methods: set[str], size: int) -> float:
    """How much longer the larger input takes, if it takes long at all; else 0."""
    for smaller in (size // 64, size // 16):  # exponential and cubic time are seen before they take minutes
        if seconds(pattern, growing.of(smaller), methods) > STOP_SECONDS / 8:
            return float("inf")
    floor = FLOOR_SECONDS * size
    if seconds(pattern, growing.of(size), methods) < floor:
        return 0.0
    ratios = []
    for _ in range(TRIES):
        large = seconds(pattern, growing.of(size), methods, tries=2)
        small = seconds(pattern, growing.of(size // GROWTH), methods, tries=3)
        if large < floor:
            return 0.0
        ratios.append(large / max(small, 1e-7))
        if ratios[-1] <= SUPER_LINEAR:
            return 0.0
    # A bounded repeat looks quadratic on texts that are not longer than its bound: the next sizes decide.
    larger = seconds(pattern, growing.of(size * GROWTH), methods)
    again = larger / seconds(pattern, growing.of(size), methods, tries=2)
    return again if again > SUPER_LINEAR else 0.0


def measure(known: Known, size: int, *, is_short: bool) -> Iterator[dict[str, object]]:
    """The first input on which a pattern grows too fast."""
    pattern = re.compile(known.pattern, known.flags)
    methods = known.methods or {"finditer"}
    made = hostile_to(known.pattern, known.flags)
    inputs = [(growing, size) for growing in (made[:SHORT] if is_short else (*CORPUS, *made))]
    for growing, of in [*inputs, *((growing, size * LONGER) for growing in RUNS)]:
        ratio = growth(pattern, growing, methods, of)
        if ratio > SUPER_LINEAR:
            yield {
                "pattern": str(known.pattern)[:2000],
                "places": sorted(known.places),
                "methods": sorted(methods),
                "ratio": ratio,
                "input": list(growing),
                "seconds": seconds(pattern, growing.of(of), methods),
            }
            return


def main() -> None:
    """Measure the patterns that the arguments select."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("share", type=int)
    parser.add_argument("of", type=int)
    parser.add_argument("size", type=int)
    parser.add_argument("--place", default="", help="only patterns whose place in the source matches this")
    parser.add_argument("--short", action="store_true", help="fewer inputs for each pattern")
    parser.add_argument("--pattern", action="append", help="measure this one instead; may be repeated")
    arguments = parser.parse_args()
    signal.signal(signal.SIGVTALRM, _on_alarm)
    if arguments.pattern is None:
        patterns, missed = all_patterns()
    else:
        patterns, missed = [Known(pattern, 0, {"the command line"}) for pattern in arguments.pattern], []
    for one in missed if arguments.share == 0 else []:
        print(json.dumps({"missed": one}), flush=True)
    patterns = [one for one in patterns if any(re.search(arguments.place, where) for where in one.places)]
    patterns.sort(key=lambda one: (sorted(one.places), str(one.pattern)))
    mine = patterns[arguments.share :: arguments.of]
    for known in mine:
        for found in measure(known, arguments.size, is_short=arguments.short):
            print(json.dumps(found), flush=True)
    print(json.dumps({"measured": len(mine)}), flush=True)


if __name__ == "__main__":
    main()
