"""Several services as real processes on one PostgreSQL database, with one folder of files and one key."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

from svc.service.access.keys import make_key
from svc.service.store.address import PostgresAddress
from tests.support.live import ProcessService, free_port
from tests.support.postgres import PostgresServer


class Cluster:
    """The services; a dead one is started again with `start`."""

    def __init__(
        self,
        folder: Path,
        database: PostgresAddress,
        assistant: str,
        count: int,
        *,
        is_advertised: bool = False,
        **environment: str,
    ) -> None:
        """``is_advertised``: the services know each other's addresses, and take unlogged sessions."""
        self._folder = folder
        self._is_advertised = is_advertised
        self._database = database
        self._assistant = assistant
        self._environment = {"SVC_SHARED_DATABASE": "true", "SVC_STOP_SECONDS": "0.1"} | environment
        key = folder / "service.key"
        key.write_text(f"{make_key()}\n")
        key.chmod(0o600)
        self.services = [self._new(number) for number in range(count)]
        for service in self.services:
            service.wait()

    def _new(self, number: int, environment: Mapping[str, str] = MappingProxyType({})) -> ProcessService:
        folder = self._folder / f"replica{number}"
        folder.mkdir(exist_ok=True)
        port = free_port() if self._is_advertised else 0
        own = {"SVC_ADVERTISE": f"http://127.0.0.1:{port}"} if self._is_advertised else {}
        return ProcessService(
            folder,
            self._assistant,
            port=port,
            database=self._database,
            common=self._folder,
            is_awaited=False,
            **self._environment | own | environment,
        )

    def start(self, number: int, **environment: str) -> None:
        """Start a service again that died; ``environment`` is added to that of all."""
        self.services[number] = self._new(number, environment)
        self.services[number].wait()

    def close(self) -> None:
        for service in self.services:
            if service.process.poll() is None:
                service.process.send_signal(signal.SIGCONT)
                service.kill()


@contextlib.contextmanager
def live_cluster(
    folder: Path,
    server: PostgresServer,
    assistant: str,
    *,
    count: int,
    is_advertised: bool = False,
    **environment: str,
) -> Iterator[Cluster]:
    """So many services until the end of the context."""
    database = PostgresAddress(server.new_schema())
    cluster = Cluster(folder, database, assistant, count, is_advertised=is_advertised, **environment)
    try:
        yield cluster
    finally:
        cluster.close()
