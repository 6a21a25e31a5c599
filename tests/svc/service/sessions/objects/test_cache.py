"""The folder of fetched files: bounded, one fetch for many readers, and nothing goes while it is read."""

from __future__ import annotations

import asyncio
import hashlib
import os
from pathlib import Path

import pytest

from svc.errors import InsufficientStorageError
from svc.service.sessions.objects.cache import FileCache
from svc.service.store.disk_space import DiskSpace
from svc.service.store.records import FileRecord


def record(content: bytes, file_id: int = 0) -> FileRecord:
    digest = hashlib.sha256(content).hexdigest()
    return FileRecord(id=f"{file_id:032x}", name="a", size=len(content), sha256=digest, mime_type="", label="txt")


class FullDisk(DiskSpace):
    is_full = False

    def check(self) -> None:
        if self.is_full:
            raise InsufficientStorageError("the disk is full")


class Source:
    """Where files come from, and which were fetched."""

    def __init__(self) -> None:
        self.contents: dict[str, bytes] = {}
        self.fetched: list[str] = []
        self.gate = asyncio.Event()
        self.gate.set()

    def file(self, number: int, size: int) -> FileRecord:
        content = bytes([number]) * size
        file = record(content, number)
        self.contents[file.id] = content
        return file

    async def fetch(self, file: FileRecord, path: Path) -> None:
        await self.gate.wait()
        self.fetched.append(file.id)
        path.write_bytes(self.contents[file.id])


@pytest.fixture
def cache(tmp_path: Path) -> FileCache:
    made = FileCache(tmp_path / "fetched", 1_000, DiskSpace([], 0))
    made.open()
    return made


async def test_many_readers_at_once_cause_one_fetch(cache: FileCache):
    source = Source()
    file = source.file(1, 500)

    async def read() -> bytes:
        async with cache.pinned(file, source.fetch) as path:
            return path.read_bytes()

    assert set(await asyncio.gather(*(read() for _ in range(20)))) == {bytes([1]) * 500}
    assert source.fetched == [file.id]


async def test_a_reader_that_is_cancelled_leaves_the_fetch_to_the_next(cache: FileCache):
    source = Source()
    file = source.file(1, 500)
    source.gate.clear()

    async def read() -> bytes:
        async with cache.pinned(file, source.fetch) as path:
            return path.read_bytes()

    first, second = asyncio.create_task(read()), asyncio.create_task(read())
    await asyncio.sleep(0.01)
    first.cancel()
    source.gate.set()
    assert await second == bytes([1]) * 500
    assert cache.used_bytes == 500


async def test_what_was_used_longest_ago_makes_way(cache: FileCache):
    source = Source()
    one, two, three = (source.file(number, 400) for number in (1, 2, 3))
    for file in (one, two, one, three):
        async with cache.pinned(file, source.fetch):
            pass
    assert (cache.has(one), cache.has(two), cache.has(three)) == (True, False, True)
    assert cache.used_bytes == 800
    assert len([*cache.results_folder.parent.rglob("*-*")]) == 2


async def test_a_file_that_is_read_stays_and_the_next_one_waits_for_room(cache: FileCache):
    source = Source()
    one, two = source.file(1, 600), source.file(2, 600)
    is_read = asyncio.Event()

    async def read_second() -> None:
        async with cache.pinned(two, source.fetch) as path:
            assert path.stat().st_size == 600
            is_read.set()

    async with cache.pinned(one, source.fetch) as path:
        waiting = asyncio.create_task(read_second())
        await asyncio.sleep(0.01)
        assert (path.exists(), is_read.is_set(), cache.used_bytes) == (True, False, 600)
    await waiting
    assert is_read.is_set()
    assert not path.exists()


async def test_a_file_larger_than_the_room_is_read_alone(cache: FileCache):
    source = Source()
    async with cache.pinned(source.file(1, 300), source.fetch):
        pass
    large = source.file(2, 5_000)
    async with cache.pinned(large, source.fetch) as path:
        assert path.stat().st_size == 5_000
    async with cache.pinned(source.file(3, 300), source.fetch):
        assert not cache.has(large)
        assert cache.used_bytes == 300


async def test_a_file_that_is_erased_while_it_is_read_goes_with_its_last_reader(cache: FileCache):
    source = Source()
    file = source.file(1, 300)
    async with cache.pinned(file, source.fetch) as path:
        cache.erase([file.id])
        assert path.exists()
        assert not cache.has(file)
    assert not path.exists()
    assert cache.used_bytes == 0


async def test_the_order_of_use_outlives_a_restart(tmp_path: Path):
    source = Source()
    files = [source.file(number, 300) for number in (1, 2, 3)]
    first = FileCache(tmp_path, 1_000, DiskSpace([], 0))
    first.open()
    for age, file in enumerate([files[1], files[2], files[0]]):
        async with first.pinned(file, source.fetch) as path:
            os.utime(path, (1_000 + age, 1_000 + age))
    first.close()
    second = FileCache(tmp_path, 700, DiskSpace([], 0))
    second.open()
    assert [second.has(file) for file in files] == [True, False, True]
    assert second.used_bytes == 600
    second.close()


async def test_on_a_full_disk_what_nobody_reads_is_erased_and_the_rest_is_refused(tmp_path: Path):
    source = Source()
    files = [source.file(number, 300) for number in (1, 2, 3)]
    space = FullDisk([], 0)
    cache = FileCache(tmp_path, 1_000, space)
    cache.open()
    async with cache.pinned(files[0], source.fetch):
        pass
    space.is_full = True
    with pytest.raises(InsufficientStorageError):
        async with cache.pinned(files[1], source.fetch):
            pass
    assert (cache.used_bytes, cache.has(files[0])) == (0, False)
    cache.close()
