"""Checks before every request: its Host, its Origin, no key in its URL. Then the access log.

Pure rules, and a thin ASGI middleware that applies them. Facts: docs/wire.md, "Addresses and authentication".
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
from svc.service.observability.idle import ActivityTracker
from svc.service.observability.metrics import Metrics

log: logging.Logger = logging.getLogger("svc.access")
PROBES = frozenset({"/live", "/ready"})
SIGN_IN_PATH = "/"  # POST opens the page, signed in with a one-time code
LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")


def allowed_hosts(bind_host: str, *, behind_proxy: bool, configured: Sequence[str]) -> tuple[str, ...]:
    """The host names that requests may use; empty is any.

    Configured names count, and loopback names are always added. Without configuration, a service on loopback accepts
    only loopback names, which prevents DNS rebinding. On another address or behind a proxy, any name is accepted.
    """
    if configured:
        return (*configured, *LOOPBACK_NAMES)
    if behind_proxy or not is_loopback(bind_host):
        return ()
    return (bind_host, *LOOPBACK_NAMES)


def is_loopback(host: str) -> bool:
    """Whether the listening address belongs to this machine only."""
    return host in LOOPBACK_NAMES or host.startswith("127.")


def check_host(host: str, allowed: Sequence[str]) -> None:
    """Raise InvalidRequestError for a Host that is not the service's."""
    if allowed and _host_name(host) not in {name.lower() for name in allowed}:
        raise InvalidRequestError(
            f"the host {host[:80]!r} is not allowed; add it to SVC_ALLOWED_HOSTS if it should be",
            param="Host",
        )


def check_origin(origin: str | None, host: str, allowed: Sequence[str]) -> None:
    """Raise InvalidRequestError for an Origin that is neither the service's own nor allowed; a missing one is fine."""
    if origin is None or origin in allowed or urlsplit(origin).netloc.lower() == host.lower() != "":
        return
    raise InvalidRequestError(
        f"the origin {origin[:80]!r} is not allowed; add it to SVC_ALLOWED_ORIGINS if it should be",
        param="Origin",
    )


def check_address(address: str) -> None:
    """Raise InvalidRequestError if the path or query contains a key."""
    if KEY_PATTERN.search(unquote(address)):
        raise InvalidRequestError(
            "the URL contains an API key, and URLs end up in logs: revoke it (`svc keys revoke`), and send the new one "
            "as `Authorization: Bearer`"
        )


def _origin(scope: Scope, headers: Headers) -> str | None:
    """The request's Origin; None for the sign-in form, which a local file (origin ``null``) may post."""
    origin = headers.get("origin")
    is_sign_in = (scope.get("method"), scope["path"]) == ("POST", SIGN_IN_PATH)
    return None if is_sign_in and origin == "null" else origin


def _host_name(host: str) -> str:
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return ""


class Guard:
    """The ASGI middleware around the routes. ``headers`` are added to every response that does not set them."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        hosts: Sequence[str],
        origins: Sequence[str],
        headers: Headers,
        activity: ActivityTracker,
        metrics: Metrics,
    ) -> None:
        self._app = app
        self._headers = headers
        self._hosts = hosts
        self._origins = origins
        self._activity = activity
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check the request, pass it on, log it."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        recorder = _ResponseRecorder(send, self._headers)
        scope["request_id"] = recorder.request_id
        started = time.perf_counter()
        try:
            with self._activity.request():
                await self._serve(scope, receive, recorder)
        finally:
            seconds = time.perf_counter() - started
            method = scope.get("method", "WEBSOCKET")
            self._metrics.request_ended(method, scope["path"], recorder.status, seconds)
            _log(scope, recorder, seconds, self._metrics.path_label(scope["path"]))

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        try:
            if scope["path"] not in PROBES:  # a container's platform probes an address that it chose itself
                check_host(host, self._hosts)
            check_origin(_origin(scope, headers), host, self._origins)
            check_address(f"{scope['path']}?{scope['query_string'].decode('latin-1')}")
        except ServiceError as error:
            await error_reply(error)(scope, receive, send)
            return
        await self._app(scope, receive, send)


class _ResponseRecorder:
    """Sends responses, adds the request id and the headers that every response has, and records the status."""

    def __init__(self, send: Send, headers: Headers) -> None:
        self._send = send
        self._headers = headers
        self.request_id = new_id()[:16]
        self.status = 0

    async def __call__(self, message: Message) -> None:
        """Send one ASGI message."""
        if message["type"] in ("http.response.start", "websocket.http.response.start"):
            self.status = message["status"]
            own = message.get("headers", ())
            names = {name.lower() for name, _ in own}
            added = [(name, value) for name, value in self._headers.raw if name not in names]
            message["headers"] = [*own, *added, (b"x-request-id", self.request_id.encode())]
        elif message["type"] == "websocket.accept":
            self.status = 101
        elif message["type"] == "websocket.close":
            self.status = message.get("code", 1000)
        await self._send(message)


def _log(scope: Scope, recorder: _ResponseRecorder, seconds: float, path: str) -> None:
    log.info(
        "request",
        extra={
            "request": recorder.request_id,
            "method": scope.get("method", "WEBSOCKET"),
            "path": path,
            "status": recorder.status,
            "ms": round(seconds * 1000, 1),
            "key": scope.get("state", {}).get("key_id"),
        },
    )
