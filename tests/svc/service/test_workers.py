"""``svc work``: turns that no service has room for run at a process without an address for clients."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import asyncpg
import httpx2
import pytest
from click.testing import CliRunner
from websockets.asyncio.client import ClientConnection

from svc.cli.main import main
from svc.service.store.address import PostgresAddress
from tests.support.cluster import Cluster, live_cluster
from tests.support.live import ProcessService, wait_until
from tests.support.postgres import PostgresServer
from tests.support.wire_client import Frame, opened, read, read_turn, register, send
from tests.support.workers import WorkerProcess, live_worker

SCRIPTED = "scripted_assistants:Scripted"
AGAIN = "started again after a service restart"
TOOL = {"name": "look", "description": "Looks.", "input_schema": {"type": "object"}}


@pytest.fixture(scope="module")
def cluster(postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """One service with room for one turn."""
    folder = tmp_path_factory.mktemp("cluster")
    with live_cluster(folder, postgres, SCRIPTED, count=1, SVC_TURNS_AT_ONCE="1", SVC_METRICS="yes") as started:
        yield started


@pytest.fixture
def service(cluster: Cluster) -> ProcessService:
    return cluster.services[0]


@pytest.fixture(scope="module")
def worker(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerProcess]:
    """A worker of the module's service, with a port for probes."""
    folder = tmp_path_factory.mktemp("worker")
    [service] = cluster.services
    options = ("--port", "0", "--metrics", "yes")
    with live_worker(folder, service.database, folder_of(service), SCRIPTED, *options) as started:
        yield started


def folder_of(service: ProcessService) -> Path:
    return service._common / "service.db.files"


@contextlib.asynccontextmanager
async def busy(service: ProcessService) -> AsyncIterator[ClientConnection]:
    """The service's only place is taken by another turn; the stream is that of a session whose turns must wait."""
    async with opened(service, register(service)) as other:
        await send(other, message_type="query", content="wait")
        while (await read(other))["content"] != "waiting":
            pass
        async with opened(service, register(service), max_queue=None) as asking:
            yield asking
        await send(other, message_type="cancel")
        await read_turn(other)


async def until(socket: ClientConnection, content: str) -> None:
    while (await read(socket))["content"] != content:
        pass


def runs(worker: WorkerProcess) -> int:
    """How many turns the worker has taken."""
    return sum(event["event"] == "turn recovered" for event in worker.events)


async def test_a_turn_without_a_place_runs_at_the_worker(service: ProcessService, worker: WorkerProcess):
    before = runs(worker)
    async with busy(service) as socket:
        await send(socket, message_type="query", content="count 20 5")
        frames = await read_turn(socket)
    contents = [frame["content"] for frame in frames]
    assert contents[1].startswith("waiting for a free place")
    assert contents[2:22] == [str(number) for number in range(1, 21)]
    assert AGAIN not in contents
    assert runs(worker) == before + 1


async def test_it_reads_what_is_attached_and_asks_the_client_for_its_tools(
    service: ProcessService, worker: WorkerProcess
):
    async with busy(service) as socket:
        session_id = socket.request.path.partition("session_id=")[2].partition("&")[0]
        with service.http() as http:
            upload = {"session_id": session_id, "filename": "auth.log"}
            assert http.post("/session/upload_file", params=upload, content=b"evidence").is_success
        await send(socket, message_type="query", content="files")
        assert "auth.log (8)" in [frame["content"] for frame in await read_turn(socket)]

        await send(socket, message_type="query", content='call look {"at": 1}', local_tools=[TOOL])
        frames: list[Frame] = []
        replies = {
            "confirmation_request": ("confirmation_response", '{"is_allowed": true}'),
            "local_tool_call": ("local_tool_result", '{"ok": true, "value": "seen"}'),
        }
        while not frames or frames[-1]["state"] != "end":
            frames.append(await read(socket))
            if (reply := replies.get(str(frames[-1]["message_type"]))) is not None:
                kind, content = reply
                await send(socket, message_type=kind, content=content, mime_type="application/json",
                           parent_id=frames[-1]["id"])  # fmt: skip
        assert [frame["content"] for frame in frames if frame["message_type"] == "result"] == ['"seen"']


async def test_what_it_runs_counts_for_the_key_that_asked_and_ends_with_it(
    service: ProcessService, worker: WorkerProcess
):
    key_id, key = service.make_key("eve")
    async with busy(service), opened(service, register(service, key), key=key) as socket:
        await send(socket, message_type="query", content="count 3")
        await read_turn(socket)
        address = worker.wait()
        metrics = httpx2.get(f"{address}/metrics", headers=service.headers, trust_env=False).text
        counted = re.search(rf'svc_quota_used_total{{key="{key_id}",quota="\w*tokens\w*"}} ([\d.]+)', metrics)
        assert counted is not None, metrics
        assert float(counted[1]) > 0
        await send(socket, message_type="query", content="wait")
        await until(socket, "waiting")
        with service.http(key) as http:
            assert http.post("/key/revoke", json={"id": key_id}).is_success
        wait_until(lambda: "invalid_api_key" in last_of(service, key_id), "the turn of a revoked key to end")


