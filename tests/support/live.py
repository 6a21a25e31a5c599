"""A real service on a free port, in a thread or in a separate process."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import httpx2
import msgspec

from svc import ConfigError
from svc.assistant.turn import Assistant
from svc.service.access.key_admin import create_key
from svc.service.app import build
from svc.service.clock import elapsed_seconds
from svc.service.server import serve
from svc.service.sessions.database_mark import MARK
from svc.service.sessions.objects.bucket import Bucket
from svc.service.settings import Settings
from svc.service.store.address import PostgresAddress
from tests.support import ASSISTANTS

T = TypeVar("T")
QUIET_LOAD = 4  # of each core; above it, a test waits longer before it says that nothing goes on


def patience(seconds: float) -> float:
    """The seconds, as many times longer as this machine is busier than one that they are enough for."""
    return seconds * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1) / QUIET_LOAD)


def wait_until(condition: Callable[[], object], what: str, seconds: float = 60) -> None:
    """Return when the condition holds; fail with what was waited for. A busy machine has more time."""
    since = time.monotonic()
    while not condition():
        waited = time.monotonic() - since
        assert waited < patience(seconds), f"not within {waited:.0f} s: {what}"
        time.sleep(0.01)


def free_port() -> int:
    """A port to listen on later. It is below those that the system chooses from, so that no other test gets it."""
    for _ in range(100):
        port = 20_000 + secrets.randbelow(10_000)
        with contextlib.suppress(ConfigError):
            serve.listen("127.0.0.1", port).close()
            return port
    raise AssertionError("no free port")


class LiveService:
    """Address of the service and an unlimited key of the user ``local``."""

    keeps_connections = True  # else each request has a connection of its own

    def __init__(
        self,
        connection: serve.Connection,
        key: str,
        database: Path | PostgresAddress,
        folder: Path,
        files: Path | None = None,
    ) -> None:
        self.base_url = connection.base_url
        self.ws_url = connection.ws_url
        self.key = key
        self.database = database
        self.folder = folder  # everything that the service writes to a disk, but for PostgreSQL
        self.files = files or folder / "service.db.files"

    @property
    def stored_files(self) -> list[Path]:
        """What is in the folder of attached files, but for the mark of the database on PostgreSQL."""
        return [path for path in self.files.iterdir() if path.name != MARK]

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key}"}

    def http(self, key: str | None = None) -> httpx2.Client:
        headers = {"Authorization": f"Bearer {key or self.key}"}
        kept = httpx2.Limits(max_keepalive_connections=None if self.keeps_connections else 0)
        return httpx2.Client(base_url=self.base_url, headers=headers, timeout=30, trust_env=False, limits=kept)

    def make_key(self, user: str, **rights: object) -> tuple[str, str]:
        """Id and key of another user."""
        chosen = {"logging": "optional", "allow_experimental": False, "rpm": 0, "tpm": 0, "expires": 0.0} | rights

        def make() -> tuple[str, str]:
            record, key = asyncio.run(create_key(self.database, user, **chosen))
            return record.id, key

        with ThreadPoolExecutor(1) as pool:  # a separate event loop, even if the test has one
            return pool.submit(make).result()


class ThreadService(LiveService):
    """``svc serve`` in a thread of the test's process: its parts are at hand."""

    def __init__(
        self,
        folder: Path,
        assistant: Assistant,
        settings: Settings,
        clock: Callable[[], float] | None = None,
        elapsed: Callable[[], float] | None = None,
        database: PostgresAddress | None = None,
        files: Path | None = None,
        is_advertised: bool = False,
        bucket: Bucket | None = None,
    ) -> None:
        """Without ``elapsed`` as many seconds pass as a clock of the test says: it does not jump.

        ``is_advertised``: the other services of its database know its address. ``bucket``: where attached files are.
        """
        chosen = database or folder / "service.db"
        options = serve.Options(host="127.0.0.1", port=0, database=chosen, key_file=folder / "service.key")
        key = serve.read_or_make_key(folder / "service.key")
        self.assistant = assistant
        self.files = files or folder / "service.db.files"
        self._listener = serve.listen("127.0.0.1", 0)
        if is_advertised:
            address = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
            settings = msgspec.structs.replace(settings, advertise=address)
        self.running = build(
            assistant,
            database=chosen,
            files=bucket or self.files,
            settings=settings,
            clock=clock,
            elapsed=elapsed or clock or elapsed_seconds,
        )
        self.server = serve.Server(options, self.running, self._listener)
        super().__init__(self.server.connection, key, chosen, folder, self.files)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        wait_until(lambda: self.server.started or not self._thread.is_alive(), "the service to listen")
        assert self.server.started

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=self.server.config.get_loop_factory()) as runner:
            self.loop = runner.get_loop()
            runner.run(self.server.serve_until_stopped())

    def run(self, work: Coroutine[object, object, T]) -> T:
        """Run in the service's event loop, which its connections to PostgreSQL belong to."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(60)

    async def limit_pages(self, count: int) -> None:
        """How many pages the database may have; it never shrinks by this, so 1 is "full from now on"."""
        sql = f"PRAGMA max_page_count = {count}"
        await self.running.service.session_stores.logged._write(lambda c: c.execute(sql).fetchone())

    def stop(self) -> None:
        self.server.should_exit = True
        self._thread.join(30)
        self._listener.close()
        assert not self._thread.is_alive(), "the service did not stop"


class ProcessService(LiveService):
    """``svc serve`` as users run it. ``assistant`` is a name in scripted.py, or MODULE:NAME."""

    def __init__(
        self,
        folder: Path,
        assistant: str,
        *,
        port: int = 0,
        database: Path | PostgresAddress | None = None,
        common: Path | None = None,
        files: str | None = None,
        options: Sequence[str] = (),
        is_awaited: bool = True,
        **environment: str,
    ) -> None:
        """``common``: the folder of key and files, if several processes share them; ``files``: the value of the option.
        Not ``is_awaited``: call `wait`.

        ``options``: further options of ``svc serve``.
        """
        self.connection_file = folder / "connection.json"
        self.log_file = folder / "service.log"
        database = database or folder / "service.db"
        url = f"sqlite:///{database}" if isinstance(database, Path) else database.url
        name = assistant if ":" in assistant else f"scripted:{assistant}"
        self._common, self._database = common or folder, database
        self.folder = folder
        with self.log_file.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "svc.cli.main", "serve", "--port", str(port), "--database", url,
                 "--files", files or f"file://{self._common / 'service.db.files'}", "--assistant", name,
                 "--connection-file", str(self.connection_file), "--key-file", str(self._common / "service.key"),
                 *options],
                env={**os.environ, "PYTHONPATH": str(ASSISTANTS), "SVC_DRAIN_SECONDS": "0", **environment},
                stdout=log,
                stderr=log,
            )  # fmt: skip
        if is_awaited:
            self.wait()

    def wait(self) -> None:
        """Return once the service listens."""
        try:
            wait_until(lambda: self._is_ours() or self.process.poll() is not None, "the connection file", 60)
            assert self.process.poll() is None, self.log_file.read_text()
        except AssertionError:
            self.process.kill()
            raise
        connection = msgspec.json.decode(self.connection_file.read_bytes(), type=serve.Connection)
        key = (self._common / "service.key").read_text().strip()
        super().__init__(connection, key, self._database, self.folder)

    def _is_ours(self) -> bool:
        """Whether the connection file is this process's: a killed one leaves its own behind."""
        try:
            said = msgspec.json.decode(self.connection_file.read_bytes(), type=serve.Connection)
        except FileNotFoundError:
            return False
        return said.pid == self.process.pid

    def kill(self) -> None:
        """kill -9."""
        self.process.kill()
        self.process.wait(60)

    def terminate(self) -> int:
        """SIGTERM; the exit code."""
        self.process.terminate()
        return self.process.wait(60)


@contextlib.contextmanager
def live_process(
    folder: Path, assistant: str, *, database: PostgresAddress | None = None, **environment: str
) -> Iterator[ProcessService]:
    service = ProcessService(folder, assistant, database=database, **environment)
    try:
        yield service
    finally:
        if service.process.poll() is None:
            service.kill()


def process_that_dies(folder: Path, assistant: str) -> subprocess.Popen[bytes]:
    """``svc serve`` that is not waited for: what it takes up at its start ends it."""
    return subprocess.Popen(
        [sys.executable, "-m", "svc.cli.main", "serve", "--port", "0", "--database", f"sqlite:///{folder}/service.db",
         "--assistant", f"scripted:{assistant}"],
        env={**os.environ, "PYTHONPATH": str(ASSISTANTS)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip


StartService = Callable[..., ThreadService]
"""The fixture ``start_service``: an assistant's class and settings in, a service out."""
