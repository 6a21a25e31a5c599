"""Uvicorn internals that the adapter relies on, and its limits: slow, large or malformed requests are ended."""

from __future__ import annotations

import ast
import asyncio
import inspect
import json
import socket as sockets
import time
import tomllib
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import pytest
import uvicorn
from packaging.requirements import Requirement
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from svc.service.server.uvicorn_protocols import MAX_PIPELINED
from tests.support.assistants.scripted import Echo, Slow
from tests.support.live import StartService, ThreadService, wait_until
from tests.support.wire_client import ask, opened, register

REPOSITORY = Path(__file__).parents[4]
HEAD = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n"


ADAPTER = "svc/service/server/uvicorn_protocols.py"
HOOKS: dict[Callable[..., object], list[str]] = {
    HttpToolsProtocol.__init__: ["self", "config", "server_state", "app_state", "_loop"],
    HttpToolsProtocol.connection_made: ["self", "transport"],
    HttpToolsProtocol.connection_lost: ["self", "exc"],
    HttpToolsProtocol.data_received: ["self", "data"],
    HttpToolsProtocol.handle_websocket_upgrade: ["self"],
    HttpToolsProtocol.pause_writing: ["self"],
    HttpToolsProtocol.resume_writing: ["self"],
    HttpToolsProtocol.on_message_begin: ["self"],
    HttpToolsProtocol.on_headers_complete: ["self"],
    HttpToolsProtocol.on_body: ["self", "body"],
    HttpToolsProtocol.on_message_complete: ["self"],
    HttpToolsProtocol.on_response_complete: ["self"],
    HttpToolsProtocol.send_400_response: ["self", "msg"],
    WebSocketsSansIOProtocol.__init__: ["self", "config", "server_state", "app_state", "_loop"],
    WebSocketsSansIOProtocol.connection_made: ["self", "transport"],
    WebSocketsSansIOProtocol.connection_lost: ["self", "exc"],
    WebSocketsSansIOProtocol.send: ["self", "message"],
    uvicorn.Server.startup: ["self", "sockets"],
    uvicorn.Server.on_tick: ["self", "counter"],
    uvicorn.Server.shutdown: ["self", "sockets"],
    uvicorn.Server.handle_exit: ["self", "sig", "frame"],
}
"""Methods that are overridden, with their parameters."""

ATTRIBUTES = {
    HttpToolsProtocol: {"transport", "loop", "pipeline", "cycle", "scope"},
    RequestResponseCycle: {"more_body", "response_complete"},
    WebSocketsSansIOProtocol: {"transport", "loop", "conn", "writable", "disconnected", "close_timeout"},
    uvicorn.Server: {"config", "should_exit", "force_exit"},
}
"""Attributes that are read or set, and made by ``__init__``."""


@pytest.mark.parametrize(("hook", "parameters"), HOOKS.items(), ids=[hook.__qualname__ for hook in HOOKS])
def test_uvicorn_calls_the_hooks_that_are_overridden(hook: Callable[..., object], parameters: list[str]):
    assert list(inspect.signature(hook).parameters) == parameters


@pytest.mark.parametrize(("kind", "names"), ATTRIBUTES.items(), ids=[kind.__name__ for kind in ATTRIBUTES])
def test_uvicorn_sets_the_attributes_that_are_used(kind: type, names: set[str]):
    assert names <= set(inspect.getattr_static(kind, "__init__").__code__.co_names)


def test_a_closed_websocket_raises_the_exception_of_starlette():
    assert issubclass(ClientDisconnected, OSError)  # starlette turns an OSError into a WebSocketDisconnect


def test_uvicorns_minor_version_is_pinned_and_installed():
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))
    [pin] = [one for one in map(Requirement, project["project"]["dependencies"]) if one.name == "uvicorn"]
    major, minor = (int(part) for part in version("uvicorn").split(".")[:2])
    assert pin.specifier.contains(f"{major}.{minor}.99")
    assert not pin.specifier.contains(f"{major}.{minor + 1}.0")


def test_no_other_module_imports_the_private_modules_of_uvicorn():
    importing = set()
    for path in (REPOSITORY / "svc").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            if any(name.startswith("uvicorn.") for name in names):
                importing.add(path.relative_to(REPOSITORY).as_posix())
    assert importing == {ADAPTER}


@pytest.fixture
def strict(start_service: StartService) -> ThreadService:
    return start_service(Echo, head_seconds=0.3, body_idle_seconds=0.3, max_head_bytes=4_096)


async def connected(service: ThreadService) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    host, _, port = service.base_url.removeprefix("http://").partition(":")
    return await asyncio.open_connection(host, int(port))


async def until_end(reader: asyncio.StreamReader) -> bytes:
    """All that comes until the service ends the connection, which it must."""
    gathered = b""
    try:
        while part := await asyncio.wait_for(reader.read(65_536), 20):
            gathered += part
    except ConnectionError:
        pass
    return gathered


