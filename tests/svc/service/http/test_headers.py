"""The headers that every response has: of answers, errors, refused upgrades, files, the page and malformed requests."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import httpx2
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from svc.service.app import OPERATIONS
from svc.service.settings import Settings
from tests.support.assistants.scripted import Echo
from tests.support.live import StartService, ThreadService

ALWAYS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ThreadService]:
    """One for all requests: none of them does it any harm."""
    service = ThreadService(tmp_path_factory.mktemp("headers"), Echo(), Settings(stop_seconds=0.3))
    yield service
    service.stop()


def check(headers: httpx2.Headers, *, is_file: bool = False) -> None:
    assert {name: headers.get(name) for name in ALWAYS} == ALWAYS
    assert headers["cache-control"] == ("no-cache" if is_file else "no-store")
    assert headers["cross-origin-resource-policy"] == ("cross-origin" if is_file else "same-origin")
    assert headers["referrer-policy"] in ("no-referrer", "same-origin")
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert "unsafe" not in headers["content-security-policy"]
    for name in ("x-content-type-options", "cache-control", "content-security-policy"):
        assert len(headers.get_list(name)) == 1


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: f"{operation.method} {operation.path}")
@pytest.mark.parametrize("has_key", [True, False], ids=["key", "no-key"])
def test_every_operation_has_them(service: ThreadService, operation, has_key: bool):
    headers = service.headers if has_key else {}
    url = f"{service.base_url}{operation.path}"
    reply = httpx2.request(operation.method, url, headers=headers, trust_env=False)
    check(reply.headers, is_file=operation.path.startswith("/dist/") and reply.status_code == 200)
    assert "strict-transport-security" not in reply.headers


@pytest.mark.parametrize(("method", "path", "headers"), [
    ("GET", "/no/such", {}), ("DELETE", "/health", {}), ("POST", "/", {}), ("GET", "/health", {"host": "evil.example"}),
    ("GET", "/health", {"origin": "https://evil.example"}), ("GET", f"/health?x=svc_{'a' * 49}", {}),
    ("GET", "/dist/none.js", {}), ("OPTIONS", "/health", {"origin": "https://evil.example"}),
])  # fmt: skip
def test_every_error_has_them(service: ThreadService, method: str, path: str, headers: dict[str, str]):
    reply = httpx2.request(method, f"{service.base_url}{path}", headers=headers, trust_env=False)
    assert reply.status_code >= 400
    check(reply.headers)


def test_a_refused_upgrade_has_them(service: ThreadService):
    with pytest.raises(InvalidStatus) as caught:
        connect(f"{service.ws_url}/stream?session_id=x", proxy=None)
    check(httpx2.Headers(list(caught.value.response.headers.raw_items())))


def test_a_malformed_request_has_them(service: ThreadService):
    host, _, port = service.base_url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        connection.sendall(b"NONSENSE\r\n\r\n")
        reply = connection.makefile("rb").read()
    lines = [line.partition(": ") for line in reply.partition(b"\r\n\r\n")[0].decode().split("\r\n")[1:]]
    check(httpx2.Headers([(name, value) for name, _, value in lines]))


def test_hsts_is_a_setting(start_service: StartService):
    service = start_service(Echo, hsts_seconds=31_536_000)
    for path in ("/", "/health", "/no/such"):
        reply = httpx2.get(f"{service.base_url}{path}", trust_env=False)
        assert reply.headers["strict-transport-security"] == "max-age=31536000"
