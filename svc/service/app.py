"""Build the service: wire its parts together, define the table of routes, start up and shut down. No behaviour of its
own.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import os
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketState

from svc.assistant.turn import Assistant, ToolCluster, no_cluster
from svc.errors import (
    AddressNotFoundError,
    ConfigError,
    InsufficientStorageError,
    InvalidRequestError,
    MethodNotAllowedError,
    ServiceError,
    UnavailableError,
)
from svc.messages import (
    AttachFileRequest,
    CreateKeyRequest,
    DeleteRequest,
    DetachFileRequest,
    FeedbackRequest,
    GenerateRequest,
    Health,
    KeyList,
    ModelCard,
    ModelList,
    NewKey,
    OpResult,
    PageCode,
    Proof,
    RegisterRequest,
    RevokeKeyRequest,
    Session,
    SessionFile,
    SessionResponse,
    Ticket,
    TicketRequest,
    UpdateRequest,
    UserInfo,
    new_id,
)
from svc.service.access.auth import request_target
from svc.service.access.passed_requests import PassedRequests, is_passed
from svc.service.bus.memory import MemoryBus
from svc.service.bus.shared import SharedBus
from svc.service.chat.completion import ChatCompletion
from svc.service.chat.request import ChatRequest
from svc.service.clock import SteadyClock, elapsed_seconds
from svc.service.http import chat, page
from svc.service.http import endpoints as http
from svc.service.http.guard import SIGN_IN_PATH, Guard
from svc.service.http.openapi import build_document
from svc.service.http.replies import HeldResponse, error_reply, headers_for_every_response
from svc.service.observability.answering import AnsweringDigest
from svc.service.observability.failures import internal_error
from svc.service.observability.gauges import add_replica_metrics, add_store_metrics, add_worker_metrics
from svc.service.observability.idle import ActivityTracker
from svc.service.operations import Service
from svc.service.quotas.uses import ACCOUNT, RequestUse
from svc.service.sessions.files import DiskFiles, LoggedFiles, MemoryFiles
from svc.service.sessions.objects.opening import object_files_of
from svc.service.sessions.session_stores import SessionStores
from svc.service.settings import Settings
from svc.service.shared_state import TimeSource, shared_state_of, time_source_of
from svc.service.store import Store
from svc.service.store.address import PostgresAddress
from svc.service.store.disk_space import DiskSpace
from svc.service.store.homes import Home, Homes, SessionElsewhereError
from svc.service.store.opening import SingleService, hints_of, homes_of, shared_store_of, single_service_of, store_of
from svc.service.store.sqlite import SqliteStore
from svc.service.stream.endpoint import ClientGoneError, stream
from svc.service.stream.open_streams import OpenStreams
from svc.service.turns.other_services import OtherServices
from svc.service.turns.replica import Replica

if TYPE_CHECKING:
    from svc.service.forwarding.forwarder import Forwarder
    from svc.service.sessions.objects.bucket import Bucket


class Operation(NamedTuple):
    """A row of the table of routes: its handler, and the types that OpenAPI describes (``openapi.OperationRow``)."""

    method: str
    path: str
    handler: http.KeyHandler | None = None
    public_handler: http.PublicHandler | None = None
    body: type | None = None
    answer: type | None = OpResult
    media_type: str = "text/plain"
    data: type | None = None
    parameters: Sequence[str] = ()
    errors: Sequence[int] = ()

    @property
    def is_public(self) -> bool:
        """Whether it needs no key."""
        return self.public_handler is not None

    @property
    def summary(self) -> str:
        """The first line of its handler's docstring."""
        return ((self.handler or self.public_handler).__doc__ or "").partition("\n")[0]


async def _openapi(service: Service, request: Request) -> Response:
    """GET /openapi.json: the operations for machines."""
    return Response(_document(service.settings), media_type="application/json")


@functools.cache
def _document(settings: Settings) -> bytes:
    return build_document(OPERATIONS, http.VERSION, settings)


