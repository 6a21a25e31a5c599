"""The HTTP endpoints: read the request, call the service, reply. Facts: docs/wire.md, "HTTP operations"."""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from importlib.metadata import version
from typing import TypeVar

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse

from svc._proof import socket_address
from svc.errors import AddressNotFoundError, InvalidApiKeyError, InvalidRequestError, TooLargeError, UnavailableError
from svc.messages import (
    AttachFileRequest,
    CreateKeyRequest,
    DeleteRequest,
    DetachFileRequest,
    FeedbackRequest,
    GenerateRequest,
    Health,
    KeyList,
    MessageType,
    RegisterRequest,
    RevokeKeyRequest,
    TicketRequest,
    UpdateRequest,
)
from svc.service.access.passed_requests import has_signed_body, is_passed
from svc.service.http.openapi import MAX_DIGITS
from svc.service.http.replies import degraded_reply, name_ignored, op_result, reply
from svc.service.observability.metrics import CONTENT_TYPE
from svc.service.operations import Service
from svc.service.quotas.uses import RequestUse
from svc.service.sessions.document import list_pages
from svc.service.sessions.files import check_size, chunks_of
from svc.service.sessions.registration import ignored_parts
from svc.service.store.records import KeyRecord
from svc.service.validation import decode

T = TypeVar("T", bound=msgspec.Struct)
PublicHandler = Callable[[Service, Request], Awaitable[Response]]
KeyHandler = Callable[[Service, KeyRecord, Request], Awaitable[Response]]
VERSION = version("svc-jupyter")
REQUEST_USE = "request_use"
"""Key of the request's ``RequestUse`` in the scope's ``state``."""
BODY = "body"
"""Key of the body that was read, where the request may have to be passed on to another service."""
UNLOGGED_PATH = "/session/unlogged"


async def health(service: Service, request: Request) -> Response:
    """GET /health: whether the service can store what it is sent."""
    problem = await service.find_problem()
    if problem is not None:
        return degraded_reply(problem, VERSION)
    warnings = [*await service.find_warnings()]
    return reply(Health(status="degraded" if warnings else "ok", version=VERSION, warnings=warnings))


async def live(service: Service, request: Request) -> Response:
    """GET /live: that the process answers."""
    return reply(Health(status="live", version=VERSION))


async def ready(service: Service, request: Request) -> Response:
    """GET /ready: whether the service takes new work: it has started, and does not stop."""
    if not service.is_ready:
        raise UnavailableError("the service is starting or stopping; another one takes new requests", retry_after=1)
    return reply(Health(status="ready", version=VERSION))


async def proof(service: Service, request: Request) -> Response:
    """GET /proof: that the service knows a key, before the client sends it."""
    name, nonce = _query_parameter(request, "key"), _query_parameter(request, "nonce")
    host, port = request.scope["server"]
    return reply(await service.auth.proofs.prove(name, nonce, socket_address(host, port)))


async def user_info(service: Service, key: KeyRecord, request: Request) -> Response:
    """GET /user/info: the key's user, sessions and models."""
    pages = list_pages(await service.list(key), within=await service.user_info(key))
    return StreamingResponse(pages, media_type="application/json")


async def register(service: Service, key: KeyRecord, request: Request) -> Response:
    """POST /session/register: create a session."""
    asked = await _read(service, request, RegisterRequest)
    session = await service.register(key, asked)
    response = op_result(session)
    name_ignored(response, ignored_parts(asked, session.model))
    return response


async def get(service: Service, key: KeyRecord, request: Request) -> Response:
    """GET /session/get: a session with its messages."""
    session_id = _query_parameter(request, "session_id")
    after, limit = _query_number(request, "after"), _query_number(request, "limit")
    document = await service.get(key, session_id, after=after or 0, limit=limit)
    return StreamingResponse(await _started(document.pages()), media_type="application/json")


async def list_sessions(service: Service, key: KeyRecord, request: Request) -> Response:
    """GET /session/list: the live sessions, or a page of them."""
    after, limit = request.query_params.get("after_id") or None, _query_number(request, "limit")
    sessions = await service.list(key, after=after, limit=limit)
    return StreamingResponse(list_pages(sessions), media_type="application/json")


