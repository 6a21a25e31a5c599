"""The edge: foreign errors are translated once, keys show nowhere, proxies and own authorities are honoured."""

from __future__ import annotations

import asyncio
import json
import logging
import shutil
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

import svc
from svc import InteractiveSession, Svc, _requests
from svc._proof import key_digest, prove, socket_address
from svc._requests import Reply
from svc._transport import StreamSettings, Transport
from svc.config import Config
from svc.messages import RegisterRequest, new_id
from tests.support import ASSISTANTS
from tests.support.fault_proxy import FaultProxy
from tests.support.made_keys import made_key

KEY = made_key("THEKEYTHATNOBODYMAYSEE")
QUICK = StreamSettings(open_seconds=1.0, close_seconds=0.2)


def config_of(base_url: str, key: str = KEY) -> Config:
    return Config(base_url=base_url, ws_url=base_url.replace("http", "ws", 1), api_key=key)


@pytest.fixture
def refusing() -> Iterator[str]:
    """An address of this machine where nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"


class Canned:
    """A server that answers each request with the next reply of a list, and then with the last one again."""

    def __init__(self, *replies: Reply) -> None:
        self.replies = list(replies)
        self.requests: list[str] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                self.do_GET()

            def do_GET(self) -> None:
                if self.path.startswith("/proof?"):
                    self.prove()
                    return
                outer.requests.append(self.path)
                reply = outer.replies.pop(0) if len(outer.replies) > 1 else outer.replies[0]
                self.send_response(reply.status)
                self.send_header("Connection", "close")
                if reply.retry_after is not None:
                    self.send_header("Retry-After", f"{reply.retry_after:g}")
                self.send_header("Content-Length", str(len(reply.body)))
                self.end_headers()
                self.wfile.write(reply.body)

            def prove(self) -> None:
                nonce = parse_qs(urlsplit(self.path).query)["nonce"][0]
                proof = prove(key_digest(KEY), nonce, socket_address(*self.connection.getsockname()))
                body = json.dumps({"proof": proof}).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.base_url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def canned() -> Iterator[Callable[..., Canned]]:
    servers: list[Canned] = []

    def start(*replies: Reply) -> Canned:
        servers.append(Canned(*replies))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


@pytest.fixture
def transport_to() -> Iterator[Callable[..., Transport]]:
    transports: list[Transport] = []

    def connect(config: Config) -> Transport:
        transports.append(Transport(config, settings=QUICK))
        return transports[-1]

    yield connect
    for transport in transports:
        transport.close()


HEALTHY = Reply(200, b'{"status": "ok", "version": "1"}')


def test_an_idempotent_call_survives_a_bad_gateway(canned, transport_to):
    server = canned(Reply(502, b"<html>"), Reply(503, b"", retry_after=0.05), HEALTHY)

    assert transport_to(config_of(server.base_url)).call(_requests.health()).status == "ok"
    assert len(server.requests) == 3


def test_a_call_that_is_not_idempotent_is_sent_once(canned, transport_to):
    server = canned(Reply(502, b"<html>"), HEALTHY)

    with pytest.raises(svc.UpstreamError):
        transport_to(config_of(server.base_url)).call(_requests.delete("s1"))

    assert server.requests == ["/session/delete"]


def test_retry_after_beyond_the_deadline_is_respected(canned, transport_to):
    body = {"error": {"code": "rate_limited", "message": "over 600", "type": "rate_limit_error", "param": None}}
    server = canned(Reply(429, json.dumps(body).encode(), retry_after=30))

    with pytest.raises(svc.RateLimitedError) as caught:
        transport_to(config_of(server.base_url)).call(_requests.health())

    assert (caught.value.retry_after, len(server.requests)) == (30.0, 1)


def test_an_unreachable_address_is_named(refusing: str, transport_to):
    with pytest.raises(svc.UnreachableError, match=f"{refusing} does not answer.*Check that the service runs"):
        transport_to(config_of(refusing)).call(_requests.health(), limit_seconds=0.1)


def test_another_server_is_distinguished_from_the_service(canned, transport_to):
    server = canned(Reply(200, b"<html>It works!</html>"))

    with pytest.raises(svc.ProtocolError, match="the reply to GET /health is invalid"):
        transport_to(config_of(server.base_url)).call(_requests.health())


async def test_an_upgrade_answered_with_a_page_is_not_the_service(canned, transport_to):
    server = canned(Reply(404, b"<html>"))

    with pytest.raises(svc.ProtocolError, match=r"HTTP 404.*base_url and ws_url"):
        await transport_to(config_of(server.base_url)).open_stream("s1", 0)


async def test_an_upgrade_with_a_bad_key_or_session_raises_the_service_error(scripted_service: Config, transport_to):
    with pytest.raises(svc.InvalidApiKeyError):
        await transport_to(config_of(scripted_service.base_url)).open_stream("s1", 0)
    with pytest.raises(svc.SessionNotFoundError):
        await transport_to(scripted_service).open_stream("s1", 0)


def test_a_lost_reply_to_a_registration_makes_one_session(scripted_service: Config, client: Svc):
    """The service did it, the reply was lost, the same id came again."""
    session_id = new_id()

    async def register_through_a_cut() -> str:
        proxy = FaultProxy(scripted_service.base_url)
        server = await proxy.start()
        cut = (1, True, 1)  # the reply after the proof
        proxy.fault = lambda c: "cut" if (c.connection, c.is_from_service, c.number) == cut else "pass"
        transport = Transport(proxy.config(scripted_service))
        made = await asyncio.to_thread(transport.call, _requests.register(RegisterRequest(id=session_id)))
        transport.close()
        server.close()
        await proxy.close()
        return made.id

    assert asyncio.run(register_through_a_cut()) == session_id
    assert client.resume_session(session_id).history() == []


def everything(error: BaseException) -> str:
    """What a traceback can show at most: each frame with its locals, the causes, too."""
    return "".join(traceback.TracebackException.from_exception(error, capture_locals=True).format())


@pytest.mark.parametrize("kind", ["refused", "cut", "bad-key", "page"])
async def test_no_failure_shows_the_key(
    kind: str, refusing: str, canned, proxy: FaultProxy, scripted_service: Config, transport_to, client: Svc, caplog
):
    caplog.set_level(logging.DEBUG)
    proxy.fault = lambda chunk: "cut"
    address = {"refused": refusing, "cut": proxy.base_url, "bad-key": scripted_service.base_url}.get(kind)
    transport = transport_to(config_of(address or canned(Reply(418, b"<html>")).base_url))
    session = InteractiveSession(transport, client.create_session().info)
    shown = repr(transport) + repr(transport.config) + repr(session)

    with pytest.raises(svc.SvcError) as caught:
        await asyncio.to_thread(transport.call, _requests.get_session("s1"), 0.05)
    shown += everything(caught.value)
    with pytest.raises(svc.SvcError) as caught:
        await transport.open_stream("s1", 0)
    shown += everything(caught.value) + caplog.text

    assert KEY not in shown
    assert "THEKEY" not in shown
    assert "hidden" in caplog.text or kind != "page"  # the others get no header


async def test_the_handshake_is_logged_without_the_key(scripted_service: Config, client: Svc, caplog):
    caplog.set_level(logging.DEBUG)
    [m async for m in client.create_session().stream("echo a")]

    assert "Authorization: [hidden]" in caplog.text
    assert scripted_service.api_key not in caplog.text


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate for this machine that nobody trusts by default, and its key."""
    if (openssl := shutil.which("openssl")) is None:
        pytest.skip("openssl makes the certificate of this test, and is not here")
    folder = tmp_path_factory.mktemp("tls")
    cert, key = folder / "cert.pem", folder / "key.pem"
    names = "subjectAltName=IP:127.0.0.1,DNS:localhost"
    command = [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    subprocess.run(
        [*command, "-addext", names, "-keyout", str(key), "-out", str(cert)], check=True, capture_output=True
    )
    return cert, key


@pytest.fixture
def tls_service(authority: tuple[Path, Path], tmp_path: Path) -> Iterator[tuple[str, str]]:
    """A real service that speaks TLS: its address and a key."""
    file, key_file = tmp_path / "connection.json", tmp_path / "key"
    options = {
        "--port": "0",
        "--database": f"sqlite:///{tmp_path / 'tls.db'}",
        "--assistant": "scripted_assistants:Scripted",
        "--tls-cert": str(authority[0]),
        "--tls-key": str(authority[1]),
        "--connection-file": str(file),
        "--key-file": str(key_file),
    }
    words = [word for option in options.items() for word in option]
    with subprocess.Popen(
        [sys.executable, "-m", "svc.cli.main", "serve", *words],
        env={"PYTHONPATH": str(ASSISTANTS), "PATH": ""},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        deadline = threading.Event()
        while not file.exists() and process.poll() is None:
            deadline.wait(0.02)
        yield json.loads(file.read_text(encoding="utf-8"))["base_url"], key_file.read_text(encoding="ascii").strip()
        process.terminate()


async def test_a_private_authority_is_trusted_if_configured(
    tls_service: tuple[str, str], authority: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, transport_to
):
    base_url, key = tls_service
    for name in ("SVC_CA_BUNDLE", "SSL_CERT_FILE"):
        with monkeypatch.context() as patch, Svc(key, base_url) as untrusting:
            with pytest.raises(svc.UnreachableError, match=r"is not trusted.*SVC_CA_BUNDLE"):
                untrusting.create_session()
            with pytest.raises(svc.UnreachableError, match="is not trusted"):
                await transport_to(config_of(base_url)).open_stream("s1", 0)
            patch.setenv(name, str(authority[0]))
            with Svc(key, base_url) as trusting:
                messages = [m async for m in trusting.create_session().stream("echo a")]
        assert messages[0].content == "echo a (after 0)"


def test_an_invalid_certificate_bundle_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "own.pem").write_text("nothing", encoding="utf-8")
    monkeypatch.setenv("SVC_CA_BUNDLE", str(tmp_path / "own.pem"))

    with Svc(KEY, "https://svc.example.invalid") as client, pytest.raises(svc.ConfigError, match=r"SVC_CA_BUNDLE.*PEM"):
        client.create_session()


async def test_a_proxy_of_the_environment_is_used_only_for_remote_services(
    scripted_service: Config, monkeypatch: pytest.MonkeyPatch, transport_to
):
    asked: list[bytes] = []

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readline())
        writer.write(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(refuse, "127.0.0.1", 0)
    address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    for name in ("HTTPS_PROXY", "HTTP_PROXY", "https_proxy", "http_proxy"):
        monkeypatch.setenv(name, address)
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    far = transport_to(config_of("https://svc.example.invalid"))

    with pytest.raises(svc.UnreachableError):
        await asyncio.to_thread(far.call, _requests.health(), 0.0)
    with pytest.raises(svc.UnreachableError):
        await far.open_stream("s1", 0)
    near = await asyncio.to_thread(transport_to(scripted_service).call, _requests.health())
    server.close()

    assert {line.split()[:2][1] for line in asked} == {b"svc.example.invalid:443"}
    assert len(asked) == 2
    assert near.status == "ok"


@pytest.mark.parametrize("module", ["svc", "svc.cli.main", "svc.config"])
def test_network_libraries_are_imported_on_first_use(module: str):
    program = f"import sys, {module}; print([m for m in ('httpx2', 'websockets', 'starlette') if m in sys.modules])"

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)

    assert done.stdout.strip() == "[]"
