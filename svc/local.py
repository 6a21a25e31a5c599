"""Find this user's local service, or start it. Reasons: docs/decisions.md, "A local service, not an in-process one".

Its folder (``config.state_folder()``, mode 0700) contains ``service.json``, written by the service once it listens;
``service.json.lock``, held by the service while it runs (if the lock is free, the service is not running, whatever the
file says); ``key``, ``service.db``, ``service.log``; and ``start.lock``, held while looking, so that two kernels get
the same service.

The service is started detached and exits after an hour without requests. ``SVC_LOCAL_SERVE_ARGS`` adds options to its
``svc serve``, such as ``--assistant MODULE:NAME``.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shlex
import signal
import stat
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
from svc.errors import ConfigError, LocalServiceError, ServiceError, SvcError
from svc.process_safety import interpreter
from svc.process_safety.private_files import has_owners, make_private_folder

START_SECONDS = 20.0  # for a service to listen; a cold start on two busy cores takes three
STOP_SECONDS = 15.0  # for a service of another version to stop
HEALTH_SECONDS = 5.0
IDLE_SECONDS = 3_600
LOG_LIMIT_BYTES = 5_000_000
LOG_LINES_SHOWN = 5
_MAX_FILE_BYTES = 65_536
_POLL_SECONDS = 0.02
_NOT_INHERITED = ("SVC_API_KEY", "SVC_BASE_URL", "SVC_WS_URL")  # they belong to another service
_OWN_DEFAULTS = {"SVC_MAX_UPLOAD_BYTES": str(64 * 1024**3)}  # the user's own disk; its free space limits more

_DETACHED = 0 if os.name == "posix" else 0x0000_0008 | 0x0000_0200  # DETACHED_PROCESS | CREATE_NEW_PROCESS_GROUP


class _Detached(subprocess.Popen[bytes]):
    """A process that outlives this one, without a warning at exit that it is still running."""

    def __del__(self) -> None:
        """Do not warn."""


_children: list[_Detached] = []  # started here; polled so that none stays a zombie


class _Connection(msgspec.Struct):
    """``service.json``."""

    pid: int
    base_url: str
    ws_url: str
    version: str


def find_or_start(folder: Path | None = None) -> Config:
    """Return how to reach the local service, after starting it if it is not running.

    Blocks, for seconds if the service starts. ``folder`` is the state folder by default.

    Raises:
        LocalServiceError: The service cannot be used; the text names its log.
    """
    files = _ServiceFiles(folder or state_folder())
    files.make()
    try:
        with FileLock(files.start_lock, timeout=START_SECONDS + STOP_SECONDS + HEALTH_SECONDS, mode=0o600):
            _children[:] = [child for child in _children if child.poll() is None]
            return _find(files) or _start(files)
    except Timeout as error:
        raise LocalServiceError(
            f"timed out waiting for another process to start the local service; it holds {files.start_lock}. "
            f"Its log: {files.log}"
        ) from error
    except OSError as error:
        raise _unusable(files.folder, error) from error


def find(folder: Path | None = None) -> Config | None:
    """Return how to reach the local service, or None if it is not running. Starts and stops nothing.

    Raises:
        LocalServiceError: It runs, but does not say where, or does not respond.
    """
    files = _ServiceFiles(folder or state_folder())
    if not files.folder.is_dir():
        return None
    try:
        with FileLock(files.start_lock, timeout=START_SECONDS, mode=0o600):
            if not files.is_held():
                return None
            connection = _wait_for_connection(files)
        config = files.config(connection)
        _check_health(files, config, connection)
    except OSError as error:  # also that another process holds the lock
        raise files.error(f"it cannot be found ({error})") from error
    return config


def stop(folder: Path | None = None) -> int | None:
    """Stop the local service: running questions end first. Returns its PID, or None if it was not running.

    Raises:
        LocalServiceError: It did not stop; the text says what to do.
    """
    files = _ServiceFiles(folder or state_folder())
    if not files.folder.is_dir():
        return None
    try:
        with FileLock(files.start_lock, timeout=START_SECONDS, mode=0o600):
            if not files.is_held():
                return None
            connection = _wait_for_connection(files)
            _stop(files, connection)
    except OSError as error:  # also that another process holds the lock
        raise files.error(f"it cannot be stopped ({error})") from error
    return connection.pid


@dataclass(frozen=True, kw_only=True)
class LocalFiles:
    """The files of the local service. ``pid`` and ``started`` (seconds since the epoch) are those of its last process.

    They are None if it has never run. ``database_bytes`` includes SQLite's write-ahead log, ``files_bytes`` is that of
    attached files, ``results_bytes`` that of what tools found in them, ``total_bytes`` that of the whole folder.
    """

    folder: Path
    log: Path
    log_bytes: int
    database_bytes: int
    files_bytes: int
    results_bytes: int
    total_bytes: int
    pid: int | None
    started: float | None


def describe(folder: Path | None = None) -> LocalFiles:
    """Describe the state folder without starting or changing anything.

    Raises:
        LocalServiceError: The folder cannot be read.
    """
    files = _ServiceFiles(folder or state_folder())
    try:
        connection = files.read_connection()
        return LocalFiles(
            folder=files.folder,
            log=files.log,
            log_bytes=_size(files.log),
            database_bytes=sum(_size(files.database.with_name(files.database.name + end)) for end in ("", "-wal")),
            files_bytes=_size_of_all(files.database.with_name(f"{files.database.name}.files")),
            results_bytes=_size_of_all(files.database.with_name(f"{files.database.name}.results")),
            total_bytes=_size_of_all(files.folder),
            pid=connection.pid if connection else None,
            started=files.connection_file.stat().st_mtime if connection else None,
        )
    except OSError as error:
        raise _unusable(files.folder, error) from error


def _size_of_all(folder: Path) -> int:
    """The sizes of the files in a folder, as far as they are there; files come and go while this counts."""
    total = 0
    for file in folder.rglob("*"):
        with contextlib.suppress(FileNotFoundError):
            status = file.lstat()
            total += status.st_size if stat.S_ISREG(status.st_mode) else 0
    return total


def _size(file: Path) -> int:
    return file.stat().st_size if file.exists() else 0


class _ServiceFiles:
    """The files of a local service."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()
        self.connection_file = self.folder / "service.json"
        self.lock = self.folder / "service.json.lock"
        self.start_lock = self.folder / "start.lock"
        self.key_file = self.folder / "key"
        self.database = self.folder / "service.db"
        self.log = self.folder / "service.log"

    def make(self) -> None:
        """Create the folder, with access for this user only."""
        try:
            make_private_folder(self.folder)
            if has_owners():
                self._check_path()
                self._restrict_access()
        except OSError as error:
            raise _unusable(self.folder, error) from error

    def _restrict_access(self) -> None:
        status = self.folder.stat()
        if status.st_uid != os.getuid():
            raise LocalServiceError(
                f"{self.folder} belongs to another user, who could read your questions. "
                "Set SVC_STATE_DIR to a folder that you own."
            )
        if status.st_mode & 0o077:
            self.folder.chmod(0o700)
        for entry in self.folder.iterdir():  # left there while others could write to the folder
            if entry.lstat().st_uid != os.getuid():
                raise LocalServiceError(
                    f"{entry} belongs to another user. Remove it, or set SVC_STATE_DIR to a folder that you own."
                )

    def _check_path(self) -> None:
        """Refuse a path that another user can lead elsewhere: the key would be written where they choose."""
        for part in (self.folder, *self.folder.parents):
            status = part.lstat()
            if stat.S_ISLNK(status.st_mode):
                is_ours = status.st_uid in (0, os.getuid())
            else:
                is_ours = (
                    not status.st_mode & stat.S_IWOTH or bool(status.st_mode & stat.S_ISVTX) or part == self.folder
                )
            if not is_ours:
                raise LocalServiceError(
                    f"{part} can be changed by other users, who could put their own service in the place of yours. "
                    "Set SVC_STATE_DIR to a folder that you own."
                )

    def is_held(self) -> bool:
        """Whether a service is running. Only called under ``start_lock``, so that the probe blocks no start."""
        try:
            with FileLock(self.lock, timeout=0, mode=0o600):
                return False
        except Timeout:
            return True

    def read_connection(self) -> _Connection | None:
        """Read what the service wrote; None if the file is missing (so far) or invalid."""
        try:
            with self.connection_file.open("rb") as file:
                return msgspec.json.decode(file.read(_MAX_FILE_BYTES), type=_Connection)
        except (FileNotFoundError, msgspec.MsgspecError):
            return None

    def config(self, connection: _Connection) -> Config:
        """How to reach the service. Raises LocalServiceError if the files do not name a service on this machine."""
        try:
            key = self.key_file.read_text(encoding="ascii").strip()
            config = resolve(key, connection.base_url, connection.ws_url, environ={})
        except (OSError, UnicodeDecodeError, ConfigError) as error:
            raise self.error(f"its files cannot be used ({error})") from error
        if config == LOCAL or not all(
            is_loopback(urlsplit(u).hostname or "") for u in (config.base_url, config.ws_url)
        ):
            raise self.error(f"{self.connection_file} names a URL outside this machine: {connection.base_url}")
        return config

    def error(self, what: str) -> LocalServiceError:
        """Build the error, with the path and the last lines of the log."""
        tail = _tail(self.log)
        shown = f" Its last lines:\n{tail}" if tail else ""
        return LocalServiceError(f"the local service cannot be used: {what}. Its log is {self.log}.{shown}")