_SESSION_ERRORS = (404, 410, 502)  # 502: another service holds the session, and was lost
OPERATIONS = (
    Operation("GET", "/health", public_handler=http.health, answer=Health),
    Operation("GET", "/live", public_handler=http.live, answer=Health),
    Operation("GET", "/ready", public_handler=http.ready, answer=Health),
    Operation(
        "GET", "/proof", public_handler=http.proof, answer=Proof, parameters=("key", "nonce"), errors=(401,)
    ),
    Operation("GET", "/user/info", http.user_info, answer=UserInfo),
    Operation(
        "POST", "/session/register", http.register,
        body=RegisterRequest, data=Session, errors=(403, 404, 409, 410, 413, 502, 507),
    ),
    Operation(
        "GET", "/session/get", http.get,
        answer=Session, parameters=("session_id", "after", "limit"), errors=_SESSION_ERRORS,
    ),
    Operation(
        "GET", "/session/list", http.list_sessions,
        answer=list[Session], parameters=("after_id", "limit"), errors=(404,),
    ),
    Operation("POST", "/session/update", http.update, body=UpdateRequest, data=Session, errors=(*_SESSION_ERRORS, 413)),
    Operation("POST", "/session/delete", http.delete, body=DeleteRequest, errors=(*_SESSION_ERRORS, 413)),
    Operation(
        "POST", "/session/generate", http.generate,
        body=GenerateRequest, answer=SessionResponse, errors=(*_SESSION_ERRORS, 409, 413, 499, 507),
    ),
    Operation(
        "POST", "/session/attach_file", http.attach_file,
        body=AttachFileRequest, data=SessionFile, errors=(*_SESSION_ERRORS, 413, 507),
    ),
    Operation(
        "POST", "/session/upload_file", http.upload_file,
        body=bytes, data=SessionFile, parameters=("session_id", "filename"), errors=(*_SESSION_ERRORS, 413, 507),
    ),
    Operation(
        "GET", "/session/file", http.read_file,
        answer=None, media_type="application/octet-stream", parameters=("session_id", "sha256"), errors=_SESSION_ERRORS,
    ),
    Operation("POST", "/session/detach_file", http.detach_file, body=DetachFileRequest, errors=(*_SESSION_ERRORS, 413)),
    Operation(
        "POST", "/session/feedback", http.feedback, body=FeedbackRequest, errors=(*_SESSION_ERRORS, 413, 507)
    ),
    Operation("POST", "/stream/ticket", http.ticket, body=TicketRequest, answer=Ticket, errors=(*_SESSION_ERRORS, 413)),
    Operation(
        "POST", "/chat/completions", chat.chat_completions,
        body=ChatRequest, answer=ChatCompletion, errors=(403, 404, 413, 499, 502, 507),
    ),
    Operation("GET", "/models", chat.models, answer=ModelList),
    Operation("GET", "/models/{model}", chat.model, answer=ModelCard, parameters=("model",), errors=(404,)),
    Operation("GET", "/key/list", http.list_keys, answer=KeyList),
    Operation("POST", "/key/create", http.create_key, body=CreateKeyRequest, data=NewKey, errors=(413,)),
    Operation("POST", "/key/revoke", http.revoke_key, body=RevokeKeyRequest, errors=(413,)),
    Operation("GET", "/", public_handler=page.page, answer=None, media_type="text/html"),
    Operation("POST", "/page/code", http.page_code, answer=PageCode),
    *(
        Operation("GET", f"/dist/{name}", public_handler=page.file, answer=None, media_type=kind, errors=(404,))
        for name, kind in page.FILES.items()
    ),
    Operation("GET", "/metrics", http.metrics, answer=None, errors=(404,)),
    Operation("GET", "/openapi.json", public_handler=_openapi, answer=dict[str, msgspec.Raw]),
)  # fmt: skip


WORKER_PATHS = frozenset({"/live", "/ready", "/health", "/metrics"})
"""What a worker answers: probes and figures."""
START_RETRY_SECONDS = 1.0
log: logging.Logger = logging.getLogger("svc.service")
OPENAI_PREFIX = "/v1"
OPENAI_PATHS = ("/chat/completions", "/models", "/models/{model}")


