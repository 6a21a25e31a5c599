"""Faults in the middle of turns: nothing that a client saw is lost, doubled or moved, and every turn ends once.

The faults are kill -9, SIGTERM, a stop (SIGSTOP) that goes on or ends in a kill, and a full disk. Attached files stay.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import itertools
import os
import random
import signal
from collections import Counter
from pathlib import Path

import httpx2
import pytest
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import WebSocketException

from svc.messages import State
from tests.support.live import LiveService, ProcessService, live_process, wait_until
from tests.support.small_disk import MIB, SmallDisk, small_disk, small_disk_or_folder
from tests.support.wire_client import Frame, opened, read, register, send

STEPS = 60
AGAIN = "started again after a service restart"
ASK_AGAIN = (503, 507)  # the query was refused, or the end of its turn cannot be stored yet
PART_BYTES = 300_000
PAGE_MESSAGES = 2_000


class Client:
    """Asks one question after the other, comes back after every cut with its last seq, and keeps what it saw."""

    steps = STEPS

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        self.options: dict[str, float] = {}  # of its streams
        self.seen: list[Frame] = []
        self.answered = 0
        self.is_leaving = False  # after the turn that runs

    @property
    def is_in_turn(self) -> bool:
        """Whether it has seen the beginning of a turn, and far from its end."""
        last = self.seen[-1]["content"] if self.seen else None
        return last is not None and last.startswith("step ") and int(last[5:]) < self.steps / 4

    async def run(self, service: LiveService) -> None:
        """Until the service dies, or the client leaves."""
        with contextlib.suppress(OSError, WebSocketException, TimeoutError):
            async with opened(service, self.session_id, len(self.seen), max_queue=None, **self.options) as socket:
                self.connected(socket)
                while not self.is_leaving:
                    query = {"id": f"q{self.answered}", "message_type": "query", "content": str(self.steps)}
                    await send(socket, **query)
                    await self._read_turn(socket, query["id"])
                    self.answered += 1

    def connected(self, socket: ClientConnection) -> None:
        """A stream is open."""

    async def _read_turn(self, socket, query_id: str) -> None:
        while True:
            frame = await read(socket)
            if frame["seq"] == 0 and frame["status_code"] in ASK_AGAIN:
                await asyncio.sleep(0.1)
                await send(socket, id=query_id, message_type="query", content=str(self.steps))
                continue
            if frame["seq"] == 0:  # the turn of this query runs already
                continue
            self.seen.append(frame)
            ends = frame["state"] == "end" and frame["message_type"] in ("info", "error")
            if ends and frame["parent_id"] == query_id:
                return


def figures_of(client: Client, stored: list[Frame]) -> Counter[str]:
    """What was seen against what is stored; lost is what was seen and is not stored, or differs."""
    seen = [frame["seq"] for frame in client.seen]
    seqs = [frame["seq"] for frame in stored]
    by_seq = {frame["seq"]: frame for frame in stored}
    return Counter(
        turns=sum(frame["message_type"] == "query" for frame in stored),
        taken_up=sum(frame["content"] == AGAIN for frame in stored),
        died_twice=sum(frame["status_message"] == "internal_error" for frame in stored),
        not_stored=sum(frame["status_message"] == "insufficient_storage" for frame in stored),
        failed=sum(frame["message_type"] == "error" for frame in stored),
        stored=len(stored),
        seen=len(seen),
        lost=sum(by_seq.get(frame["seq"]) != frame for frame in client.seen),
        doubled=len(seen) - len(set(seen)) + len(stored) - len({frame["id"] for frame in stored}),
        out_of_order=sum(later <= earlier for earlier, later in itertools.pairwise(seen)),
        gaps=sum(seq != at for at, seq in enumerate(seen, 1)) + sum(seq != at for at, seq in enumerate(seqs, 1)),
    )


def check_history(client: Client, stored: list[Frame], releases: int = 0) -> None:
    """What was seen is what is stored, to the letter; seq has no gap; every query has one end, one RESULT at most."""
    assert [frame["seq"] for frame in stored] == list(range(1, len(stored) + 1))
    assert client.seen == stored[: len(client.seen)]
    for query in [frame for frame in stored if frame["message_type"] == "query"]:
        of_turn = [frame for frame in stored if frame["turn"] == query["turn"]]
        ends = [f for f in of_turn if f["state"] == "end" and f["message_type"] in ("info", "error")]
        results = [f for f in of_turn if f["message_type"] == "result"]
        assert (len(ends), of_turn[-1]) == (1, ends[0])
        assert len(results) == (1 if ends[0]["message_type"] == "info" else 0)
        check_runs(of_turn, releases)


def check_runs(of_turn: list[Frame], releases: int) -> None:
    """Each run's steps count from 0 without a gap, and a later run says that it is one, and nothing of an older one
    comes after it.

    A turn runs twice at most; ``releases`` are those of stopping services, which do not count.
    """
    groups = [group for group, _ in itertools.groupby(frame["group"] for frame in of_turn[1:])]
    assert len(groups) == len(set(groups)), "a run went on after a newer one began"
    for number, group in enumerate(groups):
        contents = [f["content"] for f in of_turn if f["group"] == group and f["message_type"] == "info"]
        assert not number or contents[:1] in ([], [AGAIN])
        steps = [content for content in contents if content.startswith("step ")]
        assert steps == [f"step {n}" for n in range(len(steps))]
    assert len(groups) <= 3 + releases
    assert [frame["content"] for frame in of_turn].count(AGAIN) <= 1 + releases


async def kill_again_and_again(folder: Path, kills: int, clients: int, seed: int) -> None:
    figures = Counter(kills=kills)
    chance = random.Random(seed)
    with live_process(folder, "Steady") as service:
        everyone = [Client(register(service)) for _ in range(clients)]
        for _ in range(kills):
            running = [asyncio.create_task(client.run(service)) for client in everyone]
            await asyncio.sleep(chance.uniform(0.02, 0.6))  # the moment of the kill is what is varied
            service.kill()
            await asyncio.gather(*running)
            service.__init__(folder, "Steady")
        with service.http() as http:
            for client in everyone:
                figures.update(await asyncio.to_thread(finish_and_check, http, client))
    print(dict(figures))  # the long form's result: pytest -s, or -rP
    assert sum(client.answered for client in everyone) > 0
    assert figures["taken_up"] > 0, "no kill hit a turn"


def session_page(http: httpx2.Client, session_id: str, after: int, limit: int) -> Frame:
    """A session with some of its messages, from any service that can reach its database."""
    found: list[httpx2.Response] = []

    def is_there() -> bool:
        found[:] = [http.get("/session/get", params={"session_id": session_id, "after": after, "limit": limit})]
        return found[0].status_code != httpx2.codes.SERVICE_UNAVAILABLE

    wait_until(is_there, "a service that reaches its database", 60)
    return found[0].raise_for_status().json()


def stored_messages(http: httpx2.Client, session_id: str) -> list[Frame]:
    """All messages, page by page: reading a long session at once would stop the links that run in this process."""
    stored: list[Frame] = []
    while page := session_page(http, session_id, len(stored), PAGE_MESSAGES)["messages"]:
        stored += page
    return stored


def finish_and_check(http, client: Client, releases: int = 0) -> Counter[str]:
    def is_over() -> bool:
        return session_page(http, client.session_id, 0, 1)["state"] != State.RUNNING_AGENT

    wait_until(is_over, "the last turn's end", 60)
    stored = stored_messages(http, client.session_id)
    figures = figures_of(client, stored)
    assert not [figures[wrong] for wrong in ("lost", "doubled", "out_of_order", "gaps") if figures[wrong]], figures
    check_history(client, stored, releases)
    return figures


class ProcessFaults:
    """What is done to the process of a service."""

    def __init__(self, service: ProcessService, chance: random.Random) -> None:
        self._service = service
        self._chance = chance

    async def kill(self) -> None:
        self._service.kill()

    async def terminate(self) -> None:
        assert await asyncio.to_thread(self._service.terminate) == 0

    async def pause(self) -> None:
        """Longer than the service's pings at times, so that it closes its streams when it goes on."""
        self._service.process.send_signal(signal.SIGSTOP)
        await asyncio.sleep(self._chance.choice([0.1, 0.5, 2.5]))
        self._service.process.send_signal(signal.SIGCONT)


