"""What the store keeps for each account, read again once a second, and each time near a limit.

Reading it takes longer with each of the account's sessions. Far from the limit, an older figure decides the same.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import NamedTuple

KNOWN_SECONDS = 1.0
MAX_ACCOUNTS = 10_000


class _Known(NamedTuple):
    amount: int
    time: float


class KeptFigures:
    """The figures of one quota; ``margin`` is more than what all services add to an account within a second."""

    def __init__(self, margin: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._margin = margin
        self._clock = clock
        self._known: dict[str, _Known] = {}

    async def read(self, account: str, limit: int, read: Callable[[], Awaitable[int]]) -> int:
        """What is kept for the account; exact if that is near the limit. 0 is no limit."""
        known = self._known.get(account)
        is_far = known is not None and (not limit or known.amount + self._margin <= limit)
        if known is not None and is_far and self._clock() - known.time < KNOWN_SECONDS:
            return known.amount
        before = self._clock()
        amount = await read()
        if len(self._known) >= MAX_ACCOUNTS:
            self._known.clear()
        self._known[account] = _Known(amount, before)
        return amount
