"""Find the service of this user on this machine, or start it.

Reasons: docs/decisions.md, "A local service, not an in-process one".

What is in the folder (``config.state_folder()``, mode 0700): ``service.json``, written by the service once it listens;
``service.json.lock``, held by the service while it lives (a free lock means dead, whatever the file says); ``key``,
``service.db``, ``service.log``; ``start.lock``, held by whoever looks, so that two kernels get the same service.

The service starts detached and ends by itself after an hour without use. ``SVC_LOCAL_SERVE_ARGS`` adds options to the
``svc serve`` that is started, as ``--assistant MODULE:NAME``.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
from filelock import FileLock, Timeout

from svc import _requests
from svc._transport import Transport
from svc._version import __version__
from svc.config import LOCAL, Config, is_loopback, resolve, state_folder
from svc.errors import ConfigError, LocalServiceError, SvcError

START_SECONDS = 20.0  # for a service to listen; a cold start on two busy cores takes three
STOP_SECONDS = 15.0  # for a service of another version to end
HEALTH_SECONDS = 5.0
IDLE_SECONDS = 3_600
LOG_LIMIT_BYTES = 5_000_000
LOG_LINES_SHOWN = 5
_MAX_FILE_BYTES = 65_536
_POLL_SECONDS = 0.02
_NOT_INHERITED = ("SVC_API_KEY", "SVC_BASE_URL", "SVC_WS_URL")  # another service's, and none of the child's business

_DETACHED = 0 if os.name == "posix" else 0x0000_0008 | 0x0000_0200  # DETACHED_PROCESS | CREATE_NEW_PROCESS_GROUP


class _Detached(subprocess.Popen[bytes]):
    """A process that is meant to outlive this one: no warning at the end that it still runs."""

    def __del__(self) -> None:
        """Let it run."""


_children: list[_Detached] = []  # started here, polled now and then so that none stays a zombie


class _Connection(msgspec.Struct):
    """``service.json``."""

    pid: int
    base_url: str
    ws_url: str
    version: str


def find_or_start(folder: Path | None = None) -> Config:
    """The running local service, started where there is none. Raises LocalServiceError, which names the log."""
    place = _Place(folder or state_folder())
    place.make()
    try:
        with FileLock(place.start_lock, timeout=START_SECONDS + STOP_SECONDS + HEALTH_SECONDS, mode=0o600):
            _children[:] = [child for child in _children if child.poll() is None]
            return _find(place) or _start(place)
    except Timeout as error:
        raise LocalServiceError(
            f"another process has been starting the local service for too long; it holds {place.start_lock}. "
            f"Its log: {place.log}"
        ) from error
    except OSError as error:
        raise _unusable(place.folder, error) from error


@dataclass(frozen=True, kw_only=True)
class LocalFiles:
    """What the files of the local service say. ``pid`` and ``started`` (seconds since the epoch) are the last one's.

    They are None where none has run yet; ``database_bytes`` counts what SQLite keeps beside the database, too.
    """

    folder: Path
    log: Path
    log_bytes: int
    database_bytes: int
    pid: int | None
    started: float | None


def describe(folder: Path | None = None) -> LocalFiles:
    """What is in the state folder now. Starts and changes nothing. Raises LocalServiceError where it cannot be read."""
    place = _Place(folder or state_folder())
    try:
        connection = place.read_connection()
        return LocalFiles(
            folder=place.folder,
            log=place.log,
            log_bytes=_size(place.log),
            database_bytes=sum(_size(place.database.with_name(place.database.name + end)) for end in ("", "-wal")),
            pid=connection.pid if connection else None,
            started=place.connection_file.stat().st_mtime if connection else None,
        )
    except OSError as error:
        raise _unusable(place.folder, error) from error


def _size(file: Path) -> int:
    return file.stat().st_size if file.exists() else 0


class _Place:
    """The files of one local service."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()
        self.connection_file = self.folder / "service.json"
        self.lock = self.folder / "service.json.lock"
        self.start_lock = self.folder / "start.lock"
        self.key_file = self.folder / "key"
        self.database = self.folder / "service.db"
        self.log = self.folder / "service.log"

    def make(self) -> None:
        """The folder, for this user alone."""
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if os.name == "posix":
                self._close_to_others()
        except OSError as error:
            raise _unusable(self.folder, error) from error

    def _close_to_others(self) -> None:
        status = self.folder.stat()
        if status.st_uid != os.getuid():
            raise LocalServiceError(
                f"{self.folder} belongs to another user, who could read your questions. "
                "Set SVC_STATE_DIR to a folder of your own."
            )
        if status.st_mode & 0o077:
            self.folder.chmod(0o700)

    def is_held(self) -> bool:
        """Whether a service lives here. Asked only under ``start_lock``, so that the probe is in nobody's way."""
        try:
            with FileLock(self.lock, timeout=0, mode=0o600):
                return False
        except Timeout:
            return True

    def read_connection(self) -> _Connection | None:
        """What the service wrote; None where there is nothing (yet) or nothing that can be understood."""
        try:
            with self.connection_file.open("rb") as file:
                return msgspec.json.decode(file.read(_MAX_FILE_BYTES), type=_Connection)
        except (FileNotFoundError, msgspec.MsgspecError):
            return None

    def config(self, connection: _Connection) -> Config:
        """How to reach it. Raises LocalServiceError where the files do not name a service of this machine."""
        try:
            key = self.key_file.read_text(encoding="ascii").strip()
            config = resolve(key, connection.base_url, connection.ws_url, environ={})
        except (OSError, UnicodeDecodeError, ConfigError) as error:
            raise self.error(f"its files cannot be used ({error})") from error
        if config == LOCAL or not all(
            is_loopback(urlsplit(u).hostname or "") for u in (config.base_url, config.ws_url)
        ):
            raise self.error(f"{self.connection_file} names an address beyond this machine: {connection.base_url}")
        return config

    def error(self, what: str) -> LocalServiceError:
        """The error that names the log and shows its end."""
        tail = _tail(self.log)
        shown = f" Its last lines:\n{tail}" if tail else ""
        return LocalServiceError(f"the local service cannot be used: {what}. Its log is {self.log}.{shown}")


