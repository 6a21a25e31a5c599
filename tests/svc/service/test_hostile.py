"""Clients that mean harm: they are refused as docs/wire.md specifies, memory stays flat, and other users are served."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
import resource
import socket as sockets
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx2
import psutil
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed
from websockets.frames import Frame, Opcode

from tests.support.live import LiveService, ProcessService, ThreadService, live_process, wait_until
from tests.support.wire_client import ask, opened, read, register, send, seqs, until_closed

MIB = 1_048_576
TURN = 60  # steps of the other user's turn
TOO_SLOW = 4408  # the wire's close code


@contextlib.asynccontextmanager
async def an_unharmed_user(service: LiveService) -> AsyncIterator[None]:
    """Another user asks again and again meanwhile, and every turn comes whole."""
    _, key = await asyncio.to_thread(service.make_key, "bystander")
    session_id = await asyncio.to_thread(register, service, key)
    is_over = asyncio.Event()

    async def asking() -> int:
        turns = 0
        async with opened(service, session_id, key=key) as socket:
            while not (is_over.is_set() and turns):
                frames = await ask(socket, str(TURN))
                assert seqs(frames) == list(range(frames[0]["seq"], frames[0]["seq"] + TURN + 3))
                turns += 1
        return turns

    task = asyncio.create_task(asking())
    try:
        yield
    finally:
        is_over.set()
        assert await asyncio.wait_for(task, 60) > 0


def memory_of(service: ProcessService) -> int:
    return psutil.Process(service.process.pid).memory_info().rss


@pytest.fixture(scope="module")
def steady(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProcessService]:
    folder = tmp_path_factory.mktemp("hostile")
    environment = {"SVC_CLOSE_SECONDS": "0.5", "SVC_STREAM_BEHIND_MESSAGES": "5000", "SVC_MAX_FRAME_BYTES": "100000",
                   "SVC_KEY_STREAMS": "0"}  # fmt: skip
    with live_process(folder, "Steady", **environment) as service:
        yield service


# frames


RAW_FRAMES = {
    "invalid UTF-8": ([(Opcode.TEXT, b'{"x": "\xff\xfe"}', True)], 1007),
    "a frame over the limit": ([(Opcode.TEXT, b"x" * 100_001, True)], 1009),
    "many parts over the limit": ([(Opcode.TEXT, b"x" * 60_000, False), (Opcode.CONT, b"x" * 60_000, True)], 1009),
    "a part of nothing": ([(Opcode.CONT, b"x", True)], 1002),
    "a new text inside another": ([(Opcode.TEXT, b"x", False), (Opcode.TEXT, b"y", True)], 1002),
    "a ping that is too long": ([(Opcode.PING, b"x" * 126, True)], 1002),
}


@pytest.mark.parametrize(("frames", "code"), RAW_FRAMES.values(), ids=RAW_FRAMES)
async def test_a_protocol_violation_closes_only_its_stream(steady: ProcessService, frames, code: int):
    async with an_unharmed_user(steady), opened(steady, await asyncio.to_thread(register, steady)) as socket:
        for opcode, data, is_last in frames:
            write_raw(socket, opcode, data, is_last=is_last)
        await until_closed(socket)
    assert socket.close_code == code


def write_raw(socket: ClientConnection, opcode: Opcode, data: bytes, *, is_last: bool) -> None:
    """A frame that the client's library would not send."""
    frame = Frame(opcode, b"" if len(data) > 125 and opcode is Opcode.PING else data, is_last)
    raw = frame.serialize(mask=True)
    if frame.data is not data and len(data) > 125:
        raw = bytes([0x89, 0xFE]) + len(data).to_bytes(2, "big") + b"\0\0\0\0" + data
    socket.transport.write(raw)


async def test_a_query_in_many_parts_is_one_query(steady: ProcessService):
    text = json.dumps({"message_type": "query", "content": str(TURN)})
    async with opened(steady, await asyncio.to_thread(register, steady)) as socket:
        await socket.send(iter(text))
        assert [(await read(socket))["seq"] for _ in range(TURN + 3)] == list(range(1, TURN + 4))


JSONS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)
FIELDS = ("id", "parent_id", "turn", "group", "seq", "actor", "role", "created_at", "timestamp", "title", "state",
          "content", "mime_type", "status_code", "status_message", "usage", "message_type")  # fmt: skip
FRAMES = JSONS | st.fixed_dictionaries({"message_type": st.text()}, optional=dict.fromkeys(FIELDS[:-1], JSONS))


