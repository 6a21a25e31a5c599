"""Wait for a store that is out of reach."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from svc.errors import UnavailableError

T = TypeVar("T")
RETRY_SECONDS = 0.5


async def patiently(operation: Callable[[], Awaitable[T]], seconds: float) -> T:
    """The result of an operation that may be repeated; it is tried again while the store is away, for so long."""
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    while True:
        try:
            return await operation()
        except UnavailableError:
            if loop.time() >= end:
                raise
        await asyncio.sleep(RETRY_SECONDS)
