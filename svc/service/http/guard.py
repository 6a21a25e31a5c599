"""What every request passes first: its Host, its Origin, no key in its address; then the line in the log.

Pure rules, and a thin ASGI layer that applies them. Facts: docs/wire.md, "Addresses and authentication".
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from urllib.parse import unquote, urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from svc.errors import InvalidRequestError, ServiceError
from svc.messages import new_id
from svc.service.access.keys import KEY_PATTERN
from svc.service.http.replies import error_reply
from svc.service.observability.idle import Activity
from svc.service.observability.metrics import Metrics

log = logging.getLogger("svc.access")
ENTRY = "/"  # of POST: the page, signed in by a one-time code
LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")


def allowed_hosts(bind_host: str, *, behind_proxy: bool, configured: Sequence[str]) -> tuple[str, ...]:
    """The host names that a request may ask for; empty is any.

    What is configured counts, and loopback names always do with it. Without it a service on loopback answers to
    loopback names alone, against DNS rebinding; beyond it or behind a proxy the names are the network's to decide.
    """
    if configured:
        return (*configured, *LOOPBACK_NAMES)
    if behind_proxy or not is_loopback(bind_host):
        return ()
    return (bind_host, *LOOPBACK_NAMES)


def is_loopback(host: str) -> bool:
    """Whether the address to listen on is this machine's own."""
    return host in LOOPBACK_NAMES or host.startswith("127.")


def check_host(host: str, allowed: Sequence[str]) -> None:
    """Raise InvalidRequestError for a Host that is not the service's."""
    if allowed and _name(host) not in {name.lower() for name in allowed}:
        raise InvalidRequestError(
            f"this service does not answer to the host {host[:80]!r}; add it to SVC_ALLOWED_HOSTS if it should",
            param="Host",
        )


def check_origin(origin: str | None, host: str, allowed: Sequence[str]) -> None:
    """Raise InvalidRequestError for an Origin that is neither the service's own nor on the list; none sent is fine."""
    if origin is None or origin in allowed or urlsplit(origin).netloc.lower() == host.lower() != "":
        return
    raise InvalidRequestError(
        f"pages of {origin[:80]!r} may not use this service; add it to SVC_ALLOWED_ORIGINS if they should",
        param="Origin",
    )


def check_address(address: str) -> None:
    """Raise InvalidRequestError where a key stands in path or query."""
    if KEY_PATTERN.search(unquote(address)):
        raise InvalidRequestError(
            "an API key stands in the address, where logs keep it: revoke it (`svc keys revoke`), and send the new one "
            "as `Authorization: Bearer`"
        )


def _origin(scope: Scope, headers: Headers) -> str | None:
    """The request's Origin; a form in a file of the user's (``null``) may bring the page its code."""
    origin = headers.get("origin")
    is_entry = (scope.get("method"), scope["path"]) == ("POST", ENTRY)
    return None if is_entry and origin == "null" else origin


def _name(host: str) -> str:
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return ""


class Guard:
    """The ASGI layer around the routes."""

    def __init__(
        self, app: ASGIApp, *, hosts: Sequence[str], origins: Sequence[str], activity: Activity, metrics: Metrics
    ) -> None:
        self._app = app
        self._hosts = hosts
        self._origins = origins
        self._activity = activity
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check, pass on, log."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        sender = _Sender(send)
        scope["request_id"] = sender.request_id
        started = time.perf_counter()
        try:
            with self._activity.request():
                await self._serve(scope, receive, sender)
        finally:
            seconds = time.perf_counter() - started
            method = scope.get("method", "WEBSOCKET")
            self._metrics.request_ended(method, scope["path"], sender.status, seconds)
            _log(scope, sender, seconds, self._metrics.known(scope["path"]))

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        try:
            check_host(host, self._hosts)
            check_origin(_origin(scope, headers), host, self._origins)
            check_address(f"{scope['path']}?{scope['query_string'].decode('latin-1')}")
        except ServiceError as error:
            await error_reply(error)(scope, receive, send)
            return
        await self._app(scope, receive, send)


class _Sender:
    """Sends on, adds the request's id, and remembers how it was answered."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.request_id = new_id()[:16]
        self.status = 0

    async def __call__(self, message: Message) -> None:
        """Send one ASGI message."""
        if message["type"] in ("http.response.start", "websocket.http.response.start"):
            self.status = message["status"]
            message["headers"] = [*message.get("headers", ()), (b"x-request-id", self.request_id.encode())]
        elif message["type"] == "websocket.accept":
            self.status = 101
        elif message["type"] == "websocket.close":
            self.status = message.get("code", 1000)
        await self._send(message)


def _log(scope: Scope, sender: _Sender, seconds: float, path: str) -> None:
    log.info(
        "request",
        extra={
            "request": sender.request_id,
            "method": scope.get("method", "WEBSOCKET"),
            "path": path,
            "status": sender.status,
            "ms": round(seconds * 1000, 1),
            "key": scope.get("state", {}).get("key_id"),
        },
    )
