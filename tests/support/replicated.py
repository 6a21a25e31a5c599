"""Several services on one PostgreSQL behind a balancer, which a test uses as one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from svc.assistant.turn import Assistant
from svc.service.settings import Settings
from svc.service.store.address import PostgresAddress
from tests.support.live import ThreadService
from tests.support.tcp_link import TcpLink

REPLICAS = 3


class ReplicatedService(ThreadService):
    """Each connection goes to the next service, and each request has a connection of its own."""

    keeps_connections = False

    def __init__(
        self,
        folder: Path,
        assistant: Callable[[], Assistant],
        settings: Settings,
        clock: Callable[[], float] | None,
        database: PostgresAddress,
    ) -> None:
        self.balancer = TcpLink([])
        front = f"127.0.0.1:{self.balancer.port}"
        chosen = msgspec.structs.replace(settings, shared_database=True, front_addresses=(front,))
        super().__init__(folder, assistant(), chosen, clock, database=database, is_advertised=True)
        self._others = [
            ThreadService(folder, assistant(), chosen, clock, database=database, is_advertised=True)
            for _ in range(REPLICAS - 1)
        ]
        services = [urlsplit(one.base_url) for one in (self, *self._others)]
        self.own_addresses = [one.netloc for one in services]
        self.balancer.lead_to([(one.hostname or "", one.port or 0) for one in services])
        self.base_url = f"http://{front}"
        self.ws_url = f"ws://{front}"

    def stop(self) -> None:
        """Stop all services and the balancer."""
        for service in self._others:
            service.stop()
        super().stop()
        self.balancer.close()
