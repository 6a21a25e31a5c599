"""The HTTP endpoints: read the request, call the service, reply. Facts: docs/wire.md, "HTTP operations"."""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections.abc import AsyncIterator, Awaitable, Callable
from importlib.metadata import version
from typing import TypeVar

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from svc.errors import AddressNotFoundError, InvalidRequestError, TooLargeError
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
from svc.service.chat_completions import ChatRequest
from svc.service.http.replies import done, reply
from svc.service.observability.metrics import CONTENT_TYPE
from svc.service.operations import Service
from svc.service.store.records import KeyRecord
from svc.service.validation import decode

T = TypeVar("T", bound=msgspec.Struct)
Open = Callable[[Service, Request], Awaitable[Response]]
Keyed = Callable[[Service, KeyRecord, Request], Awaitable[Response]]
VERSION = version("svc-jupyter")


async def health(service: Service, request: Request) -> Response:
    """GET /health."""
    await service.session_stores.logged.check()
    return reply(Health(status="ok", version=VERSION))


async def user_info(service: Service, key: KeyRecord, request: Request) -> Response:
    """GET /user/info."""
    return reply(await service.user_info(key))


async def register(service: Service, key: KeyRecord, request: Request) -> Response:
    """POST /session/register."""
    return done(await service.register(key, await _read(service, request, RegisterRequest)))


async def get(service: Service, key: KeyRecord, request: Request) -> Response:
    """GET /session/get."""
    return reply(await service.get(key, _parameter(request, "session_id")))


async def list_sessions(service: Service, key: KeyRecord, request: Request) -> Response:
    """GET /session/list."""
    return reply([*await service.list(key)])


async def update(service: Service, key: KeyRecord, request: Request) -> Response:
    """POST /session/update."""
    return done(await service.update(key, await _read(service, request, UpdateRequest)))


async def delete(service: Service, key: KeyRecord, request: Request) -> Response:
    """POST /session/delete."""
    await service.delete(key, (await _read(service, request, DeleteRequest)).id)
    return done()


async def generate(service: Service, key: KeyRecord, request: Request) -> Response:
    """POST /session/generate: held until the turn ends."""
    body = await _read(service, request, GenerateRequest)
    queries = [message for message in body.messages if message.message_type == MessageType.QUERY]
    if not queries:
        raise InvalidRequestError("messages holds no query; send one", param="messages")
    return reply(await service.generate(key, body.id, queries[-1]))


async def attach_file(service: Service, key: KeyRecord, request: Request) -> Response:
    """POST /session/attach_file: a small file as base64."""
    body = await _read(service, request, AttachFileRequest, limit=service.settings.max_attach_body_bytes)
    try:
        data = await asyncio.to_thread(base64.b64decode, body.content, validate=True)
    except (binascii.Error, ValueError) as error:
        raise InvalidRequestError(f"content is not base64: {error}", param="content") from error
    file = await service.attach(
        key, body.session_id, body.filename, _whole(data), hint=body.mime_type, limit=service.settings.max_upload_bytes
    )
    return done(file)


async def upload_file(service: Service, key: KeyRecord, request: Request) -> Response:
    """POST /session/upload_file: the raw bytes, streamed."""
    limit = service.settings.max_upload_bytes
    _check_announced(request, limit, "the file")
    chunks = _chunks(request, service.settings.body_idle_seconds)
    session_id, name = _parameter(request, "session_id"), _parameter(request, "filename")
    hint = request.headers.get("content-type")
    return done(await service.attach(key, session_id, name, chunks, hint=hint, limit=limit))


async def detach_file(service: Service, key: KeyRecord, request: Request) -> Response:
    """POST /session/detach_file."""
    body = await _read(service, request, DetachFileRequest)
    await service.detach(key, body.session_id, body.file_idx)
    return done()


async def feedback(service: Service, key: KeyRecord, request: Request) -> Response:
    """POST /session/feedback."""
    await service.feedback(key, await _read(service, request, FeedbackRequest))
    return done()


