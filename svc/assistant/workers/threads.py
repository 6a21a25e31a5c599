"""Run work that takes seconds in a thread, so that the service keeps answering others."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

T = TypeVar("T")
P = ParamSpec("P")


async def in_thread(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call ``work`` in a thread and return its result."""
    return await asyncio.to_thread(work, *args, **kwargs)
