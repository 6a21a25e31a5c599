"""The time limit of a conversation, paused while a person or a local tool is being waited for."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager


class TurnClock:
    """A timeout that can be paused; use it once."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._timeout: asyncio.Timeout | None = None
        self._pauses = 0
        self._left = seconds

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run the body; raises TimeoutError if it takes longer than the limit."""
        async with asyncio.timeout(self._seconds) as self._timeout:
            yield

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Pause the limit during the body; pauses may be nested."""
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
        with contextlib.suppress(RuntimeError):  # the timeout has just expired, or the body has ended
            if self._timeout is not None:
                self._timeout.reschedule(when)
