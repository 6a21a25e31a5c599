"""What the assistant says in one turn, made to messages that wait to be stored, until the turn's one end is decided.

Knows no store: ``turn_run.py`` takes batches from here. Where nobody takes them the assistant waits once one is full.
Decides no texts (``transcript.py``).
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable

import msgspec

from svc.assistant.turn import Answer, Exchange, Step
from svc.errors import ServiceError, UnavailableError
from svc.messages import Message, MessageType, MimeType, Usage
from svc.service.observability.failures import internal_error
from svc.service.settings import Settings
from svc.service.store.records import TurnEnd, TurnState
from svc.service.turns.history_cache import History, reckoned_bytes
from svc.service.turns.message_builder import MessageBuilder, count_usage

log = logging.getLogger("svc.turns")
CLOSE_SECONDS = 10.0  # how long a cancelled assistant may take to let go before the log complains

Work = Callable[[], Awaitable[AsyncIterator[Step | Answer]]]
Keep = Callable[[str, bytes], Awaitable[str]]


class Batch(msgspec.Struct, frozen=True):
    """What is to be stored next, in one transaction; ``end`` holds the messages that end the turn."""

    steps: list[Message]
    end: list[Message]
    turn_end: TurnEnd | None

    @property
    def messages(self) -> list[Message]:
        """All of it, in order."""
        return self.steps + self.end


class StepBuffer:
    """One run of an assistant. ``news`` is set where there may be something to take."""

    def __init__(
        self, transcript: MessageBuilder, *, settings: Settings, clock: Callable[[], float], keep: Keep
    ) -> None:
        self.news = asyncio.Event()
        self.usage = Usage()
        self.query = transcript.query
        self._transcript = transcript
        self._settings = settings
        self._clock = clock
        self._keep = keep  # stores a text among the session's files and returns its name
        self._pending: deque[Message] = deque()
        self._end: list[Message] = []
        self._state = TurnState.FAILED
        self._sources: list[str] = []
        self._sources_bytes = 0
        self._room = asyncio.Event()
        self._room.set()
        self._producer: asyncio.Task[None] | None = None

    @property
    def is_decided(self) -> bool:
        """Whether the turn's end is."""
        return bool(self._end)

    @property
    def state(self) -> TurnState:
        """How the turn ended, once that is decided."""
        return self._state

    def start(self, work: Work) -> None:
        """Have the assistant begin in the next turn of the loop, unless it has, or the end is decided."""
        if self._producer is None and not self._end:
            self._producer = asyncio.create_task(self._produce(work))

    def say(self, text: str) -> None:
        """An ``info`` of the service's own."""
        self._pending.append(self._transcript.info(text, self._clock()))
        self.news.set()

    def ask_client(self, kind: MessageType, content: str) -> Message:
        """Ask the client something, as JSON; returns the message, which its answer names."""
        return self._tell(self._transcript.request(kind, content, self._clock()))

    def keep_answer(self, answer: Message) -> None:
        """What the client answered, as a message of the turn."""
        self._tell(self._transcript.reply(answer, self._clock()))

    def _tell(self, message: Message) -> Message:
        if not self._end:
            self._pending.append(message)
            self.news.set()
        return message

    def stop(self, error: ServiceError) -> None:
        """End the turn with this error, unless its end is decided already. What was gathered is stored before it."""
        if not self._end:
            self.usage = count_usage(self.query.content or "", None)
            self._finish([self._transcript.failure(error, self.usage, self._clock())], TurnState.FAILED)
            if self._producer is not None:
                self._producer.cancel()

    def give_up(self, error: ServiceError) -> None:
        """End the turn with this error and without what was gathered."""
        self._pending.clear()
        self.stop(error)

    def take(self) -> Batch:
        """The next batch, maybe empty; ``news`` is set again where more is left."""
        steps: list[Message] = []
        size = 0
        while self._pending and len(steps) < self._settings.batch_messages and size < self._settings.batch_bytes:
            message = self._pending.popleft()
            size += len(message.content or "")
            steps.append(message)
        self._room.set()
        if self._end and not self._pending:
            return Batch(steps, self._end, TurnEnd(state=self._state, time=self._clock(), usage=self.usage))
        if self._end or self._pending:
            self.news.set()
        return Batch(steps, [], None)

    def put_back(self, batch: Batch) -> None:
        """It was not stored: the next ``take`` begins with it."""
        self._pending.extendleft(reversed(batch.steps))
        self.news.set()

    def add_to(self, history: History) -> History | None:
        """The history with this turn, where it was answered; None where it is too long to be kept."""
        if self._state != TurnState.ANSWERED:
            return history
        if self._sources_bytes > self._settings.max_history_bytes:
            return None
        answer = self._end[0].content or ""
        exchange = Exchange(prompt=self.query.content or "", answer=answer, sources=tuple(self._sources))
        return history.plus(exchange, self.query.created_at)

    async def let_go(self) -> None:
        """Wait until the assistant has closed its iterator, so that nothing of the turn goes on."""
        if self._producer is None or self._producer.done():
            return
        self._producer.cancel()
        finished, _ = await asyncio.wait([self._producer], timeout=CLOSE_SECONDS)
        if not finished:
            log.error("assistant does not let go", extra={"turn": self.query.turn, "seconds": CLOSE_SECONDS})

    def _finish(self, messages: list[Message], state: TurnState) -> None:
        self._end = messages
        self._state = state
        self.news.set()

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
            self.stop(internal_error(error, turn=self.query.turn))

    async def _take(self, steps: AsyncIterator[Step | Answer]) -> None:
        async for item in steps:
            if isinstance(item, Answer):
                await self._answer(item)
                return
            message = await self._message(item)
            self._remember(message)
            self._pending.append(message)
            self.news.set()
            if len(self._pending) >= self._settings.batch_messages:
                self._room.clear()
                await self._room.wait()
        raise RuntimeError("the assistant ended without an answer")

    def _remember(self, message: Message) -> None:
        """Keep a source for the next turn's history, as long as there may be one."""
        if message.message_type == MessageType.SOURCE and message.mime_type == MimeType.JSON:
            self._sources_bytes += reckoned_bytes(message.content or "")
            if self._sources_bytes <= self._settings.max_history_bytes:
                self._sources.append(message.content or "")
            else:
                self._sources.clear()

    async def _message(self, step: Step) -> Message:
        if (step.mime_type.is_text and step.mime_type != "application/json") or self._transcript.fits(step.content):
            return self._transcript.step(step, self._clock())
        suffix = step.mime_type.rpartition("/")[2].partition("+")[0]
        name = await self._keep(f"{step.message_type}-{self.query.turn[:8]}.{suffix}", step.content.encode())
        size = len(step.content.encode())
        return self._transcript.info(f"{size:,} bytes of {step.mime_type} are the session's file {name}", self._clock())

    async def _answer(self, answer: Answer) -> None:
        name = None
        if not self._transcript.fits(answer.markdown):
            name = await self._keep(f"answer-{self.query.turn[:8]}.md", answer.markdown.encode())
        if not self._end:
            self.usage = count_usage(self.query.content or "", answer)
            messages = self._transcript.answer(answer, self.usage, self._clock(), whole_is_in=name)
            self._finish(messages, TurnState.ANSWERED)


async def _close(steps: AsyncIterator[Step | Answer]) -> None:
    close: Callable[[], Awaitable[None]] | None = getattr(steps, "aclose", None)
    if close is not None:
        await close()
