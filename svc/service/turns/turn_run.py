"""Run one turn: store the assistant's messages in batches, publish each batch after its commit, end the turn once.

While a commit is in progress, the next steps collect in the ``StepBuffer``, so the assistant does not wait for the disk
until a batch is full. Neither the texts (``step_buffer.py``) nor which turns run (``turns.py``) is decided here.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

import msgspec

from svc.assistant.workers.reading_budget import STOPPED, TURN_LIMIT
from svc.errors import InsufficientStorageError, ServiceError, UnavailableError
from svc.messages import Message
from svc.service.bus import Bus
from svc.service.settings import Settings
from svc.service.store import Store
from svc.service.store.records import LeaseLostError, StoredMessage, TurnRecord
from svc.service.turns.message_builder import refusal
from svc.service.turns.step_buffer import Batch, StepBuffer

log: logging.Logger = logging.getLogger("svc.turns")
RETRY_SECONDS = 1.0  # between attempts to write while the store is unavailable
MAX_WRITE_TRIES = 5  # then the turn is failed; storing that end is retried until it succeeds
_ENCODER = msgspec.json.Encoder()


class TurnRun:
    """One turn while it runs. ``done`` is set once its end is stored or the turn was released.

    ``settled`` is set then, too, or once the end cannot be stored: ``failure`` says why, and nobody should wait longer.
    """

    def __init__(
        self,
        turn: TurnRecord,
        step_buffer: StepBuffer,
        *,
        store: Store,
        bus: Bus,
        settings: Settings,
        limit_seconds: float,
        is_private: bool = False,
    ) -> None:
        """``limit_seconds``: after so long the turn ends with an error. ``is_private``: others know nothing of it."""
        self.turn = turn
        self.step_buffer = step_buffer
        self.done: asyncio.Event = asyncio.Event()
        self.settled: asyncio.Event = asyncio.Event()
        self.failure: ServiceError | None = None
        self.turn_end: list[Message] = []  # the last messages of the turn, once its end is stored
        self.stored_count: int = 0  # messages so far
        self.is_private = is_private
        self._store = store
        self._bus = bus
        self._settings = settings
        self._limit_seconds = limit_seconds
        self._is_released = False
        self.is_lost: bool = False  # another process ended it or took it over
        self._stop_timer: asyncio.TimerHandle | None = None

    @property
    def outcome(self) -> str:
        """``answered``, ``failed``, or ``handed_back`` if another process continues or ended the turn."""
        return "handed_back" if self._is_released or self.is_lost else self.step_buffer.state.value

    @property
    def last_seq(self) -> int | None:
        """The seq of the turn's last message, if its end was stored here."""
        return self.turn_end[-1].seq if self.turn_end else None

    def publish(self, batch: Batch, stored: Sequence[StoredMessage], *, is_session_new: bool = False) -> None:
        """Publish a stored batch to the session's clients; with the turn's end, the run is done.

        ``is_session_new``: it was stored with the batch, so no other service has listeners that miss it.
        """
        self._bus.publish(self.turn.session_id, stored, is_private=self.is_private or is_session_new)
        self.stored_count += len(batch.messages)
        if batch.turn_end is not None:
            self.turn_end = batch.end
            self._set_done()

    async def run(self) -> None:
        """Run until the turn has ended, was released or was lost to another process."""
        timer = asyncio.get_running_loop().call_later(self._limit_seconds, self._on_timeout)
        try:
            await self._store_batches()
        finally:
            timer.cancel()
            if self._stop_timer is not None:
                self._stop_timer.cancel()
            self._set_done()

    def _set_done(self) -> None:
        self.failure = None
        self.done.set()
        self.settled.set()

    def stop(self, error: ServiceError) -> None:
        """End the turn with an error, unless its end is decided; messages added before are stored first."""
        if not self._is_released:
            self.step_buffer.stop(error)

    def stop_soon(self, error: ServiceError, reason: str = STOPPED) -> None:
        """End the turn with an error, after an answer from what it has read if it can give one in time."""
        if self._is_released or self._settings.partial_seconds <= 0:
            self.stop(error)
        elif self.step_buffer.stop_with_partial_answer(error, reason):
            self._stop_timer = asyncio.get_running_loop().call_later(self._settings.partial_seconds, self.stop, error)
        else:
            self.stop(error)

    def release(self) -> None:
        """Stop without an end, so that another process can continue the turn; unstored messages are dropped."""
        if not self.step_buffer.has_end:
            self._is_released = True
            self.step_buffer.pending.set()

    def drop(self) -> None:
        """Stop without an end, because another process ended the turn or took it over."""
        self.is_lost = True
        self.step_buffer.pending.set()

    def _on_timeout(self) -> None:
        minutes = self._limit_seconds / 60
        self.stop_soon(
            ServiceError(
                f"the turn reached the time limit of {minutes:g} minutes. Ask for less, or raise SVC_TURN_SECONDS",
                status=499,
                code="cancelled",
            ),
            TURN_LIMIT,
        )

    async def _store_batches(self) -> None:
        failures = 0
        while not self.done.is_set():
            await self.step_buffer.pending.wait()
            self.step_buffer.pending.clear()
            if self.is_lost:
                return
            if self._is_released:
                await self._store.release(self.turn)
                return
            batch = self.step_buffer.next_batch()
            try:
                await self._store_batch(batch)
                failures = 0
            except LeaseLostError as error:
                # The fence check failed: the turn was ended or taken over, so nothing more may be written here.
                log.warning("turn ended in another process", extra={"turn": self.turn.id, "reason": str(error)})
                self.is_lost = True
                return
            except (UnavailableError, InsufficientStorageError) as error:
                failures += 1
                log.error("turn not stored", exc_info=error, extra={"turn": self.turn.id, "attempts": failures})
                await self._wait_for_store(batch, error, is_abandoned=failures >= MAX_WRITE_TRIES)

    async def _wait_for_store(self, batch: Batch, error: ServiceError, *, is_abandoned: bool) -> None:
        """Keep the batch for the next attempt, or fail the turn without it; an answer that is complete is kept."""
        if is_abandoned and not self.step_buffer.has_end:
            self.step_buffer.abandon(error)
        else:
            self.step_buffer.put_back(batch)
        if is_abandoned and self.failure is None:
            self._report(error)
        await asyncio.sleep(RETRY_SECONDS)
        self.step_buffer.pending.set()

    def _report(self, error: ServiceError) -> None:
        """Tell those who wait that the turn's end cannot be stored now, in a message that is not stored either."""
        self.failure = error
        notice = refusal(error, now=self.step_buffer.now(), query=self.step_buffer.query)
        self._bus.publish_notice(self.turn.session_id, _ENCODER.encode(notice))
        self.settled.set()

    async def _store_batch(self, batch: Batch) -> None:
        if messages := batch.messages:
            self.publish(batch, await self._store.append(self.turn, messages, batch.turn_end))
