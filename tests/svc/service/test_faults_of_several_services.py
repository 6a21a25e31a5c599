"""Three services on one database behind a balancer, and faults in the middle of turns: nothing is lost, doubled, moved.

Clients ask through the balancer and come back wherever it leads them. Services are killed, stopped one after the other
and paused for longer than their lease; PostgreSQL crashes, is stopped, and its disk is full; each service's link to it
is cut, held and delivered late, loses answers, or loses the listener alone. One service's clock is ten minutes ahead.
The last tests take one guard out of the services, and the same faults must then be noticed.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import asyncpg
import httpx2
import pytest
from websockets.asyncio.client import ClientConnection

from svc.service.store.checking import Checked
from svc.service.store.postgres.checking import opened_for_checking
from tests.support.cluster import Cluster, live_cluster
from tests.support.live import patience
from tests.support.owner_audit import OwnerAudit
from tests.support.postgres import PostgresServer, postgres_server
from tests.support.small_disk import MIB, SmallDisk, small_disk_or_folder
from tests.support.wire_client import register
from tests.svc.service.test_kills import Client, finish_and_check

LEASE_SECONDS = 1.0
LONG_LEASE_SECONDS = 2.0  # for trials that measure recovery time, also on a busy machine
CLOCKS = {1: 600.0}  # by how many seconds a service's clock is wrong
MAX_TIME_ERROR = 60.0  # of what is stored
DISK_BYTES = 224 * MIB
LONG_DISK_BYTES = 1_024 * MIB  # room for a stretch of the long form, twice
STRETCH_ROUNDS = 5  # of the long form; after each stretch its sessions are checked and deleted
ENDS_AT = 3  # leases after the last fault, everybody has an answer
OPTIONS = {"SVC_MAX_TURN_ATTEMPTS": "1000", "SVC_PING_SECONDS": "1"}
FAULTS = (
    "kill", "terminate", "pause", "crash_database", "stop_database", "cut_link", "hold_link", "lose_answers",
    "cut_listeners", "fill_disk",
)  # fmt: skip
FEW = (
    "lose_answers", "pause", "kill", "cut_listeners", "hold_link", "lose_answers", "crash_database", "pause",
    "cut_link", "fill_disk", "lose_answers", "pause", "kill", "stop_database", "hold_link", "cut_listeners", "cut_link",
    "terminate", "terminate", "terminate",
)  # fmt: skip


async def until(condition: Callable[[], bool], what: str, seconds: float = 240) -> None:
    since = time.monotonic()
    while not condition():
        waited = time.monotonic() - since
        assert waited < patience(seconds), f"not within {waited:.0f} s: {what}"
        await asyncio.sleep(0.002)


class Roamer(Client):
    """A client that goes on wherever the balancer leads it, and leaves a service that has become silent."""

    def __init__(self, session_id: str, cluster: Cluster, *, steps: int) -> None:
        super().__init__(session_id)
        self.steps = steps
        self._cluster = cluster
        self._failures = 0
        self.at: int | None = None

    def connected(self, socket: ClientConnection) -> None:
        self.at = self._cluster.front.number_of(socket.local_address[1])

    async def roam(self) -> None:
        while not self.is_leaving:
            patience = min(10, 1.3**self._failures)  # on a busy machine, a service that lives may be slow, too
            self.options = {"open_timeout": 2 * patience, "ping_interval": 0.7, "ping_timeout": 1.3 * patience}
            answered = self.answered
            await self.run(self._cluster.front)
            self._failures = self._failures + 1 if self.answered == answered else 0
            await asyncio.sleep(0.02)


class Faults:
    """What is done to services, links and database. A dead service is started again while the others go on."""

    def __init__(
        self,
        cluster: Cluster,
        server: PostgresServer,
        disk: SmallDisk | None,
        chance: random.Random,
        lease_seconds: float,
    ) -> None:
        self._cluster = cluster
        self._server = server
        self._disk = disk
        self._chance = chance
        self._down: set[int] = set()
        self._starts: list[asyncio.Task[None]] = []
        self.lease_seconds = lease_seconds

    async def commit(self, fault: str, clients: list[Roamer]) -> None:
        """Do it while a turn runs that has just begun, at a service that has one."""
        await until(lambda: len(self._down) < len(self._cluster.services) - 1, "two services to be up")
        hit: list[int] = []

        def is_time() -> bool:
            hit[:] = [one.at for one in clients if one.at is not None and one.at not in self._down and one.is_in_turn]
            return bool(hit)

        try:
            await until(is_time, "a turn to run")
        except AssertionError as error:
            states = [(one.answered, one.at, one.seen[-1]["content"], len(one.seen)) for one in clients]
            raise AssertionError(f"{error}; down: {self._down}; clients: {states}") from None
        await getattr(self, fault)(self._chance.choice(hit))

    async def _wait(self, *leases: float) -> None:
        await asyncio.sleep(self._chance.choice(leases) * self.lease_seconds)

    async def kill(self, number: int) -> None:
        self._down.add(number)
        self._cluster.services[number].kill()
        self._starts.append(asyncio.create_task(self._start_again(number)))

    async def terminate(self, number: int) -> None:
        """The others follow once it is back, as in an upgrade."""
        service = self._cluster.services[number]
        self._down.add(number)
        assert await asyncio.to_thread(service.terminate) == 0
        await self._start_again(number)

    async def _start_again(self, number: int) -> None:
        await asyncio.to_thread(self._cluster.start, number)
        self._down.discard(number)

    async def pause(self, number: int) -> None:
        process = self._cluster.services[number].process
        process.send_signal(signal.SIGSTOP)
        await self._wait(0.3, 1.5, 2.2)
        process.send_signal(signal.SIGCONT)

    async def crash_database(self, number: int) -> None:
        await asyncio.to_thread(self._server.crash)
        await asyncio.to_thread(self._server.start)

    async def stop_database(self, number: int) -> None:
        await asyncio.to_thread(self._server.stop_fast)
        await asyncio.to_thread(self._server.start)

    async def cut_link(self, number: int) -> None:
        link = self._cluster.links[number]
        link.cut()
        await self._wait(0, 0.5, 2.2)
        link.mend()

    async def hold_link(self, number: int) -> None:
        """What was under way arrives after others may have taken the turns."""
        link = self._cluster.links[number]
        link.hold()
        await self._wait(0.5, 1.5, 2.2)
        link.mend()

    async def lose_answers(self, number: int) -> None:
        """What was sent to the database is carried out, and nobody learns of it."""
        link = self._cluster.links[number]
        link.lose_answers()
        await self._wait(0.1, 0.3)
        link.cut_once()
        link.mend()

    async def cut_listeners(self, number: int) -> None:
        for link in self._cluster.links:
            link.cut_listeners()

    async def fill_disk(self, number: int) -> None:
        if self._disk is None:
            return
        await asyncio.to_thread(self._disk.fill)
        await self._wait(1)
        self._disk.free()
        if self._server.process.poll() is not None:  # it found no room for its log
            await asyncio.to_thread(self._server.start)

    async def repaired(self) -> None:
        await asyncio.gather(*self._starts)


class Trial:
    """Clients that ask at a cluster all the time, and what is true of it after each round of faults."""

    def __init__(
        self, cluster: Cluster, faults: Faults, audit: OwnerAudit, *, clients: int, steps: tuple[int, int]
    ) -> None:
        """``steps``: of the shortest and of the longest turns."""
        self.cluster = cluster
        self.faults = faults
        self.audit = audit
        self.clients = [Roamer(register(cluster.front), cluster, steps=steps[n % 2]) for n in range(clients)]
        self.waits: list[float] = []  # for each client after each round, until its next answer, in leases
        self.late: list[str] = []  # those that were too long
        self._began = time.time()

    async def run(self, rounds: list[list[str]]) -> Counter[str]:
        tasks = [asyncio.create_task(client.roam()) for client in self.clients]
        try:
            for order in rounds:
                for fault in order:
                    await self.faults.commit(fault, self.clients)
                await asyncio.gather(*map(self._next_answer, self.clients))
            await self.faults.repaired()
        finally:
            for client in self.clients:
                client.is_leaving = True
        await asyncio.gather(*tasks)
        return await self._check(sum(map(len, rounds)))

    async def _next_answer(self, client: Roamer) -> None:
        """Within ``ENDS_AT`` leases; on a busy machine the last one may be as long as the client's next whole turn."""
        wait = await self._seconds_to_answer(client) / self.faults.lease_seconds
        undisturbed = await self._seconds_to_answer(client) / self.faults.lease_seconds
        self.waits.append(wait)
        if wait > ENDS_AT - 1 + max(1, undisturbed):
            self.late.append(f"{wait:.1f} leases, a turn without a fault {undisturbed:.1f}")

    async def _seconds_to_answer(self, client: Roamer) -> float:
        before, since = client.answered, time.monotonic()
        await until(lambda: client.answered > before, "an answer for everyone")
        return time.monotonic() - since

    async def _check(self, faults: int) -> Counter[str]:
        """Every service shows what the clients saw, to the letter, and the database proves itself."""
        figures: Counter[str] = Counter()
        with self.cluster.front.http() as http:
            for client in self.clients:
                figures.update(await asyncio.to_thread(finish_and_check, http, client, faults))
        for frame in (frame for client in self.clients for frame in client.seen):
            assert self._began - MAX_TIME_ERROR < frame["timestamp"] < time.time() + MAX_TIME_ERROR, frame
        assert figures["failed"] == figures["not_stored"], figures
        problems = await asyncio.to_thread(self._prove)
        assert not problems, problems
        await self.audit.check()
        for service in self.cluster.services:
            strange = [line for line in service.log_file.read_text().splitlines() if is_of_a_bug(line)]
            assert not strange, (service.log_file, strange[:20])
        return figures

    async def forget(self) -> None:
        """Delete the clients' sessions, and give their room on the disk back."""
        with self.cluster.front.http() as http:
            for client in self.clients:
                await asyncio.to_thread(delete_session, http, client.session_id)
        connection = await asyncpg.connect(self.cluster.database.url)
        try:
            await connection.execute("VACUUM")
        finally:
            await connection.close()

    def _prove(self) -> list[str]:
        with opened_for_checking(self.cluster.database, None) as store:
            return [*Checked().run(store)]