async def ticket(service: Service, key: KeyRecord, request: Request) -> Response:
    """POST /stream/ticket."""
    return _unstored(reply(await service.ticket(key, await _read(service, request, TicketRequest))))


async def list_keys(service: Service, key: KeyRecord, request: Request) -> Response:
    """GET /key/list."""
    return reply(KeyList(keys=[*await service.own_keys.listed(key)]))


async def create_key(service: Service, key: KeyRecord, request: Request) -> Response:
    """POST /key/create: another key of the same user."""
    return _unstored(done(await service.own_keys.create(key, await _read(service, request, CreateKeyRequest))))


async def revoke_key(service: Service, key: KeyRecord, request: Request) -> Response:
    """POST /key/revoke."""
    await service.own_keys.revoke(key, (await _read(service, request, RevokeKeyRequest)).id)
    return done()


async def page_code(service: Service, key: KeyRecord, request: Request) -> Response:
    """POST /page/code: what signs the page in, once."""
    return _unstored(reply(service.page_codes.issue(key)))


async def models(service: Service, key: KeyRecord, request: Request) -> Response:
    """GET /models, in OpenAI's shape."""
    return reply(service.models.listed())


async def chat_completions(service: Service, key: KeyRecord, request: Request) -> Response:
    """POST /chat/completions: an OpenAI-style request, answered when its turn ends."""
    session_id, completion = await service.converse(key, await _read(service, request, ChatRequest))
    response = reply(completion)
    response.headers["x-session-id"] = session_id
    return response


async def metrics(service: Service, key: KeyRecord, request: Request) -> Response:
    """GET /metrics, where it is switched on."""
    if not service.settings.metrics:
        raise AddressNotFoundError("/metrics is switched off; `svc serve --metrics yes` (SVC_METRICS=yes) serves it")
    return Response(service.metrics.exposition(), media_type=CONTENT_TYPE)


def _unstored(response: Response) -> Response:
    response.headers["Cache-Control"] = "no-store"
    return response


def _parameter(request: Request, name: str) -> str:
    if not (value := request.query_params.get(name, "")):
        raise InvalidRequestError(f"{name} is missing from the address: …?{name}=…", param=name)
    return value


async def _read(service: Service, request: Request, kind: type[T], *, limit: int | None = None) -> T:
    return decode(await read_body(service, request, service.settings.max_frame_bytes if limit is None else limit), kind)


async def read_body(service: Service, request: Request, limit_bytes: int) -> bytes:
    """The whole body; raises TooLargeError beyond the limit, InvalidRequestError where it does not come whole."""
    _check_announced(request, limit_bytes, "the body")
    body = bytearray()
    async for chunk in _chunks(request, service.settings.body_idle_seconds):
        body += chunk
        _check_size(len(body), limit_bytes, "the body")
    return bytes(body)


async def _chunks(request: Request, idle_seconds: float) -> AsyncIterator[bytes]:
    """The body's parts; raises InvalidRequestError where it pauses too long or ends before its end."""
    parts = aiter(request.stream())
    while True:
        try:
            async with asyncio.timeout(idle_seconds):
                chunk = await anext(parts)
        except StopAsyncIteration:
            return
        except TimeoutError as error:
            raise InvalidRequestError(
                f"the body paused for {idle_seconds:g} s and was given up; send it again"
            ) from error
        except ClientDisconnect as error:
            raise InvalidRequestError("the connection ended before the body did; send it again") from error
        if chunk:
            yield chunk


async def _whole(data: bytes) -> AsyncIterator[bytes]:
    yield data


def _check_announced(request: Request, limit: int, what: str) -> None:
    announced = request.headers.get("content-length", "")
    if announced.isascii() and announced.isdigit():
        _check_size(int(announced), limit, what)


def _check_size(size: int, limit: int, what: str) -> None:
    if size > limit:
        raise TooLargeError(
            f"{what} is {size:,} bytes or more; this address takes {limit:,}. Use /session/upload_file for large files"
        )
