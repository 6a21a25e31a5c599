"""Who gets the next worker: fair shares for accounts, and room for the small job of someone who has nothing running.

- A free slot goes to the account that has the fewest jobs running; among equals, to the one that was served longest
  ago. So accounts take turns, however many jobs each has queued.
- If every slot is taken, an account without a running job may still start one, in a lane beside the slots: the first
  lane takes any job, the others only small ones. So one account never keeps the others waiting, and a few accounts
  with long jobs do not keep small questions waiting.
- One small job of each account may use any lane although the account has other jobs running, and does not wait behind
  its large ones: a question without files is answered while that user's large files are read.

Otherwise lanes are not used by an account that has a job running, so that one user alone has the slots and one lane.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Coroutine
from itertools import count

_Kind = tuple[str, bool]
"""An account, and whether its jobs are small: they wait in two queues."""


class FairQueue:
    """The slots and lanes of a pool, and the jobs that wait for them."""

    def __init__(self, slots: int, lanes: int) -> None:
        self._slots = slots
        self._lanes = lanes
        self._running: Counter[str] = Counter()
        self._small: Counter[str] = Counter()  # of those that run
        self._waiting: dict[_Kind, deque[asyncio.Future[bool]]] = {}
        self._served: dict[str, int] = {}  # by account that runs or waits: the number of its last grant
        self._grants = count(1)

    @property
    def slots(self) -> int:
        """The number of slots."""
        return self._slots

    def set_slots(self, slots: int) -> None:
        """Have so many slots from now on, at least one; jobs that run go on if there are fewer."""
        self._slots = max(1, slots)
        self._start_waiting()

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
        return sum(len(self._waiting.get((account, is_small), ())) for is_small in (True, False))

    def is_full_for(self, account: str, *, is_small: bool) -> bool:
        """Whether a job of the account would have to wait."""
        return (account, is_small) in self._waiting or not self._has_room(account, is_small=is_small)

    @contextlib.asynccontextmanager
    async def slot(
        self, account: str, *, is_small: bool, ends: Callable[[], Coroutine[None, None, None]] | None = None
    ) -> AsyncIterator[bool]:
        """Wait for a slot or lane, and have it while the context is active.

        Yields whether there is one: without, ``ends`` returned before there was room.
        """
        has_slot = await self.acquire(account, is_small=is_small, ends=ends)
        try:
            yield has_slot
        finally:
            if has_slot:
                self.release(account, is_small=is_small)

    async def acquire(
        self, account: str, *, is_small: bool, ends: Callable[[], Coroutine[None, None, None]] | None = None
    ) -> bool:
        """Wait for a slot or lane, which ``release`` gives back, or until ``ends`` returns.

        Returns:
            Whether there is one.
        """
        if not self.is_full_for(account, is_small=is_small):
            self._grant(account, is_small=is_small)
            return True
        granted: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault((account, is_small), deque()).append(granted)
        ending = None if ends is None else asyncio.ensure_future(ends())
        if ending is not None:
            ending.add_done_callback(lambda _: _refuse(granted))
        try:
            return await granted
        except asyncio.CancelledError:
            if not granted.cancelled() and granted.result():  # granted in the same moment
                self.release(account, is_small=is_small)
            raise
        finally:
            self._drop_ended()
            if ending is not None:
                ending.cancel()

    def release(self, account: str, *, is_small: bool) -> None:
        """Give a slot or lane back, and start the jobs that have room now."""
        for running, ended in ((self._running, 1), (self._small, int(is_small))):
            running[account] -= ended
            if not running[account]:
                del running[account]
        self._start_waiting()
        waiting = {account for account, _ in self._waiting}
        for gone in self._served.keys() - self._running.keys() - waiting:
            del self._served[gone]

    def _grant(self, account: str, *, is_small: bool) -> None:
        self._running[account] += 1
        self._small[account] += int(is_small)
        self._served[account] = next(self._grants)

    def _has_room(self, account: str, *, is_small: bool) -> bool:
        lanes = self._lanes if is_small else min(self._lanes, 1)
        may_use_lane = not (self._small if is_small else self._running)[account]
        return self.running < self._slots + (lanes if may_use_lane else 0)

    def _start_waiting(self) -> None:
        self._drop_ended()
        while (kind := self._next_kind()) is not None:
            jobs = self._waiting[kind]
            granted = jobs.popleft()
            if not jobs:
                del self._waiting[kind]
            account, is_small = kind
            self._grant(account, is_small=is_small)
            granted.set_result(True)

    def _drop_ended(self) -> None:
        for kind, jobs in [*self._waiting.items()]:
            kept = deque(granted for granted in jobs if not granted.done())
            if kept:
                self._waiting[kind] = kept
            else:
                del self._waiting[kind]

    def _next_kind(self) -> _Kind | None:
        """The kind of the next job: that of the account whose turn it is, its small ones first."""
        candidates = [kind for kind in self._waiting if self._has_room(kind[0], is_small=kind[1])]
        return min(
            candidates,
            key=lambda kind: (self._running[kind[0]], self._served.get(kind[0], 0), not kind[1]),
            default=None,
        )


def _refuse(granted: asyncio.Future[bool]) -> None:
    if not granted.done():
        granted.set_result(False)
