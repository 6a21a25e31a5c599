"""The turns that are stored and wait until one that runs has ended, oldest first. Pure: no store, no clock.

A waiting turn has no owner in the store, so that it survives the process, and its attempts are not counted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Generic, TypeVar

from svc.service.store.records import TurnRecord

P = TypeVar("P")


class WaitingTurn(Generic[P]):
    """A turn that waits. ``left`` is set once it was started or ended, or the service stops.

    Args:
        turn: The turn as it is stored.
        pending: What it is started with.
        since: When it was asked, in seconds since the epoch.
    """

    def __init__(self, turn: TurnRecord, pending: P, since: float) -> None:
        self.turn = turn
        self.pending = pending
        self.since = since
        self.left: asyncio.Event = asyncio.Event()


class WaitingTurns(Generic[P]):
    """The queue, and how many more turns may run.

    Args:
        limit: How many turns may run at the same time; 0 is any number.
        count_running: How many run now.
    """

    def __init__(self, limit: int, count_running: Callable[[], int]) -> None:
        self._limit = limit
        self._count_running = count_running
        self._starting = 0  # turns that are about to run
        self._waiting: dict[str, WaitingTurn[P]] = {}  # by session

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def session_ids(self) -> list[str]:
        """The sessions with a waiting turn, the oldest first."""
        return list(self._waiting)

    @property
    def all(self) -> list[WaitingTurn[P]]:
        """The turns that wait, the oldest first."""
        return list(self._waiting.values())

    @property
    def has_room(self) -> bool:
        """Whether one more turn may run."""
        return not self._limit or self._count_running() + self._starting < self._limit

    def count_room(self, limit: int) -> int:
        """How many more turns may run that do not wait here, at most so many."""
        if not self._limit:
            return limit
        return max(0, min(limit, self._limit - self._count_running() - self._starting - len(self._waiting)))

    def find(self, session_id: str) -> WaitingTurn[P] | None:
        """The session's waiting turn."""
        return self._waiting.get(session_id)

    def reserve(self) -> bool:
        """Take a place for a new turn if there is room and no other waits; ``unreserve`` follows."""
        is_free = self.has_room and not self._waiting
        self._starting += is_free
        return is_free

    def unreserve(self) -> None:
        """The turn runs, and is counted as such, or did not start."""
        self._starting -= 1

    def add(self, waiting: WaitingTurn[P]) -> None:
        """Let a turn wait behind the others."""
        self._waiting[waiting.turn.session_id] = waiting

    def put_back(self, waiting: WaitingTurn[P]) -> None:
        """Let a turn that could not be started wait before the others."""
        self._waiting = {waiting.turn.session_id: waiting} | self._waiting

    def take(self) -> WaitingTurn[P] | None:
        """Take the oldest turn and a place for it, if there is room; ``unreserve`` follows."""
        if not self._waiting or not self.has_room:
            return None
        self._starting += 1
        return self._waiting.pop(next(iter(self._waiting)))

    def remove(self, session_id: str) -> WaitingTurn[P] | None:
        """Take the session's waiting turn out of the queue, because it ends without having run."""
        return self._waiting.pop(session_id, None)

    def oldest_seconds(self, now: float) -> float:
        """For how long the oldest turn has been waiting."""
        return max((now - waiting.since for waiting in self._waiting.values()), default=0.0)

    def close(self) -> None:
        """The service stops: nobody waits any longer. The turns stay in the store."""
        for waiting in self._waiting.values():
            waiting.left.set()
        self._waiting.clear()
