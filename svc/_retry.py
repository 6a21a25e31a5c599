"""Decide which failures are retried and after how many seconds. Pure: time and randomness are arguments.

What is sent again is decided by ``_protocol`` and ``_requests``. Facts: docs/wire.md, "Errors" and "Close codes"; RFC
6455, section 7.4.1, and its registry; full jitter as in Amazon's "Exponential Backoff And Jitter" (2015).
"""

from __future__ import annotations

from typing import Literal

FIRST_DELAY_SECONDS = 0.1
MAX_DELAY_SECONDS = 8.0
CALL_LIMIT_SECONDS = 10.0  # of failures before one HTTP call is given up
STREAM_LIMIT_SECONDS = 60.0  # of failures without a new message before a stream is given up
LASTING_SECONDS = 30.0  # a connection that lasted this long worked, even if no message came

_REFUSED_STATUSES = frozenset({429, 503})  # the request was not carried out: always safe to retry
_UNSURE_STATUSES = frozenset({502, 504})  # a proxy answered: the service may have carried it out
_LOST_CLOSES = frozenset({1000, 1001, 1005, 1006, 1011, 1012, 1013, 1014, 4408})

CloseMeaning = Literal["lost", "history", "key", "session", "broken"]


def is_retried_status(status: int, *, is_repeatable: bool) -> bool:
    """Whether to retry a request that was answered with ``status``; of 4xx only 429 is retried."""
    return status in _REFUSED_STATUSES or (is_repeatable and status in _UNSURE_STATUSES)


def close_meaning(code: int) -> CloseMeaning:
    """What a close during a turn means: reconnect (``lost``; ``history``: with ``after`` 0), or an invalid key, an
    ended session, a protocol error.
    """
    if code in _LOST_CLOSES:
        return "lost"
    return {4401: "key", 4409: "history", 4410: "session"}.get(code, "broken")  # type: ignore[return-value]


def delay_seconds(attempt: int, chance: float, retry_after: float | None = None) -> float:
    """Seconds to wait before repeating attempt number ``attempt`` (from 1); ``chance`` is uniform in [0, 1).

    ``retry_after``, which the service asks for, is the minimum; jitter is added to it.
    """
    cap = min(MAX_DELAY_SECONDS, FIRST_DELAY_SECONDS * 2.0 ** min(attempt - 1, 30))
    return (retry_after or 0.0) + chance * cap


class Backoff:
    """Delays between attempts; gives up after ``limit_seconds`` of failures. Times are those of any monotonic clock."""

    def __init__(self, limit_seconds: float) -> None:
        self.limit_seconds = limit_seconds
        self._failing_since: float | None = None
        self._attempts = 0

    def reset(self) -> None:
        """Start over, because something new arrived."""
        self._failing_since = None
        self._attempts = 0

    def next_delay(self, now: float, chance: float, retry_after: float | None = None) -> float | None:
        """Seconds to wait after one more failure, or None to give up: the next attempt would be past the limit."""
        if self._failing_since is None:
            self._failing_since = now
        self._attempts += 1
        delay = delay_seconds(self._attempts, chance, retry_after)
        return delay if now + delay <= self._failing_since + self.limit_seconds else None
