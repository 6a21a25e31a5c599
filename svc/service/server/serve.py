"""Run the service or a worker as a process: options, socket, locks, connection file, signals.

Facts: docs/wire.md, "Network and deployment". Refuses to start if keys would be sent unencrypted: plain http beyond
loopback needs ``--behind-proxy``. A lock lets one process at a time serve a database: a file beside SQLite's, a lock of
PostgreSQL's otherwise. That is why, at start-up, a running turn of any other owner belongs to a process that died.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import logging
import os
import signal
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import filelock
import msgspec
import uvicorn
from starlette.types import ASGIApp

from svc._atomic_file import write_atomic
from svc.assistant.turn import Assistant
from svc.assistant.workers import starting
from svc.errors import ConfigError, UnavailableError
from svc.process_safety import forbid_core_dumps, protect_children
from svc.process_safety.private_files import make_private_file
from svc.service.access.keys import is_well_formed, key_digest, make_key
from svc.service.app import WORKER_PATHS, RunningService, build, create_app
from svc.service.http.endpoints import VERSION
from svc.service.http.guard import allowed_hosts, is_loopback
from svc.service.observability.logs import set_up_logs
from svc.service.observability.telemetry import traced
from svc.service.server.connections import ConnectionLimits
from svc.service.server.open_files import connection_limit, raise_limit, report_accept_failures
from svc.service.server.uvicorn_protocols import http_protocol, websocket_protocol
from svc.service.sessions.objects.address import ObjectAddress
from svc.service.sessions.objects.keys import drop_secrets
from svc.service.sessions.objects.opening import bucket_of
from svc.service.settings import Settings
from svc.service.store.address import PostgresAddress, url_of
from svc.service.store.records import KeyRecord

if TYPE_CHECKING:
    from svc.service.sessions.objects.bucket import Bucket

log: logging.Logger = logging.getLogger("svc.serve")
DEFAULT_ASSISTANT = "svc.assistant.analyst:Analyst"
MODEL_ASSISTANT = "svc.assistant.model:ModelAssistant"
_SIGNAL_SECONDS = 0.05  # until a second signal is noticed


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """The options of ``svc serve`` and ``svc work``; None is not set.

    ``port`` 0 is any free port; a worker listens only if it has one. ``is_worker``: it runs what the services of its
    database leave to others, and serves probes and metrics alone.
    """

    host: str
    port: int | None
    database: Path | PostgresAddress
    assistant: str = DEFAULT_ASSISTANT
    tls_cert: Path | None = None
    tls_key: Path | None = None
    behind_proxy: bool = False
    files: Path | ObjectAddress | None = None
    connection_file: Path | None = None
    key_file: Path | None = None
    exit_when_idle: float | None = None
    is_worker: bool = False


class Connection(msgspec.Struct, frozen=True, kw_only=True):
    """The content of the connection file: the process and its addresses."""

    pid: int
    base_url: str
    ws_url: str
    version: str
    started: float


def run(options: Options, settings: Settings) -> None:
    """Serve until a signal arrives or the service is idle; raises ConfigError if it cannot start with these options."""
    if options.is_worker:
        check_worker(options, settings)
    check_transport(options)
    forbid_core_dumps()
    protect_children()
    set_up_logs()
    if isinstance(options.database, PostgresAddress):
        options.database.take_password(os.environ)
    files = _place_of(options.files)
    if isinstance(settings.workers, str):
        os.environ[starting.VARIABLE] = settings.workers  # read where processes start, an option's value, too
    assistant = load_assistant(options.assistant)
    with contextlib.ExitStack() as held:
        if options.connection_file is not None:
            held.enter_context(_lock(options.connection_file, "another local service is already running"))
            options.connection_file.unlink(missing_ok=True)  # of a process that died: its PID may be another's now
        if isinstance(options.database, Path):
            held.enter_context(_lock(options.database, "another service is using this database"))
        listener = None
        if options.port is not None:
            listener = held.enter_context(contextlib.closing(listen(options.host, options.port)))
        running = build(assistant, database=options.database, files=files, settings=settings)
        server = Server(options, running, listener)
        with asyncio.Runner(loop_factory=server.config.get_loop_factory()) as runner:
            runner.run(server.serve_until_stopped())


def _place_of(files: Path | ObjectAddress | None) -> Path | Bucket | None:
    """The folder, or the object store; its keys are then no longer in the environment."""
    if not isinstance(files, ObjectAddress):
        return files
    bucket = bucket_of(files)
    drop_secrets(os.environ)
    return bucket


def check_transport(options: Options) -> None:
    """Raise ConfigError if keys would be sent unencrypted, or half of the TLS pair is missing."""
    if (options.tls_cert is None) != (options.tls_key is None):
        raise ConfigError("--tls-cert and --tls-key need each other; give both, or neither")
    is_reachable = options.port is not None and not is_loopback(options.host)
    is_safe = options.tls_cert is not None or options.behind_proxy or not is_reachable
    if not is_safe:
        raise ConfigError(
            f"--host {options.host} is reachable from other machines, and plain http would send keys unencrypted. "
            "Give --tls-cert and --tls-key, or --behind-proxy if a reverse proxy terminates TLS"
        )


def check_worker(options: Options, settings: Settings) -> None:
    """Raise ConfigError if a worker with these settings would have nothing to do, or too much."""
    if isinstance(options.database, Path):
        raise ConfigError(
            f"svc work takes turns from a PostgreSQL database that services share, and {url_of(options.database)} is a "
            "SQLite file, which one service uses. Give --database postgresql://…, the one of the services"
        )
    if not settings.shared_database:
        raise ConfigError(
            "svc work is one of several processes on a database: give --shared-database true "
            "(SVC_SHARED_DATABASE=true), as the services have it"
        )
    if not settings.turns_at_once:
        raise ConfigError(
            "svc work needs --turns-at-once N (SVC_TURNS_AT_ONCE): how many turns it runs at the same time. The "
            "services need it, too: without it they run every turn themselves, and none waits for a worker"
        )
    if settings.advertise:
        raise ConfigError(
            "svc work holds no unlogged sessions and has no address for other services: leave out --advertise "
            "(SVC_ADVERTISE)"
        )


def default_assistant(environment: Mapping[str, str]) -> str:
    """The assistant if none is given: the model if one is configured, else the analyst. Raises ConfigError."""
    from svc.assistant.model.configuration import (
        is_configured,
    )  # imports the analyst, which another assistant may replace

    return MODEL_ASSISTANT if is_configured(environment) else DEFAULT_ASSISTANT


def load_assistant(name: str) -> Assistant:
    """Import and create the assistant that ``MODULE:NAME`` names; raises ConfigError."""
    module_name, separator, attribute = name.partition(":")
    if not (module_name and separator and attribute):
        raise ConfigError(f"--assistant {name} is not valid; it must be MODULE:NAME, such as {DEFAULT_ASSISTANT}")
    try:
        factory: Callable[[], Assistant] = getattr(importlib.import_module(module_name), attribute)
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"--assistant {name} cannot be loaded: {error}") from error
    try:
        return factory()
    except TypeError as error:
        raise ConfigError(f"--assistant {name} cannot be called without arguments: {error}") from error


class Server(uvicorn.Server):
    """uvicorn with the service's start-up and shutdown."""

    def __init__(self, options: Options, running: RunningService, listener: socket.socket | None) -> None:
        """``listener`` None: a worker that nobody probes."""
        self._options = options
        self._running = running
        self._listener = listener
        self._is_terminated = False  # by SIGTERM
        self._is_hurried = False  # by a second signal
        settings = running.service.settings
        hosts = allowed_hosts(options.host, behind_proxy=options.behind_proxy, configured=settings.allowed_hosts)
        if hosts and settings.advertise:
            hosts = (*hosts, urlsplit(settings.advertise).hostname or "")
        app: ASGIApp = create_app(running, hosts=hosts, paths=WORKER_PATHS if options.is_worker else None)
        if settings.telemetry:
            app = traced(app, running.service.metrics.path_label)
        metrics = running.service.metrics
        limits = ConnectionLimits(
            limit=connection_limit(settings.max_connections, raise_limit()),
            keyless_limit=settings.max_keyless_connections,
            keyless_per_peer=None if options.behind_proxy else settings.max_keyless_per_peer,
            metrics=metrics,
        )
        metrics.add_gauge("svc_open_connections", "Open connections of this process.", lambda: len(limits))
        super().__init__(_uvicorn_config(options, app, settings, limits))

    @property
    def connection(self) -> Connection:
        """The addresses of the running service."""
        if self._listener is None:
            raise ValueError("a worker without --port has no address")
        host, port = self._listener.getsockname()[:2]
        reachable = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104  # a comparison
        address = f"[{reachable}]:{port}" if ":" in reachable else f"{reachable}:{port}"
        suffix = "s" if self._options.tls_cert else ""
        return Connection(
            pid=os.getpid(),
            base_url=f"http{suffix}://{address}",
            ws_url=f"ws{suffix}://{address}",
            version=VERSION,
            started=time.time(),
        )

    async def serve_until_stopped(self) -> None:
        """Start the parts, serve, and always close the parts; raises ConfigError if one cannot start."""
        report_accept_failures(asyncio.get_running_loop(), self._running.service.metrics)
        try:
            await self._running.start(self._stop)
            if self._options.key_file is not None:
                await self._running.once_reachable(partial(register_key_file, self._options.key_file, self._running))
            await self.serve(sockets=[] if self._listener is None else [self._listener])
        finally:
            await self._running.close()

    def _stop(self) -> None:
        self.should_exit: bool = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start listening, then write the connection file."""
        await super().startup(sockets=sockets)
        if self.should_exit:
            return
        if self._options.is_worker:
            probes = self.connection.base_url if self._listener is not None else "none"
            log.info("working", extra={"probes": probes, "pid": os.getpid(), "version": VERSION})
            return
        connection = self.connection
        if self._options.connection_file is not None:
            write_atomic(self._options.connection_file, msgspec.json.encode(connection))
        with contextlib.suppress(UnavailableError):  # the database has gone since
            if not await self._running.service.session_stores.logged.keys():
                hint = f"svc keys create NAME --database {url_of(self._options.database)}"
                log.warning("no keys", extra={"hint": hint})
        log.info("listening", extra={"address": connection.base_url, "pid": connection.pid, "version": VERSION})

    async def on_tick(self, counter: int) -> bool:
        """Called ten times a second: stop after ``exit_when_idle`` seconds without use."""
        limit = self._options.exit_when_idle
        turns = len(self._running.service.turns.unfinished)
        if limit is not None and self._running.activity.idle_seconds(running_turns=turns) >= limit:
            log.info("idle", extra={"seconds": limit})
            return True
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve on until balancers have noticed, then let turns end and streams close before connections are cut.

        No balancer sends anything to a worker, so it stops at once.
        """
        log.info("stopping")
        self._running.service.is_ready = False
        hurrying = asyncio.create_task(self._watch_for_hurry())
        if self._is_terminated and not self._options.is_worker:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._running.service.settings.drain_seconds):
                    await self._running.hurry.wait()
        if self._options.connection_file is not None:
            self._options.connection_file.unlink(missing_ok=True)
        for server in self.servers:
            server.close()
        await self._running.drain()
        hurrying.cancel()
        await super().shutdown(sockets=sockets)
        log.info("stopped")

    async def _watch_for_hurry(self) -> None:
        """Pass a second signal on: its handler runs outside the event loop, which it cannot wake."""
        while not self._is_hurried:  # noqa: ASYNC110  # see above
            await asyncio.sleep(_SIGNAL_SECONDS)
        self._running.hurry.set()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """A signal requests a shutdown, a second one hurries it; a second Ctrl-C also cuts connections.

        SIGTERM, which comes from a process that manages services, is followed by ``drain_seconds`` of service. The
        process exits with status 0.
        """
        self._is_hurried = self.should_exit
        self.force_exit: bool = self.should_exit and sig == signal.SIGINT
        self._is_terminated = self._is_terminated or sig == signal.SIGTERM
        self.should_exit = True


