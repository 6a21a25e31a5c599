"""The adapter to uvicorn's connection classes, and the only module that imports them.

These classes are not part of uvicorn's public API, so ``pyproject.toml`` pins its minor version, and the test beside
this module names every hook and attribute that is used here or in ``serve.py``.

Limits on HTTP, because uvicorn has none for a connection whose request is not known yet. A request's head must be
complete within ``head_seconds``, and between two parts of a body at most ``max_head_bytes`` may arrive (heads,
trailers, the sizes of chunks). A body that continues after its request was answered is read for ``body_idle_seconds``,
so that the client can read the answer. A client that does not read its answer is disconnected after the same time. The
limits on bodies are in ``http/``.

How many connections may be open is decided in ``connections.py``.

Websockets write all frames of one iteration of the event loop at once (``frame_batching.py``).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TypedDict, Unpack, cast

import uvicorn
from uvicorn._types import ASGISendEvent
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from uvicorn.server import ServerState

from svc.errors import InvalidRequestError
from svc.service.http.replies import error_reply, headers_for_every_response
from svc.service.quotas.uses import ACCOUNT
from svc.service.server.connections import ConnectionLimits
from svc.service.server.frame_batching import CoalescingTransport
from svc.service.settings import Settings
from svc.service.stream.outbox import TEXTS

MAX_PIPELINED = 16  # requests queued behind an earlier one of their connection; the head of each is in memory


class ProtocolArguments(TypedDict, total=False):
    """What uvicorn passes to a protocol class."""

    config: uvicorn.Config
    server_state: ServerState
    app_state: dict[str, object]


def http_protocol(settings: Settings, limits: ConnectionLimits) -> Callable[..., asyncio.Protocol]:
    """A factory of HTTP connections."""
    return partial(_HttpConnection, settings, limits)


def websocket_protocol(settings: Settings, limits: ConnectionLimits) -> Callable[..., asyncio.Protocol]:
    """A factory of websocket connections."""
    return partial(_WebsocketConnection, settings.close_seconds, limits)


def _account(scope: Mapping[str, object] | None) -> str:
    state = cast(dict[str, str], scope["state"]) if scope is not None else {}
    return state.get(ACCOUNT, "")


class _HttpConnection(HttpToolsProtocol):
    def __init__(self, settings: Settings, limits: ConnectionLimits, **arguments: Unpack[ProtocolArguments]) -> None:
        super().__init__(**arguments)
        self._settings = settings
        self._limits = limits
        self._head_bytes = 0  # since the last part of a body: heads, trailers, sizes of chunks
        self._has_progress = False
        self._is_in_head = True
        self._timer: asyncio.TimerHandle | None = None
        self._write_timer: asyncio.TimerHandle | None = None  # runs while the client does not read its answer

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # uvicorn's own signature
        super().connection_made(transport)
        self._limits.add(self)
        self._close_after(self._settings.head_seconds)

    @property
    def account(self) -> str:
        """The original key of the current or last request; "" without a valid one."""
        return _account(self.scope)

    @property
    def peer(self) -> str:
        """The client's address."""
        return self.client[0] if self.client else ""

    @property
    def is_silent(self) -> bool:
        """Whether no request is in progress whose head is complete."""
        return self.cycle is None or self.cycle.response_complete

    def abort(self) -> None:
        """Close at once."""
        self.transport.abort()

    def handle_websocket_upgrade(self) -> None:
        self._limits.discard(self)  # counted by the websocket from now on
        super().handle_websocket_upgrade()

    def connection_lost(self, exc: Exception | None) -> None:
        self._limits.discard(self)
        self._stop_timer()
        self._stop_write_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._has_progress = False
        super().data_received(data)
        self._head_bytes = 0 if self._has_progress else self._head_bytes + len(data)
        if self._head_bytes > self._settings.max_head_bytes:
            self._refuse_head()

    def _refuse_head(self) -> None:
        self.send_400_response(
            f"the request's head is more than {self._settings.max_head_bytes:,} bytes; shorten the URL and "
            "headers (SVC_MAX_HEAD_BYTES)"
        )

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stop_write_timer()
        self._write_timer = self.loop.call_later(self._settings.body_idle_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        self._stop_write_timer()
        super().resume_writing()

    def on_message_begin(self) -> None:
        if len(self.pipeline) >= MAX_PIPELINED:
            raise ValueError("too many requests at once")  # the parser reports it as its own error
        super().on_message_begin()
        self._is_in_head = True
        self._close_after(self._settings.head_seconds)

    def on_headers_complete(self) -> None:
        self._has_progress, self._is_in_head = True, False
        self._stop_timer()
        size = len(self.url) + sum(len(name) + len(value) for name, value in self.headers)
        if size > self._settings.max_head_bytes:  # complete within the read in which it became too long
            self._refuse_head()
            raise ValueError("the request's head is too long")  # the parser reports it as its own error
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._has_progress = True
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._has_progress = True
        self._stop_timer()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        if self.account:
            self._limits.has_key(self)
        super().on_response_complete()
        # Refused early, for example with 413: closing while the client still sends would reset the connection, and the
        # client would lose the answer. So the rest of the body is read for a while.
        if not self._is_in_head and self.cycle.more_body and self.cycle.response_complete:
            self._close_after(self._settings.body_idle_seconds)

    def send_400_response(self, msg: str) -> None:
        """Answer a malformed request in the wire's error format, and close; the first reason counts."""
        if self.transport.is_closing():
            return
        self._stop_timer()
        refusal = error_reply(InvalidRequestError(msg))
        head = [b"HTTP/1.1 400 Bad Request", b"connection: close"]
        extra = headers_for_every_response(self._settings).raw
        head += [name + b": " + value for name, value in [*refusal.raw_headers, *extra]]
        self.transport.write(b"\r\n".join([*head, b"", bytes(refusal.body)]))
        self.transport.close()

    def _close_after(self, seconds: float) -> None:
        self._stop_timer()
        self._timer = self.loop.call_later(seconds, self._on_timeout)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _stop_write_timer(self) -> None:
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None

    def _on_timeout(self) -> None:
        if self._is_in_head and self.cycle is not None and not self.cycle.response_complete:
            self._close_after(
                self._settings.head_seconds
            )  # an earlier request of this connection is still being answered
        elif not self.transport.is_closing():
            self.transport.close()
            self.loop.call_later(self._settings.close_seconds, self.transport.abort)


class _WebsocketConnection(WebSocketsSansIOProtocol):
    def __init__(self, close_seconds: float, limits: ConnectionLimits, **arguments: Unpack[ProtocolArguments]) -> None:
        super().__init__(**arguments)
        self._limits = limits
        self.close_timeout = close_seconds  # how long to wait for the peer's close frame
        self._close_seconds = close_seconds

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(CoalescingTransport(cast(asyncio.Transport, transport), self.loop, self._close_seconds))
        self._limits.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._limits.discard(self)
        super().connection_lost(exc)

    @property
    def account(self) -> str:
        """The original key that opened the stream; "" until it is known."""
        return _account(getattr(self, "scope", None))  # set with the handshake

    @property
    def peer(self) -> str:
        """The client's address."""
        return self.client[0] if self.client else ""

    @property
    def is_silent(self) -> bool:
        """Whether the handshake is over; until then the key is looked up."""
        return self.handshake_complete

    def abort(self) -> None:
        """Close at once."""
        self.transport.abort()

    async def send(self, message: ASGISendEvent) -> None:
        """Send an ASGI event, or many texts at once; raises ClientDisconnected if the peer is gone."""
        texts = cast(Mapping[str, Sequence[bytes] | None], message).get(TEXTS)
        if texts is None:
            await super().send(message)
            return
        await self.writable.wait()
        if self.disconnected or self.conn.state.name != "OPEN":
            raise ClientDisconnected
        for text in texts:
            self.conn.send_text(text)
        self.transport.write(b"".join(self.conn.data_to_send()))
