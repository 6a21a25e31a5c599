"""Who a turn's work is for, and until when: the account whose share of the workers it uses, where the used seconds are
counted, the turn's end, and whether its client cancelled it.

A context variable, because every task of a turn inherits it: a job is charged to the turn that started it, whichever
part of the assistant did.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from contextvars import ContextVar

import msgspec

from svc.assistant.workers.reading_budget import STOPPED


def _count_nothing(seconds: float) -> None:
    """Outside a service, nobody counts."""


class Payer(msgspec.Struct, frozen=True):
    """An account: jobs of the same ``account`` share one place in the queue.

    ``spend`` is called with the seconds that a worker was in use, after each job.
    """

    account: str = ""
    spend: Callable[[float], None] = _count_nothing


PAYER: ContextVar[Payer] = ContextVar("svc_payer", default=Payer())  # noqa: B039  # frozen
"""The payer of the current task's jobs."""


class StopRequest:
    """Whether a turn should end now with what it has found: its client cancelled it, or its time is over.

    The service sets it. Before that, an assistant that can answer from a part of the evidence must have called
    ``heed``; otherwise the turn ends at once.
    """

    def __init__(self) -> None:
        self._event = asyncio.Event()
        self.is_heeded: bool = False
        self.reason: str = ""
        """Why the turn should end, in words."""

    @property
    def is_requested(self) -> bool:
        """Whether the turn should end."""
        return self._event.is_set()

    def heed(self) -> None:
        """Promise to answer soon after a request with what was found until then."""
        self.is_heeded = True

    def request(self, reason: str = STOPPED) -> None:
        """Ask the turn to end."""
        self.reason = self.reason or reason
        self._event.set()

    async def wait(self) -> None:
        """Return once the turn should end."""
        await self._event.wait()


TURN_END: ContextVar[float | None] = ContextVar("svc_turn_end", default=None)
"""When the current turn's jobs must have ended, by the event loop's clock: a job that would take longer stops reading
before that, so that the turn has an answer. None if the turn has no limit."""

STOP: ContextVar[StopRequest | None] = ContextVar("svc_stop", default=None)
"""Asks the current turn to end early. None if nothing can cancel it."""


def heed_stop() -> None:
    """Promise that the current turn answers soon after a request to stop with what it found until then."""
    if (stop := STOP.get()) is not None:
        stop.heed()


def stop_reason() -> str:
    """Return why the current turn should end; "" if it may go on."""
    stop = STOP.get()
    return stop.reason if stop is not None else ""


async def until_end() -> None:
    """Return once the current turn should end, because it is stopped or its jobs have no time left."""
    stop, end = STOP.get() or StopRequest(), TURN_END.get()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout_at(end):
            await stop.wait()


def is_time_over() -> bool:
    """Whether the jobs of the current turn have no time left."""
    end = TURN_END.get()
    return end is not None and asyncio.get_running_loop().time() >= end
