"""The bus within one process: a table of listeners by session."""

from __future__ import annotations

from collections.abc import Sequence

from svc.service.bus import Listener
from svc.service.store.records import StoredMessage


class MemoryBus:
    """A ``Bus`` for a service of one process; used from its loop alone."""

    def __init__(self) -> None:
        self._listeners: dict[str, list[Listener]] = {}

    def subscribe(self, session_id: str, listener: Listener) -> None:
        """Tell the listener from now on."""
        self._listeners.setdefault(session_id, []).append(listener)

    def unsubscribe(self, session_id: str, listener: Listener) -> None:
        """Tell it no more; one that is not subscribed is no error."""
        left = [other for other in self._listeners.pop(session_id, []) if other is not listener]
        if left:
            self._listeners[session_id] = left

    def tell(self, session_id: str, batch: Sequence[StoredMessage]) -> None:
        """Messages that are stored already."""
        for listener in self._listeners.get(session_id, ()):
            listener.offer(batch)

    def end(self, session_id: str, code: int, reason: str) -> None:
        """Every stream of the session is to close."""
        for listener in self._listeners.get(session_id, ()):
            listener.end(code, reason)
