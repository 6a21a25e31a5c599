"""Turns that run at other services of a shared database: wait for their end, stop them, pass answers on to them.

What only the process that runs a turn can do is asked of it by a request in the store. If it does not reply, it is
paused or dead; then a turn that is to end is taken from it, and ended here.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterator, Sequence

import msgspec

from svc.errors import ServiceError, UnavailableError, service_error
from svc.messages import Message, new_id
from svc.service.bus.shared import SharedBus
from svc.service.sessions.session_stores import SessionHandle
from svc.service.store.records import StoredMessage, TurnRecord, TurnState
from svc.service.store.shared import OwnerRequest, SharedStore
from svc.service.turns.local_tool_calls import not_pending

LOOK_SECONDS = 0.5  # between looks at the store where no hint comes
PAUSE_SECONDS = 0.02  # after a hint: many messages of a turn are one look


class Reply(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What became of a request: an error's fields, or nothing if it was carried out."""

    code: str = ""
    status: int = 0
    message: str = ""
    param: str | None = None

    @classmethod
    def of(cls, error: ServiceError) -> Reply:
        """The reply that raises this error at the service that asked."""
        return cls(code=error.code, status=error.status, message=error.message, param=error.param)


class OtherServices:
    """What this service asks of the others.

    Args:
        store: The shared store.
        bus: Carries hints.
        owner: Identifies this service's leases.
        find: Finds a session.
        expiry_time: The time for the end of sessions.
        patience_seconds: How long a reply is waited for.
    """

    def __init__(
        self,
        store: SharedStore,
        bus: SharedBus,
        *,
        owner: str,
        find: Callable[[str], Awaitable[SessionHandle | None]],
        expiry_time: Callable[[], float],
        patience_seconds: float,
    ) -> None:
        self.store = store
        self.bus = bus
        self.owner = owner
        self.find = find
        self.expiry_time = expiry_time
        self._patience_seconds = patience_seconds

    def wake(self) -> None:
        """Let the other services look for what they have to do."""
        self.bus.hints.tell_wake()

    async def wait(self, turn: TurnRecord, *, until: Callable[[], bool]) -> TurnRecord | None:
        """The turn once it has ended, or as it is once ``until`` holds; None if its session was deleted."""
        news = _News()
        self.bus.subscribe(turn.session_id, news)
        try:
            while True:
                news.event.clear()
                now = await self.store.turn(turn.session_id, turn.id)
                if now is None or now.state != TurnState.RUNNING or until():
                    return now
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(LOOK_SECONDS):
                        await news.event.wait()
                await asyncio.sleep(PAUSE_SECONDS)
        finally:
            self.bus.unsubscribe(turn.session_id, news)

    async def answer(self, session_id: str, message: Message) -> None:
        """Pass a client's answer on to the service that runs the turn.

        Raises:
            InvalidRequestError: No request is pending for it, or it cannot be used.
            UnavailableError: That service does not reply.
        """
        turn = await self.store.running_turn(session_id)
        if turn is None:
            raise not_pending(message)
        try:
            reply = await self._ask(turn, "answer", msgspec.json.encode(message))
        except TimeoutError:
            raise UnavailableError(
                "the service that runs the turn does not reply; send the answer again", retry_after=1
            ) from None
        if reply is None:
            raise not_pending(message)
        if reply.code:
            raise service_error(reply.code, reply.message, status=reply.status, param=reply.param)

    async def stop(self, turn: TurnRecord, seconds: float) -> bool:
        """Have the service that runs the turn end it, with what it has; False if it has not after so many seconds."""
        try:
            reply = await self._ask(turn, "stop", turn.id.encode())
        except TimeoutError:
            return False
        if reply is None or reply.code:
            return False
        end = asyncio.get_running_loop().time() + seconds
        now = await self.wait(turn, until=lambda: asyncio.get_running_loop().time() >= end)
        return now is None or now.state != TurnState.RUNNING

    async def _ask(self, turn: TurnRecord, kind: str, body: bytes) -> Reply | None:
        """The reply of the turn's owner, None if it has none; raises TimeoutError if it does not reply."""
        request = OwnerRequest(id=new_id(), session_id=turn.session_id, turn_number=turn.number, kind=kind, body=body)
        if not await self.store.ask_owner(request):
            return None
        try:
            async with asyncio.timeout(self._patience_seconds):
                reply = await self._reply_to(request.id)
        except BaseException:
            await self.store.drop_request(request.id)
            raise
        return msgspec.json.decode(reply, type=Reply)

    async def _reply_to(self, request_id: str) -> bytes:
        with self._awake() as waker:
            self.wake()
            while (reply := await self.store.take_reply(request_id)) is None:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(LOOK_SECONDS):
                        await waker.wait()
                waker.clear()
        return reply

    @contextlib.contextmanager
    def _awake(self) -> Iterator[asyncio.Event]:
        waker = asyncio.Event()
        self.bus.wakers.add(waker)
        try:
            yield waker
        finally:
            self.bus.wakers.discard(waker)


class _News:
    """A ``Listener`` that notes that there is something new."""

    def __init__(self) -> None:
        self.event: asyncio.Event = asyncio.Event()

    def offer(self, batch: Sequence[StoredMessage]) -> None:
        """Messages were stored."""
        self.event.set()

    def catch_up(self, seq: int) -> None:
        """Messages were stored."""
        self.event.set()

    def notify(self, body: bytes) -> None:
        """A message that is not stored changes nothing."""

    def end(self, code: int, reason: str) -> None:
        """The session is over."""
        self.event.set()