class RunningService:
    """The built service with its background tasks, as ``serve`` needs it."""

    def __init__(
        self,
        service: Service,
        assistant: Assistant,
        disk: LoggedFiles,
        *,
        single: SingleService | None = None,
        replica: Replica | None = None,
        time_source: TimeSource | None = None,
    ) -> None:
        """``replica``: the service among others of its database, if it has any."""
        self.service = service
        self.forwarder: Forwarder | None = None  # passes what is about unlogged sessions on to other services
        self._single = single
        self._replica = replica
        self.activity: ActivityTracker = ActivityTracker(time.monotonic)
        self.streams: OpenStreams = OpenStreams(service)
        service.metrics.add_gauge("svc_open_streams", "Open streams of this process.", lambda: len(self.streams))
        add_worker_metrics(service.metrics, assistant)
        add_store_metrics(service.metrics, service.session_stores.logged)
        if replica is not None:
            add_replica_metrics(service.metrics, replica.figures)
        self._assistant = assistant
        self._disk = disk
        self._time_source = time_source
        self._tasks: list[asyncio.Task[None]] = []
        self.hurry: asyncio.Event = asyncio.Event()  # a second signal: end without waiting for turns and clients
        self._is_closed = False

    async def start(self, stop: Callable[[], None] = lambda: None) -> None:
        """Open the stores, start the assistant, recover the turns of a process that died.

        ``stop`` is called if another service takes the database while this one has lost its connection.
        """
        session_stores = self.service.session_stores
        await session_stores.logged.open()
        if self._single is not None:
            await self._single.take(stop)
        await session_stores.private.open()
        if self._replica is not None:
            await self.once_reachable(self._replica.join)
        if self._time_source is not None:
            await self.once_reachable(self._time_source.start)
        if self.forwarder is not None:
            await self.once_reachable(self.forwarder.start)
        self.service.quotas.counters.start()
        await self.once_reachable(self._disk.open)
        await self.once_reachable(self.service.resume_clock)
        await self._assistant.start()
        await self._take_up_turns()
        self._tasks = [
            asyncio.create_task(self.streams.watch()),
            asyncio.create_task(self.service.run_purges()),
            asyncio.create_task(self.service.run_sweeps()),
        ]
        self.service.is_ready = True

    async def once_reachable(self, step: Callable[[], Awaitable[None]]) -> None:
        """Do a step of the start, which may be done again, as soon as the database is in reach: it may have gone since
        it was opened.
        """
        while True:
            try:
                await step()
            except UnavailableError as error:
                if not self.service.session_stores.logged.patience_seconds:  # a file of this machine
                    raise
                log.warning("the start waits for the database", extra={"reason": error.message})
            else:
                return
            await asyncio.sleep(START_RETRY_SECONDS)

    async def _take_up_turns(self) -> None:
        """Run the turns that nobody runs."""
        if self._replica is not None:
            await self._replica.start(self.streams)
            return
        stores = self.service.session_stores
        recover = functools.partial(
            self.service.turns.recover, stores.logged, stores.find, expiry_time=self.service.time.expiry
        )
        try:
            await self.once_reachable(recover)
        except InsufficientStorageError as error:
            raise ConfigError(f"the service cannot start: {error}") from error

    async def drain(self) -> None:
        """End or release the turns, then close the streams with 1001, spread over two seconds."""
        self.service.is_ready = False
        await self.service.turns.close(self.hurry)
        if self._replica is not None:
            await self._replica.hand_over()
        await self.streams.close(self.hurry)

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
        with contextlib.suppress(ServiceError):  # never opened, or the disk is full
            await self.service.save_clock()
        if self._replica is not None:
            await self._replica.close()
        if self.forwarder is not None:
            await self.forwarder.close()
        self._disk.close()
        await self.service.quotas.counters.close()
        if self._time_source is not None:
            await self._time_source.close()
        await self.service.session_stores.logged.close()
        await self.service.session_stores.private.close()
        if self._single is not None:
            await self._single.close()


