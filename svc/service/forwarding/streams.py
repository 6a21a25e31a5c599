"""Pass a stream of an unlogged session on to the service that holds it: frames both ways, and how it closes.

Nothing is kept here. A client that loses its stream comes back with ``after``, wherever, as it would otherwise.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging

from starlette.responses import Response
from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus

from svc.errors import UnavailableError
from svc.service.access.auth import request_target
from svc.service.access.passed_requests import PassedRequests
from svc.service.close_codes import STOPPING
from svc.service.forwarding.http_requests import CONNECT_SECONDS, HttpForwarder
from svc.service.observability.gauges import ForwardingFigures
from svc.service.settings import Settings
from svc.service.store.homes import Home
from svc.service.store.records import KeyRecord
from svc.service.stream.endpoint import accept
from svc.service.stream.open_streams import OpenStream, OpenStreams
from svc.service.stream.outbox import Outbox

log: logging.Logger = logging.getLogger("svc.forwarding")
_NOT_SENT = frozenset({1004, 1005, 1006, 1015})  # stand for the lack of a code (RFC 6455, section 7.4.1)


class StreamForwarder:
    """Opens streams at other services."""

    def __init__(
        self, passed: PassedRequests, http: HttpForwarder, settings: Settings, figures: ForwardingFigures
    ) -> None:
        self._passed = passed
        self._tls = http.tls
        self._settings = settings
        self._figures = figures

    async def pass_on(
        self, websocket: WebSocket, key: KeyRecord, session_id: str, home: Home, streams: OpenStreams
    ) -> None:
        """Serve a connection that is not accepted yet; raises UnavailableError if the other service is not reached."""
        target = request_target(websocket.scope)
        signature = self._passed.sign(key, home.replica, "GET", target, b"")
        try:
            upstream = await self._connect(f"ws{home.address.removeprefix('http')}{target}", signature)
        except InvalidStatus as error:
            answer = error.response
            kept = {name: answer.headers[name] for name in ("Retry-After", "Content-Type") if name in answer.headers}
            await websocket.send_denial_response(Response(bytes(answer.body or b""), answer.status_code, headers=kept))
            return
        except (OSError, InvalidHandshake, ConnectionClosed, TimeoutError) as error:
            log.warning("service not reached", extra={"address": home.address, "reason": type(error).__name__})
            self._figures.failed += 1
            raise UnavailableError(
                "the service that holds this unlogged session is not reached. If it has ended, so has the session",
                retry_after=1,
            ) from error
        self._figures.passed_on += 1
        self._figures.streams += 1
        try:
            await accept(websocket)
            outbox = Outbox(0, limit_messages=1, limit_bytes=1)
            opened = OpenStream(key_id=key.id, session_id=session_id, outbox=outbox, is_passed_on=True)
            with streams.opened(opened):
                await _Passage(websocket, upstream, outbox, self._settings.close_seconds).run()
        finally:
            self._figures.streams -= 1
            await upstream.close()

    async def _connect(self, address: str, signature: str) -> ClientConnection:
        return await connect(
            address,
            additional_headers={"Authorization": signature},
            compression=None,
            max_size=None,  # the other service limits what it sends
            open_timeout=CONNECT_SECONDS,
            close_timeout=self._settings.close_seconds,
            ping_interval=self._settings.ping_seconds,
            ping_timeout=self._settings.ping_seconds,
            proxy=None,
            ssl=self._tls if address.startswith("wss:") else None,
        )


class _Passage:
    """Both connections of a stream."""

    def __init__(self, websocket: WebSocket, upstream: ClientConnection, outbox: Outbox, close_seconds: float) -> None:
        """``outbox`` carries no messages: this service ends the stream with it."""
        self._websocket = websocket
        self._upstream = upstream
        self._outbox = outbox
        self._close_seconds = close_seconds

    async def run(self) -> None:
        """Pass frames on until one side closes, or this service does."""
        receiver = asyncio.create_task(self._pass_up())
        sender = asyncio.create_task(self._pass_down())
        ended = asyncio.create_task(self._upstream.wait_closed())
        closer = asyncio.create_task(self._outbox.pending.wait())
        tasks: list[asyncio.Task[object]] = [receiver, sender, ended, closer]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if sender.done() and isinstance(sender.exception(), WebSocketDisconnect):
                # The client has gone, but frames it sent before, such as a cancel, still count.
                await asyncio.wait([receiver], timeout=self._close_seconds)
            elif ended.done():  # a client that is slow to read has a while for the last frames
                await asyncio.wait([sender], timeout=self._close_seconds)
        finally:
            for task in tasks:
                task.cancel()
            for outcome in await asyncio.gather(*tasks, return_exceptions=True):
                if isinstance(outcome, Exception) and not isinstance(outcome, (ConnectionClosed, WebSocketDisconnect)):
                    log.error("stream failed", exc_info=outcome)
            await self._close()

    async def _pass_up(self) -> None:
        """From the client to the service that holds the session."""
        while (event := await self._websocket.receive())["type"] != "websocket.disconnect":
            text = event.get("text")
            await self._upstream.send(event.get("bytes") or b"" if text is None else text)

    async def _pass_down(self) -> None:
        """From that service to the client."""
        async for frame in self._upstream:
            await self._websocket.send_text(frame if isinstance(frame, str) else frame.decode())

    async def _close(self) -> None:
        """Close the client's connection with this service's own code, or else with that of the other one."""
        if self._websocket.client_state != WebSocketState.CONNECTED:
            return
        code, reason = self._outbox.close_code, self._outbox.close_reason
        if code is None:
            code, reason = self._upstream.close_code, self._upstream.close_reason or ""
        if code is None or code in _NOT_SENT:
            code, reason = STOPPING, "the service that holds the session was lost; reconnect with after"
        with contextlib.suppress(TimeoutError, RuntimeError, WebSocketDisconnect):
            async with asyncio.timeout(self._close_seconds):
                await self._websocket.close(code, reason)
