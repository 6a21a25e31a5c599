"""Hints by LISTEN and NOTIFY: one connection of each service listens and sends.

They are sent after the commits that they are about, never in them: a NOTIFY in an append's transaction makes the
commits of all services wait for each other. News that arrives while one is sent is gathered in the next.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from svc.service.store.address import PostgresAddress
from svc.service.store.postgres.links import FAILURES, connect
from svc.service.store.shared import Hint

log: logging.Logger = logging.getLogger("svc.hints")
COMMAND_SECONDS = 3.0
LOOK_SECONDS = 2.0  # after so long without a hint to send, whether the connection still works
RETRY_SECONDS = 0.5
CLOSE_SECONDS = 1.0
SESSIONS = 60  # in one hint: PostgreSQL limits a payload to 8,000 bytes, and a session's entry takes up to 120
REASON_CHARS = 40  # of the reason for which a session ended
_CHANNEL = "SELECT 'svc_' || md5(current_schema())"
_NOTIFY = "SELECT pg_notify($1, $2)"


class _Letter(msgspec.Struct, frozen=True, kw_only=True):
    """A hint as it is sent: a service drops its own."""

    sender: str
    hint: Hint


_DECODER = msgspec.json.Decoder(_Letter)


class PostgresHints:
    """``Hints`` through a PostgreSQL server."""

    def __init__(self, address: PostgresAddress, sender: str) -> None:
        self._address = address
        self._sender = sender
        self._next = Hint(stored={}, ended={})
        self._pending = asyncio.Event()
        self._is_closed = False
        self._on_hint: Callable[[Hint], None] = lambda _: None
        self._task: asyncio.Task[None] | None = None

    async def start(self, on_hint: Callable[[Hint], None]) -> None:
        """Begin to send, and to listen; a broken connection is opened again."""
        self._on_hint = on_hint
        self._task = asyncio.create_task(self._run())

    async def close(self) -> None:
        """Send what is left, then end."""
        self._is_closed = True
        self._pending.set()
        if self._task is not None:
            await asyncio.wait([self._task], timeout=CLOSE_SECONDS)
            self._task.cancel()
            await asyncio.wait([self._task])

    def tell_stored(self, session_id: str, seq: int) -> None:
        """Tell that messages up to this seq are stored."""
        self._next.stored[session_id] = seq
        self._pending.set()

    def tell_ended(self, session_id: str, code: int, reason: str) -> None:
        """Tell that the session's streams are to be closed."""
        self._next.ended[session_id] = (code, reason[:REASON_CHARS])
        self._pending.set()

    def tell_wake(self) -> None:
        """Tell that there is something to do."""
        self._next.wake = True
        self._pending.set()

    async def _run(self) -> None:
        while not self._is_closed:
            try:
                connection = await self._listen()
            except FAILURES as error:
                log.warning("hints wait for the database", extra={"reason": type(error).__name__})
                await asyncio.sleep(RETRY_SECONDS)
                continue
            try:
                await self._send_all(connection)
            except FAILURES as error:
                log.warning("hints were cut", extra={"reason": type(error).__name__})
            finally:
                connection.terminate()

    async def _listen(self) -> Any:  # noqa: ANN401  # asyncpg has no types
        connection = await connect(self._address, COMMAND_SECONDS)
        try:
            await connection.execute("SET synchronous_commit = off")
            self._channel: str = await connection.fetchval(_CHANNEL)
            await connection.add_listener(self._channel, self._receive)
        except BaseException:
            connection.terminate()
            raise
        self._on_hint(Hint(wake=True))  # earlier hints were not heard
        return connection

    async def _send_all(self, connection: Any) -> None:  # noqa: ANN401  # asyncpg has no types
        while not self._is_closed or self._pending.is_set():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LOOK_SECONDS):
                    await self._pending.wait()
            if not self._pending.is_set():
                await connection.execute("SELECT 1")
                continue
            self._pending.clear()
            taken, self._next = self._next, Hint(stored={}, ended={})
            for hint in _pieces(taken):
                letter = msgspec.json.encode(_Letter(sender=self._sender, hint=hint)).decode()
                await connection.execute(_NOTIFY, self._channel, letter)
            if self._is_closed:
                return

    def _receive(self, connection: object, pid: int, channel: str, payload: str) -> None:
        try:
            letter = _DECODER.decode(payload)
        except msgspec.MsgspecError:  # of a newer program
            return
        if letter.sender != self._sender:
            self._on_hint(letter.hint)


def _pieces(hint: Hint) -> Iterator[Hint]:
    """The hint in parts that fit into a notification."""
    if hint.wake:
        yield Hint(wake=True)
    stored, ended = [*hint.stored.items()], [*hint.ended.items()]
    for start in range(0, len(stored), SESSIONS):
        yield Hint(stored=dict(stored[start : start + SESSIONS]))
    for start in range(0, len(ended), SESSIONS):
        yield Hint(ended=dict(ended[start : start + SESSIONS]))
