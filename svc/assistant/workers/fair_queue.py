"""Who gets the next worker: fair shares for accounts, and room for the small job of someone who has nothing running.

- A free slot goes to the account that has the fewest jobs running; among equals, to the one that was served longest
  ago. So accounts take turns, however many jobs each has queued.
- If every slot is taken, an account without a running job may still start one, in a lane beside the slots: the first
  lane takes any job, the others only small ones. So one account never keeps the others waiting, and a few accounts
  with long jobs do not keep small questions waiting.

Lanes are never used by an account that has a job running, so that one user alone has exactly the slots.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter, deque
from collections.abc import AsyncIterator
from itertools import count

import msgspec


class _Waiting(msgspec.Struct, frozen=True, eq=False):
    """A job that waits: whether it is small, and how it is told."""

    is_small: bool
    granted: asyncio.Future[None]


class FairQueue:
    """The slots and lanes of a pool, and the jobs that wait for them."""

    def __init__(self, slots: int, lanes: int) -> None:
        self._slots = slots
        self._lanes = lanes
        self._running: Counter[str] = Counter()
        self._waiting: dict[str, deque[_Waiting]] = {}
        self._served: dict[str, int] = {}  # by account that runs or waits: the number of its last grant
        self._grants = count(1)

    @property
    def waiting(self) -> int:
        """The number of jobs that wait."""
        return sum(map(len, self._waiting.values()))

    @property
    def running(self) -> int:
        """The number of jobs that run."""
        return self._running.total()

    def waiting_of(self, account: str) -> int:
        """The number of jobs of the account that wait."""
        return len(self._waiting.get(account, ()))

    def is_full_for(self, account: str, *, is_small: bool) -> bool:
        """Whether a job of the account would have to wait."""
        return account in self._waiting or not self._has_room(account, is_small=is_small)

    @contextlib.asynccontextmanager
    async def slot(self, account: str, *, is_small: bool) -> AsyncIterator[None]:
        """Wait for a slot or lane, and have it while the context is active."""
        await self.acquire(account, is_small=is_small)
        try:
            yield
        finally:
            self.release(account)

    async def acquire(self, account: str, *, is_small: bool) -> None:
        """Wait for a slot or lane; ``release`` gives it back."""
        if not self.is_full_for(account, is_small=is_small):
            self._grant(account)
            return
        waiting = _Waiting(is_small, asyncio.get_running_loop().create_future())
        self._waiting.setdefault(account, deque()).append(waiting)
        try:
            await waiting.granted
        except asyncio.CancelledError:
            if not waiting.granted.cancelled():  # granted in the same moment
                self.release(account)
            else:
                self._start_waiting()  # the next job of the account may be small
            raise

    def release(self, account: str) -> None:
        """Give a slot or lane back, and start the jobs that have room now."""
        self._running[account] -= 1
        if not self._running[account]:
            del self._running[account]
        self._start_waiting()
        for gone in self._served.keys() - self._running.keys() - self._waiting.keys():
            del self._served[gone]

    def _grant(self, account: str) -> None:
        self._running[account] += 1
        self._served[account] = next(self._grants)

    def _has_room(self, account: str, *, is_small: bool) -> bool:
        lanes = min(self._lanes, 1) if not is_small else self._lanes
        extra = 0 if self._running[account] else lanes
        return self.running < self._slots + extra

    def _start_waiting(self) -> None:
        self._drop_cancelled()
        while (account := self._next_account()) is not None:
            jobs = self._waiting[account]
            job = jobs.popleft()
            if not jobs:
                del self._waiting[account]
            self._grant(account)
            job.granted.set_result(None)

    def _drop_cancelled(self) -> None:
        for account, jobs in [*self._waiting.items()]:
            kept = deque(job for job in jobs if not job.granted.cancelled())
            if kept:
                self._waiting[account] = kept
            else:
                del self._waiting[account]

    def _next_account(self) -> str | None:
        candidates = [
            account for account, jobs in self._waiting.items() if self._has_room(account, is_small=jobs[0].is_small)
        ]
        return min(candidates, key=lambda account: (self._running[account], self._served.get(account, 0)), default=None)