def _unusable(folder: Path, error: OSError) -> LocalServiceError:
    advice = "Set SVC_STATE_DIR to a folder that you own."
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        advice = "Free space on its disk, or set SVC_STATE_DIR to a folder on another one."
    return LocalServiceError(f"{folder} cannot be used for the local service ({error}). {advice}")


def _find(files: _ServiceFiles) -> Config | None:
    """The running service, or None. A service of another version is stopped first."""
    if not files.is_held():
        return None
    connection = _wait_for_connection(files)
    if connection.version != __version__:
        _stop(files, connection)
        return None
    config = files.config(connection)
    _check_health(files, config, connection)
    return config


def _wait_for_connection(files: _ServiceFiles) -> _Connection:
    """Wait for the file: a service started by hand holds the lock a moment before it writes the file."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if (connection := files.read_connection()) is not None:
            return connection
        time.sleep(_POLL_SECONDS)
    raise files.error(f"a process holds {files.lock} but does not write {files.connection_file}; stop that process")


def _check_health(files: _ServiceFiles, config: Config, connection: _Connection) -> None:
    transport = Transport(config, reply_seconds=HEALTH_SECONDS)
    try:
        transport.call(_requests.health(), limit_seconds=HEALTH_SECONDS)
    except ServiceError:
        return  # it responds; what it cannot do, such as storing on a full disk, each request says
    except SvcError as error:
        raise files.error(
            f"its process (PID {connection.pid}) does not respond: {error} Stop it with `kill {connection.pid}`"
        ) from error
    finally:
        transport.close()


def _stop(files: _ServiceFiles, connection: _Connection) -> None:
    try:
        os.kill(connection.pid, signal.SIGTERM)
    except PermissionError as error:
        raise files.error(f"version {connection.version} (PID {connection.pid}) cannot be stopped ({error})") from error
    except OSError:
        pass  # it has exited meanwhile (Windows has no error of its own for that); the lock shows that, too
    deadline = time.monotonic() + STOP_SECONDS
    while files.is_held():
        if time.monotonic() > deadline:
            raise files.error(
                f"version {connection.version} (PID {connection.pid}) did not stop within {STOP_SECONDS:g} s; "
                f"stop it with `kill {connection.pid}`"
            )
        time.sleep(_POLL_SECONDS)


def _start(files: _ServiceFiles) -> Config:
    """Start a service, on the port of the last one if that is free, so that existing clients find it again."""
    last = files.read_connection()
    port = _port(last.base_url) if last else 0
    files.connection_file.unlink(missing_ok=True)
    child = _spawn(files, port)
    connection = _wait_for_start(files, child)
    if connection is None and port:
        child = _spawn(files, 0)
        connection = _wait_for_start(files, child)
    if connection is None:
        raise files.error(f"it exited during start-up (exit code {child.returncode})")
    config = files.config(connection)
    _check_health(files, config, connection)
    return config


def _wait_for_start(files: _ServiceFiles, child: _Detached) -> _Connection | None:
    """Wait for the connection file; None if the process exited."""
    deadline = time.monotonic() + START_SECONDS
    while child.poll() is None:
        connection = files.read_connection()
        if connection is not None and connection.pid == child.pid:
            return connection
        if time.monotonic() > deadline:
            child.kill()
            child.wait()
            raise files.error(f"it did not listen within {START_SECONDS:g} s and was stopped")
        time.sleep(_POLL_SECONDS)
    return None


def _spawn(files: _ServiceFiles, port: int) -> _Detached:
    if not sys.executable:
        raise files.error("the path of this Python is not known; run `svc serve` and set SVC_BASE_URL")
    program, environment = interpreter()
    _rotate(files.log)
    descriptor = os.open(files.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        child = _Detached(  # our own interpreter and module, no shell
            [program, *serve_command(files.folder, port)[1:]],
            cwd=files.folder,
            env=_OWN_DEFAULTS | {name: value for name, value in environment.items() if name not in _NOT_INHERITED},
            stdin=subprocess.DEVNULL,
            stdout=descriptor,
            stderr=descriptor,
            start_new_session=True,
            creationflags=_DETACHED,
        )
    except OSError as error:
        raise files.error(f"{sys.executable} cannot be run ({error})") from error
    finally:
        os.close(descriptor)
    _children.append(child)
    return child


def serve_command(folder: Path, port: int, environ: Mapping[str, str] = os.environ) -> list[str]:
    """Build the command line of the local service. The key is in a file, never here."""
    files = _ServiceFiles(folder)
    options = {
        "--port": port,
        "--connection-file": files.connection_file,
        "--key-file": files.key_file,
        "--database": f"sqlite:///{files.database}",
        "--exit-when-idle": IDLE_SECONDS,
        "--drain-seconds": 0,  # no balancer is in front of it
    }
    words = [str(word) for option in options.items() for word in option]
    extra = shlex.split(environ.get("SVC_LOCAL_SERVE_ARGS", ""))
    return [
        sys.executable,
        "-P",  # import no modules from the folder
        "-m",
        "svc.cli.main",
        "serve",
        *words,
        *extra,
    ]


def _port(base_url: str) -> int:
    try:
        return urlsplit(base_url).port or 0
    except ValueError:
        return 0


def _rotate(log: Path) -> None:
    """Keep one older log."""
    if log.exists() and log.stat().st_size > LOG_LIMIT_BYTES:
        with contextlib.suppress(PermissionError):  # Windows: somebody reads it
            log.replace(log.with_suffix(".log.1"))


def _tail(log: Path) -> str:
    """The last lines of the log; "" if it cannot be read, as the error that shows them must not fail itself."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - 4_096))
            lines = file.read().decode("utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    return "\n".join(lines[-LOG_LINES_SHOWN:])
