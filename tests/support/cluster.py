"""Several services as real processes on one PostgreSQL database, with one folder of files and one key.

With ``has_links`` each reaches the database through a link of its own that a test cuts or holds, and ``front`` leads to
them in turn, as a balancer does.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

from svc.service.access.keys import make_key
from svc.service.store.address import PostgresAddress
from tests.support import ASSISTANTS
from tests.support.live import LiveService, ProcessService, free_port
from tests.support.postgres import PostgresServer
from tests.support.tcp_link import DatabaseLink, TcpLink

SHIFTED_CLOCK = Path(__file__).parent / "shifted_clock"


class Front(LiveService):
    """The address of all services: each connection leads to the next one that accepts it."""

    keeps_connections = False

    def __init__(self, services: list[ProcessService], ports: list[int]) -> None:
        self._balancer = TcpLink([("127.0.0.1", port) for port in ports])
        self.base_url = f"http://127.0.0.1:{self._balancer.port}"
        self.ws_url = f"ws://127.0.0.1:{self._balancer.port}"
        self.key = services[0].key

    def number_of(self, client_port: int) -> int | None:
        """Which service an open connection leads to."""
        return self._balancer.placed.get(client_port)

    def close(self) -> None:
        self._balancer.close()


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
        has_links: bool = False,
        clocks: Mapping[int, float] | None = None,
        **environment: str,
    ) -> None:
        """``is_advertised``: the services know each other's addresses, and take unlogged sessions.

        ``clocks``: by how many seconds the clock of a service is wrong.
        """
        self.folder = folder
        self.database = database
        self._is_advertised = is_advertised
        self._clocks = clocks or {}
        self._assistant = assistant
        self._environment = {"SVC_SHARED_DATABASE": "true", "SVC_STOP_SECONDS": "0.1"} | environment
        key = folder / "service.key"
        key.write_text(f"{make_key()}\n")
        key.chmod(0o600)
        has_ports = is_advertised or has_links
        self._ports = [free_port() if has_ports else 0 for _ in range(count)]
        self.links = [DatabaseLink(database) for _ in range(count)] if has_links else []
        self.services = [self._new(number) for number in range(count)]
        for service in self.services:
            service.wait()
        self._front = Front(self.services, self._ports) if has_links else None

    @property
    def front(self) -> Front:
        assert self._front is not None, "only with has_links"
        return self._front

    def _new(self, number: int, environment: Mapping[str, str] = MappingProxyType({})) -> ProcessService:
        folder = self.folder / f"replica{number}"
        folder.mkdir(exist_ok=True)
        port = self._ports[number]
        own = {"SVC_ADVERTISE": f"http://127.0.0.1:{port}"} if self._is_advertised else {}
        if number in self._clocks:
            own["SVC_TEST_CLOCK_SECONDS"] = str(self._clocks[number])
            own["PYTHONPATH"] = os.pathsep.join((str(ASSISTANTS), str(SHIFTED_CLOCK)))
        return ProcessService(
            folder,
            self._assistant,
            port=port,
            database=self.links[number].address if self.links else self.database,
            common=self.folder,
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
        for link in self.links:
            link.close()
        if self._front is not None:
            self._front.close()


@contextlib.contextmanager
def live_cluster(
    folder: Path,
    server: PostgresServer,
    assistant: str,
    *,
    count: int,
    is_advertised: bool = False,
    has_links: bool = False,
    clocks: Mapping[int, float] | None = None,
    **environment: str,
) -> Iterator[Cluster]:
    """So many services until the end of the context."""
    database = PostgresAddress(server.new_schema())
    cluster = Cluster(
        folder, database, assistant, count, is_advertised=is_advertised, has_links=has_links, clocks=clocks,
        **environment,
    )  # fmt: skip
    try:
        yield cluster
    finally:
        cluster.close()
