"""Run an async stream in a background event loop and deliver its items to the calling thread.

Why this way: docs/notebook.md, "Running a stream inside a cell". Other ways miss the interrupt, or leave the service's
side of a cancelled stream open for seconds. The SDK's blocking ``query`` runs one coroutine in a thread and returns its
result; here the caller draws between items and the loop outlives the call, so the two share no code.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import queue
import threading
import time
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import aclosing
from typing import Generic, TypeVar

from svc_jupyter.trusted_imports import trust_thread

T = TypeVar("T")

POLL_SECONDS = 0.1  # how often the caller may redraw
ASYNC_POLL_SECONDS = 0.02  # Jupyter's interrupt does not wake a running loop; it is noticed at the next wake-up
CLOSE_SECONDS = 0.9  # for a cancelled stream to tell the service
PARTIAL_SECONDS = 12.0  # for a stopped turn to answer from what it has read; a second interrupt ends the wait


class LoopThread:
    """A daemon thread with an event loop, started at the first use, and again in a forked process."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._pid = 0

    def follow(
        self,
        stream: AsyncGenerator[T, None],
        *,
        on_item: Callable[[T], None],
        on_tick: Callable[[], None],
        stop: Callable[[], bool] = lambda: False,
    ) -> None:
        """Run the stream to its end; call ``on_item`` with each item and ``on_tick`` often, both in this thread.

        At the first interrupt, ``stop`` is called in a thread of its own. If it returns True, the stream is going to
        end by itself, and is followed for up to ``PARTIAL_SECONDS``.

        Raises:
            Exception: Whatever the stream raises.
            BaseException: An interrupt, or whatever ``on_item`` or ``on_tick`` raises. The stream is closed first,
                which takes ``CLOSE_SECONDS`` at most.
        """
        running = _RunningStream(stream, self._running_loop())

        def step() -> None:
            running.deliver_next(on_item)
            on_tick()

        try:
            while not running.is_over():
                step()
        except KeyboardInterrupt:
            try:
                ending = _Ending(stop)
                while ending.is_awaited() and not running.is_over():
                    step()
            finally:
                running.cancel()
            raise
        except BaseException:
            running.cancel()
            raise
        running.raise_failure()

    async def follow_async(
        self,
        stream: AsyncGenerator[T, None],
        *,
        on_item: Callable[[T], None],
        on_tick: Callable[[], None],
        stop: Callable[[], bool] = lambda: False,
    ) -> None:
        """Like ``follow``, without blocking the running event loop. Cancelling the task closes the stream."""
        running = _RunningStream(stream, self._running_loop())
        ended = running.ended_future()

        async def step() -> None:
            await asyncio.wait([ended], timeout=ASYNC_POLL_SECONDS)  # wait_for and await miss the interrupt on 3.11
            running.deliver_all(on_item)
            on_tick()

        try:
            while not running.is_over():
                await step()
        except (KeyboardInterrupt, asyncio.CancelledError):
            try:
                ending = _Ending(stop)
                while ending.is_awaited() and not running.is_over():
                    await step()
            finally:
                running.cancel()
            raise
        except BaseException:
            running.cancel()
            raise
        running.raise_failure()

    def submit(self, stream: AsyncGenerator[T, None], on_item: Callable[[T], None]) -> Future[None]:
        """Run the stream in the background.

        Args:
            stream: The stream.
            on_item: Called with each item in the loop's thread; must not block.

        Returns:
            A future that is done when the stream has ended, with the exception if there was one. Cancelling it closes
            the stream.
        """
        return asyncio.run_coroutine_threadsafe(_drain(stream, on_item), self._running_loop())

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        if self._loop is None or self._pid != os.getpid():
            loop = asyncio.new_event_loop()
            loop.set_default_executor(ThreadPoolExecutor(initializer=trust_thread, thread_name_prefix="svc-blocking"))
            threading.Thread(target=_run_trusted, args=(loop,), name="svc-stream", daemon=True).start()
            self._loop, self._pid = loop, os.getpid()
        return self._loop


def _run_trusted(loop: asyncio.AbstractEventLoop) -> None:
    trust_thread()
    loop.run_forever()


async def _drain(stream: AsyncGenerator[T, None], on_item: Callable[[T], None]) -> None:
    async with aclosing(stream) as items:
        async for item in items:
            on_item(item)


class _Ending:
    """The end of a stream that was asked to end by itself: ``stop`` runs in a daemon thread."""

    def __init__(self, stop: Callable[[], bool]) -> None:
        self._stop = stop
        self._is_refused = False
        self._deadline = time.monotonic() + PARTIAL_SECONDS
        threading.Thread(target=self._run, name="svc-stop", daemon=True).start()

    def is_awaited(self) -> bool:
        """Whether the stream is going to end soon."""
        return not self._is_refused and time.monotonic() < self._deadline

    def _run(self) -> None:
        trust_thread()
        try:
            self._is_refused = not self._stop()
        except Exception:  # noqa: BLE001  # then the stream is closed, which tells the service as well
            self._is_refused = True


class _RunningStream(Generic[T]):
    """A stream that runs in the loop's thread, and the queue of its undelivered items."""

    def __init__(self, stream: AsyncGenerator[T, None], loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._items: queue.SimpleQueue[T | None] = queue.SimpleQueue()  # None wakes the waiting caller at the end
        self._ended = threading.Event()
        self._task = asyncio.run_coroutine_threadsafe(self._start(stream), loop).result()

    def is_over(self) -> bool:
        """Whether the stream has ended and all its items were delivered."""
        return self._ended.is_set() and self._items.empty()

    def ended_future(self) -> asyncio.Future[None]:
        """Return a future of the running loop that is done once the stream has ended."""
        loop = asyncio.get_running_loop()
        ended = loop.create_future()

        def set_ended() -> None:
            if not ended.done():
                ended.set_result(None)

        def forward(_: asyncio.Task[None]) -> None:
            with contextlib.suppress(RuntimeError):  # that loop was closed meanwhile
                loop.call_soon_threadsafe(set_ended)

        self._loop.call_soon_threadsafe(self._task.add_done_callback, forward)
        return ended

    def deliver_next(self, on_item: Callable[[T], None]) -> None:
        """Wait up to ``POLL_SECONDS`` for an item and deliver it."""
        try:
            item = self._items.get(timeout=POLL_SECONDS)
        except queue.Empty:
            return
        if item is not None:
            on_item(item)

    def deliver_all(self, on_item: Callable[[T], None]) -> None:
        """Deliver the items that have arrived, without waiting."""
        while not self._items.empty():
            if (item := self._items.get()) is not None:
                on_item(item)

    def cancel(self) -> None:
        """Cancel the stream and wait up to ``CLOSE_SECONDS`` until it is closed."""
        self._loop.call_soon_threadsafe(self._task.cancel)
        self._ended.wait(CLOSE_SECONDS)

    def raise_failure(self) -> None:
        """Raise the stream's exception if there was one."""
        self._task.result()

    async def _start(self, stream: AsyncGenerator[T, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(self._run(stream))
        task.add_done_callback(self._end)
        return task

    def _end(self, _: asyncio.Task[None]) -> None:
        self._ended.set()
        self._items.put(None)

    async def _run(self, stream: AsyncGenerator[T, None]) -> None:
        async with aclosing(stream) as items:
            async for item in items:
                self._items.put(item)
