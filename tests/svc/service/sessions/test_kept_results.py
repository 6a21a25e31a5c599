"""What tools found in attached files: private, bounded, erased with the file, and never believed if it is damaged."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from svc.service.sessions.kept_results import DiskResults, MemoryResults
from svc.service.store.disk_space import DiskSpace

FILE, OTHER = "a" * 32, "b" * 32
NAME, SECOND = "1" * 64, "2" * 64


class Folder:
    """Results in a folder, and the files that are stored."""

    def __init__(self, path: Path, limit_bytes: int = 10_000) -> None:
        self.path = path
        self.limit_bytes = limit_bytes
        self.files = {FILE, OTHER}
        self.start()

    def start(self) -> None:
        self.results = DiskResults(self.path, self.limit_bytes, self.files.__contains__, DiskSpace([], 0))
        self.results.open()

    def names(self) -> set[str]:
        return {str(path.relative_to(self.path)) for path in self.path.rglob("*") if path.is_file()}


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "a.results")


async def test_what_was_kept_is_found_unchanged_after_a_restart_too(folder: Folder):
    await folder.results.keep(FILE, NAME, b"found")
    folder.start()
    assert await folder.results.find(FILE, NAME) == b"found"
    assert await folder.results.find(OTHER, NAME) is None
    assert folder.results.used_bytes == sum(path.stat().st_size for path in folder.path.rglob("*") if path.is_file())


async def test_only_the_user_can_read_it(folder: Folder):
    folder.path.chmod(0o755)
    folder.start()
    await folder.results.keep(FILE, NAME, b"found")
    modes = {path.stat().st_mode & 0o777 for path in (folder.path, folder.path / FILE)}
    assert (modes, (folder.path / FILE / NAME).stat().st_mode & 0o777) == ({0o700}, 0o600)


@pytest.mark.parametrize("damage", ["changed", "cut", "empty", "moved", "gone", "a folder"])
async def test_a_damaged_result_is_dropped(folder: Folder, damage: str):
    await folder.results.keep(FILE, NAME, b"found in this file")
    await folder.results.keep(OTHER, NAME, b"found in another one")
    path = folder.path / FILE / NAME
    stored = path.read_bytes()
    match damage:
        case "changed":
            path.write_bytes(stored[:-1] + b"!")
        case "cut":
            path.write_bytes(stored[:-1])
        case "empty":
            path.write_bytes(b"")
        case "moved":
            path.write_bytes((folder.path / OTHER / NAME).read_bytes())
        case "gone":
            path.unlink()
        case _:
            path.unlink()
            path.mkdir()
    folder.start()
    assert await folder.results.find(FILE, NAME) is None
    await folder.results.keep(OTHER, SECOND, b"works on")
    assert await folder.results.find(OTHER, SECOND) == b"works on"


async def test_the_room_is_bounded_and_what_was_used_longest_ago_makes_way(folder: Folder):
    names = [f"{number:064x}" for number in range(30)]
    for name in names:
        await folder.results.keep(FILE, name, bytes(1_000))
        await folder.results.find(FILE, names[0])
        assert folder.results.used_bytes <= folder.limit_bytes
    kept = [name for name in names if await folder.results.find(FILE, name) is not None]
    assert kept == [names[0], *names[-8:]]
    assert sum(path.stat().st_size for path in folder.path.rglob("*") if path.is_file()) <= folder.limit_bytes


async def test_the_order_of_use_survives_a_restart_and_a_smaller_limit_is_kept(folder: Folder):
    for number, name in enumerate((NAME, SECOND)):
        await folder.results.keep(FILE, name, bytes(1_000))
        os.utime(folder.path / FILE / name, (number, number))
    folder.limit_bytes = 1_500
    folder.start()
    assert folder.names() == {f"{FILE}/{SECOND}"}


async def test_a_result_that_would_push_out_the_others_is_not_kept(folder: Folder):
    await folder.results.keep(FILE, NAME, bytes(2_600))
    assert folder.names() == set()


async def test_results_are_erased_with_the_file_and_none_is_kept_afterwards(folder: Folder):
    for name in (NAME, SECOND):
        await folder.results.keep(FILE, name, b"found")
        await folder.results.keep(OTHER, name, b"found")
    folder.files.remove(FILE)
    folder.results.erase([FILE])
    await folder.results.keep(FILE, NAME, b"a turn that ends later")
    assert folder.names() == {f"{OTHER}/{NAME}", f"{OTHER}/{SECOND}"}
    assert not (folder.path / FILE).exists()


async def test_no_result_is_left_however_writing_and_erasing_overlap(folder: Folder):
    for _ in range(50):
        folder.files.add(FILE)
        writes = [asyncio.create_task(folder.results.keep(FILE, f"{n:064x}", b"x" * 500)) for n in range(4)]
        await asyncio.sleep(0)
        folder.files.remove(FILE)
        await asyncio.to_thread(folder.results.erase, [FILE])
        await asyncio.gather(*writes)
        assert folder.names() == set()
        assert folder.results.used_bytes == 0


async def test_what_a_killed_process_left_is_cleared_at_the_next_start(folder: Folder):
    await folder.results.keep(FILE, NAME, b"found")
    await folder.results.keep(OTHER, NAME, b"found")
    (folder.path / FILE / f"{SECOND}.part").write_bytes(b"half")
    (folder.path / "notes.txt").write_bytes(b"somebody else's")
    folder.files.remove(OTHER)
    folder.start()
    assert folder.names() == {f"{FILE}/{NAME}", "notes.txt"}


async def test_with_no_room_nothing_is_kept_and_what_was_kept_is_removed(folder: Folder):
    await folder.results.keep(FILE, NAME, b"found")
    folder.limit_bytes = 0
    folder.start()
    assert (folder.results.of(FILE), folder.names()) == (None, set())


async def test_a_nearly_full_disk_keeps_nothing_and_fails_nothing(tmp_path: Path):
    results = DiskResults(tmp_path / "r", 10_000, lambda _: True, DiskSpace([tmp_path], 1 << 62))
    results.open()
    full = DiskResults(tmp_path / "r", 10_000, lambda _: True, _Full())
    await full.keep(FILE, NAME, b"found")
    assert list((tmp_path / "r").iterdir()) == []


class _Full(DiskSpace):
    def __init__(self) -> None:
        super().__init__([], 0)

    def check(self) -> None:
        from svc.service.store.store_errors import storage_full

        raise storage_full("nothing is free")


async def test_a_folder_that_cannot_be_used_stops_nothing(tmp_path: Path):
    (tmp_path / "r").write_bytes(b"a file in its place")
    results = DiskResults(tmp_path / "r", 10_000, lambda _: True, DiskSpace([], 0))
    results.open()
    assert results.of(FILE) is None


async def test_in_memory_it_is_bounded_and_erased_with_the_file():
    files = {FILE: b"", OTHER: b""}
    results = MemoryResults(4_000, files.__contains__)
    names = [f"{number:064x}" for number in range(9)]
    for name in names:
        await results.keep(FILE, name, bytes(900))
        await results.find(FILE, names[0])
        assert results.used_bytes <= 4_000
    assert [name for name in names if await results.find(FILE, name)] == [names[0], *names[-3:]]
    await results.keep(OTHER, NAME, bytes(1_001))
    del files[FILE]
    results.erase([FILE])
    await results.keep(FILE, NAME, b"late")
    assert results.used_bytes == 0
