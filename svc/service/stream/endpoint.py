"""The websocket endpoint: queries and cancels in, stored messages out. Facts: docs/wire.md, "Websocket".

One task sends from the outbox, one receives. An unreadable frame is answered with an ``error``; the stream stays open.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Sequence
from urllib.parse import parse_qs

import msgspec
from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from svc.errors import HistoryLostError, InvalidRequestError, RateLimitedError, ServiceError
from svc.local_tools import ANSWERS, QueryFrame
from svc.messages import Message, MessageType
from svc.service.access.auth import request_target
from svc.service.access.passed_requests import is_passed
from svc.service.close_codes import CLOSED_SESSION, HISTORY_LOST, TOO_MANY
from svc.service.observability.failures import internal_error
from svc.service.operations import Service
from svc.service.quotas.table import QuotaName
from svc.service.quotas.uses import ACCOUNT
from svc.service.sessions.session_stores import SessionHandle
from svc.service.store.homes import Home, SessionElsewhereError
from svc.service.store.records import KeyRecord, StoredMessage, TurnStart
from svc.service.stream.open_streams import OpenStream, OpenStreams
from svc.service.stream.outbox import TEXTS, Outbox
from svc.service.turns.message_builder import refusal
from svc.service.validation import decode

log: logging.Logger = logging.getLogger("svc.stream")
PAGE_BYTES = 65_536  # per event: uvicorn's write buffer limit, above which a send waits for the client
SUBPROTOCOL = "svc"
REJOIN_SECONDS = 2.0  # a client without ``after`` that has a question sends it as soon as it is connected
REJOIN_WINDOW_SECONDS = 300.0  # older clients try to reconnect for up to half a minute
MAX_REFUSED_FRAMES = 100  # of one stream, over its key's limits: a client that retries waits for longer each time


PassOn = Callable[[WebSocket, KeyRecord, str, Home, OpenStreams], Awaitable[None]]


async def stream(
    websocket: WebSocket, service: Service, streams: OpenStreams, *, pass_on: PassOn | None = None
) -> None:
    """Serve one connection; errors before it is accepted are raised as ServiceError.

    ``pass_on`` serves one whose session is in the memory of another service.
    """
    service.check_database()
    query = parse_qs(websocket.scope["query_string"].decode("latin-1"), keep_blank_values=True)
    session_id = query.get("session_id", [""])[-1]
    offered = websocket.scope["subprotocols"]
    target = request_target(websocket.scope)
    key = await service.authenticate_stream(websocket.headers.get("authorization"), offered, session_id, target=target)
    websocket.scope["state"] |= {"key_id": key.id, ACCOUNT: key.rate_id}
    was_passed = is_passed(websocket.headers.get("authorization"))
    if not was_passed:  # else the service that passed it on has counted it
        await service.quotas.spend(QuotaName.REQUESTS, key)
    after = _parse_after(session_id, query.get("after", [""])[-1])
    try:
        handle = await service.live_session(key, session_id)
    except SessionElsewhereError as elsewhere:
        if pass_on is None or was_passed:
            raise
        await pass_on(websocket, key, session_id, elsewhere.home, streams)
        return
    settings = service.settings
    outbox = Outbox(
        handle.session.last_seq if after is None else after,
        limit_messages=settings.stream_behind_messages,
        limit_bytes=settings.stream_behind_bytes,
    )
    place = await service.quotas.hold_shared(QuotaName.STREAMS, key)
    # Subscribed before the store is read: what is stored in between is published to the outbox and not missed.
    service.bus.subscribe(session_id, outbox)
    try:
        if after is None:
            outbox.rewind(await _start_of_running_turn(handle, outbox.position))
        await accept(websocket)
        if after is not None and after > handle.session.last_seq:
            await _refuse_lost_history(websocket, handle.session.last_seq, after, now=service.clock())
            return
        with streams.opened(OpenStream(key_id=key.id, session_id=session_id, outbox=outbox)):
            await _Connection(websocket, service, key, handle, outbox, is_resumed=after is not None).run()
    finally:
        place.close()
        service.bus.unsubscribe(session_id, outbox)


class ClientGoneError(Exception):
    """The client left before its handshake was answered. ``error`` is the server's, which expects it back."""

    def __init__(self, error: OSError) -> None:
        super().__init__(str(error))
        self.error = error


async def accept(websocket: WebSocket) -> None:
    """Answer the handshake; raises ClientGoneError if the client has left, as it may while the database is slow."""
    try:
        await websocket.accept(subprotocol=SUBPROTOCOL if SUBPROTOCOL in websocket.scope["subprotocols"] else None)
    except OSError as error:
        raise ClientGoneError(error) from error