def build(
    assistant: Assistant,
    *,
    database: Path | PostgresAddress,
    files: Path | Bucket | None = None,
    settings: Settings | None = None,
    clock: Callable[[], float] | None = None,
    elapsed: Callable[[], float] = elapsed_seconds,
) -> RunningService:
    """Build the service on a database.

    Attached files go into ``files``, a folder or a place in an object store, by default the folder ``NAME.files``
    beside a SQLite file. What tools found in them is kept in ``NAME.results`` beside a folder, and in the state folder
    for an object store. ``clock`` gives seconds since the epoch, by default those of the database's
    machine; ``elapsed`` the seconds that really passed.
    """
    chosen = settings or Settings()
    is_shared = chosen.shared_database
    if chosen.advertise and not is_shared:
        raise ConfigError("--advertise is for services that share a database: give --shared-database true, too")
    patience = chosen.store_patience_seconds
    shared = shared_store_of(database, patience_seconds=patience) if is_shared else None
    store = shared or store_of(database, patience_seconds=patience)
    single = single_service_of(database, is_shared=is_shared)
    space, disk = _disk_of(database, files, store, chosen)
    memory = MemoryFiles(chosen.max_memory_file_bytes, results_bytes=chosen.kept_results_memory_bytes)
    time_source = time_source_of(store, elapsed) if clock is None else None
    steady = SteadyClock(clock or time_source or time.time, elapsed, grace_seconds=chosen.clock_grace_seconds)
    _set_workers(assistant, chosen, database, files)
    state = shared_state_of(store, steady.steady)
    if shared is None or isinstance(database, Path):
        session_stores = SessionStores(store, SqliteStore(None), disk, memory)
        service = Service(
            session_stores, assistant, bus=MemoryBus(), settings=chosen, clock=steady, shared=state, space=space
        )
        return RunningService(service, assistant, disk, single=single, time_source=time_source)
    owner = new_id()
    homes = homes_of(shared, Home(owner, chosen.advertise.rstrip("/")))
    session_stores = SessionStores(store, SqliteStore(None), disk, memory, homes)
    passed = PassedRequests(shared, owner, clock or time_source or time.time)
    others = OtherServices(
        shared,
        SharedBus(hints_of(database, owner)),
        owner=owner,
        find=session_stores.find,
        expiry_time=steady.expiry,
        patience_seconds=chosen.lease_seconds / 2,
    )
    service = Service(
        session_stores,
        assistant,
        bus=others.bus,
        settings=chosen,
        clock=steady,
        shared=state,
        space=space,
        others=others,
        passed=passed,
    )
    answering = AnsweringDigest(assistant, os.environ)
    replica = Replica(service.turns, others, lease_seconds=chosen.lease_seconds, answering=answering)
    service.count_unlike = lambda: replica.figures.unlike
    running = RunningService(service, assistant, disk, single=single, replica=replica, time_source=time_source)
    running.forwarder = forwarder_of(service, passed, homes)
    return running


def _set_workers(
    assistant: Assistant, chosen: Settings, database: Path | PostgresAddress, files: Path | Bucket | None
) -> None:
    """Say how many processes read files here, and which cluster does; raises ConfigError if that is impossible."""
    if (set_workers := getattr(assistant, "set_workers", None)) is not None:  # one that is no subclass may lack it
        set_workers(chosen.workers if isinstance(chosen.workers, int) else 0)
    if chosen.tools:
        _use_cluster(assistant, chosen, database, files)


def _use_cluster(
    assistant: Assistant, chosen: Settings, database: Path | PostgresAddress, files: Path | Bucket | None
) -> None:
    """Let the cluster of the settings read attached files; raises ConfigError if that is impossible."""
    if not isinstance(files, Path | None):
        raise ConfigError(
            f"a dask cluster reads attached files from a folder, and they are in {files.label}. Give --files "
            "file:///PATH, on a volume that the cluster's machines have, or leave --tools out"
        )
    if (set_cluster := getattr(assistant, "set_cluster", None)) is None:  # one that is no subclass may lack it
        raise no_cluster()
    set_cluster(
        ToolCluster(
            address=chosen.tools,
            folder=folder_of_files(database, files),
            at_once=chosen.tools_at_once,
            patience_seconds=chosen.tools_patience_seconds,
        )
    )


