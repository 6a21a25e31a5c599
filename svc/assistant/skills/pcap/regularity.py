"""Regular contacts: of flows in a capture, of connections, requests and queries in a log. Pure.

Decides: a beacon is at least BEACON_COUNT contacts at nearly equal intervals, with a jitter of up to a third, as common
implants have it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import pairwise
from statistics import median

import msgspec

BEACON_COUNT = 8  # calls: seven equal pauses are no accident
BEACON_SECONDS = 2.0  # pauses shorter than that are one burst
MAX_OFFSETS = 200  # contacts of a beacon that are kept, for a picture
BEACON_SPREAD = 0.35  # of the median pause, within which BEACON_SHARE of the pauses lie
BEACON_SHARE = 0.8


class Regularity(msgspec.Struct, frozen=True):
    """Nearly equal intervals: number of connections, median interval, median deviation as a share of it (jitter).

    ``offsets`` are the seconds from the first connection to at most MAX_OFFSETS of them.
    """

    count: int
    pause_seconds: float
    jitter: float
    first: float
    last: float
    offsets: list[float]


def regularity(times: Iterable[float]) -> Regularity | None:
    """Return the regularity of ``times``, or None if there are too few or the intervals differ."""
    calls: list[float] = []
    previous = -math.inf
    for moment in sorted(times):
        if moment - previous >= BEACON_SECONDS:  # since anything was sent: a call or a film is one burst
            calls.append(moment)
        previous = moment
    if len(calls) < BEACON_COUNT:
        return None
    pauses = [later - earlier for earlier, later in pairwise(calls)]
    middle = median(pauses)
    near = sum(1 for pause in pauses if abs(pause - middle) <= BEACON_SPREAD * middle)
    if near < BEACON_SHARE * len(pauses):
        return None
    jitter = median(abs(pause - middle) for pause in pauses) / middle
    offsets = [round(moment - calls[0], 1) for moment in calls[:: -(-len(calls) // MAX_OFFSETS)]]
    return Regularity(len(calls), round(middle, 3), round(jitter, 3), calls[0], calls[-1], offsets)