async def drip(writer: asyncio.StreamWriter, data: bytes) -> None:
    """A byte now and then, for as long as the connection lives."""
    try:
        for byte in data * 1_000:
            writer.write(bytes([byte]))
            await writer.drain()
            await asyncio.sleep(0.02)
    except ConnectionError:
        return


async def given_up(dripping: list[asyncio.Task[None]], writers: list[asyncio.StreamWriter]) -> None:
    for task in dripping:
        task.cancel()
    await asyncio.gather(*dripping, return_exceptions=True)
    for writer in writers:
        writer.close()


def error_of(reply: bytes) -> tuple[int, str]:
    head, _, body = reply.partition(b"\r\n\r\n")
    assert b"content-type: application/json" in head.lower()
    return int(head.split()[1]), json.loads(body)["error"]["code"]


@pytest.mark.parametrize("sent", [b"", b"GET /hea", HEAD], ids=["nothing", "half a line", "no end"])
async def test_an_endless_request_head_closes_the_connection(strict: ThreadService, sent: bytes):
    reader, writer = await connected(strict)
    writer.write(sent)
    assert await until_end(reader) == b""
    writer.close()


@pytest.mark.parametrize("start", [HEAD + b"X-A: ", HEAD], ids=["one header", "many headers"])
async def test_a_slow_request_head_closes_its_connection_only(strict: ThreadService, start: bytes):
    connections = [await connected(strict) for _ in range(50)]
    dripping = []
    for _, writer in connections:
        writer.write(start)
        dripping.append(asyncio.create_task(drip(writer, b"a" if start != HEAD else b"A: b\r\n")))
    async with opened(strict, await asyncio.to_thread(register, strict)) as socket:
        assert len(await ask(socket, "meanwhile")) == 6
    assert {await until_end(reader) for reader, _ in connections} == {b""}
    await given_up(dripping, [writer for _, writer in connections])


async def test_the_next_request_of_a_connection_has_the_same_limit(strict: ThreadService):
    reader, writer = await connected(strict)
    writer.write(HEAD + b"\r\n")
    assert (await reader.readuntil(b"}")).startswith(b"HTTP/1.1 200")
    writer.write(HEAD)
    assert await until_end(reader) == b""
    writer.close()


async def test_a_connection_waiting_for_its_response_stays_open(start_service: StartService):
    service = start_service(Slow, head_seconds=0.2, turn_seconds=1.0)
    session_id = await asyncio.to_thread(register, service)
    body = json.dumps({"id": session_id, "messages": [{"message_type": "query", "content": "x"}]}).encode()
    reader, writer = await connected(service)
    writer.write(
        b"POST /session/generate HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer " + service.key.encode()
        + b"\r\nContent-Length: " + str(len(body)).encode() + b"\r\n\r\n" + body + b"GET /hea"
    )  # fmt: skip
    assert b"SVC_TURN_SECONDS" in await until_end(reader)
    writer.close()


@pytest.mark.one_service("looks into one service")
async def test_the_oldest_unauthenticated_connection_over_the_limit_is_closed(start_service: StartService):
    service = start_service(Slow, max_keyless_connections=5, turn_seconds=2.0)
    session_id = await asyncio.to_thread(register, service)
    body = json.dumps({"id": session_id, "messages": [{"message_type": "query", "content": "x"}]}).encode()
    reader, writer = await connected(service)
    writer.write(posting(b"/session/generate", service.key, b"Content-Length: %d\r\n\r\n" % len(body)) + body)
    await asyncio.to_thread(wait_until, lambda: service.running.service.turns.running, "the turn to run")
    silent = [await connected(service) for _ in range(20)]
    assert [await until_end(reader) for reader, _ in silent[:15]] == [b""] * 15
    await asyncio.to_thread(register, service)
    assert not any(reader.at_eof() for reader, _ in silent[17:])
    assert b"SVC_TURN_SECONDS" in await asyncio.wait_for(reader.readuntil(b"}}"), 20)
    await given_up([], [writer, *(writer for _, writer in silent)])


TOO_MUCH = {
    "an address": b"GET /" + b"a" * 10_000_000,
    "a header": HEAD + b"X-A: " + b"a" * 10_000_000,
    "headers": HEAD + b"X-A: aaaa\r\n" * 1_000_000,
}


@pytest.mark.parametrize("sent", TOO_MUCH.values(), ids=TOO_MUCH)
async def test_a_too_large_request_head_is_rejected(strict: ThreadService, sent: bytes):
    reader, writer = await connected(strict)
    writer.write(sent)
    reply = await until_end(reader)
    assert reply == b"" or (error_of(reply) == (400, "invalid_request") and b"4,096 bytes" in reply)
    writer.close()


async def test_a_request_head_just_over_its_limit_gets_the_reason(strict: ThreadService):
    reader, writer = await connected(strict)
    writer.write(HEAD + b"X-A: ")
    for _ in range(5):
        writer.write(b"a" * 1_024)
        await writer.drain()
        await asyncio.sleep(0.02)
    reply = await until_end(reader)
    assert error_of(reply) == (400, "invalid_request")
    assert b"4,096 bytes" in reply
    writer.close()


