"""Run one turn: take the assistant's steps, store them in batches, tell them after the commit, end it exactly once.

While a commit is under way the next steps gather, so that the assistant never waits for a disk until a batch is full.
Decides no texts (``transcript.py``) and no admission (``turns.py``).
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable

from svc.assistant.turn import Answer, Step
from svc.errors import ServiceError, UnavailableError
from svc.messages import Message, Usage
from svc.service.bus import Bus
from svc.service.failures import internal_error
from svc.service.settings import Settings
from svc.service.store import Ending, LeaseLostError, Store, TurnRecord, TurnState
from svc.service.transcript import Transcript, count_usage

log = logging.getLogger("svc.turns")
RETRY_SECONDS = 1.0  # between tries to write while the store is out of reach
PATIENCE = 5  # tries before the turn is given up; its end is tried for as long as it takes
CLOSE_SECONDS = 10.0  # how long a cancelled assistant may take to let go before the log complains

Work = Callable[[], Awaitable[AsyncIterator[Step | Answer]]]
Keep = Callable[[str, bytes], Awaitable[str]]


class TurnRun:
    """One turn while it runs. ``done`` is set when its end is stored, or it was handed back."""

    def __init__(
        self,
        turn: TurnRecord,
        transcript: Transcript,
        *,
        store: Store,
        bus: Bus,
        settings: Settings,
        clock: Callable[[], float],
        keep: Keep,
    ) -> None:
        self.turn = turn
        self.done = asyncio.Event()
        self.usage = Usage()
        self.ending: list[Message] = []  # what ended the turn, once it is stored
        self.stored = 0  # messages so far
        self._transcript = transcript
        self._store = store
        self._bus = bus
        self._settings = settings
        self._clock = clock
        self._keep = keep  # stores a text among the session's files and returns its name
        self._pending: deque[Message] = deque()
        self._end: list[Message] = []
        self._state = TurnState.FAILED
        self._news = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()
        self._is_handed_back = False
        self._producer: asyncio.Task[None] | None = None

    @property
    def asked_at(self) -> float:
        """When the query came, in seconds since the epoch."""
        return self._transcript.query.created_at

    @property
    def outcome(self) -> str:
        """How it ended: ``answered``, ``failed`` or, where another process goes on with it, ``handed_back``."""
        return "handed_back" if self._is_handed_back else self._state.value

    async def run(self, work: Work, *, first: str | None = None) -> None:
        """Run to the end, whatever happens; ``first`` is an ``info`` to open with."""
        if first is not None:
            self._pending.append(self._transcript.info(first, self._clock()))
            self._news.set()
        if not self._end:
            self._producer = asyncio.create_task(self._produce(work))
        timer = asyncio.get_running_loop().call_later(self._settings.turn_seconds, self._time_is_up)
        try:
            await self._store_all()
        finally:
            timer.cancel()
            self.done.set()
            await self._let_go()

    def stop(self, error: ServiceError) -> None:
        """End the turn with this error, unless its end is decided already. What was gathered is stored before it."""
        if not self._end and not self._is_handed_back:
            self.usage = count_usage(self._transcript.query.content or "", None)
            self._finish([self._transcript.failure(error, self.usage, self._clock())], TurnState.FAILED)
            if self._producer is not None:
                self._producer.cancel()

    def hand_back(self) -> None:
        """Stop without an end: another process goes on with the turn. What was not stored is dropped."""
        if not self._end:
            self._is_handed_back = True
            self._news.set()

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

    def _finish(self, messages: list[Message], state: TurnState) -> None:
        self._end = messages
        self._state = state
        self._news.set()

    async def _produce(self, work: Work) -> None:
        try:
            steps = await work()
            try:
                await self._take(steps)
            finally:
                await _close(steps)
        except ServiceError as error:
            self.stop(error)
        except asyncio.CancelledError:
            self.stop(UnavailableError("the service is stopping; ask again in some seconds", retry_after=5))
        except Exception as error:  # noqa: BLE001  # an assistant's fault is told and logged, never the service's end
            self.stop(internal_error(error, turn=self.turn.id))

    async def _take(self, steps: AsyncIterator[Step | Answer]) -> None:
        async for item in steps:
            if isinstance(item, Answer):
                await self._answer(item)
                return
            self._pending.append(await self._message(item))
            self._news.set()
            if len(self._pending) >= self._settings.batch_messages:
                self._room.clear()
                await self._room.wait()
        raise RuntimeError("the assistant ended without an answer")

    async def _message(self, step: Step) -> Message:
        if (step.mime_type.is_text and step.mime_type != "application/json") or self._transcript.fits(step.content):
            return self._transcript.step(step, self._clock())
        suffix = step.mime_type.rpartition("/")[2].partition("+")[0]
        name = await self._keep(f"{step.message_type}-{self.turn.id[:8]}.{suffix}", step.content.encode())
        size = len(step.content.encode())
        return self._transcript.info(f"{size:,} bytes of {step.mime_type} are the session's file {name}", self._clock())

    async def _answer(self, answer: Answer) -> None:
        name = None
        if not self._transcript.fits(answer.markdown):
            name = await self._keep(f"answer-{self.turn.id[:8]}.md", answer.markdown.encode())
        if not self._end:
            self.usage = count_usage(self._transcript.query.content or "", answer)
            messages = self._transcript.answer(answer, self.usage, self._clock(), whole_is_in=name)
            self._finish(messages, TurnState.ANSWERED)

    async def _store_all(self) -> None:
        failures = 0
        while True:
            await self._news.wait()
            self._news.clear()
            if self._is_handed_back:
                await self._store.hand_back(self.turn)
                return
            batch = self._batch()
            try:
                if await self._store_some(batch):
                    return
                failures = 0
            except LeaseLostError as error:
                log.warning("turn ended elsewhere", extra={"turn": self.turn.id, "reason": str(error)})
                return
            except UnavailableError as error:
                failures += 1
                log.error("turn not stored", exc_info=error, extra={"turn": self.turn.id, "tries": failures})
                await self._wait_for_store(batch, error, is_given_up=failures >= PATIENCE)

    async def _wait_for_store(self, batch: list[Message], error: UnavailableError, *, is_given_up: bool) -> None:
        """Keep what was not stored for the next try, or end the turn without it."""
        if is_given_up:
            self._pending.clear()
            self.stop(error)
        else:
            self._pending.extendleft(reversed(batch))
        await asyncio.sleep(RETRY_SECONDS)
        self._news.set()

    async def _store_some(self, batch: list[Message]) -> bool:
        """Store a batch; True where it held the turn's end."""
        ending = None
        messages = batch
        if self._end and not self._pending:
            messages = batch + self._end
            ending = Ending(state=self._state, time=self._clock(), usage=self.usage)
        elif self._end or self._pending:
            self._news.set()
        if messages:
            self._bus.tell(self.turn.session_id, await self._store.append(self.turn, messages, ending))
            self.stored += len(messages)
        if ending is not None:
            self.ending = self._end
        return ending is not None

    def _batch(self) -> list[Message]:
        batch: list[Message] = []
        size = 0
        while self._pending and len(batch) < self._settings.batch_messages and size < self._settings.batch_bytes:
            message = self._pending.popleft()
            size += len(message.content or "")
            batch.append(message)
        self._room.set()
        return batch

    async def _let_go(self) -> None:
        """Wait until the assistant has closed its iterator, so that nothing of the turn goes on."""
        if self._producer is None:
            return
        self._producer.cancel()
        finished, _ = await asyncio.wait([self._producer], timeout=CLOSE_SECONDS)
        if not finished:
            log.error("assistant does not let go", extra={"turn": self.turn.id, "seconds": CLOSE_SECONDS})


async def _close(steps: AsyncIterator[Step | Answer]) -> None:
    close: Callable[[], Awaitable[None]] | None = getattr(steps, "aclose", None)
    if close is not None:
        await close()
