"""Run a function with a time limit: in the kernel's main thread if possible, otherwise in a new thread.

At the limit, a function in the main thread is interrupted as by Ctrl-C; one in another thread is abandoned.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import signal
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet
from contextlib import contextmanager
from types import FrameType
from typing import cast

from svc_jupyter.trusted_imports import as_usual

Call = Callable[[], object]
POLL_SECONDS = 0.1  # between checks for an interrupt while waiting for a thread


class ToolTimeoutError(Exception):
    """The function exceeded its time limit."""


class _TimeIsUp(BaseException):
    """Ends a function in the main thread. Not an Exception, so that the function's own handlers do not catch it."""


def run(function: Callable[..., object], arguments: dict[str, object], seconds: float) -> object:
    """Call the function in this thread, or a coroutine function in a new thread, and return its result.

    Raises:
        ToolTimeoutError: The time limit passed.
        BaseException: Whatever the function raises.
    """

    def call() -> object:
        with as_usual():  # the user's function may import what is in the working folder
            return function(**arguments)

    if inspect.iscoroutinefunction(function):
        return _in_thread(lambda: asyncio.run(_awaited(function, arguments, seconds)), seconds + 1)
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        return _in_thread(call, seconds)
    try:
        with _alarm(seconds):
            return call()
    except _TimeIsUp:
        raise ToolTimeoutError from None


def run_in_background(function: Callable[..., object], arguments: dict[str, object], seconds: float) -> object:
    """Like ``run``, in a background thread; the function's output appears in no cell."""

    def call() -> object:
        _detach_output()
        with as_usual():
            return function(**arguments)

    async def call_async() -> object:
        _detach_output()
        return await _awaited(function, arguments, seconds)

    if inspect.iscoroutinefunction(function):
        return _in_thread(lambda: asyncio.run(call_async()), seconds + 1)
    return _in_thread(call, seconds)


async def _awaited(function: Callable[..., object], arguments: dict[str, object], seconds: float) -> object:
    limit = asyncio.timeout(seconds)
    try:
        with as_usual():
            async with limit:
                return await cast("Awaitable[object]", function(**arguments))
    except TimeoutError:
        if limit.expired():
            raise ToolTimeoutError from None
        raise


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    """Raise _TimeIsUp in the main thread at the limit, even during a system call."""
    is_running = True

    def ring(_: int, __: FrameType | None) -> None:
        if is_running:
            raise _TimeIsUp

    started = time.monotonic()
    handler = signal.signal(signal.SIGALRM, ring)
    others_left, interval = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        is_running = False
        left = max(0.001, others_left - (time.monotonic() - started)) if others_left else 0.0
        signal.signal(signal.SIGALRM, handler or signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, left, interval)


def _in_thread(call: Call, seconds: float) -> object:
    outcome: Future[object] = Future()
    context = contextvars.copy_context()  # it tells which tool prints

    def work() -> None:
        try:
            outcome.set_result(context.run(call))
        except BaseException as error:  # noqa: BLE001  # raised in the thread that waits for it
            outcome.set_exception(error)

    threading.Thread(target=work, name="svc-tool", daemon=True).start()
    end = time.monotonic() + seconds
    while not outcome.done():
        left = end - time.monotonic()
        if left <= 0:
            raise ToolTimeoutError
        try:
            return outcome.result(min(POLL_SECONDS, left))
        except NotYet:
            if outcome.done():
                break
    return outcome.result()


def _detach_output() -> None:
    """In this thread: else what is printed goes to whichever cell ran last."""
    for stream in (sys.stdout, sys.stderr):
        header = getattr(stream, "_parent_header", None)
        if isinstance(header, contextvars.ContextVar):
            header.set({})