class Faults(ProcessFaults):
    """What is done to a service, one fault after the other; ``is_dead`` afterwards, or the same process goes on."""

    def __init__(self, disk: SmallDisk, service: ProcessService, chance: random.Random) -> None:
        super().__init__(service, chance)
        self._disk = disk

    async def pause_and_kill(self) -> None:
        self._service.process.send_signal(signal.SIGSTOP)
        await asyncio.sleep(0.2)
        self._service.kill()

    async def fill(self) -> None:
        """For less, and for more, than a turn waits until it fails."""
        self._disk.fill()
        await asyncio.sleep(self._chance.choice([0.5, 2.0, 7.0]))
        self._disk.free()

    async def fill_and_kill(self) -> None:
        self._disk.fill()
        await asyncio.sleep(0.3)
        self._service.kill()
        self._disk.free()

    async def fill_and_terminate(self) -> None:
        self._disk.fill()
        await asyncio.sleep(0.3)
        await asyncio.to_thread(self._service.process.terminate)
        await asyncio.to_thread(self._service.process.wait, 30)
        self._disk.free()


FAULTS = ("kill", "terminate", "pause", "fill", "pause_and_kill", "fill_and_kill", "fill_and_terminate")


class Uploads:
    """Files that are being attached all the time; ``accepted`` by session are those the service answered for."""

    def __init__(self) -> None:
        self.accepted: dict[str, dict[str, str]] = {}
        self._count = itertools.count()

    def upload(self, service: ProcessService, session_id: str) -> None:
        name, content = f"{next(self._count)}.bin", os.urandom(PART_BYTES)
        params = {"session_id": session_id, "filename": name}
        with contextlib.suppress(httpx2.HTTPError), service.http() as http:
            if http.post("/session/upload_file", params=params, content=content).is_success:
                self.accepted.setdefault(session_id, {})[name] = hashlib.sha256(content).hexdigest()

    def check(self, http: httpx2.Client, folder: Path) -> Counter[str]:
        """Every accepted file is there to the byte, and nothing else is on the disk."""
        intact, known = 0, 0
        for session_id, names in self.accepted.items():
            files = http.get("/session/get", params={"session_id": session_id}).json()["files"]
            known += len(files)
            for file in files:
                params = {"session_id": session_id, "sha256": file["sha256"]}
                content = http.get("/session/file", params=params).content
                assert hashlib.sha256(content).hexdigest() == file["sha256"]
                intact += names.get(file["name"]) == file["sha256"]
        assert intact == sum(len(names) for names in self.accepted.values())
        names_on_disk = [path.name for path in folder.iterdir()]
        assert (len(names_on_disk), [name for name in names_on_disk if len(name) != 32]) == (known, [])
        return Counter(files=intact)