async def list_unlogged(service: Service, key: KeyRecord, request: Request) -> Response:
    """GET /session/unlogged: for another service of the database, the user's unlogged sessions here."""
    if not is_passed(request.headers.get("authorization")):
        raise AddressNotFoundError(f"unknown endpoint: GET {UNLOGGED_PATH}")
    sessions = await service.session_stores.list_private(key.user_id, service.time.expiry())
    return Response(msgspec.json.encode([*sessions]), media_type="application/json")


async def update(service: Service, key: KeyRecord, request: Request) -> Response:
    """POST /session/update: change name, description or ttl."""
    return op_result(await service.update(key, await _read(service, request, UpdateRequest)))


async def delete(service: Service, key: KeyRecord, request: Request) -> Response:
    """POST /session/delete: delete a session with its messages and files."""
    await service.delete(key, (await _read(service, request, DeleteRequest)).id)
    return op_result()


async def generate(service: Service, key: KeyRecord, request: Request) -> Response:
    """POST /session/generate: run a query; responds when the turn has ended."""
    body = await _read(service, request, GenerateRequest)
    queries = [message for message in body.messages if message.message_type == MessageType.QUERY]
    if not queries:
        raise InvalidRequestError("messages contains no query; send one", param="messages")
    return reply(await service.generate(key, body.id, queries[-1]))


async def attach_file(service: Service, key: KeyRecord, request: Request) -> Response:
    """POST /session/attach_file: attach a small file, as base64."""
    body = await _read(service, request, AttachFileRequest, limit=service.settings.max_attach_body_bytes)
    try:
        data = await asyncio.to_thread(base64.b64decode, body.content, validate=True)
    except (binascii.Error, ValueError) as error:
        raise InvalidRequestError(f"content is not valid base64: {error}", param="content") from error
    file = await service.attach(
        key,
        body.session_id,
        body.filename,
        chunks_of((data,)),
        hint=body.mime_type,
        limit=service.settings.max_upload_bytes,
    )
    return op_result(file)


async def upload_file(service: Service, key: KeyRecord, request: Request) -> Response:
    """POST /session/upload_file: attach a file; the body is streamed."""
    limit = service.settings.max_upload_bytes
    if (announced := _content_length(request)) is not None:
        check_size(announced, limit)
    chunks = read_chunks(service, request)
    session_id, name = _query_parameter(request, "session_id"), _query_parameter(request, "filename")
    hint = request.headers.get("content-type")
    return op_result(await service.attach(key, session_id, name, chunks, hint=hint, limit=limit))


async def read_file(service: Service, key: KeyRecord, request: Request) -> Response:
    """GET /session/file: the content of a file of the session."""
    session_id, sha256 = _query_parameter(request, "session_id"), _query_parameter(request, "sha256")
    file = await service.read_file(key, session_id, sha256)
    headers = {  # evidence: no browser may show or run it
        "Content-Length": str(file.size),
        "Content-Disposition": "attachment",
    }
    return StreamingResponse(file.chunks, media_type="application/octet-stream", headers=headers)


async def detach_file(service: Service, key: KeyRecord, request: Request) -> Response:
    """POST /session/detach_file: detach a file."""
    body = await _read(service, request, DetachFileRequest)
    await service.detach(key, body.session_id, body.file_idx)
    return op_result()


async def feedback(service: Service, key: KeyRecord, request: Request) -> Response:
    """POST /session/feedback: store feedback."""
    await service.feedback(key, await _read(service, request, FeedbackRequest))
    return op_result()


async def ticket(service: Service, key: KeyRecord, request: Request) -> Response:
    """POST /stream/ticket: a ticket that opens one stream."""
    return reply(await service.ticket(key, await _read(service, request, TicketRequest)))


async def list_keys(service: Service, key: KeyRecord, request: Request) -> Response:
    """GET /key/list: the user's keys."""
    return reply(KeyList(keys=[*await service.user_keys.list(key)]))


async def create_key(service: Service, key: KeyRecord, request: Request) -> Response:
    """POST /key/create: create another key of the user."""
    return op_result(await service.user_keys.create(key, await _read(service, request, CreateKeyRequest)))


async def revoke_key(service: Service, key: KeyRecord, request: Request) -> Response:
    """POST /key/revoke: revoke a key."""
    await service.user_keys.revoke(key, (await _read(service, request, RevokeKeyRequest)).id)
    return op_result()


