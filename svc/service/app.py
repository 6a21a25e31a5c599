"""Build the service from its parts: the table of routes, start-up, shut-down. Decides no behaviour of its own."""

from __future__ import annotations

import asyncio
import functools
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketState

from svc.assistant.turn import Assistant
from svc.errors import AddressNotFoundError, InvalidRequestError, MethodNotAllowedError, ServiceError
from svc.messages import (
    AttachFileRequest,
    CreateKeyRequest,
    DeleteRequest,
    DetachFileRequest,
    FeedbackRequest,
    GenerateRequest,
    Health,
    KeyList,
    ModelList,
    NewKey,
    OpResult,
    PageCode,
    RegisterRequest,
    RevokeKeyRequest,
    Session,
    SessionFile,
    SessionResponse,
    Ticket,
    TicketRequest,
    UpdateRequest,
    UserInfo,
)
from svc.service.bus.memory import MemoryBus
from svc.service.chat_completions import ChatCompletion, ChatRequest
from svc.service.http import endpoints as http
from svc.service.http import page
from svc.service.http.guard import ENTRY, Guard
from svc.service.http.openapi import build_document
from svc.service.http.replies import error_reply
from svc.service.observability.failures import internal_error
from svc.service.observability.idle import Activity
from svc.service.operations import Service
from svc.service.sessions.files import DiskFiles, MemoryFiles
from svc.service.sessions.session_stores import SessionStores
from svc.service.settings import Settings
from svc.service.store.sqlite import SqliteStore
from svc.service.stream.endpoint import stream
from svc.service.stream.open_streams import OpenStreams


class Operation(NamedTuple):
    """One row of the table of routes: what serves it, what it takes and answers (``openapi.Described``)."""

    method: str
    path: str
    handler: http.Keyed | None = None
    open_handler: http.Open | None = None
    body: type | None = None
    answer: type | None = OpResult
    media_type: str = "text/plain"
    data: type | None = None
    parameters: Sequence[str] = ()
    errors: Sequence[int] = ()

    @property
    def is_open(self) -> bool:
        """Whether it needs no key."""
        return self.open_handler is not None

    @property
    def summary(self) -> str:
        """The first line of what serves it."""
        return ((self.handler or self.open_handler).__doc__ or "").partition("\n")[0]


async def _openapi(service: Service, request: Request) -> Response:
    """GET /openapi.json: this table for machines."""
    return Response(_document(service.settings), media_type="application/json")


@functools.cache
def _document(settings: Settings) -> bytes:
    return build_document(OPERATIONS, http.VERSION, settings)


_OF_SESSION = (404, 410)
OPERATIONS = (
    Operation("GET", "/health", open_handler=http.health, answer=Health),
    Operation("GET", "/user/info", http.user_info, answer=UserInfo),
    Operation(
        "POST", "/session/register", http.register,
        body=RegisterRequest, data=Session, errors=(403, 404, 409, 410, 413),
    ),
    Operation("GET", "/session/get", http.get, answer=Session, parameters=("session_id",), errors=_OF_SESSION),
    Operation("GET", "/session/list", http.list_sessions, answer=list[Session]),
    Operation("POST", "/session/update", http.update, body=UpdateRequest, data=Session, errors=(*_OF_SESSION, 413)),
    Operation("POST", "/session/delete", http.delete, body=DeleteRequest, errors=(*_OF_SESSION, 413)),
    Operation(
        "POST", "/session/generate", http.generate,
        body=GenerateRequest, answer=SessionResponse, errors=(*_OF_SESSION, 409, 413, 499, 502),
    ),
    Operation(
        "POST", "/session/attach_file", http.attach_file,
        body=AttachFileRequest, data=SessionFile, errors=(*_OF_SESSION, 413),
    ),
    Operation(
        "POST", "/session/upload_file", http.upload_file,
        body=bytes, data=SessionFile, parameters=("session_id", "filename"), errors=(*_OF_SESSION, 413),
    ),
    Operation("POST", "/session/detach_file", http.detach_file, body=DetachFileRequest, errors=(*_OF_SESSION, 413)),
    Operation("POST", "/session/feedback", http.feedback, body=FeedbackRequest, errors=(*_OF_SESSION, 413)),
    Operation("POST", "/stream/ticket", http.ticket, body=TicketRequest, answer=Ticket, errors=(*_OF_SESSION, 413)),
    Operation(
        "POST", "/chat/completions", http.chat_completions,
        body=ChatRequest, answer=ChatCompletion, errors=(403, 404, 413, 499, 502),
    ),
    Operation("GET", "/models", http.models, answer=ModelList),
    Operation("GET", "/key/list", http.list_keys, answer=KeyList),
    Operation("POST", "/key/create", http.create_key, body=CreateKeyRequest, data=NewKey, errors=(413,)),
    Operation("POST", "/key/revoke", http.revoke_key, body=RevokeKeyRequest, errors=(413,)),
    Operation("GET", "/", open_handler=page.page, answer=None, media_type="text/html"),
    Operation("POST", "/page/code", http.page_code, answer=PageCode),
    *(
        Operation("GET", f"/dist/{name}", open_handler=page.file, answer=None, media_type=kind, errors=(404,))
        for name, kind in page.FILES.items()
    ),
    Operation("GET", "/metrics", http.metrics, answer=None, errors=(404,)),
    Operation("GET", "/openapi.json", open_handler=_openapi, answer=dict[str, msgspec.Raw]),
)  # fmt: skip


