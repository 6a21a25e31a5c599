"""An unlogged session that is used through another service leaves nothing on any disk, PostgreSQL's included."""

from __future__ import annotations

import itertools
import signal
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from tests.support.cluster import Cluster, live_cluster
from tests.support.live import ProcessService, wait_until
from tests.support.postgres import PostgresServer
from tests.support.wire_client import opened, read, register, send, until_closed
from tests.svc.service.sessions.test_unlogged import Traces, environment, use_everything

LEASE_SECONDS = 2


class Elsewhere:
    """A service as a client sees several: the first request goes to one of them, all others go to another."""

    def __init__(self, home: ProcessService, other: ProcessService) -> None:
        self._services = itertools.chain([home], itertools.repeat(other))
        self.ws_url, self.key = other.ws_url, other.key

    def http(self, key: str | None = None) -> httpx2.Client:
        return next(self._services).http(key)


@pytest.fixture
def traces(tmp_path: Path) -> Traces:
    (tmp_path / "tmp").mkdir()
    return Traces(tmp_path)


@pytest.fixture
def cluster(postgres: PostgresServer, traces: Traces) -> Iterator[Cluster]:
    options = environment(traces) | {"SVC_LEASE_SECONDS": str(LEASE_SECONDS)}
    with live_cluster(traces.folder, postgres, "Echo", count=2, is_advertised=True, **options) as started:
        yield started


def in_postgres(server: PostgresServer, words: list[str]) -> set[str]:
    """Those of the words that any file of the server has, the write-ahead log among them."""
    patterns = [part for word in words for part in ("-e", word)]
    command = ["grep", "-raohF", *patterns, str(server.folder / "data")]
    return set(subprocess.run(command, capture_output=True, check=False, text=True).stdout.split())


async def test_nothing_is_left_of_a_session_used_at_another_service(
    cluster: Cluster, traces: Traces, postgres: PostgresServer
):
    first, second = cluster.services
    session_id = f"zork{uuid.uuid4().hex[:12]}"  # not a trace in folders: the log of a feedback names its session
    assert await use_everything(Elsewhere(first, second), traces, id=session_id) == session_id
    unlogged = [*traces.words, session_id]
    control = register(first, name="zorklogged")
    async with opened(second, control) as socket:
        await send(socket, message_type="query", content="zorkasked")
        while (await read(socket))["state"] != "end":
            pass
    with second.http() as http:
        assert {one["id"] for one in http.get("/session/list").json()} == {session_id, control}
    logs = "".join(service.log_file.read_text() for service in cluster.services)
    assert first.key not in logs
    assert traces.found() == []
    assert in_postgres(postgres, [*unlogged, "zorklogged", "zorkasked"]) == {"zorklogged", "zorkasked"}
    first.kill()
    assert traces.found() == []
    assert in_postgres(postgres, unlogged) == set()


async def test_the_death_of_its_service_ends_a_session(cluster: Cluster):
    first, second = cluster.services
    session_id = register(first, can_log=False)

    def status() -> int:
        with second.http() as http:
            return http.get("/session/get", params={"session_id": session_id}).status_code

    async with opened(second, session_id) as stream:
        await send(stream, message_type="query", content="who?")
        first.kill()
        await until_closed(stream)
        assert stream.close_code == 1001
    assert status() in (503, 404)
    wait_until(lambda: status() == 404, "the end of its lease", 10 * LEASE_SECONDS)
    with second.http() as http:
        assert http.get("/session/list").json() == []
        gone = http.post(
            "/session/generate", json={"id": session_id, "messages": [{"message_type": "query", "content": "who?"}]}
        )
        assert (gone.status_code, gone.json()["error"]["code"]) == (404, "session_not_found")


@pytest.mark.slow
async def test_a_turn_that_is_waited_for_ends_with_its_service(cluster: Cluster):
    first, second = cluster.services
    session_id = register(first, can_log=False)
    with second.http() as http:
        first.process.send_signal(signal.SIGSTOP)  # it neither answers nor closes its connections
        body = {"id": session_id, "messages": [{"message_type": "query", "content": "who?"}]}
        lost = http.post("/session/generate", json=body)
        assert (lost.status_code, lost.json()["error"]["code"]) == (502, "upstream_error")
