"""The bus of several services that share a database: listeners here get messages, other services get hints.

A hint says up to which seq a session's messages are stored; who needs them reads them. Hints may be lost: each service
asks the store for the last seq of its sessions at intervals (``turns/replica.py``). What is not stored, such as the
notice of a turn whose end cannot be stored, is for the listeners of this process only.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence

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
        self._told: dict[str, int] = {}  # up to which seq the listeners here know, by session with listeners
        self._expected: dict[str, int] = {}  # what the store had at the last look

    async def start(self, forget: Callable[[str], None]) -> None:
        """Begin to hear the other services; ``forget`` is called with the id of a session that one of them deleted."""
        self._forget = forget
        await self.hints.start(self._receive)

    def publish(self, session_id: str, batch: Sequence[StoredMessage], *, is_private: bool = False) -> None:
        """Publish messages that are already stored; those of a private session in this process only."""
        super().publish(session_id, batch)
        if batch and not is_private:
            self._note(session_id, batch[-1].seq)
            self.hints.tell_stored(session_id, batch[-1].seq)

    def end(self, session_id: str, code: int, reason: str, *, is_private: bool = False) -> None:
        """Close every stream of the session; a private one has them in this process only."""
        super().end(session_id, code, reason)
        if not is_private:
            self.hints.tell_ended(session_id, code, reason)

    def heal(self, heads: Mapping[str, int]) -> int:
        """Tell the listeners what the store has, by session; returns how many sessions had missed a hint.

        A hint that comes before the next call was late, not lost.
        """
        listened = set(self.session_ids)
        missed = [one for one, seq in self._expected.items() if one in listened and seq > self._told.get(one, seq)]
        self._told = {one: max(seq, self._expected.get(one, 0)) for one, seq in self._told.items() if one in listened}
        self._expected = {one: seq for one, seq in heads.items() if seq > self._told.setdefault(one, seq)}
        for session_id, seq in heads.items():
            self.catch_up(session_id, seq)
        return len(missed)

    def _note(self, session_id: str, seq: int) -> None:
        if session_id in self._told:
            self._told[session_id] = max(seq, self._told[session_id])

    def _receive(self, hint: Hint) -> None:
        for session_id, seq in hint.stored.items():
            self._note(session_id, seq)
            self.catch_up(session_id, seq)
        for session_id, (code, reason) in hint.ended.items():
            super().end(session_id, code, reason)
            self._forget(session_id)
        if hint.wake:
            for waker in self.wakers:
                waker.set()