@pytest.mark.parametrize("over", [1, 4_096, 40_000])
async def test_a_complete_request_head_over_its_limit_is_refused_too(strict: ThreadService, over: int):
    reader, writer = await connected(strict)
    writer.write(HEAD + b"X-A: " + b"a" * (4_096 + over) + b"\r\n\r\n")
    reply = await until_end(reader)
    assert error_of(reply) == (400, "invalid_request")
    assert b"4,096 bytes" in reply
    writer.close()


async def test_a_complete_request_head_within_its_limit_is_answered(strict: ThreadService):
    reader, writer = await connected(strict)
    writer.write(HEAD + b"X-A: " + b"a" * 3_900 + b"\r\nConnection: close\r\n\r\n")
    assert b"4,096 bytes" not in await until_end(reader)
    writer.close()


NO_HTTP = {"noise": b"\x16\x03\x01\x02\x00\x01\x00", "a word": b"HELLO\r\n\r\n", "two lengths": HEAD
           + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n"}  # fmt: skip


@pytest.mark.parametrize("sent", NO_HTTP.values(), ids=NO_HTTP)
async def test_malformed_http_gets_the_common_error_body(strict: ThreadService, sent: bytes):
    reader, writer = await connected(strict)
    writer.write(sent)
    assert error_of(await until_end(reader)) == (400, "invalid_request")
    writer.close()


def posting(path: bytes, key: str | None, more: bytes) -> bytes:
    authorization = b"" if key is None else b"Authorization: Bearer " + key.encode() + b"\r\n"
    return b"POST " + path + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n" + authorization + more


async def test_a_stalled_body_is_abandoned(strict: ThreadService):
    reader, writer = await connected(strict)
    writer.write(posting(b"/session/register", strict.key, b"Content-Length: 1000\r\n\r\n{"))
    status, code = error_of(await until_end(reader))
    assert (status, code) == (400, "invalid_request")
    writer.close()


async def test_a_body_continued_after_its_rejection_closes_the_connection(strict: ThreadService):
    reader, writer = await connected(strict)
    writer.write(posting(b"/session/register", None, b"Content-Length: 100000000\r\n\r\n{"))
    dripping = asyncio.create_task(drip(writer, b"a"))
    assert error_of(await until_end(reader)) == (401, "invalid_api_key")
    await given_up([dripping], [writer])


@pytest.mark.parametrize("trailer", [b"0\r\nX-A: ", b"1;a="], ids=["a trailer", "a chunk's extension"])
async def test_chunk_framing_of_a_body_is_bounded(strict: ThreadService, trailer: bytes):
    reader, writer = await connected(strict)
    writer.write(posting(b"/session/register", strict.key, b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n"))
    await writer.drain()
    writer.write(trailer + b"a" * 10_000_000)
    reply = await until_end(reader)
    assert reply == b"" or error_of(reply)[0] == 400
    writer.close()


def test_a_large_body_within_the_limits_is_accepted_in_many_parts(strict: ThreadService):
    def parts():
        for _ in range(20):
            yield b"x" * 10_000
            time.sleep(0.03)

    session_id = register(strict)
    with strict.http() as http:
        params = {"session_id": session_id, "filename": "a"}
        reply = http.post("/session/upload_file", params=params, content=parts())
    assert reply.json()["data"]["size"] == 200_000


async def test_pipelined_requests_are_bounded(strict: ThreadService):
    reader, writer = await connected(strict)
    writer.write((HEAD + b"\r\n") * 5_000)
    assert (await until_end(reader)).count(b"HTTP/1.1 200") <= MAX_PIPELINED + 1
    writer.close()


async def test_a_few_pipelined_requests_are_answered_in_order(strict: ThreadService):
    reader, writer = await connected(strict)
    paths = [b"/health", b"/nope/1", b"/openapi.json", b"/nope/2"]
    for path in paths:
        writer.write(b"GET " + path + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    replies = (await until_end(reader)).split(b"HTTP/1.1 ")[1:]
    assert [reply[:3] for reply in replies] == [b"200", b"404", b"200", b"404"]
    assert b"/nope/1" in replies[1]
    assert b"/nope/2" in replies[3]
    writer.close()


async def test_a_response_that_is_not_read_is_dropped(strict: ThreadService):
    session_id = await asyncio.to_thread(register, strict)
    async with opened(strict, session_id) as socket:
        for _ in range(8):
            await ask(socket, "x" * 1_000_000)
    host, _, port = strict.base_url.removeprefix("http://").partition(":")
    with sockets.socket() as silent:
        silent.setsockopt(sockets.SOL_SOCKET, sockets.SO_RCVBUF, 4_096)
        silent.connect((host, int(port)))
        request = f"GET /session/get?session_id={session_id} HTTP/1.1\r\nHost: {host}\r\n"
        silent.sendall(f"{request}Authorization: Bearer {strict.key}\r\n\r\n".encode())
        assert silent.recv(12) == b"HTTP/1.1 200"
        is_there = strict.server.server_state.connections
        await asyncio.to_thread(wait_until, lambda: not is_there, "the connection to be ended")
