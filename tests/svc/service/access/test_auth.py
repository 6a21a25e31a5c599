"""Keys and doors: one answer for every bad key, Host, Origin, keys in addresses, what the log says."""

from __future__ import annotations

import asyncio
import time
import zlib

import httpx2
import pytest

from svc.errors import InvalidRequestError
from svc.service.access.key_admin import revoke_key
from svc.service.access.keys import is_well_formed, key_digest, make_key
from svc.service.http.guard import allowed_hosts, check_host, check_origin
from svc.service.store.address import PostgresAddress
from svc.service.store.postgres.links import connect
from tests.support.assistants.scripted import Echo
from tests.support.live import ThreadService
from tests.support.wire_client import register


def test_a_key_has_the_format_known_to_secret_scanners_and_a_valid_checksum():
    keys = {make_key() for _ in range(200)}
    assert len(keys) == 200
    assert all(len(key) == 53 and key.startswith("svc_") and is_well_formed(key) for key in keys)


def test_the_checksum_is_the_crc_32_of_the_body_in_base62():
    digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    key = make_key()
    number = 0
    for character in key[47:]:
        number = number * 62 + digits.index(character)
    assert number == zlib.crc32(key[4:47].encode())


@pytest.mark.parametrize("place", range(4, 53))
def test_a_key_with_one_character_changed_is_malformed(place: int):
    key = make_key()
    other = "a" if key[place] != "a" else "b"
    assert not is_well_formed(key[:place] + other + key[place + 1 :])


def bad_headers(service: ThreadService) -> dict[str, dict[str, str]]:
    revoked_id, revoked = service.make_key("eve")
    asyncio.run(revoke_key(service.database, revoked_id))
    _, expired = service.make_key("eve", expires=time.time() - 1)
    texts = {
        "malformed": "Bearer svc_nonsense",
        "unknown": f"Bearer {make_key()}",
        "revoked": f"Bearer {revoked}",
        "expired": f"Bearer {expired}",
        "another scheme": f"Basic {service.key}",
        "no scheme": service.key,
        "empty": "Bearer",
        "its digest": f"Bearer {key_digest(service.key)}",
    }
    return {"missing": {}} | {name: {"Authorization": text} for name, text in texts.items()}


def test_every_invalid_key_gets_the_same_response(service: ThreadService):
    bodies = set()
    for headers in bad_headers(service).values():
        reply = httpx2.get(f"{service.base_url}/user/info", headers=headers, trust_env=False)
        assert reply.status_code == 401
        bodies.add(reply.text)
    assert len(bodies) == 1
    assert '"invalid_api_key"' in bodies.pop()


def test_an_invalid_key_is_rejected_before_the_body_is_read(service: ThreadService):
    reply = httpx2.post(f"{service.base_url}/session/register", content=b"{", trust_env=False)
    assert reply.json()["error"]["code"] == "invalid_api_key"


def test_a_revoked_key_is_rejected_at_once(service: ThreadService):
    key_id, key = service.make_key("eve")
    with service.http(key) as http:
        assert http.get("/user/info").status_code == 200
        asyncio.run(revoke_key(service.database, key_id))
        assert http.get("/user/info").status_code == 401


@pytest.mark.parametrize("name", ["key", "token", "session_id"])
def test_a_key_in_the_url_is_rejected(service: ThreadService, name: str):
    with service.http() as http:
        reply = http.get("/session/get", params={name: service.key})
    assert (reply.status_code, reply.json()["error"]["code"]) == (400, "invalid_request")
    assert service.key not in reply.text


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8460", "127.0.0.1.evil.example", "", "a" * 300])
def test_a_foreign_host_header_is_rejected(service: ThreadService, host: str):
    with service.http() as http:
        reply = http.get("/health", headers={"Host": host})
    assert reply.status_code == 400


@pytest.mark.parametrize("host", ["localhost", "localhost:1", "127.0.0.1:99", "[::1]:8460"])
def test_a_loopback_host_header_is_accepted(service: ThreadService, host: str):
    with service.http() as http:
        assert http.get("/health", headers={"Host": host}).status_code == 200


