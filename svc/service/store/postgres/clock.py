"""The database's clock, as a service reads it: measured again and again, and followed by the seconds that pass.

The machines of several services may disagree about the time by minutes. All of them use the database's, so that they
agree about when a session, a key or a code expires.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable

from svc.errors import ServiceError
from svc.service.clock import elapsed_seconds
from svc.service.store.postgres.statements import NOW
from svc.service.store.postgres.store import PostgresStore

log: logging.Logger = logging.getLogger("svc.clock")
MEASURE_SECONDS = 10.0
SLOW_SECONDS = 1.0  # an answer that took longer says too little about the time


class DatabaseTime:
    """Seconds since the epoch by the database's clock; by this machine's until it was measured."""

    def __init__(self, store: PostgresStore, elapsed: Callable[[], float] = elapsed_seconds) -> None:
        self._store = store
        self._elapsed = elapsed
        self._offset = time.time() - elapsed()
        self._task: asyncio.Task[None] | None = None

    def __call__(self) -> float:
        """The time now."""
        return self._elapsed() + self._offset

    async def start(self) -> None:
        """Measure it, and go on with that."""
        await self._measure(is_first=True)
        self._task = asyncio.create_task(self._keep())

    async def _measure(self, *, is_first: bool = False) -> None:
        before = self._elapsed()
        now: float = await self._store.run(lambda c: c.fetchval(f"SELECT {NOW}"))
        after = self._elapsed()
        if is_first or after - before <= SLOW_SECONDS:
            self._offset = now - (before + after) / 2

    async def _keep(self) -> None:
        while True:
            await asyncio.sleep(MEASURE_SECONDS)
            try:
                await self._measure()
            except ServiceError as error:
                log.info("the database's time was not read", extra={"reason": error.message})

    async def close(self) -> None:
        """Measure no more."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
