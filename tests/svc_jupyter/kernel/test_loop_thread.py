"""A stream followed from another thread: its items, its errors, its end, and its close when the reader leaves."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncGenerator

import pytest

from svc_jupyter.kernel.loop_thread import LoopThread


class Source:
    """Counts to ``number``, then waits, ends or fails; knows when it was closed."""

    def __init__(self, number: int, then: str = "end") -> None:
        self.number, self.then = number, then
        self.closed = threading.Event()

    async def stream(self) -> AsyncGenerator[int, None]:
        try:
            for n in range(self.number):
                yield n
            if self.then == "wait":
                await asyncio.Event().wait()
            if self.then == "fail":
                raise ValueError("broken")
        finally:
            self.closed.set()


def follow(source: Source, on_item=lambda item: None, on_tick=lambda: None) -> None:
    LoopThread().follow(source.stream(), on_item=on_item, on_tick=on_tick)


def follow_async(source: Source, on_item=lambda item: None, on_tick=lambda: None) -> None:
    """In a running loop, as a cell with a top-level await does it."""
    asyncio.run(LoopThread().follow_async(source.stream(), on_item=on_item, on_tick=on_tick))


WAYS = pytest.mark.parametrize("follow", [follow, follow_async])


@WAYS
def test_items_come_in_order_in_the_callers_thread(follow):
    items: list[tuple[int, int]] = []

    follow(Source(1_000), on_item=lambda item: items.append((item, threading.get_ident())))

    assert items == [(n, threading.get_ident()) for n in range(1_000)]


@WAYS
def test_the_streams_error_is_raised_after_its_items(follow):
    items: list[int] = []

    with pytest.raises(ValueError, match="broken"):
        follow(Source(2, "fail"), on_item=items.append)

    assert items == [0, 1]


@pytest.mark.parametrize("where", ["on_item", "on_tick"])
def test_an_interrupt_closes_the_stream_first(where: str):
    source = Source(1, "wait")

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        follow(source, **{where: interrupt})

    assert source.closed.is_set()


@WAYS
def test_a_tick_that_raises_closes_the_stream(follow):
    source = Source(1, "wait")

    def give_up() -> None:
        raise TimeoutError

    with pytest.raises(TimeoutError):
        follow(source, on_tick=give_up)

    assert source.closed.is_set()


async def test_a_cancelled_task_closes_the_stream():
    source, taken = Source(1, "wait"), asyncio.Event()
    stream = source.stream()
    task = asyncio.create_task(LoopThread().follow_async(stream, on_item=lambda _: taken.set(), on_tick=lambda: None))
    await taken.wait()

    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert source.closed.is_set()


async def test_the_loop_goes_on_while_a_stream_is_followed():
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count())
    await LoopThread().follow_async(Source(100).stream(), on_item=lambda _: None, on_tick=lambda: None)
    counting.cancel()

    assert turns > 1


def test_one_loop_follows_many_streams():
    loop = LoopThread()
    for _ in range(3):
        loop.follow(Source(3).stream(), on_item=lambda item: None, on_tick=lambda: None)

    assert sum(thread.name == "svc-stream" for thread in threading.enumerate()) >= 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_follows_streams_of_its_own():
    loop = LoopThread()
    loop.follow(Source(1).stream(), on_item=lambda item: None, on_tick=lambda: None)

    if (pid := os.fork()) == 0:
        loop.follow(Source(3).stream(), on_item=lambda item: None, on_tick=lambda: None)
        os._exit(7)
    _, status = os.waitpid(pid, 0)

    assert os.waitstatus_to_exitcode(status) == 7


class Ending:
    """A stream that ends with an item of its own once it was asked to."""

    def __init__(self) -> None:
        self._asked = threading.Event()

    def stop(self) -> bool:
        self._asked.set()
        return True

    async def stream(self):
        yield "first"
        await asyncio.to_thread(self._asked.wait, 20)
        yield "last"


def interrupt_once(items):
    def on_tick():
        if items == ["first"] and on_tick.is_due:
            on_tick.is_due = False
            raise KeyboardInterrupt

    on_tick.is_due = True
    return on_tick


def test_after_an_interrupt_a_stream_that_is_going_to_end_is_followed():
    items, source = [], Ending()
    with pytest.raises(KeyboardInterrupt):
        LoopThread().follow(source.stream(), on_item=items.append, on_tick=interrupt_once(items), stop=source.stop)
    assert items == ["first", "last"]


async def test_the_same_in_a_cell_that_awaits():
    items, source = [], Ending()
    following = LoopThread().follow_async(source.stream(), on_item=items.append, on_tick=lambda: None, stop=source.stop)
    task = asyncio.create_task(following)
    while not items:
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert items == ["first", "last"]


def test_a_second_interrupt_ends_the_wait():
    items, source = [], Ending()

    def on_tick():
        if items:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        LoopThread().follow(source.stream(), on_item=items.append, on_tick=on_tick, stop=lambda: True)
    source.stop()
    assert items == ["first"]
