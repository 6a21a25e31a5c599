"""Which failures are tried again, and after how many seconds. Pure: clock and chance come in as values.

Decides nothing about what is sent again (``_protocol`` and ``_requests`` do). Facts: docs/wire.md, "Errors" and
"Close codes"; RFC 6455 section 7.4.1 and its registry; full jitter as in Amazon's "Exponential Backoff And Jitter"
(2015).
"""

from __future__ import annotations

from typing import Literal

FIRST_DELAY_SECONDS = 0.1
MAX_DELAY_SECONDS = 8.0
CALL_LIMIT_SECONDS = 10.0  # of failures of one HTTP operation, before it is given up
STREAM_LIMIT_SECONDS = 60.0  # of failures without a message that is new, before a stream is given up
LASTING_SECONDS = 30.0  # a connection that held this long was a working one, though the turn was silent

_REFUSED_STATUSES = frozenset({429, 503})  # nothing was done: any request may come again
_UNSURE_STATUSES = frozenset({502, 504})  # something in between answered: the service may have done it
_LOST_CLOSES = frozenset({1000, 1001, 1005, 1006, 1011, 1012, 1013, 1014, 4408})

CloseMeaning = Literal["lost", "key", "session", "broken"]


def is_retried_status(status: int, *, is_repeatable: bool) -> bool:
    """Whether a request that was answered with ``status`` is sent again; 4xx but 429 never is."""
    return status in _REFUSED_STATUSES or (is_repeatable and status in _UNSURE_STATUSES)


def close_meaning(code: int) -> CloseMeaning:
    """What a close in the middle of a turn means: come back, or the key, the session or the protocol is at fault."""
    if code in _LOST_CLOSES:
        return "lost"
    return {4401: "key", 4410: "session"}.get(code, "broken")  # type: ignore[return-value]


def delay_seconds(attempt: int, chance: float, retry_after: float | None = None) -> float:
    """How long to wait before attempt number ``attempt`` (from 1) is repeated; ``chance`` is uniform in [0, 1).

    What the service asks for (``retry_after``) is the least; jitter comes on top of it.
    """
    cap = min(MAX_DELAY_SECONDS, FIRST_DELAY_SECONDS * 2.0 ** min(attempt - 1, 30))
    return (retry_after or 0.0) + chance * cap


class Patience:
    """How long failures are borne: ``limit_seconds`` from the first one since the last progress.

    Times are any monotonic clock's.
    """

    def __init__(self, limit_seconds: float) -> None:
        self.limit_seconds = limit_seconds
        self._failing_since: float | None = None
        self._attempts = 0

    def progressed(self) -> None:
        """Something new arrived: the count and the time begin again at the next failure."""
        self._failing_since = None
        self._attempts = 0

    def next_delay(self, now: float, chance: float, retry_after: float | None = None) -> float | None:
        """Seconds to wait after one more failure; None where the next try would come too late: give up."""
        if self._failing_since is None:
            self._failing_since = now
        self._attempts += 1
        delay = delay_seconds(self._attempts, chance, retry_after)
        return delay if now + delay <= self._failing_since + self.limit_seconds else None
