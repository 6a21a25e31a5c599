"""Follow a stream in a loop of its own thread; hand what comes to the thread that asked. Knows nothing of questions.

Facts: the notebook page, "Running a stream inside a magic": other ways miss the interrupt, or leave the service's side
of a cancelled stream open for seconds.
"""

from __future__ import annotations

import asyncio
import os
import queue
import threading
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import TypeVar

T = TypeVar("T")

POLL_SECONDS = 0.1  # how long an interrupt may go unseen
LEAVE_SECONDS = 2.0  # for a cancelled stream to say so to its source


class LoopThread:
    """One daemon thread with one event loop; started at its first use, and again in a forked process."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._pid = 0

    def follow(
        self,
        stream: AsyncGenerator[T, None],
        *,
        take: Callable[[T], None],
        tick: Callable[[], None],
        timeout_seconds: float | None,
    ) -> None:
        """Hand each item to ``take`` and call ``tick`` often, both in this thread, until the stream ends.

        Raises what the stream raises, and TimeoutError. Whatever ends it early (an interrupt, the time, ``take``)
        closes the stream first, within ``LEAVE_SECONDS``.
        """
        deadline = float("inf") if timeout_seconds is None else time.monotonic() + timeout_seconds
        loop = self._running_loop()
        inbox: queue.SimpleQueue[T] = queue.SimpleQueue()
        task = asyncio.run_coroutine_threadsafe(_start(stream, inbox), loop).result()
        ended = threading.Event()
        loop.call_soon_threadsafe(task.add_done_callback, lambda _: ended.set())
        try:
            while not ended.is_set() or not inbox.empty():
                _take_next(inbox, take)
                tick()
                if time.monotonic() > deadline:
                    raise TimeoutError
        except BaseException:
            loop.call_soon_threadsafe(task.cancel)
            ended.wait(LEAVE_SECONDS)
            raise
        task.result()

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        if self._loop is None or self._pid != os.getpid():
            loop = asyncio.new_event_loop()
            threading.Thread(target=loop.run_forever, name="svc-stream", daemon=True).start()
            self._loop, self._pid = loop, os.getpid()
        return self._loop


async def _start(stream: AsyncGenerator[T, None], inbox: queue.SimpleQueue[T]) -> asyncio.Task[None]:
    return asyncio.get_running_loop().create_task(_pump(stream, inbox))


async def _pump(stream: AsyncGenerator[T, None], inbox: queue.SimpleQueue[T]) -> None:
    async with aclosing(stream) as items:
        async for item in items:
            inbox.put(item)


def _take_next(inbox: queue.SimpleQueue[T], take: Callable[[T], None]) -> None:
    try:
        item = inbox.get(timeout=POLL_SECONDS)
    except queue.Empty:
        return
    take(item)
