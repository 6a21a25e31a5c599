"""A full disk: a clear error, a health check that says so, nothing lost or half written, and no restart afterwards."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from svc._atomic_file import write_atomic
from svc.errors import ConfigError
from svc.service.app import build
from svc.service.settings import Settings
from svc.service.store.sqlite import SqliteStore
from svc.service.store.store_errors import storage_full
from tests.support.assistants.scripted import Chatty, Echo, Steady
from tests.support.live import ThreadService, wait_until
from tests.support.small_disk import SmallDisk, small_disk
from tests.support.wire_client import opened, read, read_turn, register, send, seqs

FULL = (507, "insufficient_storage")


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with small_disk(tmp_path / "disk") as mounted:
        yield mounted


@pytest.fixture
def steady(disk: SmallDisk, monkeypatch: pytest.MonkeyPatch) -> Iterator[ThreadService]:
    monkeypatch.setattr("svc.service.turns.turn_run.RETRY_SECONDS", 0.1)
    service = ThreadService(disk.folder, Steady(), Settings(stop_seconds=0.5))
    yield service
    disk.free()
    service.stop()


def generate(http: httpx2.Client, session_id: str, content: str, query_id: str = "") -> httpx2.Response:
    query = {"message_type": "query", "content": content} | ({"id": query_id} if query_id else {})
    return http.post("/session/generate", json={"id": session_id, "messages": [query]})


def health(service: ThreadService) -> tuple[int, str]:
    reply = httpx2.get(f"{service.base_url}/health", trust_env=False)
    return reply.status_code, reply.json()["status"]


def check_full(reply: httpx2.Response) -> None:
    error = reply.json()["error"]
    assert (reply.status_code, error["code"]) == FULL
    assert "disk is full" in error["message"]
    assert "Free space" in error["message"]


def test_a_query_to_a_full_disk_is_refused_at_once_and_accepted_once_space_is_free(
    disk: SmallDisk, steady: ThreadService
):
    with steady.http() as http:
        session_id = register(steady)
        assert generate(http, session_id, "3").is_success
        disk.fill()
        started = time.monotonic()
        check_full(generate(http, session_id, "3", "late"))
        assert time.monotonic() - started < 5
        assert health(steady) == (503, "degraded")
        disk.free()
        wait_until(lambda: health(steady) == (200, "ok"), "the recovery", 5)
        assert generate(http, session_id, "3", "late").is_success
        stored = http.get("/session/get", params={"session_id": session_id}).json()["messages"]
    assert seqs(stored) == list(range(1, len(stored) + 1))
    assert [frame["id"] for frame in stored].count("late") == 1


async def test_a_turn_in_flight_ends_with_an_error_and_leaves_nothing_doubled(disk: SmallDisk, steady: ThreadService):
    session_id = register(steady)
    with steady.http() as http:
        async with opened(steady, session_id, max_queue=None) as socket:
            waiting = asyncio.create_task(asyncio.to_thread(generate, http, session_id, "3000", "q1"))
            frames = [await read(socket) for _ in range(20)]
            disk.fill()
            reply = await asyncio.wait_for(waiting, 20)
            check_full(reply)
            assert health(steady) == (503, "degraded")
            while (notice := await read(socket))["seq"] != 0:
                frames.append(notice)
            assert (notice["status_code"], notice["status_message"]) == FULL
            assert notice["parent_id"] == "q1"
            check_full(generate(http, session_id, "3", "q2"))
            assert http.post("/session/delete", json={"id": "another"}).status_code == 404
            disk.free()
            frames += await read_turn(socket)
            assert (frames[-1]["message_type"], frames[-1]["status_message"]) == ("error", FULL[1])
        assert generate(http, session_id, "3", "q2").is_success
        stored = http.get("/session/get", params={"session_id": session_id}).json()["messages"]
    assert health(steady) == (200, "ok")
    assert frames == stored[: len(frames)]
    assert seqs(stored) == list(range(1, len(stored) + 1))


async def test_an_answer_that_is_complete_is_stored_once_space_is_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The disk fills before the end of a fast turn is stored: the answer waits, and no error takes its place."""
    monkeypatch.setattr("svc.service.turns.turn_run.RETRY_SECONDS", 0.1)
    service = ThreadService(tmp_path, Chatty(), Settings(stop_seconds=0.5))
    store = service.running.service.session_stores.logged
    append, is_full = store.append, [True]

    async def append_if_free(*arguments: object) -> object:
        if is_full[0]:
            raise storage_full("as if")
        return await append(*arguments)

    monkeypatch.setattr(store, "append", append_if_free)
    monkeypatch.setattr(service.running.service.turns.histories, "find", lambda session: None)  # no early start
    session_id = register(service)
    try:
        with service.http() as http:
            check_full(await asyncio.to_thread(generate, http, session_id, "50", "q1"))
            check_full(await asyncio.to_thread(generate, http, session_id, "50", "q1"))
            is_full[0] = False
            wait_until(lambda: generate(http, session_id, "50", "q1").is_success, "the answer", 10)
            stored = http.get("/session/get", params={"session_id": session_id}).json()["messages"]
    finally:
        service.stop()
    steps = [frame["content"] for frame in stored if frame["message_type"] == "info"]
    assert steps[:-1] == [f"step {number}" for number in range(50)]
    assert [frame["message_type"] for frame in stored].count("result") == 1
    assert [frame["message_type"] for frame in stored].count("error") == 0


