"""The seconds that a conversation may take; those in which a person or a tool of theirs is waited for do not count."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager


class TurnClock:
    """Runs once."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._timeout: asyncio.Timeout | None = None
        self._pauses = 0
        self._left = seconds

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Raises TimeoutError where what is inside takes longer."""
        async with asyncio.timeout(self._seconds) as self._timeout:
            yield

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Stop it meanwhile; pauses may lie within each other."""
        now = asyncio.get_running_loop().time
        self._pauses += 1
        if self._pauses == 1 and self._timeout is not None:
            self._left = (self._timeout.when() or now()) - now()
            self._set(None)
        try:
            yield
        finally:
            self._pauses -= 1
            if self._pauses == 0:
                self._set(now() + self._left)

    def _set(self, when: float | None) -> None:
        with contextlib.suppress(RuntimeError):  # the time was over just now, or nothing runs any more
            if self._timeout is not None:
                self._timeout.reschedule(when)