async def go_through_faults(place: SmallDisk | Path, faults: int, clients: int, seed: int) -> None:
    chance = random.Random(seed)
    disk = SmallDisk(place) if isinstance(place, Path) else place
    kinds = [fault for fault in FAULTS if isinstance(place, SmallDisk) or "fill" not in fault]
    order = [kinds[number % len(kinds)] for number in range(faults)]
    chance.shuffle(order)
    figures = Counter(order)
    environment = {"SVC_PING_SECONDS": "1", "SVC_STOP_SECONDS": "2", "SVC_MAX_SESSION_FILES": "1000"}
    uploads = Uploads()
    with live_process(disk.folder, "Steady", **environment) as service:
        everyone = [Client(register(service)) for _ in range(clients)]
        tasks: dict[str, asyncio.Task[None]] = {}
        for fault in order:
            for client in everyone:
                if client.session_id not in tasks or tasks[client.session_id].done():
                    tasks[client.session_id] = asyncio.create_task(client.run(service))
            upload = asyncio.to_thread(uploads.upload, service, chance.choice(everyone).session_id)
            uploading = asyncio.create_task(upload)
            await asyncio.sleep(chance.uniform(0.02, 0.6))
            await getattr(Faults(disk, service, chance), fault)()
            await uploading
            if service.process.poll() is not None:
                await asyncio.gather(*tasks.values())
                service.__init__(disk.folder, "Steady", **environment)
        releases = sum("terminate" in fault for fault in order)
        for client in everyone:
            client.is_leaving = True
        await asyncio.gather(*tasks.values())
        with service.http() as http:
            for client in everyone:
                figures.update(await asyncio.to_thread(finish_and_check, http, client, releases))
            figures.update(await asyncio.to_thread(uploads.check, http, disk.folder / "service.db.files"))
            assert http.get("/health").json()["status"] == "ok"
    print(dict(figures))  # the long form's result: pytest -s, or -rP
    assert figures["taken_up"] > 0, "no fault hit a turn"
    assert figures["files"] > 0


async def test_a_few_kills_lose_nothing(tmp_path: Path):
    await kill_again_and_again(tmp_path, kills=4, clients=5, seed=1)


@pytest.mark.long
@pytest.mark.timeout(3_600)
async def test_two_hundred_kills_under_twenty_concurrent_turns_lose_nothing(tmp_path: Path):
    await kill_again_and_again(tmp_path, kills=200, clients=20, seed=2)


async def test_a_few_faults_of_all_kinds_lose_nothing(tmp_path: Path):
    with small_disk_or_folder(tmp_path / "disk", 64 * MIB) as disk:
        await go_through_faults(disk, faults=len(FAULTS) + 3, clients=4, seed=3)


@pytest.mark.long
@pytest.mark.timeout(3_600)
async def test_two_hundred_faults_of_all_kinds_lose_nothing(tmp_path: Path):
    with small_disk(tmp_path / "disk", 1_024 * MIB) as disk:
        await go_through_faults(disk, faults=200, clients=12, seed=4)
