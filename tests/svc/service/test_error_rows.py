"""Every row of the table of errors in docs/wire.md, "Errors": status, code, type, param, and what the text says."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import sqlite3
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import httpx2
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from svc.assistant.turn import Answer, Assistant, Step, Turn
from svc.errors import CODES, UpstreamError
from svc.service.access.key_admin import revoke_key
from svc.service.access.keys import make_key
from svc.service.settings import Settings
from svc.service.store.store_errors import storage_full
from tests.support.live import ThreadService, wait_until
from tests.support.wire_client import ask, opened, read, register, send, until_closed

TYPES = {
    400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 404: "not_found_error",
    405: "invalid_request_error", 409: "conflict_error", 410: "invalid_request_error", 413: "invalid_request_error",
    429: "rate_limit_error", 499: "invalid_request_error", 500: "server_error", 502: "server_error",
    503: "server_error", 507: "insufficient_quota",
}  # fmt: skip


class ByWord(Assistant):
    """Does what the prompt says: ``wait``, ``upstream``, ``raise``; anything else is answered."""

    async def answer(self, turn: Turn) -> AsyncIterator[Step | Answer]:
        yield Step(content="begun")
        match turn.prompt:
            case "wait":
                await asyncio.Event().wait()
            case "upstream":
                raise UpstreamError("the model answered 500 three times")
            case "raise":
                raise ValueError("a secret of the service")
        yield Answer(markdown=turn.prompt)


class World:
    """A service with everything in it that can be refused."""

    def __init__(self, folder: Path) -> None:
        self.behind = 300.0
        chosen = Settings(
            max_upload_bytes=1_000, max_frame_bytes=20_000, max_attach_body_bytes=2_000, max_session_files=1,
            max_content_bytes=5_000, stop_seconds=0.3, key_sessions=40, key_turns=20,
        )  # fmt: skip
        self.service = ThreadService(folder, ByWord(), chosen, clock=lambda: time.time() - self.behind)
        self.expired = register(self.service, ttl=300)
        self.behind = 0.0
        self.own, self.full, self.busy, self.gone = (register(self.service) for _ in range(4))
        self.foreign = register(self.service, self.key("eve"), id="of-eve")
        with self.service.http() as http:
            http.post("/session/upload_file", params={"session_id": self.full, "filename": "a"}, content=b"x")
        self.waiting = threading.Thread(target=generate, args=(self, self.busy, "wait"), daemon=True)
        self.waiting.start()
        wait_until(lambda: self.service.running.service.turns.running, "a turn that runs")

    def key(self, user: str, **rights: object) -> str:
        return self.service.make_key(user, **rights)[1]

    def close(self) -> None:
        with self.service.http() as http:
            http.post("/session/delete", json={"id": self.busy})
        self.waiting.join(10)
        self.service.stop()


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    world = World(tmp_path_factory.mktemp("errors"))
    yield world
    world.close()


def post(world: World, path: str, key: str | None = None, **body: object) -> httpx2.Response:
    with world.service.http(key) as http:
        return http.post(path, json=body)


def get(world: World, path: str, key: str | None = None, **params: str) -> httpx2.Response:
    with world.service.http(key) as http:
        return http.get(path, params=params)


def generate(world: World, session_id: str, prompt: str, key: str | None = None) -> httpx2.Response:
    return post(world, "/session/generate", key, id=session_id, messages=[{"message_type": "query", "content": prompt}])


def upload(world: World, session_id: str, content: bytes) -> httpx2.Response:
    with world.service.http() as http:
        params = {"session_id": session_id, "filename": "b"}
        return http.post("/session/upload_file", params=params, content=content)


def bare(world: World, headers: dict[str, str]) -> httpx2.Response:
    return httpx2.get(f"{world.service.base_url}/user/info", headers=headers, trust_env=False)


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


def with_revoked_key(world: World) -> httpx2.Response:
    key_id, key = world.service.make_key("mallory")
    asyncio.run(revoke_key(world.service.database, key_id))
    return bare(world, bearer(key))


def over_rpm(world: World) -> httpx2.Response:
    key = world.key("quick", rpm=1)
    get(world, "/session/list", key)
    return get(world, "/session/list", key)


def over_sessions(world: World) -> httpx2.Response:
    key = world.key("hoarder")
    for _ in range(40):
        register(world.service, key)
    return post(world, "/session/register", key)


def over_tpm(world: World) -> httpx2.Response:
    key = world.key("wordy", tpm=10)
    session_id = register(world.service, key)
    generate(world, session_id, "x" * 100, key)
    replies: list[httpx2.Response] = []
    wait_until(lambda: replies.append(generate(world, session_id, "y", key)) or not replies[-1].is_success, "429")
    return replies[-1]


def cancelled_meanwhile(world: World) -> httpx2.Response:
    session_id = register(world.service)
    replies: list[httpx2.Response] = []
    asking = threading.Thread(target=lambda: replies.append(generate(world, session_id, "wait")))
    asking.start()
    wait_until(lambda: session_id in world.service.running.service.turns.running, "the turn")
    post(world, "/session/delete", id=session_id)
    asking.join(20)
    return replies[0]


def while_stopping(world: World) -> httpx2.Response:
    turns = world.service.running.service.turns
    turns.is_stopping = True
    try:
        return generate(world, world.own, "x")
    finally:
        turns.is_stopping = False


def while_the_store_is_held(world: World) -> httpx2.Response:
    with contextlib.closing(sqlite3.connect(world.service.database, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        try:
            return post(world, "/session/register")
        finally:
            connection.execute("ROLLBACK")


def while_the_disk_is_full(world: World) -> httpx2.Response:
    with pytest.MonkeyPatch.context() as patch:
        space = world.service.running.service.space
        patch.setattr(space, "_measure", lambda: storage_full("0 bytes are free"))
        patch.setattr(space, "_measured", float("-inf"))
        try:
            return generate(world, world.own, "x")
        finally:
            patch.setattr(space, "_found", None)


def chat(world: World, **fields: object) -> httpx2.Response:
    asked = {"model": "stable", "messages": [{"role": "user", "content": "x"}]}
    return post(world, "/chat/completions", **(asked | fields))


class Row(NamedTuple):
    """One way into an error of the table; ``says`` are patterns that the text must hold."""

    status: int
    code: str
    send: Callable[[World], httpx2.Response]
    says: tuple[str, ...]
    param: str | None = None


BAD_KEY = ("missing or not valid", "Authorization: Bearer", "svc keys create")
ROWS = {
    "not JSON": Row(400, "invalid_request", lambda w: raw(w, "/session/register", b"{"), ("malformed JSON",)),
    "a wrong type": Row(400, "invalid_request", lambda w: post(w, "/session/register", ttl="x"), ("ttl", "int"), "ttl"),
    "a rule broken": Row(
        400, "invalid_request", lambda w: post(w, "/session/register", ttl=299), ("299", "300 to 2592000"), "ttl"
    ),
    "an invalid id": Row(
        400, "invalid_request", lambda w: post(w, "/session/register", id="../x"), ("'../x'", "1 to 64"), "id"
    ),
    "a language": Row(
        400, "invalid_request", lambda w: post(w, "/session/register", language="zz"), ("'zz'", "BCP 47"), "language"
    ),
    "a missing parameter": Row(400, "invalid_request", lambda w: get(w, "/session/get"), ("session_id",), "session_id"),
    "a path as a name": Row(
        400,
        "invalid_request",
        lambda w: post(w, "/session/attach_file", session_id=w.own, filename="../a", content=""),
        (r"'\.\./a'", "not a path"),
        "filename",
    ),
    "tools": Row(400, "invalid_request", lambda w: chat(w, tools=[{}]), ("tools", "Leave tools out"), "tools"),
    "a key in the path": Row(400, "invalid_request", lambda w: get(w, f"/{w.service.key}"), ("revoke",)),
    "a key in the address": Row(
        400, "invalid_request", lambda w: get(w, "/session/get", session_id=w.service.key), ("revoke",)
    ),
    "stream": Row(400, "stream_unsupported", lambda w: chat(w, stream=True), ("stream: false", "/stream"), "stream"),
    "no key": Row(401, "invalid_api_key", lambda w: bare(w, {}), BAD_KEY),
    "a malformed key": Row(401, "invalid_api_key", lambda w: bare(w, bearer("svc_x")), BAD_KEY),
    "an unknown key": Row(401, "invalid_api_key", lambda w: bare(w, bearer(make_key())), BAD_KEY),
    "a revoked key": Row(401, "invalid_api_key", with_revoked_key, BAD_KEY),
    "an expired key": Row(
        401, "invalid_api_key", lambda w: bare(w, bearer(w.key("late", expires=time.time() - 1))), BAD_KEY
    ),
    "experimental": Row(
        403,
        "experimental_not_allowed",
        lambda w: post(w, "/session/register", w.key("eve"), model="experimental"),
        (r"svc-1\.2-experimental", r"svc-1\.1", "--experimental"),
        "model",
    ),
    "no session": Row(
        404, "session_not_found", lambda w: get(w, "/session/get", session_id="nope"), ("'nope'", "register")
    ),
    "another's session": Row(
        404, "session_not_found", lambda w: get(w, "/session/get", session_id="of-eve"), ("'of-eve'", "register")
    ),
    "no model": Row(
        404,
        "model_not_found",
        lambda w: post(w, "/session/register", model="gpt-9"),
        ("'gpt-9'", r"svc-1\.1", r"svc-1\.2-experimental", "stable", "experimental"),
        "model",
    ),
    "no model of OpenAI's": Row(
        404, "model_not_found", lambda w: chat(w, model="gpt-9"), ("'gpt-9'", r"svc-1\.1"), "model"
    ),
    "no address": Row(404, "not_found", lambda w: get(w, "/nope"), ("unknown endpoint: GET /nope",)),
    "no method": Row(
        405, "method_not_allowed", lambda w: get(w, "/session/register"), ("GET /session/register", "POST")
    ),
    "no file": Row(
        404,
        "file_not_found",
        lambda w: post(w, "/session/detach_file", session_id=w.own, file_idx=7),
        ("7", "0 files"),
        "file_idx",
    ),
    "a turn runs": Row(409, "turn_in_progress", lambda w: generate(w, w.busy, "x"), ("still running", "cancel")),
    "an id taken": Row(
        409, "session_id_taken", lambda w: post(w, "/session/register", id="of-eve"), ("of-eve", "another"), "id"
    ),
    "expired": Row(
        410,
        "session_expired",
        lambda w: get(w, "/session/get", session_id=w.expired),
        (r"at 20\d\d-\d\d-\d\d \d\d:\d\d:\d\d UTC", "register"),
    ),
    "a large body": Row(
        413, "too_large", lambda w: post(w, "/session/register", zork="x" * 20_001), (r"20,0\d\d bytes", "20,000")
    ),
    "a large attachment": Row(
        413,
        "too_large",
        lambda w: post(w, "/session/attach_file", zork="x" * 2_001),
        (r"2,0\d\d bytes", "2,000", "upload_file"),
    ),
    "a large file": Row(413, "too_large", lambda w: upload(w, w.own, b"x" * 1_001), ("1,001", "1,000")),
    "a large message": Row(
        413, "too_large", lambda w: generate(w, w.own, "x" * 5_001), ("5,001", "5,000", "Attach"), "content"
    ),
    "a file too many": Row(
        413, "too_large", lambda w: upload(w, w.full, b"y"), ("1 files", "the limit is 1", "Detach")
    ),
    "over rpm": Row(429, "rate_limited", over_rpm, ("1 requests per minute", r"try again in \d+ s")),
    "over tpm": Row(429, "rate_limited", over_tpm, ("10 tokens per minute", r"try again in \d+ s")),
    "too many sessions": Row(507, "quota_exceeded", over_sessions, ("40 live sessions", "limit is 40", "Delete some")),
    "cancelled": Row(499, "cancelled", cancelled_meanwhile, ("cancelled", "deleted")),
    "a fault of ours": Row(
        500,
        "internal_error",
        lambda w: generate(w, register(w.service), "raise"),
        (r"^internal error [0-9a-f]{12}: .*log.*$",),
    ),
    "the model fails": Row(
        502, "upstream_error", lambda w: generate(w, register(w.service), "upstream"), ("500 three times",)
    ),
    "stopping": Row(503, "unavailable", while_stopping, ("stopping", "again")),
    "no store": Row(503, "unavailable", while_the_store_is_held, ("unavailable", "locked", "again")),
    "a full disk": Row(
        507, "insufficient_storage", while_the_disk_is_full, ("nothing was stored", "full", "0 bytes", "Free space")
    ),
}


def raw(world: World, path: str, body: bytes) -> httpx2.Response:
    with world.service.http() as http:
        return http.post(path, content=body)


def check(row: Row, status: int, headers: dict[str, str], body: bytes) -> None:
    error = json.loads(body)["error"]
    assert set(error) == {"code", "message", "type", "param"}
    assert (status, error["code"], error["type"], error["param"]) == (
        row.status,
        row.code,
        "server_error" if row.code == "insufficient_storage" else TYPES[row.status],
        row.param,
    )
    assert [pattern for pattern in row.says if not re.search(pattern, error["message"])] == [], error["message"]
    assert "secret" not in error["message"]
    assert headers["content-type"] == "application/json"
    assert ("retry-after" in headers) == (status in (429, 503, 507))
    assert int(headers.get("retry-after", 1)) in range(1, 61)
    assert (headers.get("www-authenticate") == "Bearer") == (status == 401)


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_each_error_matches_its_row_of_the_wire_page(world: World, row: Row):
    reply = row.send(world)
    check(row, reply.status_code, reply.headers, reply.content)


async def test_a_stream_beyond_the_sessions_end_loses_the_history(world: World):
    address = f"{world.service.ws_url}/stream?session_id={world.own}&after=999"
    async with connect(address, additional_headers=world.service.headers, proxy=None) as socket:
        message = json.loads(await socket.recv())
        await socket.wait_closed()
    assert (message["status_code"], message["status_message"], message["seq"]) == (409, "history_lost", 0)
    assert socket.close_code == 4409


def test_every_row_of_the_wire_page_is_tested():
    of_streams = {"history_lost"}
    assert {row.code for row in ROWS.values()} | of_streams == set(CODES)


UPGRADES = {
    "no key": Row(401, "invalid_api_key", lambda w: ("/stream?session_id=" + w.own, {}), BAD_KEY),
    "a revoked key": Row(
        401, "invalid_api_key", lambda w: ("/stream?session_id=" + w.own, bearer(revoked(w))), BAD_KEY
    ),
    "a ticket made up": Row(
        401,
        "invalid_api_key",
        lambda w: ("/stream?session_id=" + w.own, {"Sec-WebSocket-Protocol": "svc, svc.ticket.x"}),
        ("ticket", "once", "/stream/ticket"),
    ),
    "no session": Row(404, "session_not_found", lambda w: ("/stream?session_id=nope", w.service.headers), ("'nope'",)),
    "another's": Row(
        404, "session_not_found", lambda w: ("/stream?session_id=of-eve", w.service.headers), ("'of-eve'",)
    ),
    "expired": Row(
        410, "session_expired", lambda w: ("/stream?session_id=" + w.expired, w.service.headers), (r"at 20\d\d-",)
    ),
    "no session_id": Row(
        400, "invalid_request", lambda w: ("/stream", w.service.headers), ("session_id",), "session_id"
    ),
    "after": Row(
        400,
        "invalid_request",
        lambda w: (f"/stream?session_id={w.own}&after=x", w.service.headers),
        ("'x'", "last seq"),
        "after",
    ),
    "an Origin": Row(
        400,
        "invalid_request",
        lambda w: ("/stream?session_id=" + w.own, w.service.headers | {"Origin": "https://evil.example"}),
        ("evil", "SVC_ALLOWED_ORIGINS"),
        "Origin",
    ),
    "a key in the address": Row(
        400, "invalid_request", lambda w: (f"/stream?session_id={w.own}&k={w.service.key}", {}), ("revoke",)
    ),
    "over rpm": Row(
        429, "rate_limited", lambda w: ("/stream?session_id=" + w.own, bearer(used_up(w))), ("1 requests per minute",)
    ),
    "no address": Row(404, "not_found", lambda w: ("/nope", w.service.headers), ("/nope",)),
    "an operation's address": Row(404, "not_found", lambda w: ("/session/list", w.service.headers), ("/session/list",)),
}


def revoked(world: World) -> str:
    key_id, key = world.service.make_key("mallory")
    asyncio.run(revoke_key(world.service.database, key_id))
    return key


def used_up(world: World) -> str:
    key = world.key("quick", rpm=1)
    get(world, "/session/list", key)
    return key


@pytest.mark.parametrize("row", UPGRADES.values(), ids=UPGRADES)
async def test_a_refused_upgrade_is_the_http_error(world: World, row: Row):
    address, headers = await asyncio.to_thread(row.send, world)
    with pytest.raises(InvalidStatus) as caught:
        async with connect(world.service.ws_url + address, additional_headers=headers, proxy=None):
            pass
    response = caught.value.response
    check(row, response.status_code, {name.lower(): value for name, value in response.headers.items()}, response.body)


FRAMES = {
    "not JSON": ("{", 400, "invalid_request", "malformed JSON"),
    "an unknown type": ('{"message_type": "zork"}', 400, "invalid_request", "query, cancel"),
    "no content": ('{"message_type": "query"}', 400, "invalid_request", "content is empty"),
    "a large message": (json.dumps({"message_type": "query", "content": "x" * 5_001}), 413, "too_large", "5,000"),
}


@pytest.mark.parametrize("row", FRAMES.values(), ids=FRAMES)
async def test_a_refused_frame_is_an_error_that_is_not_kept(world: World, row: tuple[str, int, str, str]):
    frame, status, code, says = row
    async with opened(world.service, await asyncio.to_thread(register, world.service)) as socket:
        await socket.send(frame)
        check_refusal(await read(socket), status, code, says)
        assert (await ask(socket, "still there?"))[0]["seq"] == 1


def check_refusal(error: dict[str, object], status: int, code: str, says: str) -> None:
    assert (error["message_type"], error["state"], error["seq"]) == ("error", "end", 0)
    assert (error["status_code"], error["status_message"]) == (status, code)
    assert says in error["content"]


async def test_a_query_while_a_turn_runs_is_409_with_its_own_id(world: World):
    async with opened(world.service, world.busy) as socket:
        assert [(await read(socket))["seq"] for _ in range(2)] == [1, 2]
        await send(socket, message_type="query", content="x", id="mine", turn="t9")
        error = await read(socket)
    check_refusal(error, 409, "turn_in_progress", "still running")
    assert (error["parent_id"], error["turn"]) == ("mine", "t9")


async def test_a_query_over_the_keys_rate_is_429(world: World):
    key = world.key("quick", rpm=2)
    session_id = await asyncio.to_thread(register, world.service, key)
    async with opened(world.service, session_id, key=key) as socket:
        await send(socket, message_type="query", content="x")
        check_refusal(await read(socket), 429, "rate_limited", "2 requests per minute")


async def test_a_query_while_the_service_stops_is_503(world: World):
    world.service.running.service.turns.is_stopping = True
    try:
        async with opened(world.service, world.own) as socket:
            await send(socket, message_type="query", content="x")
            check_refusal(await read(socket), 503, "unavailable", "stopping")
    finally:
        world.service.running.service.turns.is_stopping = False


ENDS = {
    "cancelled": ("wait", 499, "cancelled", "cancelled by the client"),
    "upstream": ("upstream", 502, "upstream_error", "500 three times"),
    "a fault": ("raise", 500, "internal_error", "internal error"),
}


@pytest.mark.parametrize("row", ENDS.values(), ids=ENDS)
async def test_a_turn_that_ends_in_an_error_keeps_it(world: World, row: tuple[str, int, str, str]):
    prompt, status, code, says = row
    session_id = await asyncio.to_thread(register, world.service)
    async with opened(world.service, session_id) as socket:
        await send(socket, message_type="query", content=prompt, turn="t1")
        assert [(await read(socket))["seq"] for _ in range(2)] == [1, 2]
        if prompt == "wait":
            await send(socket, message_type="cancel", turn="t1")
        error = await read(socket)
    kept = (await asyncio.to_thread(get, world, "/session/get", session_id=session_id)).json()["messages"]
    assert kept[-1] == error
    assert (error["seq"], error["state"], error["turn"]) == (3, "end", "t1")
    assert (error["status_code"], error["status_message"]) == (status, code)
    assert says in error["content"]


async def test_a_session_that_expires_ends_its_turn_with_410_and_its_streams_with_4410(tmp_path: Path):
    ahead = [0.0]
    service = ThreadService(tmp_path, ByWord(), Settings(stop_seconds=0.3), clock=lambda: time.time() + ahead[0])
    try:
        async with opened(service, await asyncio.to_thread(register, service, ttl=300)) as socket:
            await send(socket, message_type="query", content="wait")
            await read(socket), await read(socket)
            ahead[0] = 300.0
            (error,) = await until_closed(socket)
        assert (error["status_code"], error["status_message"], error["seq"]) == (410, "session_expired", 3)
        assert socket.close_code == 4410
    finally:
        service.stop()
