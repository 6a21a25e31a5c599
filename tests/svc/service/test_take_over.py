"""How long the turns of a killed service wait for another one, in leases."""

from __future__ import annotations

import asyncio
import contextlib
import random
import statistics
from pathlib import Path

import pytest
from websockets.asyncio.client import ClientConnection

from tests.support.cluster import Cluster, live_cluster
from tests.support.live import ProcessService
from tests.support.postgres import PostgresServer
from tests.support.wire_client import opened, read, register, send

LEASE_SECONDS = 2.0
TURNS = 10  # of a service that is killed
AGAIN = "started again after a service restart"
OPTIONS = {"SVC_LEASE_SECONDS": str(LEASE_SECONDS), "SVC_MAX_TURN_ATTEMPTS": "9"}


async def killed(cluster: Cluster, number: int, chance: random.Random) -> list[float]:
    """Kill a service in the middle of its turns; how many leases later each of them runs elsewhere."""
    victim = cluster.services[number]
    others = [service for service in cluster.services if service is not victim]
    async with contextlib.AsyncExitStack() as stack:
        readers = [await begin(stack, victim, chance.choice(others)) for _ in range(TURNS)]
        await asyncio.sleep(chance.uniform(0, LEASE_SECONDS / 4))  # since its lease was renewed
        victim.kill()
        died = asyncio.get_running_loop().time()
        ends = await asyncio.gather(*map(begins_again, readers))
        for reader in readers:
            await send(reader, message_type="cancel")
    return [(end - died) / LEASE_SECONDS for end in ends]


async def begin(stack: contextlib.AsyncExitStack, victim: ProcessService, other: ProcessService) -> ClientConnection:
    """A turn that runs at the victim, and its reader at another service."""
    session_id = register(victim)
    asking = await stack.enter_async_context(opened(victim, session_id))
    await send(asking, message_type="query", content="wait")
    for _ in range(2):
        await read(asking)
    return await stack.enter_async_context(opened(other, session_id, 2))


async def begins_again(reader: ClientConnection) -> float:
    """When the turn begins again; it is the first that comes."""
    assert (await read(reader))["content"] == AGAIN
    return asyncio.get_running_loop().time()


async def take_over_again_and_again(cluster: Cluster, kills: int, seed: int) -> list[float]:
    chance, waits = random.Random(seed), []
    for kill in range(kills):
        waits += await killed(cluster, kill % len(cluster.services), chance)
        await asyncio.to_thread(cluster.start, kill % len(cluster.services))
    figures = (min(waits), statistics.median(waits), max(waits))
    print(len(waits), "turns taken over: {:.2f}, median {:.2f}, most {:.2f} leases".format(*figures))  # pytest -rP
    return waits


async def test_the_turns_of_a_killed_service_are_taken_over(postgres: PostgresServer, tmp_path: Path):
    with live_cluster(tmp_path, postgres, "scripted_assistants:Scripted", count=3, **OPTIONS) as cluster:
        assert len(await take_over_again_and_again(cluster, kills=1, seed=1)) == TURNS


@pytest.mark.long
@pytest.mark.timeout(1_800)
async def test_a_hundred_turns_of_killed_services_are_taken_over_within_two_leases(
    postgres: PostgresServer, tmp_path: Path
):
    with live_cluster(tmp_path, postgres, "scripted_assistants:Scripted", count=3, **OPTIONS) as cluster:
        waits = await take_over_again_and_again(cluster, kills=10, seed=2)
    assert len(waits) == 10 * TURNS
    assert max(waits) <= 2