class RunningService:
    """The built service: what ``serve`` needs of it beside the ASGI application."""

    def __init__(self, service: Service, assistant: Assistant, disk: DiskFiles) -> None:
        self.service = service
        self.activity = Activity(time.monotonic)
        self.streams = OpenStreams(service)
        service.metrics.watch("svc_open_streams", "Streams that are open in this process.", lambda: len(self.streams))
        self._assistant = assistant
        self._disk = disk
        self._tasks: list[asyncio.Task[None]] = []
        self._is_closed = False

    async def start(self) -> None:
        """Open the stores, start the assistant, go on with the turns of a process that died."""
        session_stores = self.service.session_stores
        await session_stores.logged.open()
        await session_stores.private.open()
        await self._disk.open(await session_stores.logged.file_ids())
        await self._assistant.start()
        await self.service.turns.recover(session_stores.logged, session_stores.find)
        self._tasks = [
            asyncio.create_task(self.streams.watch()),
            asyncio.create_task(self.service.purge_for_ever()),
        ]

    async def drain(self) -> None:
        """End or hand back the turns, then close the streams with 1001."""
        await self.service.turns.close()
        await self.streams.close()

    async def close(self) -> None:
        """Stop everything; safe to call after ``drain`` or instead of it."""
        if self._is_closed:
            return
        self._is_closed = True
        await self.drain()
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        await self._assistant.close()
        await self.service.session_stores.logged.close()
        await self.service.session_stores.private.close()


def build(
    assistant: Assistant, *, database: Path, settings: Settings | None = None, clock: Callable[[], float] = time.time
) -> RunningService:
    """The service on a SQLite file; attached files go into the folder beside it, ``NAME.files``."""
    chosen = settings or Settings()
    disk = DiskFiles(database.with_name(f"{database.name}.files"))
    memory = MemoryFiles(chosen.max_memory_file_bytes)
    session_stores = SessionStores(SqliteStore(database), SqliteStore(None), disk, memory)
    service = Service(session_stores, assistant, bus=MemoryBus(), settings=chosen, clock=clock)
    return RunningService(service, assistant, disk)


def create_app(running: RunningService, *, hosts: Sequence[str] = ()) -> Starlette:
    """The ASGI application over what ``start`` started; ``hosts`` are the names it answers to, empty for any."""
    settings = running.service.settings
    origins = settings.allowed_origins
    middleware = [
        Middleware(Guard, hosts=hosts, origins=origins, activity=running.activity, metrics=running.service.metrics)
    ]
    if origins:
        middleware.append(
            Middleware(
                CORSMiddleware,
                allow_origins=list(origins),
                allow_methods=["GET", "POST"],
                allow_headers=["Authorization", "Content-Type"],
                expose_headers=["Retry-After", "x-session-id"],  # a page's script sees no others of ours
            )
        )
    running.service.metrics.know_paths(frozenset(operation.path for operation in OPERATIONS) | {"/stream"})
    app = Starlette(
        routes=_routes(running),
        middleware=middleware,
        exception_handlers={HTTPException: _not_on_the_page},
    )
    app.router.redirect_slashes = False  # an address is an operation's, exactly, or unknown
    return app


def _routes(running: RunningService) -> list[BaseRoute]:
    routes: list[BaseRoute] = [
        Route(operation.path, _endpoint(running.service, operation), methods=[operation.method])
        for operation in OPERATIONS
    ]

    async def open_stream(websocket: WebSocket) -> None:
        try:
            await stream(websocket, running.service, running.streams)
        except Exception as error:  # noqa: BLE001  # told to the client, or logged under an id
            await _refuse_upgrade(websocket, error)

    async def open_elsewhere(websocket: WebSocket) -> None:
        where = websocket.url.path[:80]
        await _refuse_upgrade(websocket, AddressNotFoundError(f"{where} is no stream of this service; open /stream"))

    entry = Operation("POST", ENTRY, open_handler=page.enter)  # a form's: no program has a use for it
    routes.append(Route(ENTRY, _endpoint(running.service, entry), methods=["POST"]))
    return [*routes, WebSocketRoute("/stream", open_stream), WebSocketRoute("/{path:path}", open_elsewhere)]


def _endpoint(service: Service, operation: Operation) -> Callable[[Request], object]:
    async def endpoint(request: Request) -> Response:
        try:
            if operation.open_handler is not None:
                return await operation.open_handler(service, request)
            key = await service.auth.caller(request.headers.get("authorization"))
            request.scope["state"]["key_id"] = key.id  # seen by what is around, also where the scope is copied
            service.rates.count_request(key)
            if operation.handler is None:
                raise AddressNotFoundError(f"{operation.path} is not served")
            return await operation.handler(service, key, request)
        except ServiceError as error:
            return error_reply(error)
        except Exception as error:  # noqa: BLE001  # told under an id, logged under the same
            return error_reply(internal_error(error, request=request.scope.get("request_id", "")))

    return endpoint


async def _refuse_upgrade(websocket: WebSocket, error: Exception) -> None:
    refusal = error if isinstance(error, ServiceError) else internal_error(error)
    if websocket.client_state == WebSocketState.CONNECTING:
        await websocket.send_denial_response(error_reply(refusal))


async def _not_on_the_page(request: Request, error: Exception) -> Response:
    where = f"{request.method[:10]} {request.url.path[:80]}"
    if isinstance(error, HTTPException) and error.status_code == 405:
        allowed = (error.headers or {}).get("Allow", "")
        refusal = error_reply(MethodNotAllowedError(f"{where} is not offered; this address takes {allowed}"))
        refusal.headers["Allow"] = allowed
        return refusal
    if isinstance(error, HTTPException) and error.status_code == 404:
        return error_reply(AddressNotFoundError(f"{where} is no address of this service"))
    return error_reply(InvalidRequestError(f"{where} cannot be served as it was sent"))
