"""The proof of the service, and keys that are hidden in a request."""

from __future__ import annotations

import base64
import secrets
import time

import httpx2
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from svc._proof import NONCE_BYTES, is_proven, key_digest, key_name, prove, seal_pad, sealed_key, socket_address
from svc.service.access.service_proofs import ServiceProofs
from tests.support.assistants.scripted import Echo
from tests.support.live import StartService, ThreadService


def ask(service: ThreadService, key: str, nonce: str) -> httpx2.Response:
    asked = {"key": key_name(key_digest(key)), "nonce": nonce}
    return httpx2.get(f"{service.base_url}/proof", params=asked, trust_env=False)


def sealed(service: ThreadService, key: str, method: str, target: str, *, digest_of: str | None = None) -> str:
    """The header of one request with the key hidden in it."""
    challenge = ask(service, digest_of or key, secrets.token_hex(NONCE_BYTES)).json()["challenge"]
    if digest_of is None:
        return sealed_key(key, challenge, method, target)
    pad = seal_pad(key_digest(digest_of), challenge, method, target)
    hidden = bytes(a ^ b for a, b in zip(key.encode(), pad, strict=False))
    return f"Svc-Sealed {challenge}.{base64.urlsafe_b64encode(hidden).decode().rstrip('=')}"


def get(service: ThreadService, target: str, authorization: str, method: str = "GET") -> int:
    headers = {b"Authorization": authorization.encode("latin-1"), b"Content-Type": b"application/json"}
    url = f"{service.base_url}{target}"
    return httpx2.request(method, url, headers=headers, trust_env=False).status_code


@pytest.mark.one_service("a proof and a challenge are of one service")
def test_the_service_proves_that_it_knows_a_key_at_its_own_address(service: ThreadService):
    nonce = secrets.token_hex(NONCE_BYTES)
    reply = ask(service, service.key, nonce)
    address = service.base_url.removeprefix("http://")

    assert reply.json()["address"] == address
    assert is_proven(reply.json()["proof"], key_digest(service.key), nonce, address)
    assert service.key not in reply.text
    assert key_digest(service.key) not in reply.text


def test_a_proof_holds_for_one_key_nonce_and_address():
    digest, nonce = key_digest("a"), "0" * 64
    proof = prove(digest, nonce, "127.0.0.1:1")

    assert is_proven(proof, digest, nonce, "127.0.0.1:1")
    assert not is_proven(proof, key_digest("b"), nonce, "127.0.0.1:1")
    assert not is_proven(proof, digest, "1" * 64, "127.0.0.1:1")
    assert not is_proven(proof, digest, nonce, "127.0.0.1:2")
    assert not is_proven("é", digest, nonce, "127.0.0.1:1")


def test_both_ends_of_a_connection_write_the_same_address():
    assert socket_address("127.0.0.1", 1) == socket_address("::ffff:127.0.0.1", 1) == "127.0.0.1:1"
    assert socket_address("::1", 1) == "[::1]:1"
    assert socket_address("fe80::1%eth0", 1) == "[fe80::1]:1"


def test_an_unknown_key_gets_no_proof(service: ThreadService):
    reply = ask(service, "svc_unknown", "0" * 64)
    assert (reply.status_code, reply.json()["error"]["code"]) == (401, "invalid_api_key")


@pytest.mark.parametrize(("field", "text"), [
    ("key", "g" * 16), ("key", "0" * 15), ("key", "%"), ("key", "A" * 16), ("nonce", "0" * 63), ("nonce", "z" * 64),
    ("nonce", "0" * 20_000),
])  # fmt: skip
def test_a_malformed_name_or_nonce_is_refused(service: ThreadService, field: str, text: str):
    asked = {"key": key_name(key_digest(service.key)), "nonce": "0" * 64} | {field: text}
    reply = httpx2.get(f"{service.base_url}/proof", params=asked, trust_env=False)
    assert (reply.status_code, reply.json()["error"]["param"]) == (400, field)


