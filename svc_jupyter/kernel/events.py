"""Observers of the kernel's session: chat panels and JupyterLab's sidebar.

Observers are called in the thread in which the event happens. They must return at once and never raise.
"""

from __future__ import annotations

import threading
from typing import Protocol

from svc import Message, Session

PANEL = "panel"  # the caller of a question that no cell asked


class Observer(Protocol):
    """Receives the events of a kernel's session."""

    def on_message(self, session_id: str, message: Message) -> None:
        """A message of the session arrived. Each is delivered once, in order of ``seq``, whichever client asked."""

    def on_session(self, session: Session | None) -> None:
        """The session changed or was replaced; None if the next question will create one."""

    def on_busy(self, *, is_busy: bool) -> None:
        """A question started, or one ended and none is waiting."""

    def on_waiting(self, caller: str, waiting_for: str | None) -> None:
        """The question of ``caller`` waits for the one of ``waiting_for``; None: it no longer waits."""


class Observers:
    """The observers of one kernel; calls each of them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._all: tuple[Observer, ...] = ()

    def add(self, observer: Observer) -> None:
        """Start to call this observer."""
        with self._lock:
            self._all = (*self._all, observer)

    def remove(self, observer: Observer) -> None:
        """Stop calling this observer."""
        with self._lock:
            self._all = tuple(other for other in self._all if other is not observer)

    def on_message(self, session_id: str, message: Message) -> None:
        """See ``Observer``."""
        for observer in self._all:
            observer.on_message(session_id, message)

    def on_session(self, session: Session | None) -> None:
        """See ``Observer``."""
        for observer in self._all:
            observer.on_session(session)

    def on_busy(self, *, is_busy: bool) -> None:
        """See ``Observer``."""
        for observer in self._all:
            observer.on_busy(is_busy=is_busy)

    def on_waiting(self, caller: str, waiting_for: str | None) -> None:
        """See ``Observer``."""
        for observer in self._all:
            observer.on_waiting(caller, waiting_for)
