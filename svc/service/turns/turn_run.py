"""Run one turn that has begun: store what its assistant says in batches, tell them after the commit, end it once.

While a commit is under way the next steps gather, so that the assistant never waits for a disk until a batch is full.
Decides neither what is said (``step_buffer.py``) nor which turns run (``turns.py``).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from svc.errors import ServiceError, UnavailableError
from svc.messages import Message
from svc.service.bus import Bus
from svc.service.settings import Settings
from svc.service.store import Store
from svc.service.store.records import LeaseLostError, StoredMessage, TurnRecord
from svc.service.turns.step_buffer import Batch, StepBuffer

log = logging.getLogger("svc.turns")
RETRY_SECONDS = 1.0  # between tries to write while the store is out of reach
PATIENCE = 5  # tries before the turn is given up; its end is tried for as long as it takes


class TurnRun:
    """One turn while it runs. ``done`` is set when its end is stored, or it was handed back."""

    def __init__(
        self, turn: TurnRecord, step_buffer: StepBuffer, *, store: Store, bus: Bus, settings: Settings
    ) -> None:
        self.turn = turn
        self.step_buffer = step_buffer
        self.done = asyncio.Event()
        self.turn_end: list[Message] = []  # the last messages of the turn, once its end is stored
        self.stored = 0  # messages so far
        self._store = store
        self._bus = bus
        self._settings = settings
        self._is_handed_back = False

    @property
    def outcome(self) -> str:
        """How it ended: ``answered``, ``failed`` or, where another process goes on with it, ``handed_back``."""
        return "handed_back" if self._is_handed_back else self.step_buffer.state.value

    @property
    def last_seq(self) -> int | None:
        """The seq of the turn's last message, where its end was stored here."""
        return self.turn_end[-1].seq if self.turn_end else None

    def tell(self, batch: Batch, stored: Sequence[StoredMessage]) -> None:
        """Tell every reader what was stored; where that is the turn's end it is done."""
        self._bus.tell(self.turn.session_id, stored)
        self.stored += len(batch.messages)
        if batch.turn_end is not None:
            self.turn_end = batch.end
            self.done.set()

    async def run(self) -> None:
        """Run to the end, whatever happens."""
        timer = asyncio.get_running_loop().call_later(self._settings.turn_seconds, self._time_is_up)
        try:
            await self._store_all()
        finally:
            timer.cancel()
            self.done.set()

    def stop(self, error: ServiceError) -> None:
        """End the turn with this error, unless its end is decided already. What was gathered is stored before it."""
        if not self._is_handed_back:
            self.step_buffer.stop(error)

    def release(self) -> None:
        """Stop without an end: another process goes on with the turn. What was not stored is dropped."""
        if not self.step_buffer.is_decided:
            self._is_handed_back = True
            self.step_buffer.news.set()

    def _time_is_up(self) -> None:
        minutes = self._settings.turn_seconds / 60
        self.stop(
            ServiceError(
                f"the turn was ended by the service: it ran for {minutes:g} minutes, the limit. Ask for less, "
                "or raise SVC_TURN_SECONDS",
                status=499,
                code="cancelled",
            )
        )

    async def _store_all(self) -> None:
        failures = 0
        while not self.done.is_set():
            await self.step_buffer.news.wait()
            self.step_buffer.news.clear()
            if self._is_handed_back:
                await self._store.release(self.turn)
                return
            batch = self.step_buffer.take()
            try:
                await self._store_some(batch)
                failures = 0
            except LeaseLostError as error:
                log.warning("turn ended elsewhere", extra={"turn": self.turn.id, "reason": str(error)})
                return
            except UnavailableError as error:
                failures += 1
                log.error("turn not stored", exc_info=error, extra={"turn": self.turn.id, "tries": failures})
                await self._wait_for_store(batch, error, is_given_up=failures >= PATIENCE)

    async def _wait_for_store(self, batch: Batch, error: UnavailableError, *, is_given_up: bool) -> None:
        """Keep what was not stored for the next try, or end the turn without it."""
        if is_given_up:
            self.step_buffer.give_up(error)
        else:
            self.step_buffer.put_back(batch)
        await asyncio.sleep(RETRY_SECONDS)
        self.step_buffer.news.set()

    async def _store_some(self, batch: Batch) -> None:
        if messages := batch.messages:
            self.tell(batch, await self._store.append(self.turn, messages, batch.turn_end))