def _disk_of(
    database: Path | PostgresAddress, files: Path | Bucket | None, store: Store, chosen: Settings
) -> tuple[DiskSpace, LoggedFiles]:
    """The guard of the disks' free space, and the files of logged sessions."""
    if not isinstance(files, Path | None):
        if isinstance(database, Path):
            raise ConfigError(
                f"{files.label} needs a PostgreSQL database; a SQLite file has its files on its own machine. Give "
                "--database postgresql://…, or leave --files out"
            )
        return DiskSpace([], 0), object_files_of(files, store, chosen)
    folder = folder_of_files(database, files)
    space = DiskSpace([database.parent, folder] if isinstance(database, Path) else [folder], chosen.min_free_bytes)
    is_shared = isinstance(database, PostgresAddress)
    return space, DiskFiles(folder, store, space, results_bytes=chosen.kept_results_bytes, is_shared=is_shared)


def forwarder_of(service: Service, passed: PassedRequests, homes: Homes) -> Forwarder:
    """What passes requests on; its HTTP client is imported only by a service that shares its database."""
    from svc.service.forwarding.forwarder import Forwarder

    return Forwarder(service, passed, homes)


def folder_of_files(database: Path | PostgresAddress, files: Path | None) -> Path:
    """The folder for attached files: the chosen one, or that beside a SQLite file; raises ConfigError."""
    if files is not None:
        return files
    if isinstance(database, Path):
        return database.with_name(f"{database.name}.files")
    raise ConfigError(
        f"{database} keeps no attached files; give a place for them with --files file:///PATH or s3://BUCKET/PREFIX"
    )


def create_app(
    running: RunningService, *, hosts: Sequence[str] = (), paths: Collection[str] | None = None
) -> Starlette:
    """Build the ASGI application.

    Args:
        running: The started service.
        hosts: The host names it answers to; empty for any.
        paths: The only paths that it has; None for all.
    """
    settings = running.service.settings
    origins = settings.allowed_origins
    middleware = [
        Middleware(
            Guard,
            hosts=hosts,
            origins=origins,
            headers=headers_for_every_response(settings),
            activity=running.activity,
            metrics=running.service.metrics,
        )
    ]
    if origins:
        middleware.append(
            Middleware(
                CORSMiddleware,
                allow_origins=list(origins),
                allow_methods=["GET", "POST"],
                allow_headers=["Authorization", "Content-Type"],
                expose_headers=[
                    "Retry-After",
                    "x-session-id",
                    "x-answer-status",
                    "x-ignored-parameters",
                    *chat.RATE_HEADERS,
                ],  # the only response headers that scripts of other origins may read
            )
        )
    running.service.metrics.set_known_paths(frozenset(operation.path for operation in OPERATIONS) | {"/stream"})
    app = Starlette(
        routes=_routes(running)
        if paths is None
        else _routes_of(running, [one for one in OPERATIONS if one.path in paths]),
        middleware=middleware,
        exception_handlers={HTTPException: _routing_error},
    )
    app.router.redirect_slashes = False  # a path with a trailing slash is unknown, not redirected
    return app


def _routes_of(running: RunningService, operations: Iterable[Operation], *, prefix: str = "") -> list[BaseRoute]:
    return [
        Route(f"{prefix}{operation.path}", _endpoint(running, operation), methods=[operation.method])
        for operation in operations
    ]


