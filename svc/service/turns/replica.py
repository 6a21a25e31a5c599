"""One of several equal services on a shared database: its lease, and what it looks after while it lives.

It takes over turns whose owner has no living lease, drops those that were taken from it, answers the requests of the
others, and heals lost hints. Only the database's clock decides whether a lease lives. Facts: docs/how_to/postgresql.md,
"Several services".
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Coroutine
from typing import Protocol

import msgspec

from svc.errors import ServiceError
from svc.messages import Message
from svc.service.observability.gauges import ReplicaFigures
from svc.service.store.records import TurnRecord
from svc.service.store.shared import OwnerRequest
from svc.service.turns.local_tool_calls import not_pending
from svc.service.turns.other_services import LOOK_SECONDS, OtherServices, Reply
from svc.service.turns.turns import Turns

log: logging.Logger = logging.getLogger("svc.replica")
TAKEN_AT_ONCE = 32  # turns in one look
LOOKS_A_LEASE = 10  # whether it has run out
STRAY_SECONDS = 5.0  # a turn that is stored as this service's and does not run here is given up after so long


class Streams(Protocol):
    """The open streams of this service."""

    def leave(self) -> None:
        """Send the clients to other services, and take no new ones until ``come_back``."""

    def come_back(self) -> None:
        """Take new clients again."""


class Replica:
    """This service among the others."""

    def __init__(
        self, turns: Turns, others: OtherServices, *, lease_seconds: float, answering: Callable[[], str] = str
    ) -> None:
        """``answering`` identifies what decides how this service answers; it may read files."""
        self._answering = answering
        self._answers_by = ""
        self._turns = turns
        self._others = others
        self._store = others.store
        self._lease_seconds = lease_seconds
        self.figures: ReplicaFigures = ReplicaFigures()
        self._streams: Streams | None = None
        self._renewed = 0.0  # by the event loop's clock: when the last renewal was sent
        self._answered = 0.0  # and when it was answered
        self._is_lost = False  # the lease has ended since it was renewed
        self._is_cut_off = False  # the same, and the database is out of reach
        self._may_take_from = 0.0
        self._strays: dict[int, float] = {}  # when each was seen first, by the turn's number
        self._untaken: list[TurnRecord] = []  # taken over, but the store failed before they could run
        self._waker = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    async def join(self) -> None:
        """Take a lease."""
        self._answers_by = await asyncio.to_thread(self._answering)
        await self._renew()

    async def start(self, streams: Streams) -> None:
        """Hear the others, take over what nobody runs, and go on doing so."""
        self._streams = streams
        self._others.bus.wakers.add(self._waker)
        await self._others.bus.start(lambda session_id: self._turns.histories.forget([session_id]))
        await self._look()
        work = (self._renew_again(), self._watch_lease(), self._look_again())
        self._tasks = [asyncio.create_task(one) for one in work]

    async def hand_over(self) -> None:
        """Let the others take what this service gave up, at once: its lease ends."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        with contextlib.suppress(ServiceError):  # the lease ends by itself
            for turn in self._untaken:
                await self._store.release(turn)
            await self._store.leave(self._turns.owner)
        self._others.wake()

    async def close(self) -> None:
        """Send the last hints."""
        await self._others.bus.hints.close()

    async def _renew(self) -> None:
        now = asyncio.get_running_loop().time()
        await self._store.renew(self._turns.owner, self._lease_seconds, self._answers_by)
        if self._is_lost or (self._renewed and now - self._renewed > self._lease_seconds):
            # The database may have been away for all: the others renew their leases before anybody takes their turns.
            self._note_lost(now)
            self._may_take_from = asyncio.get_running_loop().time() + self._lease_seconds / 2
        self._renewed, self._answered, self._is_lost = now, asyncio.get_running_loop().time(), False
        if self._is_cut_off and self._streams is not None:
            self._is_cut_off = False
            self._streams.come_back()

    def _note_lost(self, now: float) -> None:
        if not self._is_lost:
            self._is_lost = True
            self.figures.leases_lost += 1
            log.warning("lease was lost", extra={"seconds": round(now - self._renewed, 1)})

    async def _watch_lease(self) -> None:
        """Send the streams elsewhere once the lease has ended because the database is out of reach.

        A process that was only paused renews its lease before the second look.
        """
        while True:
            await asyncio.sleep(self._lease_seconds / LOOKS_A_LEASE)
            now = asyncio.get_running_loop().time()
            if now - self._answered <= self._lease_seconds:
                continue
            if self._is_lost and not self._is_cut_off and self._streams is not None:
                log.warning("streams sent elsewhere", extra={"reason": "the database is out of reach"})
                self._is_cut_off = True
                self._streams.leave()
            self._note_lost(now)

    async def _renew_again(self) -> None:
        while True:
            await asyncio.sleep(self._lease_seconds / 4)
            try:
                await self._renew()
            except ServiceError as error:
                log.warning("lease not renewed", extra={"reason": str(error)})
            else:
                await self._safely(self._look_around())

    async def _look_around(self) -> None:
        self._answers_by = await asyncio.to_thread(self._answering)
        self.figures.waiting, self.figures.unlike = await self._store.neighbours(self._answers_by)

    async def _look_again(self) -> None:
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(min(LOOK_SECONDS, self._lease_seconds / 4)):
                    await self._waker.wait()
            self._waker.clear()
            await self._look()

    async def _look(self) -> None:
        """Do what there is to do; what fails is tried again with the next look."""
        await self._safely(self._work())

    async def _work(self) -> None:
        here = set(self._turns.running)
        watched = [session_id for session_id in self._others.bus.session_ids if session_id not in here]
        work = await self._store.work_for(self._turns.owner, watched)
        if watched:  # listeners of what was stored elsewhere and whose hint was lost
            self.figures.hints_healed += self._others.bus.heal(work.heads)
        if work.has_requests:
            await self._safely(self._answer_requests())
        if work.has_turns or self._strays or self._turns.running_turns or self._turns.waiting_turns:
            await self._safely(self._drop_lost())
        if work.has_free or self._untaken:
            await self._safely(self._take_over())

    async def _safely(self, step: Coroutine[None, None, None]) -> None:
        try:
            await step
        except ServiceError as error:
            log.warning("look failed", extra={"reason": str(error)})
        except Exception:
            log.exception("look failed")

    async def _answer_requests(self) -> None:
        for request in await self._store.requests_for(self._turns.owner):
            await self._store.reply(request.id, msgspec.json.encode(self._carry_out(request)))
            self._others.wake()

    def _carry_out(self, request: OwnerRequest) -> Reply:
        try:
            if request.kind == "stop":
                is_done = self._turns.stop_soon(request.session_id, request.body.decode())
                return Reply() if is_done else Reply(code="not_found", status=404)
            message = msgspec.json.decode(request.body, type=Message)
            if not self._turns.answer_here(request.session_id, message):
                raise not_pending(message)
        except ServiceError as error:
            return Reply.of(error)
        return Reply()

    async def _drop_lost(self) -> None:
        """Drop turns that another service took or ended; give up those that are stored as ours and do not run."""
        running_before, waiting_before = self._turns.running_turns, self._turns.waiting_turns
        held = {turn.number: turn for turn in await self._store.held(self._turns.owner)}
        unowned = {turn.number for turn in await self._store.held("")} if waiting_before else set()
        for before, still in ((running_before, held.keys()), (waiting_before, unowned)):
            for turn in before:
                if turn.number not in still:
                    self._turns.drop(turn)
        now = asyncio.get_running_loop().time()
        running = {turn.number for turn in self._turns.running_turns} | {turn.number for turn in self._untaken}
        self._strays = {number: self._strays.get(number, now) for number in held if number not in running}
        for number, since in self._strays.items():
            if now - since > STRAY_SECONDS:
                log.warning("turn given up that did not run", extra={"turn": held[number].id})
                await self._store.release(held[number])

    async def _take_over(self) -> None:
        loop = asyncio.get_running_loop()
        while not self._turns.is_stopping:
            if not self._untaken:
                is_alive = loop.time() - self._renewed < self._lease_seconds
                room = self._turns.waiting.count_room(TAKEN_AT_ONCE) if is_alive else 0
                if not room or loop.time() < self._may_take_from:
                    return
                self._untaken = [*await self._store.take_over(owner=self._turns.owner, limit=room)]
                self.figures.taken_over += sum(turn.attempts > 1 for turn in self._untaken)
            if not self._untaken:
                return
            if not self._turns.is_stopping:
                taken, self._untaken = self._untaken, []
                for outcome in await asyncio.gather(*map(self._resume, taken), return_exceptions=True):
                    if outcome is not None:
                        raise outcome

    async def _resume(self, turn: TurnRecord) -> None:
        try:
            await self._turns.resume(self._store, turn, self._others.find, expiry_time=self._others.expiry_time)
        except ServiceError:
            self._untaken.append(turn)
            raise