def _unusable(folder: Path, error: OSError) -> LocalServiceError:
    return LocalServiceError(
        f"{folder} cannot be used for the local service ({error}). Set SVC_STATE_DIR to a folder of your own."
    )


def _find(place: _Place) -> Config | None:
    """The service that lives; None where there is none (any more). One of another version is ended first."""
    if not place.is_held():
        return None
    connection = _wait_for_connection(place)
    if connection.version != __version__:
        _stop(place, connection)
        return None
    config = place.config(connection)
    _check_health(place, config, connection)
    return config


def _wait_for_connection(place: _Place) -> _Connection:
    """A service that was started by hand may hold the lock a moment before its file is there."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if (connection := place.read_connection()) is not None:
            return connection
        time.sleep(_POLL_SECONDS)
    raise place.error(f"a process holds {place.lock} but {place.connection_file} does not appear; end that process")


def _check_health(place: _Place, config: Config, connection: _Connection) -> None:
    transport = Transport(config, reply_seconds=HEALTH_SECONDS)
    try:
        transport.call(_requests.health(), limit_seconds=HEALTH_SECONDS)
    except SvcError as error:
        raise place.error(
            f"process {connection.pid} is there but not well: {error} `kill {connection.pid}` ends it"
        ) from error
    finally:
        transport.close()


def _stop(place: _Place, connection: _Connection) -> None:
    try:
        os.kill(connection.pid, signal.SIGTERM)
    except ProcessLookupError:
        pass  # it ended meanwhile; the lock says so, too
    except PermissionError as error:
        raise place.error(
            f"process {connection.pid} of version {connection.version} cannot be ended ({error})"
        ) from error
    deadline = time.monotonic() + STOP_SECONDS
    while place.is_held():
        if time.monotonic() > deadline:
            raise place.error(
                f"version {connection.version} (process {connection.pid}) does not make way for {__version__}; "
                f"`kill {connection.pid}` ends it"
            )
        time.sleep(_POLL_SECONDS)


def _start(place: _Place) -> Config:
    """A new service: on the port of the last one where that is free, so that what is connected finds it again."""
    last = place.read_connection()
    port = _port(last.base_url) if last else 0
    place.connection_file.unlink(missing_ok=True)
    child = _spawn(place, port)
    connection = _wait_for_start(place, child)
    if connection is None and port:
        child = _spawn(place, 0)
        connection = _wait_for_start(place, child)
    if connection is None:
        raise place.error(f"it ended at its start with exit code {child.returncode}")
    config = place.config(connection)
    _check_health(place, config, connection)
    return config


def _wait_for_start(place: _Place, child: _Detached) -> _Connection | None:
    """Its connection file; None where the process ended."""
    deadline = time.monotonic() + START_SECONDS
    while child.poll() is None:
        connection = place.read_connection()
        if connection is not None and connection.pid == child.pid:
            return connection
        if time.monotonic() > deadline:
            child.kill()
            child.wait()
            raise place.error(f"it did not listen within {START_SECONDS:g} s and was ended")
        time.sleep(_POLL_SECONDS)
    return None


def _spawn(place: _Place, port: int) -> _Detached:
    if not sys.executable:
        raise place.error("this Python does not know its own executable; run `svc serve` and set SVC_BASE_URL")
    _rotate(place.log)
    descriptor = os.open(place.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        child = _Detached(  # our own interpreter and module
            serve_command(place.folder, port),
            cwd=place.folder,
            env={name: value for name, value in os.environ.items() if name not in _NOT_INHERITED},
            stdin=subprocess.DEVNULL,
            stdout=descriptor,
            stderr=descriptor,
            start_new_session=True,
            creationflags=_DETACHED,
        )
    except OSError as error:
        raise place.error(f"{sys.executable} cannot be run ({error})") from error
    finally:
        os.close(descriptor)
    _children.append(child)
    return child


def serve_command(folder: Path, port: int, environ: Mapping[str, str] = os.environ) -> list[str]:
    """The command line of the local service. The key travels in a file, never here."""
    place = _Place(folder)
    options = {
        "--port": port,
        "--connection-file": place.connection_file,
        "--key-file": place.key_file,
        "--database": f"sqlite:///{place.database}",
        "--exit-when-idle": IDLE_SECONDS,
    }
    words = [str(word) for option in options.items() for word in option]
    extra = shlex.split(environ.get("SVC_LOCAL_SERVE_ARGS", ""))
    return [
        sys.executable,
        "-P",
        "-m",
        "svc.cli.main",
        "serve",
        *words,
        *extra,
    ]  # -P: the folder is no place for modules


def _port(base_url: str) -> int:
    try:
        return urlsplit(base_url).port or 0
    except ValueError:
        return 0


def _rotate(log: Path) -> None:
    """One older log is kept."""
    if log.exists() and log.stat().st_size > LOG_LIMIT_BYTES:
        log.replace(log.with_suffix(".log.1"))


def _tail(log: Path) -> str:
    """The last lines of the log; "" where it cannot be read: the error that shows them must not fail itself."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - 4_096))
            lines = file.read().decode("utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    return "\n".join(lines[-LOG_LINES_SHOWN:])