def test_an_invalid_frame_gets_one_error_and_the_stream_stays_open(steady: ProcessService):
    session_id = register(steady)

    async def send_all(frames: list[object]) -> None:
        async with opened(steady, session_id) as socket:
            for frame in frames:
                await socket.send(json.dumps(frame))
                error = await read(socket)
                assert (error["message_type"], error["seq"], error["status_code"]) == ("error", 0, 400)

    @settings(max_examples=25, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(frames=st.lists(FRAMES, min_size=1, max_size=10))
    def check(frames: list[object]) -> None:
        asyncio.run(send_all([f for f in frames if not isinstance(f, dict) or f.get("message_type") not in MEANT]))

    check()


MEANT = ("query", "cancel")


# names and ids


NAMES = ["..", ".", "../../etc/passwd", "/etc/passwd", "a/../../b", "..\\..\\b", "C:\\b", "a\0b", "a\nb", "%2e%2e%2fb"]
NAMES += ["\u2025/b", "\uff0e\uff0e\uff0fb", "~", "~root", "-rf", "CON", "a" * 255, "\u202egpj.exe", "$(id)", "`id`"]


@pytest.mark.parametrize("name", NAMES)
def test_no_file_name_escapes_the_folder(service: ThreadService, name: str):
    folder = service.files
    around = {path for path in folder.parent.rglob("*") if folder not in path.parents}
    with service.http() as http:
        session_id = register(service)
        params = {"session_id": session_id, "filename": name}
        reply = http.post("/session/upload_file", params=params, content=b"x")
        files = http.get("/session/get", params={"session_id": session_id}).json()["files"]

    assert {path for path in folder.parent.rglob("*") if folder not in path.parents} == around
    assert all(len(path.name) == 32 and path.name.isalnum() for path in service.stored_files)
    assert reply.status_code in (200, 400)
    assert [file["name"] for file in files] == ([name] if reply.is_success else [])


FOREIGN = {
    "/session/get": {"params": {"session_id": "mine"}},
    "/session/update": {"json": {"id": "mine", "ttl": 300}},
    "/session/delete": {"json": {"id": "mine"}},
    "/session/generate": {"json": {"id": "mine", "messages": [{"message_type": "query", "content": "x"}]}},
    "/session/attach_file": {"json": {"session_id": "mine", "filename": "a", "content": ""}},
    "/session/upload_file": {"params": {"session_id": "mine", "filename": "a"}, "content": b"x"},
    "/session/file": {"params": {"session_id": "mine", "sha256": hashlib.sha256(b"x").hexdigest()}},
    "/session/detach_file": {"json": {"session_id": "mine", "file_idx": 0}},
    "/session/feedback": {"json": {"session_id": "mine", "type": "bug_report"}},
    "/stream/ticket": {"json": {"session_id": "mine"}},
}


def test_every_operation_on_the_session_of_another_user_is_not_found(service: ThreadService):
    register(service, id="mine")
    with service.http() as http:
        http.post("/session/upload_file", params={"session_id": "mine", "filename": "a"}, content=b"x")
        before = http.get("/session/get", params={"session_id": "mine"}).json()
        assert taking_a_session(http.get("/openapi.json").json()) == set(FOREIGN)
    _, key = service.make_key("eve")
    with service.http(key) as http:
        for path, request in FOREIGN.items():
            method = "GET" if path in ("/session/get", "/session/file") else "POST"
            foreign = http.request(method, path, **request)
            absent = http.request(
                method, path, **json.loads(json.dumps(request, default=bytes.decode).replace("mine", "none"))
            )
            assert foreign.status_code == absent.status_code == 404, path
            assert foreign.text == absent.text.replace("none", "mine")
    with service.http() as http:
        assert http.get("/session/get", params={"session_id": "mine"}).json() == before


def taking_a_session(document: dict[str, object]) -> set[str]:
    """The operations of the document that mean a session: to register is to make one, and a key has an id, too."""
    taking = set()
    for path, methods in document["paths"].items():
        (operation,) = methods.values()
        named = {parameter["name"] for parameter in operation.get("parameters", ())}
        for content in operation.get("requestBody", {}).get("content", {}).values():
            name = content["schema"].get("$ref", "").rpartition("/")[2]
            named |= set(document["components"]["schemas"].get(name, {}).get("properties", ()))
        if named & {"session_id", "id"} and path not in ("/session/register", "/key/revoke"):
            taking.add(path)
    return taking


# much


def parts(size: int) -> Iterator[bytes]:
    whole, rest = divmod(size, MIB)
    block = os.urandom(MIB)
    for _ in range(whole):
        yield block
    yield block[:rest]


async def upload_at_the_limit(folder: Path, limit: int) -> None:
    with live_process(folder, "Steady", SVC_MAX_UPLOAD_BYTES=str(limit)) as service:
        session_id = await asyncio.to_thread(register, service)
        params = {"session_id": session_id, "filename": "a"}

        def upload(size: int, **headers: str) -> httpx2.Response:
            with service.http() as http:
                return http.post("/session/upload_file", params=params, content=parts(size), headers=headers)

        await asyncio.to_thread(upload, MIB)
        before = memory_of(service)
        async with an_unharmed_user(service):
            taken = await asyncio.to_thread(upload, limit)
            streamed = await asyncio.to_thread(upload, limit + 1)
            announced = await asyncio.to_thread(upload, limit + 1, **{"Content-Length": str(limit + 1)})
        grown = memory_of(service) - before
        print({"limit": limit, "memory grew by": grown})
        assert taken.json()["data"]["size"] == limit
        assert [reply.status_code for reply in (streamed, announced)] == [413, 413]
        assert f"{limit:,}" in streamed.json()["error"]["message"]
        assert sum(path.stat().st_size for path in (folder / "service.db.files").iterdir()) == limit + MIB
        assert grown < 24 * MIB


async def test_an_upload_at_the_limit_uses_flat_memory_and_one_byte_more_is_rejected(tmp_path: Path):
    await upload_at_the_limit(tmp_path, 96 * MIB)


@pytest.mark.long
@pytest.mark.timeout(900)
async def test_an_upload_of_a_gibibyte_uses_flat_memory_and_one_byte_more_is_rejected(tmp_path: Path):
    await upload_at_the_limit(tmp_path, 1_024 * MIB)


async def hold_idle(service: ProcessService, number: int) -> None:
    """So many streams of one user that do nothing; another user's turns come whole meanwhile."""
    _, key = await asyncio.to_thread(service.make_key, "idler")
    session_ids = [await asyncio.to_thread(register, service, key) for _ in range(min(number, 100))]
    before = memory_of(service)
    async with contextlib.AsyncExitStack() as stack:
        async with an_unharmed_user(service):
            for first in range(0, number, 50):  # fewer at once than max_keyless_per_peer
                chosen = [session_ids[i % len(session_ids)] for i in range(first, min(first + 50, number))]
                await asyncio.gather(*[stack.enter_async_context(opened(service, i, key=key)) for i in chosen])
        each = (memory_of(service) - before) / number
        print({"idle": number, "bytes each": round(each)})
        assert each < 64 * 1_024
    async with an_unharmed_user(service):
        pass


async def test_five_hundred_idle_streams_do_not_affect_others(steady: ProcessService):
    await hold_idle(steady, 500)


@pytest.mark.long
@pytest.mark.timeout(900)
async def test_ten_thousand_idle_streams_do_not_affect_others(tmp_path: Path):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 11_000:
        pytest.skip(f"this machine gives a process {hard} open files; 11,000 are needed")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 11_000), hard))
    environment = {"SVC_KEY_STREAMS": "0", "SVC_MAX_CONNECTIONS": "11000"}
    with live_process(tmp_path, "Steady", **environment) as service:
        await hold_idle(service, 10_000)


