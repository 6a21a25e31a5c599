"""What every place for attached files of logged sessions promises: a folder, and object stores of several kinds."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from svc.assistant.turn import open_source
from svc.errors import ConfigError, SessionFileNotFoundError, TooLargeError
from svc.messages import new_id
from svc.service.sessions.files import ORPHAN_SECONDS, DiskFiles, LoggedFiles, chunks_of
from svc.service.store.disk_space import DiskSpace
from svc.service.store.records import FileRecord
from svc.service.store.sqlite import SqliteStore
from tests.support.object_stores import BUCKET, local_bucket, memory_bucket, object_files, s3_bucket
from tests.support.s3_server import s3_server
from tests.support.store_records import session

MIB = 1 << 20
LIMIT = 64 * MIB
Open = Callable[[], LoggedFiles]
"""Another service on the same place and database, not open yet; each has a machine of its own."""


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    opened = SqliteStore(tmp_path / "svc.db")
    await opened.open()
    await opened.add_session(session())
    yield opened
    await opened.close()


@pytest.fixture(params=["folder", "memory", "local", "s3"])
def another(request: pytest.FixtureRequest, tmp_path: Path, store: SqliteStore) -> AsyncIterator[Open]:
    machines = (tmp_path / f"machine{number}" / "fetched" for number in range(10))
    if request.param == "folder":
        folder = tmp_path / "files"
        yield lambda: DiskFiles(folder, store, DiskSpace([], 0), results_bytes=1_000_000, is_shared=True)
    elif request.param == "s3":
        with s3_server() as server:
            server.make_bucket(BUCKET)
            yield lambda: object_files(s3_bucket(server), store, next(machines))
    else:
        bucket = memory_bucket() if request.param == "memory" else local_bucket(tmp_path / "bucket")
        yield lambda: object_files(bucket, store, next(machines))


@pytest.fixture
async def files(another: Open) -> AsyncIterator[LoggedFiles]:
    opened = another()
    await opened.open()
    yield opened
    opened.close()


async def attach(
    files: LoggedFiles, store: SqliteStore, content: bytes, *, name: str = "a", session_id: str = "s"
) -> FileRecord:
    pieces = [content[at : at + 300_000] for at in range(0, len(content), 300_000)]
    received = await files.receive(chunks_of(pieces), LIMIT)
    assert (received.size, received.sha256) == (len(content), hashlib.sha256(content).hexdigest())
    assert received.head == content[: len(received.head)]
    record = FileRecord(
        id=received.id, name=name, size=received.size, sha256=received.sha256, mime_type="text/plain", label="txt"
    )
    stored = await store.add_file(session_id, record, limit=10)
    assert stored is not None
    await files.publish(received.id, stored)
    return stored


async def read(files: LoggedFiles, file: FileRecord) -> bytes:
    opened = await files.open_file(file)
    assert opened.size == file.size
    return b"".join([chunk async for chunk in opened.chunks])


@pytest.mark.parametrize("size", [0, 1, MIB, 5 * MIB, 5 * MIB + 1, 17 * MIB + 3])
async def test_a_file_is_what_was_attached(files: LoggedFiles, store: SqliteStore, size: int):
    content = (bytes(range(256)) * (size // 256 + 1))[:size]
    file = await attach(files, store, content)
    assert await read(files, file) == content
    with await asyncio.to_thread(open_source, files.source(file)) as stream:
        assert stream.read() == content


async def test_another_service_reads_it(files: LoggedFiles, store: SqliteStore, another: Open):
    file = await attach(files, store, b"evidence" * 1_000)
    other = another()
    await other.open()
    assert await read(other, file) == b"evidence" * 1_000
    other.close()


async def test_a_stream_over_the_limit_leaves_nothing(files: LoggedFiles, store: SqliteStore):
    with pytest.raises(TooLargeError, match=r"the limit is 7,000,000"):
        await files.receive(chunks_of([bytes(MIB)] * 9), 7_000_000)
    assert await store.journaled_files() == {}


async def test_a_sender_that_goes_away_leaves_nothing(files: LoggedFiles, store: SqliteStore):
    class GoneError(Exception):
        pass

    async def cut() -> AsyncIterator[bytes]:
        for _ in range(8):
            yield bytes(MIB)
        raise GoneError

    with pytest.raises(GoneError):
        await files.receive(cut(), LIMIT)
    assert await store.journaled_files() == {}


async def test_a_cancelled_upload_leaves_nothing(files: LoggedFiles, store: SqliteStore):
    sent = asyncio.Event()

    async def slow() -> AsyncIterator[bytes]:
        for _ in range(8):
            yield bytes(MIB)
        sent.set()
        await asyncio.sleep(60)

    receiving = asyncio.create_task(files.receive(slow(), LIMIT))
    await sent.wait()
    receiving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await receiving
    assert await store.journaled_files() == {}


async def test_the_same_content_is_stored_once(files: LoggedFiles, store: SqliteStore):
    first = await attach(files, store, b"same", name="one")
    second = await attach(files, store, b"same", name="two")
    assert second.id == first.id
    await store.remove_file("s", first)
    await files.remove([first.id])
    assert await read(files, second) == b"same"  # the other record has it still
    assert await store.journaled_files() == {}


async def test_a_removed_file_is_gone(files: LoggedFiles, store: SqliteStore, another: Open):
    file = await attach(files, store, b"secret")
    other = another()
    await other.open()
    assert await read(other, file) == b"secret"
    await store.remove_file("s", file)
    await files.remove([file.id])
    for service in (files, other):
        with pytest.raises(SessionFileNotFoundError, match="detached"):
            await service.open_file(file)
    assert await store.journaled_files() == {}
    other.close()


async def test_a_file_that_a_session_has_is_not_removed(files: LoggedFiles, store: SqliteStore):
    file = await attach(files, store, b"kept")
    await files.remove([file.id, "../../etc/passwd", "x" * 32])
    assert await read(files, file) == b"kept"


async def test_results_are_kept_with_the_file_and_erased_with_it(files: LoggedFiles, store: SqliteStore):
    file = await attach(files, store, b"log")
    name = "0" * 64
    results = files.results(file.id)
    assert results is not None
    await results.keep(name, b"findings")
    assert await results.find(name) == b"findings"
    await store.remove_file("s", file)
    await files.remove([file.id])
    assert await results.find(name) is None


async def test_the_place_of_another_database_is_refused(files: LoggedFiles, another: Open, tmp_path: Path):
    """The place says whose it is; a database that has none is no reason to take it."""
    other = another()
    strange = SqliteStore(tmp_path / "strange.db")
    await strange.open()
    other._journal = strange  # type: ignore[attr-defined]
    with pytest.raises(ConfigError, match="belongs to another database"):
        await other.open()
    other.close()
    await strange.close()


async def test_a_sweep_forgets_by_age_what_a_killed_service_was_receiving(files: LoggedFiles, store: SqliteStore):
    killed, recent = new_id(), new_id()
    await store.begin_file(killed)
    await store._write(lambda c: c.execute("UPDATE file_journal SET since = since - ?", [ORPHAN_SECONDS + 60]))
    await store.begin_file(recent)
    await files.sweep()
    assert await store.journaled_files() == {recent: "receiving"}


async def test_a_sweep_takes_nothing_that_is_new_or_attached(files: LoggedFiles, store: SqliteStore):
    attached = await attach(files, store, b"attached")
    receiving = await files.receive(chunks_of([b"not attached yet"]), LIMIT)
    await files.sweep()
    assert await read(files, attached) == b"attached"
    stored = await store.add_file(
        "s",
        FileRecord(id=receiving.id, name="b", size=receiving.size, sha256=receiving.sha256, mime_type="", label="txt"),
        limit=10,
    )
    assert stored is not None
    await files.publish(receiving.id, stored)
    assert await read(files, stored) == b"not attached yet"
