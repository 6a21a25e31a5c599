"""Another user's program on the port of a service that has ended learns neither the key nor the question."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import svc
from svc import AsyncSvc, InteractiveSession, Svc, _requests
from svc._transport import LostConnectionError, StreamSettings, Transport
from svc.config import Config
from svc.local import find_or_start
from svc.service.access.key_admin import revoke_key
from tests.support.assistants.scripted import Echo
from tests.support.impostor import Impostor, Manner, assert_learned_nothing
from tests.support.live import StartService
from tests.support.local_services import stop_local_service
from tests.support.made_keys import UNKNOWN_KEY
from tests.support.sampling import sampled
from tests.support.tcp_link import TcpLink

QUESTION = "echo the-merger-is-on-friday"
StartImpostor = Callable[..., Impostor]


@pytest.fixture
def impostor(tmp_path: Path) -> Iterator[StartImpostor]:
    started: list[Impostor] = []

    def start(manner: Manner, *, port: int = 0, target: str = "") -> Impostor:
        started.append(Impostor(tmp_path / f"impostor{len(started)}", manner, port=port, target=target))
        return started[-1]

    yield start
    for program in started:
        program.stop()


def port_of(url: str) -> int:
    return int(url.rpartition(":")[2])


@pytest.mark.parametrize("manner", sampled(["silent", "page", "json", "unknown key", "drip", "redirect"], 2))
def test_a_question_after_the_service_was_killed_goes_to_a_new_service(
    scripted_local: Path, impostor: StartImpostor, manner: Manner, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("svc._transport.CONNECT_SECONDS", 1.0)
    with Svc() as client:
        session = client.create_session()
        session.query("echo a")
        stop_local_service(scripted_local, signal.SIGKILL)
        key = find_key(scripted_local)
        program = impostor(manner, port=port_of(client.base_url))

        assert session.query(QUESTION).text() == f"{QUESTION} (after 1)"
        assert client.resume_session(session.session_id).history()
        assert port_of(client.base_url) != program.port
    assert_learned_nothing(program, key, QUESTION)


async def test_an_open_asynchronous_session_too(scripted_local: Path, impostor: StartImpostor):
    async with AsyncSvc() as client:
        session = await client.create_session()
        await session.query("echo a")
        await asyncio.to_thread(stop_local_service, scripted_local, signal.SIGKILL)
        key = find_key(scripted_local)
        program = await asyncio.to_thread(impostor, "json", port=port_of(client.base_url))

        assert (await session.query(QUESTION)).text() == f"{QUESTION} (after 1)"
        await client.create_session()
    assert_learned_nothing(program, key, QUESTION)


def test_a_stale_service_file_leads_nowhere(scripted_local: Path, impostor: StartImpostor):
    config = find_or_start()
    stop_local_service(scripted_local, signal.SIGKILL)
    program = impostor("json", port=port_of(config.base_url))

    with Svc() as client:
        assert client.create_session().query(QUESTION).text()
        assert port_of(client.base_url) != program.port


@pytest.mark.parametrize("manner", sampled(["silent", "page", "json", "unknown key", "drip", "redirect"], 2))
def test_a_configured_address_gets_a_clear_error(
    impostor: StartImpostor, start_service: StartService, manner: Manner, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("svc._transport.CONNECT_SECONDS", 1.0)
    monkeypatch.setattr("svc._retry.CALL_LIMIT_SECONDS", 1.0)
    service = start_service(Echo)
    program = impostor(manner)
    begin = time.monotonic()

    with pytest.raises((svc.UnreachableError, svc.InvalidApiKeyError)) as caught:
        Svc(service.key, f"http://127.0.0.1:{program.port}").create_session().query(QUESTION)

    assert time.monotonic() - begin < 20
    assert service.key not in str(caught.value)
    assert_learned_nothing(program, service.key, QUESTION)


def test_the_default_address_is_not_trusted_either(impostor: StartImpostor, monkeypatch: pytest.MonkeyPatch):
    program = impostor("json")
    monkeypatch.setattr("svc.config.DEFAULT_BASE_URL", f"http://127.0.0.1:{program.port}")
    key = UNKNOWN_KEY

    with pytest.raises(svc.UnreachableError, match="did not prove that it is your service: its proof is wrong"):
        Svc(key).get_user_info()

    assert_learned_nothing(program, key)


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost"])
def test_a_proof_passed_on_from_the_service_at_another_port_is_refused(
    start_service: StartService, impostor: StartImpostor, name: str
):
    service = start_service(Echo)
    program = impostor("relay", target=service.base_url.removeprefix("http://"))

    with pytest.raises(svc.UnreachableError, match="its proof is wrong"):
        Svc(service.key, f"http://{name}:{program.port}").get_user_info()

    assert_learned_nothing(program, service.key)


def test_a_proof_passed_on_at_the_other_loopback_address_is_refused(
    start_service: StartService, impostor: StartImpostor
):
    service = start_service(Echo)
    program = impostor("relay6", port=port_of(service.base_url), target=service.base_url.removeprefix("http://"))

    with pytest.raises(svc.UnreachableError, match="its proof is wrong"):
        Svc(service.key, f"http://[::1]:{program.port}").get_user_info()

    assert_learned_nothing(program, service.key)


async def test_a_stream_to_another_address_than_the_session_needs_its_own_proof(
    start_service: StartService, impostor: StartImpostor
):
    service = start_service(Echo)
    program = impostor("json")
    config = Config(base_url=service.base_url, ws_url=f"ws://127.0.0.1:{program.port}", api_key=service.key)

    with pytest.raises(svc.UnreachableError) as caught:
        await Transport(config, settings=StreamSettings(open_seconds=1.0)).open_stream("s1", 0)

    assert not isinstance(caught.value, LostConnectionError)
    assert_learned_nothing(program, service.key, "s1")


def test_a_port_that_changes_hands_between_two_connections_is_proved_again(
    start_service: StartService, impostor: StartImpostor
):
    service = start_service(Echo)
    transport = Transport(Config(base_url=service.base_url, ws_url=service.ws_url, api_key=service.key))
    transport.call(_requests.health())
    service.stop()
    transport.close()
    program = impostor("json", port=port_of(service.base_url))

    with pytest.raises(svc.UnreachableError, match="did not prove"):
        transport.call(_requests.health())

    assert_learned_nothing(program, service.key)


def test_a_tunnel_is_named_and_proves_the_service_at_its_end(
    start_service: StartService, impostor: StartImpostor, monkeypatch: pytest.MonkeyPatch
):
    service = start_service(Echo)
    end = service.base_url.removeprefix("http://")
    tunnel = impostor("relay", target=end)
    monkeypatch.setenv("SVC_TUNNEL_TO", end)

    with Svc(service.key, f"http://127.0.0.1:{tunnel.port}") as client:
        session = client.create_session()
        assert isinstance(session, InteractiveSession)
        assert session.query("echo a").text()
        session.attach_file("notes.txt", b"some notes")
    assert b"GET /stream?" in tunnel.received  # it reads everything
    assert service.key.encode() not in tunnel.received  # but for the key
    assert b"earer" not in tunnel.received


async def test_an_asynchronous_client_hides_the_key_in_a_tunnel_too(
    start_service: StartService, impostor: StartImpostor, monkeypatch: pytest.MonkeyPatch
):
    service = start_service(Echo)
    end = service.base_url.removeprefix("http://")
    tunnel = await asyncio.to_thread(impostor, "relay", target=end)
    monkeypatch.setenv("SVC_TUNNEL_TO", end)

    async with AsyncSvc(service.key, f"http://127.0.0.1:{tunnel.port}") as client:
        session = await client.create_session()
        assert (await session.query("echo a")).text()
    assert b"GET /stream?" in tunnel.received
    assert service.key.encode() not in tunnel.received


@pytest.mark.one_service("the service at the end of a tunnel")
def test_a_service_that_is_started_again_at_the_end_of_a_tunnel_is_asked_again(
    start_service: StartService, monkeypatch: pytest.MonkeyPatch
):
    service = start_service(Echo)
    monkeypatch.setenv("SVC_TUNNEL_TO", service.base_url.removeprefix("http://"))
    tunnel = TcpLink([("127.0.0.1", port_of(service.base_url))])
    try:
        with Svc(service.key, f"http://127.0.0.1:{tunnel.port}") as client:
            assert client.get_user_info()
            service.running.service.auth.proofs._secret = b"another process's"
            tunnel.cut_once()
            assert client.create_session().query("echo a").text()
    finally:
        tunnel.close()


@pytest.mark.one_service("the service at the end of a tunnel")
async def test_an_asynchronous_client_asks_it_again_too(start_service: StartService, monkeypatch: pytest.MonkeyPatch):
    service = start_service(Echo)
    monkeypatch.setenv("SVC_TUNNEL_TO", service.base_url.removeprefix("http://"))
    tunnel = TcpLink([("127.0.0.1", port_of(service.base_url))])
    try:
        async with AsyncSvc(service.key, f"http://127.0.0.1:{tunnel.port}") as client:
            assert await client.get_user_info()
            service.running.service.auth.proofs._secret = b"another process's"
            await asyncio.to_thread(tunnel.cut_once)
            assert await (await client.create_session()).query("echo a")
    finally:
        await asyncio.to_thread(tunnel.close)


def test_a_revoked_key_is_refused_in_a_tunnel(start_service: StartService, monkeypatch: pytest.MonkeyPatch):
    service = start_service(Echo)
    monkeypatch.setenv("SVC_TUNNEL_TO", service.base_url.removeprefix("http://"))
    key_id, key = service.make_key("someone")
    with Svc(key, service.base_url) as client:
        assert client.get_user_info()
        asyncio.run(revoke_key(service.database, key_id))
        with pytest.raises(svc.InvalidApiKeyError):
            client.get_user_info()


@pytest.mark.parametrize("text", ["8460", "localhost:8460", "127.0.0.1:x", "[::1:1"])
def test_a_tunnel_needs_a_numeric_address(monkeypatch: pytest.MonkeyPatch, text: str):
    monkeypatch.setenv("SVC_TUNNEL_TO", text)

    with pytest.raises(svc.ConfigError, match=r"SVC_TUNNEL_TO=.* is not valid"):
        Svc(UNKNOWN_KEY, "http://127.0.0.1:1")


def find_key(folder: Path) -> str:
    return (folder / "key").read_text(encoding="ascii").strip()
