"""The bus of several services that share a database: listeners here get messages, other services get hints.

A hint says up to which seq a session's messages are stored; who needs them reads them. Hints may be lost: each service
asks the store for the last seq of its sessions at intervals (``turns/replica.py``). What is not stored, such as the
notice of a turn whose end cannot be stored, is for the listeners of this process only.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from svc.service.bus.memory import MemoryBus
from svc.service.store.records import StoredMessage
from svc.service.store.shared import Hint, Hints


class SharedBus(MemoryBus):
    """A ``Bus`` of one of several services; used only in its event loop.

    ``wakers`` are set when another service says that there is something to do.
    """

    def __init__(self, hints: Hints) -> None:
        super().__init__()
        self.hints = hints
        self.wakers: set[asyncio.Event] = set()
        self._forget: Callable[[str], None] = lambda _: None

    async def start(self, forget: Callable[[str], None]) -> None:
        """Begin to hear the other services; ``forget`` is called with the id of a session that one of them deleted."""
        self._forget = forget
        await self.hints.start(self._receive)

    def publish(self, session_id: str, batch: Sequence[StoredMessage], *, is_private: bool = False) -> None:
        """Publish messages that are already stored; those of a private session in this process only."""
        super().publish(session_id, batch)
        if batch and not is_private:
            self.hints.tell_stored(session_id, batch[-1].seq)

    def end(self, session_id: str, code: int, reason: str, *, is_private: bool = False) -> None:
        """Close every stream of the session; a private one has them in this process only."""
        super().end(session_id, code, reason)
        if not is_private:
            self.hints.tell_ended(session_id, code, reason)

    def _receive(self, hint: Hint) -> None:
        for session_id, seq in hint.stored.items():
            self.catch_up(session_id, seq)
        for session_id, (code, reason) in hint.ended.items():
            super().end(session_id, code, reason)
            self._forget(session_id)
        if hint.wake:
            for waker in self.wakers:
                waker.set()