async def test_a_client_that_never_reads_is_disconnected_and_uses_no_memory(tmp_path: Path):
    environment = {"SVC_CLOSE_SECONDS": "0.5", "SVC_STREAM_BEHIND_MESSAGES": "5000"}
    with live_process(tmp_path, "Chatty", **environment) as service:
        session_id = await asyncio.to_thread(register, service)
        before = memory_of(service)
        with unread(service, session_id) as silent:
            async with contextlib.aclosing(numbers(service, session_id, "40000")) as counted:
                assert [number async for number in counted] == list(range(1, 40_004))
            port = silent.getsockname()[1]
            wait_until(lambda: port not in peers(service), "the connection to be ended")
        grown = memory_of(service) - before
        with service.http() as http:
            assert http.get("/session/get", params={"session_id": session_id}).json()["num_messages"] == 40_003
        assert grown < 64 * MIB


async def numbers(service: LiveService, session_id: str, query: str) -> AsyncIterator[int]:
    """Ask, and read to the end of the turn; on a busy machine this reader, too, may be cut off, and comes back."""
    seq = 0
    while True:
        async with opened(service, session_id, after=seq, max_queue=None) as socket:
            if not seq:
                await send(socket, message_type="query", content=query)
            with contextlib.suppress(ConnectionClosed):
                while True:
                    frame = await read(socket)
                    seq = frame["seq"]
                    yield seq
                    if frame["state"] == "end":
                        return
        assert socket.close_code == TOO_SLOW


@contextlib.contextmanager
def unread(service: LiveService, session_id: str) -> Iterator[sockets.socket]:
    """A stream whose answers nobody takes from the socket."""
    host, _, port = service.base_url.removeprefix("http://").partition(":")
    with sockets.socket() as silent:
        silent.setsockopt(sockets.SOL_SOCKET, sockets.SO_RCVBUF, 4_096)
        silent.connect((host, int(port)))
        silent.sendall(
            f"GET /stream?session_id={session_id} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {service.key}\r\n"
            "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n".encode()
        )
        assert silent.recv(12) == b"HTTP/1.1 101"
        yield silent


def peers(service: ProcessService) -> set[int]:
    return {c.raddr.port for c in psutil.Process(service.process.pid).net_connections("tcp") if c.raddr}
