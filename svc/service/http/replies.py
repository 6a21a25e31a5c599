"""Responses: JSON of the wire's types, and the one format of every error. Pure."""

from __future__ import annotations

import math

import msgspec
from starlette.responses import Response

from svc.errors import ServiceError
from svc.messages import ErrorBody, ErrorDetail, OpResult

_ENCODER = msgspec.json.Encoder()


def reply(body: msgspec.Struct | list[msgspec.Struct]) -> Response:
    """200 with the JSON of the body."""
    return Response(_ENCODER.encode(body), media_type="application/json")


def op_result(data: msgspec.Struct | None = None) -> Response:
    """200 with an OpResult."""
    return reply(OpResult() if data is None else OpResult(data=msgspec.Raw(_ENCODER.encode(data))))


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
