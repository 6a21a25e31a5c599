"""Read one turn over as many connections as it takes; ``_protocol`` and ``_retry`` decide.

Answers to the service's requests may come from any thread; they are sent in the reader's event loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import time

from svc import _retry
from svc._protocol import Deliver, Fail, Reconnect, Step, TurnProtocol
from svc._transport import BaseTransport, LostConnectionError, LostHistoryError, StreamConnection, pause_before_retry
from svc.errors import SvcError, UnreachableError
from svc.messages import Message

LEAVE_SECONDS = 1.0  # for the service to confirm that a turn is cancelled when its reader leaves


class TurnReader:
    """Reads one turn: opens connections, sends the protocol's frames, waits between failures."""

    def __init__(self, transport: BaseTransport, session_id: str, protocol: TurnProtocol) -> None:
        self._transport = transport
        self._session_id = session_id
        self._protocol = protocol
        self._backoff = _retry.Backoff(_retry.STREAM_LIMIT_SECONDS)
        self._connection: StreamConnection | None = None
        self._opened_at = 0.0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._sending: set[asyncio.Task[None]] = set()

    def answer(self, answer: Message) -> bool:
        """Send an answer soon, from any thread; False if the turn is over."""
        if self._loop is None or self._protocol.is_over:
            return False
        try:
            self._loop.call_soon_threadsafe(self._answer_here, answer)
        except RuntimeError:  # the loop was closed: the turn is no longer read
            return False
        return True

    def _answer_here(self, answer: Message) -> None:
        self._protocol.answer(answer)
        task = asyncio.get_running_loop().create_task(self._send_outgoing())
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)

    async def _send_outgoing(self) -> None:
        """Send what is pending; if the connection is lost, the next one sends it."""
        with contextlib.suppress(LostConnectionError):
            if self._connection is not None:
                for frame in self._protocol.outgoing():
                    await self._connection.send(frame)

    async def read(self) -> Message | None:
        """Read one frame; returns a message for the caller, or None if there is none. Raises what ended the turn."""
        self._loop = asyncio.get_running_loop()
        before = self._protocol.progress
        try:
            step = await self._step()
        except LostHistoryError:  # the error that says so was not received
            step = self._protocol.lose_history()
        except LostConnectionError as lost:
            await self._reconnect_after(lost)
            return None
        if self._protocol.progress > before:
            self._backoff.reset()
        match step:
            case Deliver(message):
                return message
            case Reconnect(reason):
                await self._reconnect_after(LostConnectionError(f"{self._transport.config.ws_url}: {reason}."))
            case Fail(error):
                raise self._transport.explained(error)
        return None

    async def leave(self, *, is_cancelling: bool) -> None:
        """Close the connection; if ``is_cancelling``, first cancel the turn and wait ``LEAVE_SECONDS`` for its end.

        If the service cannot be reached now, the session's next stream cancels the turn.
        """
        try:
            async with asyncio.timeout(LEAVE_SECONDS):
                if is_cancelling:
                    await self._cancel()
        except (TimeoutError, SvcError):
            pass  # the next stream cancels the turn
        finally:
            for task in self._sending:
                task.cancel()
            if self._connection is not None:
                await self._connection.close()

    async def _cancel(self) -> None:
        self._protocol.outgoing()  # drop what was not sent yet
        self._protocol.cancel()
        connection = self._connection
        if connection is None:
            connection = self._connection = await self._transport.open_stream(self._session_id, self._protocol.after)
        for frame in self._protocol.outgoing():
            await connection.send(frame)
        while not self._protocol.is_over:  # closing at once could overtake the cancel inside the service
            self._protocol.receive(await connection.receive())

    async def _step(self) -> Step:
        if self._connection is None:
            self._connection = await self._transport.open_stream(self._session_id, self._protocol.after)
            self._opened_at = time.monotonic()
            self._protocol.connected()
        for frame in self._protocol.outgoing():
            await self._connection.send(frame)
        return self._protocol.receive(await self._connection.receive())

    async def _reconnect_after(self, lost: LostConnectionError) -> None:
        if lost.is_lasting and not self._opened_at:
            raise lost
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()
            if time.monotonic() - self._opened_at > _retry.LASTING_SECONDS:
                self._backoff.reset()
        if await pause_before_retry(self._transport, self._backoff, lost):
            return
        if lost.refusal is not None:
            raise lost.refusal from lost
        raise UnreachableError(
            f"{lost} Tried for {self._backoff.limit_seconds:g} s. The question may still be answered: "
            f"Svc().resume_session({self._session_id!r}).history() shows it once the service is back."
        ) from lost
