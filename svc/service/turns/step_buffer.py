"""Messages of one turn between the assistant that produces them and the store, until the turn's end is decided.

Knows no store: ``turn_run.py`` takes batches from here. The assistant is paused when a full batch is waiting, so that a
slow disk limits memory. Texts are built by ``message_builder.py``.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable

import msgspec

from svc.assistant.turn import Answer, Exchange, Step, StepFile
from svc.assistant.workers.payer import StopRequest
from svc.errors import ServiceError, UnavailableError
from svc.messages import MADE_LABEL, Message, MessageType, MimeType, Usage
from svc.service.observability.failures import internal_error
from svc.service.settings import Settings
from svc.service.store.records import TurnEnd, TurnState
from svc.service.turns.history_cache import History, estimated_bytes
from svc.service.turns.message_builder import MessageBuilder, count_usage

log: logging.Logger = logging.getLogger("svc.turns")
_TEXT_LABEL = f"{MADE_LABEL}text"  # of what does not fit into a message
CLOSE_SECONDS = 10.0  # for a cancelled assistant to stop; after that an error is logged

OpenSteps = Callable[[], Awaitable[AsyncIterator[Step | Answer]]]
SaveFile = Callable[[StepFile], Awaitable[None]]


class Batch(msgspec.Struct, frozen=True):
    """What to store next, in one transaction; ``end`` holds the messages that end the turn."""

    steps: list[Message]
    end: list[Message]
    turn_end: TurnEnd | None

    @property
    def messages(self) -> list[Message]:
        """Steps and end, in order."""
        return self.steps + self.end


class StepBuffer:
    """The messages of one run of an assistant. ``pending`` is set while there may be a batch to take."""

    def __init__(
        self, builder: MessageBuilder, *, settings: Settings, clock: Callable[[], float], save_file: SaveFile
    ) -> None:
        self.pending: asyncio.Event = asyncio.Event()
        self.usage: Usage = Usage()
        self.query: Message = builder.query
        self._builder = builder
        self._settings = settings
        self._clock = clock
        self._save_file = save_file  # among the session's files
        self._messages: deque[Message] = deque()
        self._end: list[Message] = []
        self._state = TurnState.FAILED
        self._sources: list[str] = []
        self._sources_bytes = 0
        self.stop_request: StopRequest = StopRequest()
        self._stop_reason: ServiceError | None = None
        self._room = asyncio.Event()
        self._room.set()
        self._task: asyncio.Task[None] | None = None

    @property
    def has_end(self) -> bool:
        """Whether the turn's end is decided; nothing is added after it."""
        return bool(self._end)

    @property
    def state(self) -> TurnState:
        """How the turn ended, once its end is decided."""
        return self._state

    def now(self) -> float:
        """The time for a message of this turn."""
        return self._clock()

    def start(self, open_steps: OpenSteps) -> None:
        """Start the assistant in the next iteration of the event loop, unless it was started or the end is decided."""
        if self._task is None and not self._end:
            self._task = asyncio.create_task(self._run_assistant(open_steps))

    def add_info(self, text: str) -> None:
        """Add a progress message of the service itself."""
        self._add(self._builder.info(text, self._clock()))

    def add_request(self, kind: MessageType, content: str) -> Message:
        """Add a request to the client, as JSON; returns the message, whose id the answer names."""
        return self._add(self._builder.request(kind, content, self._clock()))

    def add_reply(self, answer: Message) -> None:
        """Add the client's answer to a request."""
        self._add(self._builder.reply(answer, self._clock()))

    def _add(self, message: Message) -> Message:
        if not self._end:
            self._messages.append(message)
            self.pending.set()
        return message

    def stop(self, error: ServiceError) -> None:
        """End the turn with an error, unless its end is decided; messages added before are stored first."""
        if not self._end:
            self.usage = count_usage(self.query.content or "", None)
            self._finish([self._builder.failure(error, self.usage, self._clock())], TurnState.FAILED)
            if self._task is not None:
                self._task.cancel()

    def stop_with_partial_answer(self, error: ServiceError, reason: str) -> bool:
        """Ask the assistant to answer from what it has read; then the turn ends with the error.

        Args:
            error: The turn's end.
            reason: Why it ends, for what the answer says was not read.

        Returns:
            False if it cannot, or was asked before: then nothing happens.
        """
        if self._end or not self.stop_request.is_heeded or self._stop_reason is not None:
            return False
        self._stop_reason = error
        self.stop_request.request(reason)
        return True

    def abandon(self, error: ServiceError) -> None:
        """End the turn with an error and drop the messages that are not stored yet."""
        self._messages.clear()
        self.stop(error)

    def next_batch(self) -> Batch:
        """Take the next batch, which may be empty; ``pending`` is set again if more is left."""
        steps: list[Message] = []
        size = 0
        while self._messages and len(steps) < self._settings.batch_messages and size < self._settings.batch_bytes:
            message = self._messages.popleft()
            size += len(message.content or "")
            steps.append(message)
        self._room.set()
        if self._end and not self._messages:
            return Batch(steps, self._end, TurnEnd(state=self._state, time=self._end[-1].created_at, usage=self.usage))
        if self._end or self._messages:
            self.pending.set()
        return Batch(steps, [], None)

    def put_back(self, batch: Batch) -> None:
        """Return a batch that could not be stored; the next one starts with it."""
        self._messages.extendleft(reversed(batch.steps))
        self.pending.set()

    def extend_history(self, history: History) -> History | None:
        """Add this turn to a history if it was answered; None if the result is too long to cache."""
        if self._state != TurnState.ANSWERED:
            return history
        if self._sources_bytes > self._settings.max_history_bytes:
            return None
        answer = self._end[0].content or ""
        exchange = Exchange(
            prompt=self.query.content or "",
            answer=answer,
            sources=tuple(self._sources),
            asked=self.query.created_at,
            files=self.query.files or (),
        )
        return history.with_exchange(exchange, self.query.created_at)

    async def aclose(self) -> None:
        """Stop the assistant and wait until its iterator is closed, so that nothing of the turn keeps running."""
        if self._task is None or self._task.done():
            return
        self._task.cancel()
        finished, _ = await asyncio.wait([self._task], timeout=CLOSE_SECONDS)
        if not finished:
            log.error("assistant did not stop in time", extra={"turn": self.query.turn, "seconds": CLOSE_SECONDS})

    def _finish(self, messages: list[Message], state: TurnState) -> None:
        self._end = messages
        self._state = state
        self.pending.set()

    async def _run_assistant(self, open_steps: OpenSteps) -> None:
        try:
            steps = await open_steps()
            try:
                await self._consume(steps)
            finally:
                await _close_steps(steps)
        except ServiceError as error:
            self.stop(error)
        except asyncio.CancelledError:
            self.stop(UnavailableError("the service is stopping; try again in a few seconds", retry_after=5))
        except Exception as error:  # noqa: BLE001  # an assistant's bug fails its turn, not the service
            self.stop(internal_error(error, turn=self.query.turn))

    async def _consume(self, steps: AsyncIterator[Step | Answer]) -> None:
        async for item in steps:
            if isinstance(item, Answer):
                await self._add_answer(item)
                return
            if item.file is not None:
                await self._save_file(item.file)
            message = await self._step_message(item)
            self._collect_source(message)
            self._messages.append(message)
            self.pending.set()
            if len(self._messages) >= self._settings.batch_messages:
                # Back-pressure: the assistant waits here until next_batch has made room.
                self._room.clear()
                await self._room.wait()
        raise RuntimeError("the assistant ended without an answer")

    def _collect_source(self, message: Message) -> None:
        """Remember a source for the next turn's history, within the history's limit."""
        if message.message_type == MessageType.SOURCE and message.mime_type == MimeType.JSON:
            self._sources_bytes += estimated_bytes(message.content or "")
            if self._sources_bytes <= self._settings.max_history_bytes:
                self._sources.append(message.content or "")
            else:
                self._sources.clear()

    async def _step_message(self, step: Step) -> Message:
        if (step.mime_type.is_text and step.mime_type != "application/json") or self._builder.fits(step.content):
            return self._builder.step(step, self._clock())
        suffix = step.mime_type.rpartition("/")[2].partition("+")[0]
        name = f"{step.message_type}-{self.query.turn[:8]}.{suffix}"
        await self._save_text(name, step.content)
        size = len(step.content.encode())
        return self._builder.info(f"{size:,} bytes of {step.mime_type} are the session's file {name}", self._clock())

    async def _save_text(self, name: str, text: str) -> None:
        await self._save_file(StepFile(name=name, label=_TEXT_LABEL, pieces=(text.encode(),)))

    async def _add_answer(self, answer: Answer) -> None:
        name = None
        if not self._builder.fits(answer.markdown):
            name = f"answer-{self.query.turn[:8]}.md"
            await self._save_text(name, answer.markdown)
        if not self._end and self._stop_reason is not None:
            self.usage = count_usage(self.query.content or "", answer)
            now = self._clock()
            partial = self._builder.partial_answer(answer, now, full_text_file=name)
            failure = self._builder.failure(self._stop_reason, self.usage, now)
            self._finish([partial, failure], TurnState.FAILED)
        elif not self._end:
            self.usage = count_usage(self.query.content or "", answer)
            messages = self._builder.answer(answer, self.usage, self._clock(), full_text_file=name)
            self._finish(messages, TurnState.ANSWERED)


async def _close_steps(steps: AsyncIterator[Step | Answer]) -> None:
    close: Callable[[], Awaitable[None]] | None = getattr(steps, "aclose", None)
    if close is not None:
        await close()