def _parse_after(session_id: str, after: str) -> int | None:
    """The client's last seq; None if it gives none."""
    if not session_id:
        raise InvalidRequestError("session_id is missing; open /stream?session_id=ID", param="session_id")
    if not after:
        return None
    if not (after.isascii() and after.isdigit() and len(after) <= 15):
        raise InvalidRequestError(
            f"after is {after[:40]!r}; it must be the last seq received, or 0 for all messages", param="after"
        )
    return int(after)


async def _refuse_lost_history(websocket: WebSocket, last_seq: int, after: int, *, now: float) -> None:
    """Tell a client that saw more than there is, and close; what it sends meanwhile is not read.

    Without this, it would be shown nothing until the session has grown past that seq.
    """
    error = HistoryLostError(
        f"after is {after}, and the session has {last_seq} messages: the service was restored to an older state, or "
        "the session was made again. Connect with after=0; messages whose id was seen before are the same",
        param="after",
    )
    await websocket.send({"type": "websocket.send", "text": msgspec.json.encode(refusal(error, now=now)).decode()})
    await websocket.close(HISTORY_LOST, "the history is shorter than after")


async def _start_of_running_turn(handle: SessionHandle, position: int) -> int:
    """Where a client without ``after`` starts: before the running turn's query, or at the end of the session."""
    turn = await handle.store.running_turn(handle.session.id)
    return position if turn is None else turn.query_seq - 1