@pytest.mark.one_service("a proof and a challenge are of one service")
def test_a_hidden_key_opens_one_request(service: ThreadService):
    header = sealed(service, service.key, "GET", "/session/list")

    assert service.key not in header
    assert get(service, "/session/list", header) == 200
    assert get(service, "/user/info", header) == 401
    assert get(service, "/session/list?x=1", header) == 401
    assert get(service, "/key/create", header, "POST") == 401


@pytest.mark.one_service("a proof and a challenge are of one service")
def test_a_hidden_key_opens_a_stream(service: ThreadService):
    with service.http() as http:
        session_id = http.post("/session/register", json={}).json()["data"]["id"]
    target = f"/stream?session_id={session_id}"
    address = f"{service.ws_url}{target}"

    with connect(
        address, additional_headers={"Authorization": sealed(service, service.key, "GET", target)}, proxy=None
    ):
        pass
    with pytest.raises(InvalidStatus):
        connect(
            address, additional_headers={"Authorization": sealed(service, service.key, "GET", "/stream")}, proxy=None
        )


def test_the_digest_alone_opens_nothing(service: ThreadService):
    """A reader of the database has the digests, and not the keys."""
    header = sealed(service, "svc_" + "0" * 49, "GET", "/user/info", digest_of=service.key)
    assert get(service, "/user/info", header) == 401


@pytest.mark.one_service("a proof and a challenge are of one service")
def test_a_challenge_ends_with_its_time_and_its_process(start_service: StartService):
    now = [1_800_000_000.0]
    service, other = start_service(Echo, clock=lambda: now[0]), start_service(Echo)
    header = sealed(service, service.key, "GET", "/user/info")
    assert get(other, "/user/info", header) == 401
    assert get(service, "/user/info", header) == 200
    now[0] += 30
    assert get(service, "/user/info", header) == 401


@pytest.mark.one_service("gives the balancer's addresses itself")
def test_a_challenge_for_a_balancer_holds_at_each_service_and_that_for_its_own_address_at_one(
    start_service: StartService,
):
    """Here at the same database, after the first process has ended."""
    front = ("127.0.0.1:8443", "[::1]:8443")
    service = start_service(Echo, front_addresses=front)
    nonce = secrets.token_hex(NONCE_BYTES)
    given = ask(service, service.key, nonce).json()

    assert [one["address"] for one in given["fronts"]] == [*front]
    assert all(is_proven(one["proof"], key_digest(service.key), nonce, one["address"]) for one in given["fronts"])
    assert not is_proven(given["fronts"][0]["proof"], key_digest(service.key), nonce, "127.0.0.1:8444")

    logged = service.running.service.session_stores.logged
    other = ServiceProofs(logged, time.time, front)
    without = ServiceProofs(logged, time.time)
    for_front = sealed_key(service.key, given["fronts"][1]["challenge"], "GET", "/x").removeprefix("Svc-Sealed ")
    for_own = sealed_key(service.key, given["challenge"], "GET", "/x").removeprefix("Svc-Sealed ")
    assert service.run(other.open_sealed(for_front, "GET", "/x")) == service.key
    assert service.run(other.open_sealed(for_front, "GET", "/y")) != service.key
    assert service.run(other.open_sealed(for_own, "GET", "/x")) == ""
    assert service.run(without.open_sealed(for_front, "GET", "/x")) == ""


@pytest.mark.one_service("the three services have a balancer")
def test_without_a_balancer_nothing_is_proved_for_one(service: ThreadService):
    assert "fronts" not in ask(service, service.key, "0" * 64).json()


@pytest.mark.parametrize("text", [
    ".", "....", "a.b.c.d.e", "0" * 5_000, "x.y.zz.q.\u00e9", "." * 2_000, "a.b.-1.d.%%%",
])  # fmt: skip
def test_a_malformed_hidden_key_is_an_invalid_key(service: ThreadService, text: str):
    assert get(service, "/user/info", f"Svc-Sealed {text}") == 401


@pytest.mark.parametrize("cut", [1, 5, 20, 60])
def test_a_damaged_hidden_key_is_an_invalid_key(service: ThreadService, cut: int):
    assert get(service, "/user/info", sealed(service, service.key, "GET", "/user/info")[:-cut]) == 401
