"""Two builds on one database: services are upgraded one after the other while clients ask, and nothing is lost.

The later build has one more migration. What it says about older programs decides whether they go on and start again.
"""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import asyncpg
import pytest
from click.testing import CliRunner

import svc
from svc.cli.main import main
from svc.service.store.address import PostgresAddress
from tests.support.cluster import Cluster, live_cluster
from tests.support.later_build import NEWEST, VERSION, later_build
from tests.support.live import ProcessService
from tests.support.postgres import PostgresServer
from tests.support.wire_client import register
from tests.svc.service.test_faults_of_several_services import OPTIONS, until
from tests.svc.service.test_kills import Client, finish_and_check

CLIENTS = 2  # of each service when it starts
PATIENCE_SECONDS = 200.0


class Roamer(Client):
    """A client that goes to another service after every cut."""

    steps = 250

    def __init__(self, session_id: str, chance: random.Random) -> None:
        super().__init__(session_id)
        self._chance = chance
        self.at: ProcessService | None = None

    async def roam(self, up: Callable[[], list[ProcessService]]) -> None:
        while not self.is_leaving:
            self.at = self._chance.choice(up())
            await self.run(self.at)
            await asyncio.sleep(0.05)


class Upgrade:
    """The services and their clients. A service that is replaced gets no clients meanwhile."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._down: set[int] = set()
        self._chance = random.Random(1)
        self._tasks: list[asyncio.Task[None]] = []
        self.clients: list[Roamer] = []
        for number in range(len(cluster.services)):
            self.join(number)

    def join(self, number: int) -> None:
        """New clients begin at this service; they go to another one when it ends."""
        first = self._cluster.services[number]

        async def roam(client: Roamer) -> None:
            client.at = first
            await client.run(first)
            await client.roam(self.up)

        for _ in range(CLIENTS):
            self.clients.append(Roamer(register(first), self._chance))
            self._tasks.append(asyncio.create_task(roam(self.clients[-1])))

    async def __aenter__(self) -> Upgrade:
        return self

    async def __aexit__(self, *_: object) -> None:
        """End the clients, also after a failure: one whose cancellation is lost sees that it is to leave."""
        for client in self.clients:
            client.is_leaving = True
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def leave(self) -> None:
        """Every client leaves after its turn."""
        for client in self.clients:
            client.is_leaving = True
        await asyncio.gather(*self._tasks)

    def up(self) -> list[ProcessService]:
        return [one for number, one in enumerate(self._cluster.services) if number not in self._down]

    def version(self, number: int) -> str:
        """The version that this service says it has."""
        with self._cluster.services[number].http() as http:
            version: str = http.get("/live").json()["version"]
        return version

    async def replace(self, number: int, build: Mapping[str, str]) -> None:
        """SIGTERM in the middle of a turn of this service, then start it as that build, with new clients."""
        service = self._cluster.services[number]
        await until(
            lambda: any(one.at is service and one.is_in_turn for one in self.clients), "a turn to run", PATIENCE_SECONDS
        )
        self._down.add(number)
        assert await asyncio.to_thread(service.terminate) == 0
        await asyncio.to_thread(lambda: self._cluster.start(number, **build))
        self._down.discard(number)
        self.join(number)

    async def everyone_gets_on(self) -> None:
        """Each client has one more answer."""
        before = [client.answered for client in self.clients]
        await until(
            lambda: all(now.answered > then for now, then in zip(self.clients, before, strict=True)),
            "answers",
            PATIENCE_SECONDS,
        )


async def schema_of(database: PostgresAddress) -> tuple[int, int]:
    connection = await asyncpg.connect(database.url)
    try:
        row = await connection.fetchrow("SELECT version, oldest_program FROM schema_state")
        return row["version"], row["oldest_program"]
    finally:
        await connection.close()


@pytest.mark.timeout(600)  # four processes start, one after the other
@pytest.mark.slow
async def test_two_services_are_upgraded_under_load_and_the_older_one_starts_anew(
    postgres: PostgresServer, tmp_path: Path
):
    later = later_build(tmp_path)
    with live_cluster(tmp_path, postgres, "Steady", count=2, **OPTIONS) as cluster:
        database = cluster.services[0].database
        async with Upgrade(cluster) as upgrade:
            assert (await schema_of(database))[0] == NEWEST

            await upgrade.replace(0, later)
            assert await schema_of(database) == (NEWEST + 1, NEWEST)
            assert [upgrade.version(number) for number in (0, 1)] == [VERSION, svc.__version__]
            await upgrade.everyone_gets_on()

            await upgrade.replace(1, {})
            assert upgrade.version(1) == svc.__version__
            await upgrade.everyone_gets_on()

            await upgrade.leave()
            for client in upgrade.clients:
                for service in cluster.services:
                    with service.http() as http:
                        await asyncio.to_thread(finish_and_check, http, client, 2)


@pytest.mark.parametrize(
    ("works_with", "is_refused"), [(NEWEST, False), (NEWEST + 1, True)], ids=["goes on", "refused"]
)
def test_a_program_refuses_only_a_schema_that_says_it_cannot(
    postgres: PostgresServer, tmp_path: Path, *, works_with: int, is_refused: bool
):
    database = PostgresAddress(postgres.new_schema())
    command = [sys.executable, "-m", "svc.cli.main", "migrate", "--database", database.url]
    environment = {**os.environ, **later_build(tmp_path, works_with=works_with)}
    subprocess.run(command, env=environment, check=True, capture_output=True, timeout=100)
    older = CliRunner().invoke(main, ["migrate", "--database", database.url])
    assert older.exit_code == int(is_refused), older.output
    assert ("Upgrade svc-jupyter" in older.output) == is_refused
    assert asyncio.run(schema_of(database)) == (NEWEST + 1, works_with)
