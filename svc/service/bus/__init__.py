"""Publishes stored messages to the clients of a session. A bus stores nothing: what it loses is read from the store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from svc.service.store.records import StoredMessage


class Listener(Protocol):
    """A client of one session. Its methods must not block or raise."""

    def offer(self, batch: Sequence[StoredMessage]) -> None:
        """Messages that were stored, in order of seq; some may be missing or already known."""

    def catch_up(self, seq: int) -> None:
        """Messages up to this seq are in the store; those that were not offered are to be read from there."""

    def notify(self, body: bytes) -> None:
        """A message that is not stored, encoded; it has no place in the order of the others."""

    def end(self, code: int, reason: str) -> None:
        """The session is over or the service is stopping: a websocket close code and the reason."""


class Bus(Protocol):
    """Carries stored messages and endings to the listeners of a session."""

    def subscribe(self, session_id: str, listener: Listener) -> None:
        """Publish the session's messages to the listener from now on."""

    def unsubscribe(self, session_id: str, listener: Listener) -> None:
        """Stop publishing to the listener; one that is not subscribed is ignored."""

    def publish(self, session_id: str, batch: Sequence[StoredMessage], *, is_private: bool = False) -> None:
        """Publish messages that are already stored; those of a private session in this process only."""

    def publish_notice(self, session_id: str, body: bytes) -> None:
        """Publish a message that is not stored, to those who listen now."""

    def end(self, session_id: str, code: int, reason: str, *, is_private: bool = False) -> None:
        """Close every stream of the session; a private one has them in this process only."""