class _Connection:
    """An open websocket."""

    def __init__(
        self,
        websocket: WebSocket,
        service: Service,
        key: KeyRecord,
        handle: SessionHandle,
        outbox: Outbox,
        *,
        is_resumed: bool,
    ) -> None:
        self._websocket = websocket
        self._service = service
        self._key = key
        self._handle = handle
        self._session_id = handle.session.id
        self._outbox = outbox
        self._refused_frames = 0  # because of a limit of the key
        self._is_resumed = is_resumed
        self._is_fresh = not is_resumed  # connected without ``after`` and nothing sent yet
        self._is_silent = True  # no frame was received yet
        self._own_queries: set[str] = set()  # the ids of queries that were asked here and are not sent back

    async def run(self) -> None:
        """Serve until the client disconnects or the stream is closed."""
        receiver = asyncio.create_task(self._receive_all())
        sender = asyncio.create_task(self._send_all())
        closer = asyncio.create_task(
            self._outbox.closes_at_once.wait()
        )  # a sender blocked on a slow client cannot notice this itself
        tasks: set[asyncio.Task[None] | asyncio.Task[bool]] = {receiver, sender, closer}
        rejoiner = asyncio.create_task(self._rejoin())
        try:
            finished, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if sender in finished and isinstance(sender.exception(), WebSocketDisconnect):
                # The client has gone, but frames it sent before, such as a cancel, still count.
                await asyncio.wait([receiver], timeout=self._service.settings.close_seconds)
            for task in finished:
                task.result()
        except WebSocketDisconnect:
            return
        finally:
            for task in (*tasks, rejoiner):
                task.cancel()
            await asyncio.wait((*tasks, rejoiner))
            await self._close()

    async def _close(self) -> None:
        if self._outbox.close_code is None or self._websocket.client_state != WebSocketState.CONNECTED:
            return
        with contextlib.suppress(TimeoutError, RuntimeError, WebSocketDisconnect):
            async with asyncio.timeout(self._service.settings.close_seconds):
                await self._websocket.close(self._outbox.close_code, self._outbox.close_reason)

    async def _rejoin(self) -> None:
        """Send the turn that a client without ``after`` came back for, if it ended while the client was away.

        Such a client asks nothing and would wait for ever. One that has a question, asks it first.
        """
        if not self._is_fresh:
            return
        await asyncio.sleep(REJOIN_SECONDS)
        if self._is_silent and self._is_fresh:
            ended_after = self._service.clock() - REJOIN_WINDOW_SECONDS
            with contextlib.suppress(ServiceError):  # the store is out of reach: the client goes on waiting
                turn = await self._handle.store.ended_turn(self._session_id, ended_after=ended_after)
                if turn is not None and self._is_silent and self._is_fresh:
                    self._outbox.rewind(turn.query_seq - 1)

    async def _send_all(self) -> None:
        outbox = self._outbox
        while True:
            if outbox.is_live:
                await self._send_queued()
            elif outbox.close_code is None:
                await self._send_page()
            if outbox.close_code is not None:
                return
            outbox.pending.clear()
            if outbox.is_live and not outbox.has_queued:
                await outbox.pending.wait()

    async def _send_queued(self) -> None:
        while batch := self._outbox.pop(PAGE_BYTES):
            await self._send(batch)
        if notices := self._outbox.pop_notices():
            await self._websocket.send({"type": "websocket.send", TEXTS: notices})

    async def _send_page(self) -> None:
        outbox = self._outbox
        latest, position = outbox.latest, outbox.position
        page = await self._handle.store.messages_after(self._session_id, position, limit_bytes=PAGE_BYTES)
        if outbox.position != position:
            return  # rewound while the store was read: what is sent starts there
        if page:
            outbox.position = page[-1].seq
            await self._send(page)
        elif outbox.position < latest:
            outbox.end(
                CLOSED_SESSION, "the session was deleted"
            )  # messages were published that the store no longer has
        else:
            outbox.try_live()

    async def _send(self, batch: Sequence[StoredMessage]) -> None:
        self._is_fresh = False
        bodies = [message.body for message in batch if not self._is_own_query(message)]
        if bodies:
            await self._websocket.send({"type": "websocket.send", TEXTS: bodies})

    def _is_own_query(self, message: StoredMessage) -> bool:
        """Whether the message is a query that this client asked and need not get back."""
        if not self._own_queries or (query_id := message.query_id) not in self._own_queries:
            return False
        self._own_queries.discard(query_id)
        return True

    async def _receive_all(self) -> None:
        while True:
            event = await self._websocket.receive()
            if event["type"] == "websocket.disconnect":
                raise WebSocketDisconnect(event.get("code", 1005))
            self._is_silent = False
            await self._handle_frame(event.get("text"))

    async def _handle_frame(self, text: str | None) -> None:
        message: QueryFrame | None = None
        try:
            if text is None:
                raise InvalidRequestError("binary frames are not supported; send JSON text")
            message = decode(text.encode("utf-8", "replace"), QueryFrame)
            await self._dispatch(message)
        except ServiceError as error:
            await self._count_refusal(error, is_readable=message is not None)
            await self._refuse(error, message)
        except (WebSocketDisconnect, OSError):
            raise
        except Exception as error:  # noqa: BLE001  # a bug in handling one frame must not end the stream
            await self._refuse(internal_error(error), message)

    async def _dispatch(self, message: QueryFrame) -> None:
        if message.message_type == MessageType.CANCEL:
            self._service.quotas.count(QuotaName.REQUESTS, self._key, 1)  # a cancel is never refused
            await self._service.live_session(self._key, self._session_id)
            await self._service.cancel(self._session_id, message.turn)
            return
        if message.message_type in ANSWERS.values():
            await self._service.answer(self._key, self._session_id, message)
            return
        await self._service.quotas.spend(QuotaName.REQUESTS, self._key)
        turn_start = await self._ask(message)
        if not turn_start.is_new and self._is_fresh and turn_start.turn.query_seq <= self._outbox.position:
            self._outbox.rewind(
                turn_start.turn.query_seq - 1
            )  # a repeated query after a lost connection: send its turn from the start

    async def _ask(self, message: QueryFrame) -> TurnStart:
        """Ask the query; without ``after`` the client does not get it back, unless it repeats one of an earlier stream.

        Noted before it is asked: the stored query may be sent before this returns.
        """
        is_noted = not self._is_resumed and message.id not in self._own_queries
        if is_noted:
            self._own_queries.add(message.id)
        is_new = False
        try:
            _, turn_start = await self._service.ask(self._key, self._session_id, message, message.local_tools)
            is_new = turn_start.is_new
        finally:
            if is_noted and not is_new:
                self._own_queries.discard(message.id)
        return turn_start

    async def _count_refusal(self, error: ServiceError, *, is_readable: bool) -> None:
        """Count an unreadable frame as a request; close the stream of a client that goes on over its limit."""
        try:
            if not is_readable:
                await self._service.quotas.spend(QuotaName.REQUESTS, self._key)
        except RateLimitedError as over:
            error = over
        if isinstance(error, RateLimitedError):
            self._refused_frames += 1
        if self._refused_frames > MAX_REFUSED_FRAMES:
            self._outbox.end(TOO_MANY, f"{self._refused_frames} frames over the key's limits; send fewer")

    async def _refuse(self, error: ServiceError, query: Message | None) -> None:
        message = refusal(error, now=self._service.clock(), query=query)
        await self._websocket.send({"type": "websocket.send", "text": msgspec.json.encode(message).decode()})
