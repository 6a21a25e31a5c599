"""How much longer work takes on a larger input, whatever else the machine does meanwhile."""

import gc
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

FLOOR_SECONDS = 0.04  # work that needs less on the largest input is not measured: the clock's noise would be
TRIES = 6


def times_as_long(works: Sequence[Callable[[], object]], *, most: float) -> float:
    """How many times as long the last of `works` takes as the first, by processor time.

    The shortest of several tries counts, since other processes only ever add to the time; there are no more tries once
    the figure is below `most`.
    """
    with _without_collection():
        shortest = [float("inf")] * len(works)
        ratio = float("inf")
        for _ in range(TRIES):
            shortest = [min(known, _seconds(work)) for known, work in zip(shortest, works, strict=True)]
            ratio = shortest[-1] / max(shortest[0], FLOOR_SECONDS / 4)
            if shortest[-1] < FLOOR_SECONDS or ratio < most:
                return min(ratio, most - 1)
    return ratio


def _seconds(work: Callable[[], object]) -> float:
    begin = time.process_time()
    work()
    return time.process_time() - begin


@contextmanager
def _without_collection() -> Iterator[None]:
    """What earlier tests left for the garbage collector does not count."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
