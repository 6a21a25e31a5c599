"""A session with its messages is sent page by page: the same document, with little memory, and off the event loop."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from pathlib import Path

import httpx2
import psutil
import pytest

from tests.support.assistants.scripted import Echo
from tests.support.live import StartService, ThreadService, live_process, wait_until
from tests.support.wire_client import ask, opened, register

MIB = 1_048_576


def get(service: ThreadService, session_id: str, **params: object) -> httpx2.Response:
    with service.http() as http:
        return http.get("/session/get", params={"session_id": session_id, **params})


async def asked(service: ThreadService, number: int, content: str = "x", **fields: object) -> str:
    session_id = await asyncio.to_thread(register, service, **fields)
    async with opened(service, session_id, max_size=None) as socket:
        for _ in range(number):
            await ask(socket, content)
    return session_id


NAMES = ['"messages":[]', '\\"messages\\":[]', 'a"messages":[],"usage":{', "x" * 200, "grüße\u2028"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("is_logged", [True, False], ids=["logged", "unlogged"])
async def test_the_document_is_the_session_with_its_messages(service: ThreadService, name: str, is_logged: bool):
    empty = register(service, name=name, can_log=is_logged, description='{"messages":[]}')
    assert get(service, empty).json()["messages"] == []
    session_id = await asked(service, 3, name=name, can_log=is_logged, description='{"messages":[]}')
    reply = get(service, session_id)
    document = reply.json()
    listed = {one["id"]: one for one in list_of(service)}[session_id]
    assert {key: value for key, value in document.items() if key != "messages"} == {
        key: value for key, value in listed.items() if key != "messages"
    }
    assert list(document) == list(listed)
    assert [message["seq"] for message in document["messages"]] == list(range(1, document["num_messages"] + 1))
    assert reply.headers["content-type"] == "application/json"


def list_of(service: ThreadService) -> list[dict[str, object]]:
    with service.http() as http:
        return http.get("/session/list").json()


async def test_local_tools_named_messages_do_not_confuse_the_document(service: ThreadService):
    session_id = await asyncio.to_thread(register, service)
    tool = {"name": "t", "description": "d", "version": "1", "parameters": {"type": "object", "messages": []}}
    async with opened(service, session_id) as socket:
        await ask(socket, "x", local_tools=[tool])
    assert get(service, session_id).json()["local_tools"][0]["parameters"]["messages"] == []


async def test_pages_of_a_session(service: ThreadService):
    session_id = await asked(service, 4)
    whole = get(service, session_id).json()
    count = whole["num_messages"]
    pages, after = [], 0
    while after < count:
        page = get(service, session_id, after=after, limit=3).json()
        assert page["num_messages"] == count
        assert 1 <= len(page["messages"]) <= 3
        pages += page["messages"]
        after = pages[-1]["seq"]
    assert pages == whole["messages"]
    assert get(service, session_id, after=count).json()["messages"] == []
    assert get(service, session_id, after=10**14, limit=5).json()["messages"] == []
    assert get(service, session_id, limit=0).json()["messages"] == []
    assert len(get(service, session_id, after=2).json()["messages"]) == count - 2


@pytest.mark.parametrize(("name", "value"), [("after", "-1"), ("after", "x"), ("limit", "1.5"), ("limit", "9" * 16)])
def test_a_page_that_is_not_a_number_is_named(service: ThreadService, name: str, value: str):
    error = get(service, register(service), **{name: value}).json()["error"]
    assert (error["code"], error["param"]) == ("invalid_request", name)


async def test_a_document_larger_than_its_pages_is_whole(start_service: StartService):
    service = start_service(Echo)
    session_id = await asked(service, 6, "y" * 300_000)
    document = get(service, session_id).json()
    assert len(document["messages"]) == document["num_messages"] >= 24
    assert sum(len(message["content"] or "") for message in document["messages"]) > 6 * 2 * 300_000


async def test_a_session_that_is_deleted_meanwhile_ends_the_connection(start_service: StartService):
    service = start_service(Echo)
    session_id = await asked(service, 12, "y" * 900_000)
    with service.http() as http:
        request = http.build_request("GET", "/session/get", params={"session_id": session_id})
        reply = http.send(request, stream=True)
        parts = reply.iter_raw(65_536)
        next(parts)
        with service.http() as other:
            assert other.post("/session/delete", json={"id": session_id}).status_code == 200
        with pytest.raises(httpx2.HTTPError):
            for _ in parts:
                pass


async def test_long_sessions_take_little_memory_and_leave_the_loop_free(tmp_path: Path):
    with live_process(tmp_path, "Echo") as service:
        session_id = await asked(service, 16, "y" * 900_000)
        process = psutil.Process(service.process.pid)
        get(service, session_id)
        before, peak = process.memory_info().rss, 0
        slowest = 0.0
        async with httpx2.AsyncClient(base_url=service.base_url, headers=service.headers, trust_env=False) as http:

            async def read_all() -> int:
                total = 0
                async with http.stream("GET", "/session/get", params={"session_id": session_id}, timeout=60) as reply:
                    async for part in reply.aiter_raw():
                        total += len(part)
                return total

            readers = [asyncio.create_task(read_all()) for _ in range(8)]
            while not all(reader.done() for reader in readers):
                started = time.perf_counter()
                with contextlib.suppress(httpx2.HTTPError):
                    await http.get("/health", timeout=60)
                slowest = max(slowest, time.perf_counter() - started)
                peak = max(peak, process.memory_info().rss)
                await asyncio.sleep(0.01)
            sizes = [await reader for reader in readers]
        print({"bytes": sizes[0], "memory grew by": peak - before, "slowest /health": round(slowest, 3)})
        assert min(sizes) == max(sizes) > 28 * 900_000
        assert peak - before < 64 * MIB


@pytest.mark.slow
async def test_unread_documents_are_not_kept_in_memory(tmp_path: Path):
    with live_process(tmp_path, "Echo") as service:
        session_id = await asked(service, 16, "y" * 900_000)
        process = psutil.Process(service.process.pid)
        get(service, session_id)
        before = process.memory_info().rss
        address = httpx2.URL(service.base_url)
        head = f"GET /session/get?session_id={session_id} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        writers = []
        for _ in range(20):
            _, writer = await asyncio.open_connection(address.host, address.port, limit=1_024)
            writer.write(f"{head}Authorization: Bearer {service.key}\r\n\r\n".encode())
            writers.append(writer)
        await asyncio.sleep(2)
        grown = process.memory_info().rss - before
        print({"memory grew by": grown})
        assert grown < 64 * MIB
        for writer in writers:
            writer.transport.abort()
        wait_until(lambda: json.loads(get(service, session_id).text)["num_messages"], "the service to answer")


@pytest.mark.parametrize("number", [0, 1, 19, 20, 21, 45])
def test_lists_of_sessions_are_whole(start_service: StartService, number: int):
    service = start_service(Echo)
    names = [f'{index} "sessions":[] [] ,' for index in range(number)]
    for name in names:
        register(service, name=name)
    with service.http() as http:
        info = http.get("/user/info").json()
    assert [one["name"] for one in list_of(service)] == names
    assert info["sessions"] == list_of(service)
    assert set(info) == {"user", "sessions", "available_models"}
