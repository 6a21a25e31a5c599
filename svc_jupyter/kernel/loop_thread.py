"""Follow a stream in a loop of its own thread; hand what comes to the thread that asked. Knows nothing of questions.

Facts: docs/notebook.md, "Running a stream inside a cell": other ways miss the interrupt, or leave the service's side
of a cancelled stream open for seconds.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import queue
import threading
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import Future
from contextlib import aclosing
from typing import Generic, TypeVar

T = TypeVar("T")

POLL_SECONDS = 0.1  # how often the caller hears that time passes
HERE_POLL_SECONDS = 0.02  # in a running loop: Jupyter's interrupt is seen when the loop wakes, and does not wake it
LEAVE_SECONDS = 2.0  # for a cancelled stream to say so to its source


class LoopThread:
    """One daemon thread with one event loop; started at its first use, and again in a forked process."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._pid = 0

    def follow(self, stream: AsyncGenerator[T, None], *, take: Callable[[T], None], tick: Callable[[], None]) -> None:
        """Hand each item to ``take`` and call ``tick`` often, both in this thread, until the stream ends.

        Raises what the stream raises. Whatever ends it early (an interrupt, what ``take`` or ``tick`` raise) closes the
        stream first, within ``LEAVE_SECONDS``.
        """
        pump = _Pump(stream, self._running_loop())
        try:
            while not pump.is_over():
                pump.take_next(take)
                tick()
        except BaseException:
            pump.leave()
            raise
        pump.raise_failure()

    async def follow_here(
        self, stream: AsyncGenerator[T, None], *, take: Callable[[T], None], tick: Callable[[], None]
    ) -> None:
        """As ``follow``, in a coroutine: the loop that runs it goes on meanwhile, and a cancelled task closes the
        stream.
        """
        pump = _Pump(stream, self._running_loop())
        ended = pump.ended_here()
        try:
            while not pump.is_over():
                await asyncio.wait([ended], timeout=HERE_POLL_SECONDS)  # wait_for and await miss the interrupt on 3.11
                pump.take_all(take)
                tick()
        except BaseException:
            pump.leave()
            raise
        pump.raise_failure()

    def submit(self, stream: AsyncGenerator[T, None], take: Callable[[T], None]) -> Future[None]:
        """Follow the stream beside whoever runs; ``take`` is called in the loop's thread and must not wait.

        The future is done when the stream has ended, with what it raised; cancelling it closes the stream.
        """
        return asyncio.run_coroutine_threadsafe(_drain(stream, take), self._running_loop())

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        if self._loop is None or self._pid != os.getpid():
            loop = asyncio.new_event_loop()
            threading.Thread(target=loop.run_forever, name="svc-stream", daemon=True).start()
            self._loop, self._pid = loop, os.getpid()
        return self._loop


async def _drain(stream: AsyncGenerator[T, None], take: Callable[[T], None]) -> None:
    async with aclosing(stream) as items:
        async for item in items:
            take(item)


class _Pump(Generic[T]):
    """A stream that runs in the other thread, and the queue between."""

    def __init__(self, stream: AsyncGenerator[T, None], loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._inbox: queue.SimpleQueue[T | None] = queue.SimpleQueue()  # None wakes who waits at the end
        self._ended = threading.Event()
        self._task = asyncio.run_coroutine_threadsafe(self._start(stream), loop).result()

    def is_over(self) -> bool:
        """Whether the stream has ended and all of it was taken."""
        return self._ended.is_set() and self._inbox.empty()

    def ended_here(self) -> asyncio.Future[None]:
        """A future of the running loop, done once the stream has ended."""
        here = asyncio.get_running_loop()
        ended = here.create_future()

        def tell() -> None:
            if not ended.done():
                ended.set_result(None)

        def pass_on(_: asyncio.Task[None]) -> None:
            with contextlib.suppress(RuntimeError):  # that loop closed meanwhile: nobody waits
                here.call_soon_threadsafe(tell)

        self._loop.call_soon_threadsafe(self._task.add_done_callback, pass_on)
        return ended

    def take_next(self, take: Callable[[T], None]) -> None:
        """Wait for one item, ``POLL_SECONDS`` at most."""
        try:
            item = self._inbox.get(timeout=POLL_SECONDS)
        except queue.Empty:
            return
        if item is not None:
            take(item)

    def take_all(self, take: Callable[[T], None]) -> None:
        """Whatever is there."""
        while not self._inbox.empty():
            if (item := self._inbox.get()) is not None:
                take(item)

    def leave(self) -> None:
        """Cancel the stream and give it ``LEAVE_SECONDS`` to close."""
        self._loop.call_soon_threadsafe(self._task.cancel)
        self._ended.wait(LEAVE_SECONDS)

    def raise_failure(self) -> None:
        """What the stream raised, if it did."""
        self._task.result()

    async def _start(self, stream: AsyncGenerator[T, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(self._run(stream))
        task.add_done_callback(self._end)
        return task

    def _end(self, _: asyncio.Task[None]) -> None:
        self._ended.set()
        self._inbox.put(None)

    async def _run(self, stream: AsyncGenerator[T, None]) -> None:
        async with aclosing(stream) as items:
            async for item in items:
                self._inbox.put(item)
