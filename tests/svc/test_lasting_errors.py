"""Connections that will never be made are reported at once, with what is in the way."""

from __future__ import annotations

import asyncio
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator

import pytest

import svc
from svc import AsyncSvc, Svc, _retry
from svc._transport import LostConnectionError, Transport
from svc.config import Config
from tests.support.assistants.scripted import Echo
from tests.support.live import StartService
from tests.support.made_keys import UNKNOWN_KEY

TEAM = "https://svc.example.org"
StartServer = Callable[[bytes], int]


@pytest.fixture
def start_server() -> Iterator[StartServer]:
    """Start a program that answers whatever comes with the same bytes; its port, on which it counts connections."""
    listeners: list[socket.socket] = []
    threads: list[threading.Thread] = []

    def start(answer: bytes) -> int:
        listener = socket.create_server(("127.0.0.1", 0))

        def serve() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection:
                    connection.recv(4_096)
                    connection.sendall(answer)

        listeners.append(listener)
        threads.append(threading.Thread(target=serve, daemon=True))
        threads[-1].start()
        return int(listener.getsockname()[1])

    yield start
    for listener in listeners:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
    for thread in threads:
        thread.join(5)


def refusal(status: str) -> bytes:
    return f"HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n".encode()


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses before another attempt."""
    made: list[float] = []

    def pause(*arguments: object, **options: object) -> float:
        made.append(0.0)
        return 0.0 if len(made) < 3 else 100.0

    monkeypatch.setattr(_retry, "delay_seconds", pause)
    return made


def failure(base_url: str, *texts: str, kind: type[svc.SvcError] = svc.UnreachableError) -> str:
    """The text of the error that both clients raise, with the texts in it."""
    with Svc(UNKNOWN_KEY, base_url) as client, pytest.raises(kind) as blocking:
        client.create_session()

    async def awaited() -> None:
        async with AsyncSvc(UNKNOWN_KEY, base_url) as other:
            await other.create_session()

    with pytest.raises(kind) as asynchronous:
        asyncio.run(awaited())
    said = [str(blocking.value), str(asynchronous.value)]
    assert all(text in one for text in texts for one in said), said
    return "".join(said)


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> None:
    """No name is known; addresses are."""
    inner = socket.getaddrinfo

    def find(host: object, *arguments: object, **options: object) -> object:
        if re.fullmatch(r"[\d.:]+", host.decode() if isinstance(host, bytes) else str(host)):
            return inner(host, *arguments, **options)
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", find)


def test_an_unknown_name(names: None, pauses: list[float], monkeypatch: pytest.MonkeyPatch):
    failure(TEAM, "the name 'svc.example.org' is not known")

    monkeypatch.setenv("HTTPS_PROXY", "http://user:secret@proxy.example.org:3128")
    error = failure(TEAM, "the name of the proxy in HTTPS_PROXY, 'proxy.example.org', is not known")
    assert "secret" not in error
    assert not pauses


def test_a_program_that_does_not_speak_tls(start_server: StartServer, pauses: list[float]):
    port = start_server(refusal("400 Bad Request"))
    failure(f"https://127.0.0.1:{port}", f"https://127.0.0.1:{port} cannot be reached over TLS")
    assert not pauses


@pytest.mark.parametrize("status", ["403 Forbidden", "407 Proxy Authentication Required", "400 Bad Request"])
def test_a_proxy_that_refuses(
    start_server: StartServer, pauses: list[float], monkeypatch: pytest.MonkeyPatch, status: str
):
    port = start_server(refusal(status))
    monkeypatch.setenv("https_proxy", f"http://user:secret@127.0.0.1:{port}")
    refused = f"the proxy in HTTPS_PROXY, http://127.0.0.1:{port}, refused the connection ({status})"
    error = failure(TEAM, refused, "add svc.example.org to NO_PROXY")
    assert "secret" not in error
    assert not pauses


def test_a_proxy_that_is_not_there(pauses: list[float], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ALL_PROXY", "127.0.0.1:1")
    failure(TEAM, "the proxy in ALL_PROXY, http://127.0.0.1:1, does not listen there")
    assert not pauses


def test_a_proxy_whose_address_cannot_be_used(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HTTPS_PROXY", "ftp://user:secret@127.0.0.1:1")
    error = failure(TEAM, "its address is not valid", kind=svc.ConfigError)
    assert "secret" not in error


@pytest.mark.parametrize("status", ["502 Bad Gateway", "503 Service Unavailable"])
def test_a_proxy_that_may_recover_is_tried_again(
    start_server: StartServer, pauses: list[float], monkeypatch: pytest.MonkeyPatch, status: str
):
    monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{start_server(refusal(status))}")
    failure(TEAM, "does not answer", kind=svc.SvcError)
    assert len(pauses) > 2


def test_a_service_that_restarts_is_tried_again(pauses: list[float]):
    failure("http://127.0.0.1:1", "does not answer")
    assert len(pauses) > 2


def test_an_address_with_v1(start_service: StartService, pauses: list[float]):
    service = start_service(Echo)
    with Svc(service.key, f"{service.base_url}/v1/") as client, pytest.raises(svc.AddressNotFoundError) as caught:
        client.create_session()
    assert f"Leave /v1 out: {service.base_url}" in str(caught.value)
    with Svc(service.key, f"{service.base_url}/elsewhere") as client, pytest.raises(svc.UnreachableError) as wrong:
        client.create_session()
    assert "it answered HTTP 404" in str(wrong.value)
    assert not pauses


@pytest.mark.parametrize(
    ("address", "proxy", "text"),
    [
        ("wss://svc.example.org", None, "the name 'svc.example.org' is not known"),
        (
            "wss://svc.example.org",
            "http://127.0.0.1:1",
            "the proxy in HTTPS_PROXY, http://127.0.0.1:1, does not listen",
        ),
        (
            "wss://svc.example.org",
            "http://127.0.0.1:PORT",
            r"refused the connection \(proxy rejected connection: HTTP 403",
        ),
        ("wss://127.0.0.1:PORT", None, "cannot be reached over TLS"),
    ],
)
async def test_a_stream_that_never_opened_ends_at_once(
    names: None,
    start_server: StartServer,
    scripted_service: Config,
    monkeypatch: pytest.MonkeyPatch,
    address: str,
    proxy: str | None,
    text: str,
):
    port = str(start_server(refusal("403 Forbidden")))
    if proxy is not None:
        monkeypatch.setenv("HTTPS_PROXY", proxy.replace("PORT", port))
    async with AsyncSvc(scripted_service.api_key, scripted_service.base_url) as client:
        session = await client.create_session()
        config = session._transport._config
        there = Config(base_url=config.base_url, ws_url=address.replace("PORT", port), api_key=config.api_key)
        monkeypatch.setattr(session._transport, "_config", there)
        began = time.monotonic()
        with pytest.raises(svc.UnreachableError, match=text):
            async for _ in session.stream("echo a"):
                pass
        assert time.monotonic() - began < _retry.STREAM_LIMIT_SECONDS / 4


def test_the_local_service_is_looked_for_again_whatever_the_error():
    config = Config(base_url="http://127.0.0.1:1", ws_url="ws://127.0.0.1:1", api_key=UNKNOWN_KEY)
    looked: list[int] = []
    transport = Transport(config, lambda: looked.append(1) or config)
    lost = LostConnectionError("gone", is_lasting=True)
    call = svc._requests.health()
    assert transport._settle(call, lost, _retry.Backoff(10)) is not None
    with pytest.raises(LostConnectionError):
        Transport(config)._settle(call, lost, _retry.Backoff(10))
