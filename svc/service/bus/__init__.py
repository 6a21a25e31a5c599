"""Who tells whom that there is news. A bus keeps nothing: what it loses is read from the store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from svc.service.store.records import StoredMessage


class Listener(Protocol):
    """A reader of one session. Neither method may block or raise."""

    def offer(self, batch: Sequence[StoredMessage]) -> None:
        """Messages that were stored, in the order of their seq; some may be missing or known already."""

    def end(self, code: int, reason: str) -> None:
        """The session is over, or the service stops: a websocket close code and why."""


class Bus(Protocol):
    """Carries stored messages and endings to the listeners of a session."""

    def subscribe(self, session_id: str, listener: Listener) -> None:
        """Tell the listener from now on."""

    def unsubscribe(self, session_id: str, listener: Listener) -> None:
        """Tell it no more; one that is not subscribed is no error."""

    def tell(self, session_id: str, batch: Sequence[StoredMessage]) -> None:
        """Messages that are stored already."""

    def end(self, session_id: str, code: int, reason: str) -> None:
        """Every stream of the session is to close."""
