"""What happens in the kernel's session, told to whoever watches: a chat panel, the plugin. Decides nothing.

Told in whatever thread it happens in; whoever watches hands it on at once and never raises.
"""

from __future__ import annotations

import threading
from typing import Protocol

from svc import Message, Session

PANEL = "panel"  # who asks, where it is no cell


class Observer(Protocol):
    """Who watches a kernel."""

    def on_message(self, session_id: str, message: Message) -> None:
        """The session's next message: each once, in the order of ``seq``, whoever asked."""

    def on_session(self, session: Session | None) -> None:
        """The session has changed, or is another one; None where the next question makes one."""

    def on_busy(self, *, is_busy: bool) -> None:
        """A question is being asked, or the last one that waited has ended."""

    def on_waiting(self, caller: str, waiting_for: str | None) -> None:
        """The question of ``caller`` waits for the holder's to end; None when it no longer waits."""


class Observers:
    """All who watch one kernel."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._all: tuple[Observer, ...] = ()

    def add(self, observer: Observer) -> None:
        """Tell it from now on."""
        with self._lock:
            self._all = (*self._all, observer)

    def remove(self, observer: Observer) -> None:
        """Tell it nothing more."""
        with self._lock:
            self._all = tuple(other for other in self._all if other is not observer)

    def on_message(self, session_id: str, message: Message) -> None:
        """As in ``Observer``."""
        for observer in self._all:
            observer.on_message(session_id, message)

    def on_session(self, session: Session | None) -> None:
        """As in ``Observer``."""
        for observer in self._all:
            observer.on_session(session)

    def on_busy(self, *, is_busy: bool) -> None:
        """As in ``Observer``."""
        for observer in self._all:
            observer.on_busy(is_busy=is_busy)

    def on_waiting(self, caller: str, waiting_for: str | None) -> None:
        """As in ``Observer``."""
        for observer in self._all:
            observer.on_waiting(caller, waiting_for)