def _routes(running: RunningService) -> list[BaseRoute]:
    routes = _routes_of(running, OPERATIONS)

    async def open_stream(websocket: WebSocket) -> None:
        try:
            forwarder = running.forwarder
            pass_on = None if forwarder is None else forwarder.pass_stream_on
            await stream(websocket, running.service, running.streams, pass_on=pass_on)
        except ClientGoneError as gone:
            raise gone.error from None  # uvicorn's own, which it does not log
        except Exception as error:  # noqa: BLE001  # becomes an error response, logged with its id
            await _refuse_upgrade(websocket, error)

    async def refuse_stream(websocket: WebSocket) -> None:
        where = websocket.url.path[:80]
        await _refuse_upgrade(websocket, AddressNotFoundError(f"unknown websocket endpoint: {where}; open /stream"))

    sign_in = Operation(
        "POST", SIGN_IN_PATH, public_handler=page.sign_in
    )  # for the HTML form only, so it is not in the OpenAPI document
    resume = Operation("POST", "/page/resume", public_handler=page.resume)  # for the page's script only
    unlogged = Operation("GET", http.UNLOGGED_PATH, http.list_unlogged)  # for other services of the database only
    routes += _routes_of(running, (sign_in, resume, unlogged))
    openai = [operation for operation in OPERATIONS if operation.path in OPENAI_PATHS]
    routes += _routes_of(running, openai, prefix=OPENAI_PREFIX)  # many clients are configured with such an address
    return [*routes, WebSocketRoute("/stream", open_stream), WebSocketRoute("/{path:path}", refuse_stream)]


def _endpoint(running: RunningService, operation: Operation) -> Callable[[Request], object]:
    service = running.service

    async def endpoint(request: Request) -> Response | HeldResponse:
        use: RequestUse | None = None
        try:
            if operation.public_handler is not None:
                return await operation.public_handler(service, request)
            service.check_database()
            authorization = request.headers.get("authorization")
            key = await service.auth.authenticate(
                authorization, method=request.method, target=request_target(request.scope)
            )
            request.scope["state"]["key_id"] = (
                key.id
            )  # read by Guard and uvicorn_protocols.py; "state" is shared between copies of the scope
            request.scope["state"][ACCOUNT] = key.rate_id
            if not is_passed(authorization):  # else the service that passed it on counts it
                request.scope["state"][http.REQUEST_USE] = use = await RequestUse.begin(service.quotas, key)
            if operation.handler is None:
                raise AddressNotFoundError(f"{operation.path} has no handler")
            try:
                response = await operation.handler(service, key, request)
            except SessionElsewhereError as elsewhere:
                if running.forwarder is None:
                    raise
                response = await running.forwarder.pass_on(key, request, elsewhere)
        except ServiceError as error:
            response = error_reply(error)
        except Exception as error:  # noqa: BLE001  # becomes an error response, logged with its id
            response = error_reply(internal_error(error, request=request.scope.get("request_id", "")))
        except BaseException:
            if use is not None:
                use.close()
            raise
        return response if use is None else HeldResponse(response, use)

    return endpoint


async def _refuse_upgrade(websocket: WebSocket, error: Exception) -> None:
    refusal = error if isinstance(error, ServiceError) else internal_error(error)
    if websocket.client_state == WebSocketState.CONNECTING:
        await websocket.send_denial_response(error_reply(refusal))


async def _routing_error(request: Request, error: Exception) -> Response:
    where = f"{request.method[:10]} {request.url.path[:80]}"
    if isinstance(error, HTTPException) and error.status_code == 405:
        allowed = (error.headers or {}).get("Allow", "")
        refusal = error_reply(MethodNotAllowedError(f"method not allowed: {where}; use {allowed}"))
        refusal.headers["Allow"] = allowed
        return refusal
    if isinstance(error, HTTPException) and error.status_code == 404 and request.url.path.startswith(OPENAI_PREFIX):
        return error_reply(
            AddressNotFoundError(
                f"unknown endpoint: {where}. Leave {OPENAI_PREFIX} out of the address; only "
                f"{', '.join(OPENAI_PATHS)} are also below it"
            )
        )
    if isinstance(error, HTTPException) and error.status_code == 404:
        return error_reply(AddressNotFoundError(f"unknown endpoint: {where}"))
    return error_reply(InvalidRequestError(f"malformed request: {where}"))