def delete_session(http: httpx2.Client, session_id: str) -> None:
    http.post("/session/delete", json={"id": session_id}).raise_for_status()


def is_of_a_bug(line: str) -> bool:
    """Whether a service's log says that something went wrong that it did not expect."""
    return not line.startswith("{") or any(
        event in line for event in ('"internal error"', '"look failed","exception"', '"watch failed","exception"')
    )


@contextlib.contextmanager
def small_server(disk_bytes: int) -> Iterator[tuple[PostgresServer, SmallDisk | None]]:
    """A PostgreSQL server on a small disk, if one may be mounted."""
    with tempfile.TemporaryDirectory(prefix="svc-disk-") as name, contextlib.ExitStack() as stack:
        Path(name).chmod(0o755)
        place = stack.enter_context(small_disk_or_folder(Path(name) / "disk", disk_bytes))
        folder = place.folder if isinstance(place, SmallDisk) else place
        folder.chmod(0o755)
        server = stack.enter_context(postgres_server(is_durable=True, place=folder))
        yield server, place if isinstance(place, SmallDisk) else None


async def go_through(
    folder: Path,
    rounds: list[list[str]],
    *,
    clients: int,
    steps: tuple[int, int],
    seed: int,
    assistant: str = "Ticking",
    lease_seconds: float = LEASE_SECONDS,
    disk_bytes: int = DISK_BYTES,
) -> list[Trial]:
    """A trial for each stretch of rounds, with new sessions, at the same services and on the same database."""
    options = OPTIONS | {"SVC_LEASE_SECONDS": str(lease_seconds)}
    figures, trials = Counter(fault for order in rounds for fault in order), []
    with (
        small_server(disk_bytes) as (server, disk),
        live_cluster(folder, server, assistant, count=3, has_links=True, clocks=CLOCKS, **options) as cluster,
    ):
        faults = Faults(cluster, server, disk, random.Random(seed), lease_seconds)
        audit = OwnerAudit(cluster.database, lease_seconds)
        await audit.start()
        for first in range(0, len(rounds), STRETCH_ROUNDS):
            stretch = rounds[first : first + STRETCH_ROUNDS]
            trials.append(trial := Trial(cluster, faults, audit, clients=clients, steps=steps))
            figures += await trial.run(stretch)
            await trial.forget()
            count = sum(map(len, rounds[: first + STRETCH_ROUNDS]))
            print(f"{count} faults, longest wait {max(trial.waits):.2f} leases {trial.late or ''}", flush=True)
        figures["taken"] = await audit.taken()
    print(dict(figures))  # the long form's result: pytest -s, or -rP
    assert figures["taken_up"] > 0, "no fault hit a turn"
    return trials


