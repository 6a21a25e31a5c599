"""Requests and tokens per minute, counted in memory by the ``limits`` library; derived keys share their original's
limits.

Requests are counted in a moving window. Tokens are counted in a fixed window after a turn has ended, because its cost
is unknown before; queries are refused once the window is used up.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from limits import RateLimitItemPerMinute
from limits.storage import MemoryStorage
from limits.strategies import FixedWindowRateLimiter, MovingWindowRateLimiter

from svc.errors import RateLimitedError
from svc.service.store.records import KeyRecord


class RateLimits:
    """Counters for all keys. ``clock`` must be the system's, because the library reads that too."""

    def __init__(self, clock: Callable[[], float]) -> None:
        storage = MemoryStorage()
        self._requests = MovingWindowRateLimiter(storage)
        self._tokens = FixedWindowRateLimiter(storage)
        self._clock = clock

    def count_request(self, key: KeyRecord) -> None:
        """Count a request; raises RateLimitedError over the key's rpm."""
        if not key.rpm:
            return
        item = RateLimitItemPerMinute(key.rpm)
        if not self._requests.hit(item, "requests", key.rate_id):
            self._refuse(self._requests.get_window_stats(item, "requests", key.rate_id).reset_time, key.rpm, "requests")

    def check_tokens(self, key: KeyRecord) -> None:
        """Raise RateLimitedError if this minute's tokens are used up."""
        if not key.tpm:
            return
        item = RateLimitItemPerMinute(key.tpm)
        if not self._tokens.test(item, "tokens", key.rate_id):
            self._refuse(self._tokens.get_window_stats(item, "tokens", key.rate_id).reset_time, key.tpm, "tokens")

    def spend_tokens(self, key: KeyRecord, tokens: int) -> None:
        """Count the tokens that a turn cost."""
        if key.tpm and tokens > 0:
            self._tokens.hit(RateLimitItemPerMinute(key.tpm), "tokens", key.rate_id, cost=tokens)

    def _refuse(self, reset_time: float, limit: int, what: str) -> None:
        seconds = max(1, math.ceil(reset_time - self._clock()))
        raise RateLimitedError(
            f"this key has used its limit of {limit:,} {what} per minute; try again in {seconds} s", retry_after=seconds
        )