ORIGINS = {
    "none": (None, True),
    "its own": ("http://127.0.0.1:8460", True),
    "on the list": ("https://soc.example", True),
    "another": ("https://evil.example", False),
    "null": ("null", False),
    "its own as a prefix": ("http://127.0.0.1:8460.evil.example", False),
    "another port": ("http://127.0.0.1:8888", False),
    "empty": ("", False),
}


@pytest.mark.parametrize(("origin", "is_fine"), ORIGINS.values(), ids=ORIGINS)
def test_an_origin_must_be_same_origin_or_listed(origin: str | None, is_fine: bool):
    try:
        check_origin(origin, "127.0.0.1:8460", ("https://soc.example",))
    except InvalidRequestError:
        assert not is_fine
    else:
        assert is_fine


def test_a_listed_origin_gets_cors_without_credentials(start_service):
    service = start_service(Echo, allowed_origins=("https://soc.example",))
    asking = {"Origin": "https://soc.example", "Access-Control-Request-Method": "POST"}
    with service.http() as http:
        reply = http.options("/session/register", headers=asking | {"Access-Control-Request-Headers": "authorization"})
        foreign = http.options("/session/register", headers=asking | {"Origin": "https://evil.example"})
    assert reply.headers["access-control-allow-origin"] == "https://soc.example"
    assert "access-control-allow-credentials" not in reply.headers
    assert "access-control-allow-origin" not in foreign.headers


def test_a_listed_origin_can_read_retry_after_the_session_id_and_the_answers_status(start_service):
    service = start_service(Echo, allowed_origins=("https://soc.example",))
    _, quick = service.make_key("ann", rpm=1)
    with service.http(quick) as http:
        http.headers["Origin"] = "https://soc.example"
        http.get("/user/info")
        refused = http.get("/user/info")
    assert (refused.status_code, "retry-after" in refused.headers) == (429, True)
    exposed = refused.headers["access-control-expose-headers"].lower().split(", ")
    limits = [
        f"x-ratelimit-{what}-{name}" for what in ("limit", "remaining", "reset") for name in ("requests", "tokens")
    ]
    assert exposed == ["retry-after", "x-session-id", "x-answer-status", "x-ignored-parameters", *limits]


HOSTS = {
    "loopback": ("127.0.0.1", False, (), "localhost", True),
    "loopback, foreign": ("127.0.0.1", False, (), "svc.example", False),
    "beyond, any": ("0.0.0.0", False, (), "svc.example", True),
    "beyond, configured": ("0.0.0.0", False, ("svc.example",), "svc.example:443", True),
    "beyond, not configured": ("0.0.0.0", False, ("svc.example",), "evil.example", False),
    "behind a proxy": ("127.0.0.1", True, (), "svc.example", True),
}


@pytest.mark.parametrize(("bind", "behind", "configured", "host", "is_fine"), HOSTS.values(), ids=HOSTS)
def test_only_allowed_hosts_are_answered(bind, behind, configured, host, is_fine):
    allowed = allowed_hosts(bind, behind_proxy=behind, configured=configured)
    try:
        check_host(host, allowed)
    except InvalidRequestError:
        assert not is_fine
    else:
        assert is_fine


def all_of(service: ThreadService) -> bytes:
    """What the database keeps: its files on SQLite, every row of its tables on PostgreSQL."""
    if isinstance(service.database, PostgresAddress):
        return service.run(rows_of(service.database))
    return b"".join(path.read_bytes() for path in service.folder.glob("service.db*") if path.is_file())


async def rows_of(address: PostgresAddress) -> bytes:
    connection = await connect(address)
    try:
        tables = await connection.fetch("SELECT tablename FROM pg_tables WHERE schemaname = current_schema()")
        rows = [await connection.fetch(f"SELECT t::text FROM {table[0]} t") for table in tables]
    finally:
        await connection.close()
    return "\n".join(row[0] for found in rows for row in found).encode()


def test_the_database_has_neither_the_key_nor_the_question(service: ThreadService):
    register(service)
    stored = all_of(service)
    assert service.key.encode() not in stored
    assert key_digest(service.key).encode() in stored
