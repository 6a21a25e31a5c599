"""Three services on one database, killed, stopped and paused in the middle of turns: nothing is lost, doubled or moved.

Clients ask at any service, and go on at any other. A fault waits until a turn runs at the service that it hits.
"""

from __future__ import annotations

import asyncio
import random
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.cluster import Cluster, live_cluster
from tests.support.live import ProcessService
from tests.support.postgres import PostgresServer
from tests.support.wire_client import register
from tests.svc.service.test_kills import Client, finish_and_check

LEASE_SECONDS = 1.0
PAUSES = (0.3, 2.2 * LEASE_SECONDS)  # a longer one loses the lease
FAULTS = ("kill", "pause", "terminate")
OPTIONS = {
    "SVC_LEASE_SECONDS": str(LEASE_SECONDS), "SVC_MAX_TURN_ATTEMPTS": "1000", "SVC_PING_SECONDS": "1"
}  # fmt: skip


async def until(condition: Callable[[], bool], what: str, seconds: float = 60) -> None:
    try:
        async with asyncio.timeout(seconds):
            while not condition():
                await asyncio.sleep(0.002)
    except TimeoutError:
        raise AssertionError(f"not within {seconds:g} s: {what}") from None


class Roamer(Client):
    """A client that goes to another service after every cut, and after every few answers."""

    steps = 250

    def __init__(self, session_id: str, chance: random.Random) -> None:
        super().__init__(session_id)
        self._chance = chance
        self.at: ProcessService | None = None

    @property
    def is_in_turn(self) -> bool:
        """Whether it has seen the beginning of a turn, and far from its end."""
        last = self.seen[-1]["content"] if self.seen else None
        return last is not None and last.startswith("step ") and int(last[5:]) < self.steps / 4

    async def roam(self, up: Callable[[], list[ProcessService]]) -> None:
        while not self.is_leaving:
            self.at = self._chance.choice(up())
            await self.run(self.at)
            await asyncio.sleep(0.05)


class Faults:
    """What is done to the services; a dead one is started again while the others go on."""

    def __init__(self, cluster: Cluster, chance: random.Random) -> None:
        self._cluster = cluster
        self._chance = chance
        self._down: set[int] = set()
        self._starts: list[asyncio.Task[None]] = []

    def up(self) -> list[ProcessService]:
        return [service for number, service in enumerate(self._cluster.services) if number not in self._down]

    async def commit(self, fault: str, clients: list[Roamer]) -> None:
        """Do it to a service at which a turn has just begun to run."""
        await until(lambda: len(self.up()) > 1, "two services to be up")
        hit: list[ProcessService] = []

        def is_time() -> bool:
            hit[:] = [one.at for one in clients if one.at in self.up() and one.is_in_turn]
            return bool(hit)

        await until(is_time, "a turn to run")
        number = self._cluster.services.index(self._chance.choice(hit))
        if fault == "pause":
            process = self._cluster.services[number].process
            process.send_signal(signal.SIGSTOP)
            await asyncio.sleep(self._chance.choice(PAUSES))
            process.send_signal(signal.SIGCONT)
            return
        self._down.add(number)
        self._starts.append(asyncio.create_task(self._die(number, fault)))
        await asyncio.sleep(self._chance.uniform(0, LEASE_SECONDS))

    async def _die(self, number: int, fault: str) -> None:
        service = self._cluster.services[number]
        if fault == "kill":
            service.kill()
        else:
            assert await asyncio.to_thread(service.terminate) == 0
        await asyncio.to_thread(self._cluster.start, number)
        self._down.discard(number)

    async def repaired(self) -> None:
        await asyncio.gather(*self._starts)


async def go_through(cluster: Cluster, order: list[str], clients: int, seed: int) -> None:
    chance = random.Random(seed)
    faults = Faults(cluster, chance)
    everyone = [Roamer(register(cluster.services[0]), chance) for _ in range(clients)]
    tasks = [asyncio.create_task(client.roam(faults.up)) for client in everyone]
    for fault in order:
        await faults.commit(fault, everyone)
    await faults.repaired()
    answered = [client.answered for client in everyone]
    await until(  # each gets on after the last fault
        lambda: all(now.answered > then for now, then in zip(everyone, answered, strict=True)), "an answer for everyone"
    )
    for client in everyone:
        client.is_leaving = True
    await asyncio.gather(*tasks)
    figures = Counter(order)
    for client in everyone:
        for service in cluster.services:
            with service.http() as http:
                found = await asyncio.to_thread(finish_and_check, http, client, len(order))
        figures.update(found)
    print(dict(figures))  # the long form's result: pytest -s, or -rP
    assert figures["taken_up"] > 0, "no fault hit a turn"


async def test_a_few_faults_of_several_services_lose_nothing(postgres: PostgresServer, tmp_path: Path):
    with live_cluster(tmp_path, postgres, "Steady", count=3, **OPTIONS) as cluster:
        await go_through(cluster, [*FAULTS, *FAULTS], clients=4, seed=1)


@pytest.mark.long
@pytest.mark.timeout(3_600)
async def test_two_hundred_faults_of_several_services_lose_nothing(postgres: PostgresServer, tmp_path: Path):
    order = [FAULTS[number % len(FAULTS)] for number in range(200)]
    random.Random(2).shuffle(order)
    with live_cluster(tmp_path, postgres, "Steady", count=3, **OPTIONS) as cluster:
        await go_through(cluster, order, clients=8, seed=3)
