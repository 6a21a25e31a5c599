"""What one reader of a session has to be sent, in order, from the store and then live. Pure: no sockets, no clock.

A reader begins by catching up: what is told meanwhile is in the store, so the outbox notes its seq alone. Once there is
nothing more to read it goes live and queues what is told. A gap in what is told sends it back to catching up.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence

from svc.service.close_codes import TOO_SLOW
from svc.service.store.records import StoredMessage

TEXTS = "svc.texts"
"""Key of a send event with several text frames, which ``server/uvicorn_protocols.py`` writes at once."""


class Outbox:
    """A ``Listener`` of the bus. ``position`` is the last seq that was taken to be sent."""

    def __init__(self, position: int, *, limit_messages: int, limit_bytes: int) -> None:
        self.position = position
        self.close_code: int | None = None
        self.close_reason = ""
        self.news = asyncio.Event()
        self.overrun = asyncio.Event()  # set where it is too far behind
        self._limit_messages = limit_messages
        self._limit_bytes = limit_bytes
        self._latest = 0
        self._is_live = False
        self._queue: deque[StoredMessage] = deque()
        self._queued_bytes = 0

    @property
    def is_live(self) -> bool:
        """Whether the queue holds everything after ``position`` that was told."""
        return self._is_live

    @property
    def latest(self) -> int:
        """The last seq that was told, or taken when it went live."""
        return self._latest

    @property
    def has_queued(self) -> bool:
        """Whether ``take`` would give messages."""
        return bool(self._queue)

    def offer(self, batch: Sequence[StoredMessage]) -> None:
        """Take what was stored, without a gap in itself; a reader that is too far behind is to be closed."""
        new = batch[max(0, self._latest + 1 - batch[0].seq) :] if batch else ()
        if not new:
            return
        if self._is_live and new[0].seq == self._latest + 1:
            self._queue.extend(new)
            self._queued_bytes += sum(len(message.body) for message in new)
        else:
            self._catch_up()
        self._latest = new[-1].seq
        if len(self._queue) > self._limit_messages or self._queued_bytes > self._limit_bytes:
            self.end(TOO_SLOW, f"{len(self._queue)} messages behind; come back with after={self.position}")
            self.overrun.set()
            self._catch_up()
        self.news.set()

    def end(self, code: int, reason: str) -> None:
        """The stream is to close; the first reason counts."""
        if self.close_code is None:
            self.close_code, self.close_reason = code, reason
        self.news.set()

    def try_live(self) -> bool:
        """Go live where everything that was told is taken already."""
        if self.position >= self._latest:
            self._latest = self.position
            self._is_live = True
        return self._is_live

    def rewind(self, position: int) -> None:
        """Go back to an earlier position: only where nothing was sent yet."""
        self.position = min(position, self.position)
        self._catch_up()
        self.news.set()

    def take(self, limit_bytes: int) -> list[StoredMessage]:
        """The next messages of the queue: the first that reach the limit, at least one; none where it is empty."""
        taken: list[StoredMessage] = []
        size = 0
        while self._queue and size < limit_bytes:
            message = self._queue.popleft()
            size += len(message.body)
            taken.append(message)
        if taken:
            self._queued_bytes -= size
            self.position = taken[-1].seq
        return taken

    def _catch_up(self) -> None:
        self._is_live = False
        self._queue.clear()
        self._queued_bytes = 0