def last_of(service: ProcessService, key_id: str) -> str:
    """The last message of the turns that this key asked for."""

    async def fetch() -> str:
        connection = await asyncpg.connect(service.database.url)
        try:
            sql = """SELECT m.body FROM messages m JOIN turns t ON t.number = m.turn_number
                     WHERE t.key_id = $1 ORDER BY m.turn_number DESC, m.seq DESC LIMIT 1"""
            return bytes(await connection.fetchval(sql, key_id)).decode()
        finally:
            await connection.close()

    with ThreadPoolExecutor(1) as pool:  # a loop of its own
        return pool.submit(asyncio.run, fetch()).result()


async def test_after_sigterm_another_one_goes_on_at_once(
    service: ProcessService, worker: WorkerProcess, tmp_path: Path
):
    files = folder_of(service)
    first_turn = runs(worker)
    async with busy(service) as socket:
        await send(socket, message_type="query", content="wait")
        await until(socket, "waiting")
        assert runs(worker) == first_turn + 1
        with live_worker(tmp_path / "second", service.database, files, SCRIPTED) as second:
            worker.process.terminate()
            await until(socket, AGAIN)
            await until(socket, "waiting")
            await send(socket, message_type="cancel")
            await read_turn(socket)
            assert await asyncio.to_thread(worker.process.wait, 20) == 0
            assert runs(second) == 1
            assert second.wait() == "none"
            assert listening(second) == []
    stopped = [event["event"] for event in worker.events if event["event"] in ("stopping", "turn released", "stopped")]
    assert stopped == ["stopping", "turn released", "stopped"]


def listening(worker: WorkerProcess) -> list[str]:
    """The ports that the worker and its children listen on."""
    inodes = set()
    for pid in (worker.process.pid, *children(worker.process.pid)):
        for descriptor in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                inodes.add(descriptor.readlink().name.removeprefix("socket:[").removesuffix("]"))
    rows = [line.split() for name in ("tcp", "tcp6") for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]]
    return [row[1] for row in rows if row[3] == "0A" and row[9] in inodes]


def children(pid: int) -> list[int]:
    found = [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return [*found, *(below for child in found for below in children(child))]


def test_probes_and_figures_are_all_that_it_serves(service: ProcessService, postgres: PostgresServer, tmp_path: Path):
    files = folder_of(service)
    with live_worker(tmp_path, service.database, files, SCRIPTED, "--port", "0", "--metrics", "yes") as worker:
        address = worker.wait()

        def status(path: str, **headers: str) -> int:
            return httpx2.get(f"{address}{path}", headers=headers, trust_env=False).status_code

        assert [status(path) for path in ("/live", "/ready", "/health")] == [200, 200, 200]
        assert status("/metrics") == 401
        assert status("/metrics", **service.headers) == 200
        assert [status(path, **service.headers) for path in ("/session/list", "/", "/openapi.json", "/stream")] == [
            404
        ] * 4


REFUSED = {
    "a SQLite database": (["--database", "sqlite:////tmp/never.db"], "is a SQLite file"),
    "a database that is not shared": (["--shared-database", "false"], "--shared-database true"),
    "no limit of turns": (["--turns-at-once", "0"], "--turns-at-once N"),
    "an address for other services": (["--advertise", "http://10.0.0.5:8460"], "leave out --advertise"),
    "an address that others reach": (["--host", "0.0.0.0", "--port", "8461"], "would send keys unencrypted"),
}


@pytest.mark.parametrize(("options", "said"), REFUSED.values(), ids=REFUSED)
def test_what_a_worker_cannot_use_is_refused(options: list[str], said: str):
    base = ["--database", "postgresql://svc@127.0.0.1:9/svc", "--shared-database", "true", "--turns-at-once", "2"]
    done = CliRunner().invoke(main, ["work", *base, *options])
    assert done.exit_code == 1
    assert said in done.output


@pytest.mark.slow
def test_a_folder_that_only_it_has_and_a_database_of_one_service_are_refused(
    service: ProcessService, postgres: PostgresServer, tmp_path: Path
):
    (tmp_path / "own").mkdir()
    worker = WorkerProcess(tmp_path, service.database, SCRIPTED)
    assert worker.process.wait(60) == 1
    assert "--files file:///PATH" in worker.log_file.read_text()
    worker = WorkerProcess(tmp_path, service.database, SCRIPTED, "--files", f"file://{tmp_path / 'own'}")
    assert worker.process.wait(60) == 1
    assert "is not that of this database" in worker.log_file.read_text()

    alone = PostgresAddress(postgres.new_schema())
    (tmp_path / "alone").mkdir()
    lone = ProcessService(tmp_path / "alone", SCRIPTED, database=alone)
    try:
        worker = WorkerProcess(tmp_path, alone, SCRIPTED, "--files", f"file://{folder_of(lone)}")
        assert worker.process.wait(60) == 1
        assert "another service is using this database" in worker.log_file.read_text()
    finally:
        lone.kill()
