"""The bus within one process: a table of listeners by session."""

from __future__ import annotations

from collections.abc import Sequence

from svc.service.bus import Listener
from svc.service.store.records import StoredMessage


class MemoryBus:
    """A ``Bus`` for a single process; used only in its event loop."""

    def __init__(self) -> None:
        self._listeners: dict[str, list[Listener]] = {}

    def subscribe(self, session_id: str, listener: Listener) -> None:
        """Publish the session's messages to the listener from now on."""
        self._listeners.setdefault(session_id, []).append(listener)

    def unsubscribe(self, session_id: str, listener: Listener) -> None:
        """Stop publishing to the listener; one that is not subscribed is ignored."""
        remaining = [other for other in self._listeners.pop(session_id, []) if other is not listener]
        if remaining:
            self._listeners[session_id] = remaining

    def publish(self, session_id: str, batch: Sequence[StoredMessage], *, is_private: bool = False) -> None:
        """Publish messages that are already stored."""
        for listener in self._listeners.get(session_id, ()):
            listener.offer(batch)

    def catch_up(self, session_id: str, seq: int) -> None:
        """Tell the listeners that messages up to this seq are in the store."""
        for listener in self._listeners.get(session_id, ()):
            listener.catch_up(seq)

    @property
    def session_ids(self) -> list[str]:
        """The sessions with listeners."""
        return list(self._listeners)

    def publish_notice(self, session_id: str, body: bytes) -> None:
        """Publish a message that is not stored, to those who listen now."""
        for listener in self._listeners.get(session_id, ()):
            listener.notify(body)

    def end(self, session_id: str, code: int, reason: str, *, is_private: bool = False) -> None:
        """Close every stream of the session."""
        for listener in self._listeners.get(session_id, ()):
            listener.end(code, reason)
