"""The messages that one client still has to receive, in order: first from the store, then live. Pure: no sockets, no
clock.

An outbox starts by catching up: published messages are in the store anyway, so it only notes their seq. Once the store
has nothing newer it goes live and queues published messages. A gap in these makes it catch up again.
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
    """A ``Listener`` of the bus. ``position`` is the last seq that was taken for sending."""

    def __init__(self, position: int, *, limit_messages: int, limit_bytes: int) -> None:
        self.position: int = position
        self.close_code: int | None = None
        self.close_reason: str = ""
        self.pending: asyncio.Event = asyncio.Event()
        self.closes_at_once: asyncio.Event = asyncio.Event()  # without sending what is left
        self._limit_messages = limit_messages
        self._limit_bytes = limit_bytes
        self._latest = 0
        self._is_live = False
        self._queue: deque[StoredMessage] = deque()
        self._queued_bytes = 0
        self._notices: list[bytes] = []

    @property
    def is_live(self) -> bool:
        """Whether the queue holds every published message after ``position``."""
        return self._is_live

    @property
    def latest(self) -> int:
        """The last seq that was published, or the position when it went live."""
        return self._latest

    @property
    def has_queued(self) -> bool:
        """Whether ``pop`` or ``pop_notices`` would return messages."""
        return bool(self._queue or self._notices)

    def offer(self, batch: Sequence[StoredMessage]) -> None:
        """Queue stored messages; a client that is too far behind is to be disconnected."""
        new = batch[max(0, self._latest + 1 - batch[0].seq) :] if batch else ()
        if not new:
            return
        # Live and no gap: queue. Otherwise the store is read up to here, so that nothing is skipped or sent twice.
        if self._is_live and new[0].seq == self._latest + 1:
            self._queue.extend(new)
            self._queued_bytes += sum(len(message.body) for message in new)
        else:
            self._catch_up()
        self._latest = new[-1].seq
        if len(self._queue) > self._limit_messages or self._queued_bytes > self._limit_bytes:
            self.end(TOO_SLOW, f"{len(self._queue)} messages behind; reconnect with after={self.position}")
            self.closes_at_once.set()  # frees the queue's memory now, even if the sender is blocked on the client
            self._catch_up()
        self.pending.set()

    def catch_up(self, seq: int) -> None:
        """Read the store up to here, unless that was taken already."""
        if seq > self._latest:
            self._catch_up()
            self._latest = seq
            self.pending.set()

    def notify(self, body: bytes) -> None:
        """Queue a message that is not stored; it is sent after those that are queued."""
        self._notices.append(body)
        self.pending.set()

    def pop_notices(self) -> list[bytes]:
        """Take the messages that are not stored."""
        taken, self._notices = self._notices, []
        return taken

    def end(self, code: int, reason: str) -> None:
        """Close the stream with this code; the first call counts."""
        if self.close_code is None:
            self.close_code, self.close_reason = code, reason
        self.pending.set()

    def cut(self, code: int, reason: str) -> None:
        """As ``end`` while the store is out of reach: what is to be read from it is left to the next stream."""
        self.end(code, reason)
        if not self._is_live:
            self.closes_at_once.set()

    def try_live(self) -> bool:
        """Go live if every published message was taken."""
        if self.position >= self._latest:
            self._latest = self.position
            self._is_live = True
        return self._is_live

    def rewind(self, position: int) -> None:
        """Go back to an earlier position; allowed only before anything was sent."""
        self.position = min(position, self.position)
        self._catch_up()
        self.pending.set()

    def pop(self, limit_bytes: int) -> list[StoredMessage]:
        """Take messages from the queue until they reach the limit, at least one; empty if the queue is."""
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
