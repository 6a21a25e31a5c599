"""Responses: JSON of the wire's types, and the one format of every error. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from svc.errors import ServiceError
from svc.messages import Degraded, ErrorBody, ErrorDetail, OpResult
from svc.service.quotas.uses import RequestUse
from svc.service.settings import Settings

HEALTH_RETRY_SECONDS = 30
MAX_NAMED_PARAMETERS = 20
MAX_NAME_CHARS = 60
_FOR_EVERY_RESPONSE = {
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_ENCODER = msgspec.json.Encoder()


class HeldResponse:
    """A response that uses its key's quotas until it was sent, or the client has gone."""

    def __init__(self, response: Response, use: RequestUse) -> None:
        self._response = response
        self._use = use

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the response."""
        try:
            await self._response(scope, receive, send)
        finally:
            self._use.close()


def headers_for_every_response(settings: Settings) -> Headers:
    """The headers of every response, errors included, unless the response sets another value itself."""
    hsts = {"Strict-Transport-Security": f"max-age={settings.hsts_seconds}"} if settings.hsts_seconds else {}
    return Headers(_FOR_EVERY_RESPONSE | hsts)


def reply(body: msgspec.Struct | list[msgspec.Struct]) -> Response:
    """200 with the JSON of the body."""
    return Response(_ENCODER.encode(body), media_type="application/json")


def op_result(data: msgspec.Struct | None = None) -> Response:
    """200 with an OpResult."""
    return reply(OpResult() if data is None else OpResult(data=msgspec.Raw(_ENCODER.encode(data))))


def degraded_reply(problem: ServiceError, version: str) -> Response:
    """503 for GET /health: monitors see the status, people the reason."""
    detail = ErrorDetail(code=problem.code, message=problem.message, type=problem.type, param=None)
    body = Degraded(error=detail, status="degraded", version=version)
    headers = {"Retry-After": str(HEALTH_RETRY_SECONDS)}
    return Response(_ENCODER.encode(body), 503, headers=headers, media_type="application/json")


def error_reply(error: ServiceError) -> Response:
    """The error in the wire's format, with ``Retry-After`` and ``WWW-Authenticate`` where they apply."""
    detail = ErrorDetail(code=error.code, message=error.message, type=error.type, param=error.param)
    headers = {}
    if error.retry_after is not None:
        headers["Retry-After"] = str(max(1, math.ceil(error.retry_after)))
    if error.status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return Response(
        _ENCODER.encode(ErrorBody(error=detail)), error.status, headers=headers, media_type="application/json"
    )


def name_ignored(response: Response, ignored: Sequence[str]) -> None:
    """Name the parts of a request that had no effect in a header of its response."""
    if ignored:
        response.headers["x-ignored-parameters"] = _names(ignored)


def _names(ignored: Sequence[str]) -> str:
    """The names of parameters as a header's value."""
    shown = [name[:MAX_NAME_CHARS].encode("ascii", "backslashreplace").decode() for name in ignored]
    clean = ["".join(char for char in name if char.isprintable() and char != ",") for name in shown]
    more = [f"and {len(ignored) - MAX_NAMED_PARAMETERS:,} more"] if len(ignored) > MAX_NAMED_PARAMETERS else []
    return ", ".join([*clean[:MAX_NAMED_PARAMETERS], *more])