def test_an_upload_that_does_not_fit_leaves_no_part_of_it(disk: SmallDisk, steady: ThreadService):
    session_id = register(steady)
    folder = disk.folder / "service.db.files"
    with steady.http() as http:
        small = {"session_id": session_id, "filename": "small"}
        assert http.post("/session/upload_file", params=small, content=b"kept").is_success
        before = {path.name: path.read_bytes() for path in folder.iterdir()}
        large = {"session_id": session_id, "filename": "large"}
        check_full(http.post("/session/upload_file", params=large, content=bytes(20_000_000)))
        wait_until(lambda: {path.name: path.read_bytes() for path in folder.iterdir()} == before, "the part's end")
        assert [f["name"] for f in http.get("/session/get", params={"session_id": session_id}).json()["files"]] == [
            "small"
        ]
        assert health(steady) == (200, "ok")
        assert http.post("/session/upload_file", params=large, content=bytes(1_000_000)).is_success


def test_a_session_that_is_not_logged_needs_no_disk(disk: SmallDisk, steady: ThreadService):
    session_id = register(steady, can_log=False)
    disk.fill()
    with steady.http() as http:
        assert generate(http, session_id, "3").is_success


def test_deleting_a_session_whose_turn_cannot_be_stored_does_not_hang(disk: SmallDisk, steady: ThreadService):
    session_id = register(steady)
    with steady.http() as http:
        asked = generate  # the turn fails while the disk is full
        disk_is_full = asyncio.run(fill_during_turn(disk, steady, session_id))
        assert disk_is_full
        started = time.monotonic()
        deleted = http.post("/session/delete", json={"id": session_id})
        assert deleted.status_code in (200, 507)
        assert time.monotonic() - started < 5
        disk.free()
        wait_until(lambda: http.post("/session/delete", json={"id": session_id}).status_code in (200, 404), "the end")
        assert asked(http, register(steady), "3").is_success


async def fill_during_turn(disk: SmallDisk, service: ThreadService, session_id: str) -> bool:
    async with opened(service, session_id, max_queue=None) as socket:
        await send(socket, message_type="query", content="3000")
        for _ in range(5):
            await read(socket)
        disk.fill()
        while (await read(socket))["seq"]:
            pass
        return True


def test_a_start_on_a_full_disk_is_refused_or_works_and_never_hangs(disk: SmallDisk):
    service = ThreadService(disk.folder, Echo(), Settings(stop_seconds=0.5))
    session_id = register(service)
    service.stop()
    disk.fill()

    async def attempt() -> str:
        running = build(Echo(), database=disk.folder / "service.db", settings=Settings(stop_seconds=0.5))
        try:
            await asyncio.wait_for(running.start(), 20)
        except ConfigError as error:
            return str(error)
        finally:
            await running.close()
        return "started"

    said = asyncio.run(attempt())
    assert said == "started" or "space" in said
    disk.free()
    again = ThreadService(disk.folder, Echo(), Settings(stop_seconds=0.5))
    with again.http() as http:
        assert generate(http, session_id, "still there?").is_success
    again.stop()


async def test_health_probes_a_store_whose_last_write_failed(tmp_path: Path):
    """Without a disk to fill: the database may not grow."""
    service = ThreadService(tmp_path, Echo(), Settings())
    try:
        session_id = register(service)
        await service.limit_pages(1)
        with service.http() as http:
            check_full(await asyncio.to_thread(generate, http, session_id, "x" * 900_000))
        assert health(service) == (503, "degraded")
        await service.limit_pages(1_000_000)
        assert health(service) == (200, "ok")
    finally:
        service.stop()


def test_a_disk_with_little_space_accepts_no_query_but_stores_what_runs(tmp_path: Path):
    service = ThreadService(tmp_path, Echo(), Settings(min_free_bytes=1 << 60))
    try:
        session_id = register(service)
        status = os.statvfs(tmp_path)
        is_short = status.f_bavail * 20 < status.f_blocks  # of the developer's disk
        with service.http() as http:
            assert generate(http, session_id, "x").status_code == (507 if is_short else 200)
    finally:
        service.stop()


@pytest.mark.parametrize("content", [b"new" * 5_000_000, [b"new" * 1_000] * 5_000], ids=["whole", "pieces"])
def test_a_file_is_replaced_whole_or_not_at_all(disk: SmallDisk, content: bytes | list[bytes]):
    target = disk.folder / "folder" / "answer.json"
    write_atomic(target, b"old")
    with pytest.raises(OSError, match=r"No space left on device.*answer.json"):
        write_atomic(target, content)
    assert [(path.name, path.read_bytes()) for path in target.parent.iterdir()] == [("answer.json", b"old")]


async def test_the_writer_survives_a_failure_that_is_not_sqlites(tmp_path: Path):
    store = SqliteStore(tmp_path / "a.db")
    await store.open()

    def fail(connection: object) -> None:
        raise RuntimeError("a bug")

    with pytest.raises(RuntimeError):
        await store._write(fail)
    await asyncio.gather(*(store.set_meta(str(n), b"x") for n in range(5)))
    assert await store.meta("4") == b"x"
    await store.close()
