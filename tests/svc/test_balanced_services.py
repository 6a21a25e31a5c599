"""The SDK reaches several services through a balancer on plain http; a program on its port never gets the key."""

from __future__ import annotations

import asyncio
import json
import shutil
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import svc
from svc import AsyncSvc, Svc
from svc.service.access.service_proofs import ServiceProofs
from svc.service.store.sqlite import SqliteStore
from tests.support.assistants.scripted import Echo
from tests.support.impostor import Impostor, Manner, assert_learned_nothing
from tests.support.live import StartService, free_port
from tests.support.npm_packages import run
from tests.support.npm_workspace import WORKSPACE, install
from tests.support.replicated import REPLICAS, ReplicatedService
from tests.support.sampling import sampled

SCRIPT = Path(__file__).parents[1] / "support" / "balanced.mjs"
QUESTION = "echo the-merger-is-on-friday"
behind_a_balancer = pytest.mark.parametrize("start_service", [True], ids=["three_services"], indirect=True)


@pytest.fixture
def services(start_service: StartService) -> ReplicatedService:
    """Three services on one database, behind a balancer."""
    started = start_service(Echo)
    assert isinstance(started, ReplicatedService)
    return started


@pytest.fixture
def impostors(tmp_path: Path) -> Iterator[list[Impostor]]:
    """Those that a test adds are stopped with it."""
    started: list[Impostor] = []
    yield started
    for program in started:
        program.stop()


@behind_a_balancer
def test_each_request_may_go_to_another_service(services: ReplicatedService):
    with Svc(services.key, services.base_url) as client:
        session = client.create_session()
        assert session.query("echo a").text()
        services.balancer.led.clear()
        for _ in range(REPLICAS):
            services.balancer.cut_once()  # so that the next request needs a connection, which leads to another service
            assert client.resume_session(session.session_id).history()

    assert services.balancer.led == set(range(REPLICAS))


@behind_a_balancer
async def test_each_asynchronous_request_too(services: ReplicatedService):
    async with AsyncSvc(services.key, services.base_url) as client:
        session = await client.create_session()
        assert (await session.query("echo a")).text()
        services.balancer.led.clear()
        for _ in range(REPLICAS):
            await asyncio.to_thread(services.balancer.cut_once)
            assert await (await client.resume_session(session.session_id)).history()

    assert services.balancer.led == set(range(REPLICAS))


@behind_a_balancer
def test_a_challenge_is_renewed_before_it_ends(services: ReplicatedService, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("svc._proving._CHALLENGE_SECONDS", 0.0)
    with Svc(services.key, services.base_url) as client:
        assert client.create_session().query("echo a").text()
        assert client.get_user_info()


@behind_a_balancer
async def test_an_asynchronous_client_renews_it_too(services: ReplicatedService, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("svc._proving._CHALLENGE_SECONDS", 0.0)
    async with AsyncSvc(services.key, services.base_url) as client:
        assert (await (await client.create_session()).query("echo a")).text()
        assert await client.get_user_info()


@behind_a_balancer
def test_the_sdk_for_typescript_too(services: ReplicatedService, tmp_path: Path):
    install()
    project = tmp_path / "project"
    project.mkdir()
    shutil.copy(SCRIPT, project)
    sdk = WORKSPACE / "packages" / "sdk"
    bundle = ("--bundle", "--platform=node", "--format=esm", "--external:ws", f"--outfile={project / 'sdk.mjs'}")
    run(WORKSPACE / "node_modules" / ".bin" / "esbuild", "src/index.ts", "--conditions=node", *bundle, cwd=sdk)
    (project / "node_modules").symlink_to(WORKSPACE / "node_modules", target_is_directory=True)

    said = json.loads(run("node", SCRIPT.name, services.key, services.base_url, cwd=project))

    assert said == {"answered": True, "users": 12}
    assert services.balancer.led == set(range(REPLICAS))


@behind_a_balancer
@pytest.mark.parametrize("is_balancer", [True, False])
def test_a_proof_passed_on_at_another_port_is_refused(
    services: ReplicatedService, impostors: list[Impostor], tmp_path: Path, is_balancer: bool
):
    target = services.base_url.removeprefix("http://") if is_balancer else services.own_addresses[1]
    program = Impostor(tmp_path / "impostor", "relay", target=target)
    impostors.append(program)

    with pytest.raises(svc.UnreachableError, match="its proof is wrong"):
        Svc(services.key, f"http://127.0.0.1:{program.port}").create_session().query(QUESTION)

    assert_learned_nothing(program, services.key, QUESTION)


@behind_a_balancer
@pytest.mark.parametrize("manner", sampled(["page", "json", "unknown key", "redirect"], 2))
def test_a_program_on_the_port_of_a_balancer_that_ended_learns_nothing(
    services: ReplicatedService,
    impostors: list[Impostor],
    tmp_path: Path,
    manner: Manner,
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr("svc._retry.CALL_LIMIT_SECONDS", 1.0)
    with Svc(services.key, services.base_url) as client:
        session = client.create_session()
        services.balancer.close()
        program = Impostor(tmp_path / "impostor", manner, port=services.balancer.port)
        impostors.append(program)

        with pytest.raises((svc.UnreachableError, svc.InvalidApiKeyError)):
            client.get_user_info()
        with pytest.raises((svc.UnreachableError, svc.InvalidApiKeyError)):
            session.query(QUESTION)

    assert_learned_nothing(program, services.key, QUESTION)


@behind_a_balancer
def test_a_program_there_that_passes_everything_on_does_not_get_the_key(
    services: ReplicatedService, impostors: list[Impostor], tmp_path: Path
):
    """The first requests of a client, too, which run at the same time."""
    services.balancer.close()
    program = Impostor(tmp_path / "impostor", "relay", port=services.balancer.port, target=services.own_addresses[1])
    impostors.append(program)

    with Svc(services.key, services.base_url) as client:
        with ThreadPoolExecutor(8) as threads:
            assert all(threads.map(lambda _: client.get_user_info(), range(24)))
        assert client.create_session().query(QUESTION).text()

    assert b"/user/info" in program.received
    assert b"Svc-Sealed" in program.received
    assert b"Bearer" not in program.received
    assert services.key.encode() not in program.received


def test_one_service_may_be_behind_a_balancer(start_service: StartService, impostors: list[Impostor], tmp_path: Path):
    front = free_port()
    service = start_service(Echo, front_addresses=(f"127.0.0.1:{front}",))
    link = Impostor(tmp_path / "link", "relay", port=front, target=service.base_url.removeprefix("http://"))
    impostors.append(link)

    with Svc(service.key, f"http://localhost:{front}") as client:
        assert client.create_session().query("echo a").text()
    assert b"Bearer" not in link.received
    with Svc(service.key, service.base_url) as client:
        assert client.get_user_info()


@pytest.mark.parametrize("text", ["8443", "localhost:8443", "10.0.0.5:8443", "127.0.0.1", "127.0.0.1:x", "[::1:8443"])
def test_a_front_address_is_a_numeric_address_of_loopback(text: str):
    with pytest.raises(svc.ConfigError, match=r"front_addresses: .* is not valid"):
        ServiceProofs(SqliteStore(None), time.time, [text])