@pytest.mark.timeout(400)
async def test_a_few_faults_of_all_kinds_lose_nothing(tmp_path: Path):
    assert set(FEW) == set(FAULTS)
    await go_through(tmp_path, [list(FEW)], clients=4, steps=(40, 200), seed=1)


@pytest.mark.long
@pytest.mark.timeout(7_200)
async def test_five_hundred_faults_lose_nothing_and_everybody_has_an_answer_within_three_leases(tmp_path: Path):
    order = [FAULTS[number % len(FAULTS)] for number in range(500)]
    random.Random(2).shuffle(order)
    rounds = [order[start : start + 10] for start in range(0, len(order), 10)]
    trials = await go_through(
        tmp_path,
        rounds,
        clients=8,
        steps=(100, 400),  # half a second to two seconds, so that a busy machine has time left for starting services
        seed=3,
        lease_seconds=LONG_LEASE_SECONDS,
        disk_bytes=LONG_DISK_BYTES,
    )
    assert not [late for trial in trials for late in trial.late]


MUTATIONS = [
    ("WithoutFence", ["pause", "hold_link"] * 5, "a run went on after a newer one began"),
    ("WithoutSeq", ["lose_answers"] * 10, "internal error"),
    ("WithoutLook", ["lose_answers"] * 10, "doubled"),
    ("WithoutSkipLocked", ["terminate"] * 10, "taken from a living service"),
]


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize(("mutation", "order", "wrong"), MUTATIONS, ids=[name for name, *_ in MUTATIONS])
async def test_a_service_without_a_guard_is_noticed(tmp_path: Path, mutation: str, order: list[str], wrong: str):
    """The same faults leave no trace with the guard."""
    for folder in ("with", "without"):
        (tmp_path / folder).mkdir()
    await go_through(tmp_path / "with", [order], clients=6, steps=(40, 300), seed=4)
    without = f"mutated:{mutation}"
    with pytest.raises(AssertionError, match=wrong):
        await go_through(tmp_path / "without", [order], clients=6, steps=(40, 300), seed=4, assistant=without)