def _uvicorn_config(options: Options, app: ASGIApp, settings: Settings, limits: ConnectionLimits) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=http_protocol(settings, limits),  # type: ignore[arg-type]  # uvicorn only calls it, so a factory will do
        ws=websocket_protocol(settings, limits),  # type: ignore[arg-type]  # the same
        ws_max_size=settings.max_frame_bytes,
        ws_ping_interval=settings.ping_seconds,
        ws_ping_timeout=settings.ping_seconds,
        ws_per_message_deflate=False,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        lifespan="off",
        timeout_graceful_shutdown=max(1, int(settings.stop_seconds)),
        ssl_certfile=options.tls_cert,
        ssl_keyfile=str(options.tls_key) if options.tls_key else None,
    )


async def register_key_file(path: Path, running: RunningService) -> None:
    """Make the key file's key valid for the user ``local``; the file is created if it is missing."""
    key = read_or_make_key(path)
    digest = key_digest(key)
    now = running.service.clock()
    record = KeyRecord(
        id=f"local-{digest[:8]}",
        user_id="local",
        name="this machine's key file",
        allow_experimental=True,
        rpm=0,
        tpm=0,
        logging="optional",
        created=now,
    )
    await running.service.session_stores.logged.add_key(record, digest)


def read_or_make_key(path: Path) -> str:
    """Read the key from the file, which is created with mode 0600 if it is missing; raises ConfigError."""
    try:
        if not path.exists():
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_atomic(path, f"{make_key()}\n".encode())
        make_private_file(path)
        key = path.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"the key file {path} cannot be used: {error}") from error
    if not is_well_formed(key):
        raise ConfigError(f"the key file {path} contains no valid key; delete it, and a new key is created")
    return key


@contextlib.contextmanager
def _lock(path: Path, problem: str) -> Iterator[None]:
    """Hold the operating system's lock on ``PATH.lock``; raises ConfigError if another process holds it."""
    lock_path = path.with_name(f"{path.name}.lock")
    try:
        lock_path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with filelock.FileLock(lock_path, timeout=0, mode=0o600):
            yield
    except filelock.Timeout as error:
        raise ConfigError(f"{problem} (it holds {lock_path}). Use that one, or stop it first") from error
    except PermissionError as error:
        raise ConfigError(f"{lock_path} cannot be created: {error}") from error


def listen(host: str, port: int) -> socket.socket:
    """Open the listening socket; port 0 is any free port. Raises ConfigError."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listener = socket.create_server((host, port), family=family, backlog=2_048)
        # Connections inherit it. asyncio does not set it for a listener that it did not create (uvloop does), and then
        # each reply on a kept connection waits 40 ms for the client's acknowledgement.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return listener
    except (OSError, OverflowError) as error:
        raise ConfigError(
            f"cannot listen on {host} port {port}: {error}. Choose another with --host, --port"
        ) from error