async def page_code(service: Service, key: KeyRecord, request: Request) -> Response:
    """POST /page/code: a one-time sign-in code for the page."""
    return reply(await service.sign_in_codes.issue(key))


async def metrics(service: Service, key: KeyRecord, request: Request) -> Response:
    """GET /metrics: Prometheus metrics, if enabled, for the users that may read them."""
    if not service.settings.metrics:
        raise AddressNotFoundError("metrics are disabled; enable them with `svc serve --metrics yes` (SVC_METRICS=yes)")
    if key.user_id not in service.settings.metrics_users:
        raise AddressNotFoundError(
            "the metrics are not for this key's user; an operator adds the user with `svc serve --metrics-users NAME` "
            "(SVC_METRICS_USERS)"
        )
    return Response(service.metrics.exposition(), media_type=CONTENT_TYPE)


async def _started(parts: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    """The same parts, of which the first was made already: an error before it still becomes an error response."""
    first = await anext(parts)

    async def all_parts() -> AsyncGenerator[bytes, None]:
        async with contextlib.aclosing(parts):
            yield first
            async for part in parts:
                yield part

    return all_parts()


def _query_number(request: Request, name: str) -> int | None:
    """The number that the query parameter gives; None if it is missing."""
    value = request.query_params.get(name, "")
    if not value:
        return None
    if not (value.isascii() and value.isdigit() and len(value) <= MAX_DIGITS):
        raise InvalidRequestError(f"{name} is {value[:40]!r}; it must be a whole number of at least 0", param=name)
    return int(value)


def _query_parameter(request: Request, name: str) -> str:
    if not (value := request.query_params.get(name, "")):
        raise InvalidRequestError(f"the query parameter {name} is missing: …?{name}=…", param=name)
    return value


async def _read(service: Service, request: Request, kind: type[T], *, limit: int | None = None) -> T:
    return decode(await read_body(service, request, service.settings.max_frame_bytes if limit is None else limit), kind)


async def read_body(service: Service, request: Request, limit_bytes: int) -> bytes:
    """Read the whole body.

    Raises:
        TooLargeError: It is larger than ``limit_bytes``.
        InvalidRequestError: It pauses too long or is incomplete.
    """
    _check_body(_content_length(request) or 0, limit_bytes)
    body = bytearray()
    async for chunk in _chunks(request, service.settings.body_idle_seconds, in_memory=True):
        body += chunk
        _check_body(len(body), limit_bytes)
    whole, authorization = bytes(body), request.headers.get("authorization", "")
    if is_passed(authorization):
        if not has_signed_body(authorization, whole):
            raise InvalidApiKeyError("the body is not the one that was signed")
    elif service.session_stores.homes is not None:
        request.scope["state"][BODY] = whole
    return whole


def read_chunks(service: Service, request: Request) -> AsyncIterator[bytes]:
    """The body of an upload, as it arrives."""
    return _chunks(request, service.settings.body_idle_seconds, in_memory=False)


async def _chunks(request: Request, idle_seconds: float, *, in_memory: bool) -> AsyncIterator[bytes]:
    """Yield the body in parts.

    Raises:
        InvalidRequestError: It pauses too long or is incomplete.
        RateLimitedError: It is more than the key may send.
    """
    use: RequestUse | None = request.scope["state"].get(REQUEST_USE)  # None without a key
    parts = aiter(request.stream())
    while True:
        try:
            async with asyncio.timeout(idle_seconds):
                chunk = await anext(parts)
        except StopAsyncIteration:
            return
        except TimeoutError as error:
            raise InvalidRequestError(
                f"the request body paused for more than {idle_seconds:g} s; send it again"
            ) from error
        except ClientDisconnect as error:
            raise InvalidRequestError("the connection closed before the body was complete; send it again") from error
        if chunk:
            if use is not None:
                await use.receive(len(chunk), in_memory=in_memory)
            yield chunk


def _content_length(request: Request) -> int | None:
    length = request.headers.get("content-length", "")
    return int(length) if length.isascii() and length.isdigit() else None


def _check_body(size: int, limit: int) -> None:
    if size > limit:
        raise TooLargeError(
            f"the body is at least {size:,} bytes; the limit here is {limit:,}. "
            "Use /session/upload_file for large files"
        )
