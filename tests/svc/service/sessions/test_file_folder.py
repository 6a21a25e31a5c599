"""The folder of attached files: who may use it, and what a start does with what a killed process left."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from svc.errors import ConfigError
from svc.service.sessions.files import DiskFiles, chunks_of
from svc.service.store.address import parse_address
from svc.service.store.disk_space import DiskSpace
from svc.service.store.records import FileRecord
from svc.service.store.sqlite import SqliteStore
from tests.support import IS_ROOT
from tests.support.sampling import sampled
from tests.support.store_records import session

STEPS = ("add", "add", "receive", "no name", "detach", "half detach", "restart", "damage", "backup")


class Disk:
    """A store and its folder, opened as the service does; ``crash`` leaves them without closing anything in order."""

    def __init__(self, folder: Path) -> None:
        self.database = folder / "a.db"
        self.path = folder / "a.db.files"
        self.records: dict[str, FileRecord] = {}

    async def start(self) -> None:
        self.store = SqliteStore(self.database)
        await self.store.open()
        self.files = DiskFiles(self.path, self.store, DiskSpace([], 0))
        await self.files.open()
        await self.store.add_session(session())

    async def stop(self) -> None:
        self.files.close()
        await self.store.close()

    async def receive(self, content: bytes) -> str:
        return (await self.files.receive(chunks_of([content]), 1_000_000)).id

    async def attach(self, file_id: str) -> None:
        self.records[file_id] = record = FileRecord(
            id=file_id, name=file_id, size=1, sha256=f"{file_id:0>64}", mime_type="", label=""
        )
        assert await self.store.add_file("s", record, limit=10_000)

    async def add(self, content: bytes) -> str:
        file_id = await self.receive(content)
        await self.attach(file_id)
        await self.files.publish(file_id, self.records[file_id])
        return file_id

    async def detach(self, file_id: str) -> None:
        await self.store.remove_file("s", self.records[file_id])

    def source(self, file_id: str) -> Path:
        return self.files.source(self.records[file_id])

    def names(self) -> set[str]:
        return {path.name for path in self.path.iterdir()}

    def contents(self) -> set[bytes]:
        return {path.read_bytes() for path in self.path.rglob("*") if path.is_file()}


@pytest.fixture
async def disk(tmp_path: Path) -> Disk:
    made = Disk(tmp_path)
    await made.start()
    return made


async def test_an_upload_that_a_kill_interrupted_is_removed_at_the_next_start(disk: Disk):
    kept = await disk.add(b"kept")
    await disk.receive(b"never attached")
    await disk.stop()
    await disk.start()
    assert disk.names() == {kept}
    assert await disk.store.journaled_files() == {}
    await disk.stop()


async def test_a_kill_after_the_record_and_before_the_name_loses_nothing(disk: Disk):
    file_id = await disk.receive(b"attached")
    await disk.attach(file_id)
    assert disk.source(file_id).read_bytes() == b"attached"  # a reader may come first
    (disk.path / file_id).rename(disk.path / f"{file_id}.part")
    await disk.stop()
    await disk.start()
    assert (disk.names(), disk.source(file_id).read_bytes()) == ({file_id}, b"attached")
    await disk.stop()


async def test_a_kill_between_the_deletion_and_the_disk_is_finished_and_not_reported(disk: Disk):
    file_id = await disk.add(b"deleted")
    await disk.store.delete_session("s")
    await disk.stop()
    assert disk.names() == {file_id}
    await disk.start()
    assert (disk.names(), await disk.files.warnings()) == (set(), [])
    await disk.stop()


async def test_an_unfinished_upload_that_the_database_does_not_know_is_left(disk: Disk):
    (disk.path / f"{'a' * 32}.part").write_bytes(b"whose?")
    await disk.stop()
    await disk.start()
    assert disk.names() == {f"{'a' * 32}.part"}
    await disk.stop()


async def test_files_of_a_truncated_write_ahead_log_are_set_aside(disk: Disk, tmp_path: Path):
    first = await disk.add(b"first")
    await disk.store.empty_wal()
    with closing(sqlite3.connect(disk.database)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    await disk.add(b"second")
    lost = Disk(tmp_path / "lost")  # as the disk is after a power failure of a disk that lies
    lost.database.parent.mkdir()
    shutil.copy(disk.database, lost.database)
    log = disk.database.with_name("a.db-wal").read_bytes()
    lost.database.with_name("a.db-wal").write_bytes(log[:200])
    shutil.copytree(disk.path, lost.path)
    await disk.stop()
    await lost.start()
    assert {name for name in lost.names() if len(name) == 32} == {first}
    assert lost.contents() == {b"first", b"second"}
    assert "1 attached files are in a.db.files/orphaned-" in (await lost.files.warnings())[0]
    await lost.stop()


async def test_two_databases_that_lead_to_one_folder_do_not_run_at_once(disk: Disk, tmp_path: Path):
    kept = await disk.add(b"of the first")
    other = Disk(tmp_path / "other")
    other.database.parent.mkdir()
    other.path.symlink_to(disk.path)
    with pytest.raises(ConfigError, match="another service uses the folder"):
        await other.start()
    await other.store.close()
    assert disk.names() == {kept}
    await disk.stop()


async def test_one_after_the_other_each_gets_its_files_back(disk: Disk, tmp_path: Path):
    mine = await disk.add(b"of the first")
    await disk.stop()
    other = Disk(tmp_path / "other")
    other.database.parent.mkdir()
    other.path.symlink_to(disk.path)
    await other.start()
    theirs = await other.add(b"of the second")
    await other.stop()
    await disk.start()
    assert disk.source(mine).read_bytes() == b"of the first"
    await disk.stop()
    await other.start()
    assert other.source(theirs).read_bytes() == b"of the second"
    await other.stop()


def test_two_names_of_one_database_have_one_lock(tmp_path: Path):
    (tmp_path / "real.db").touch()
    (tmp_path / "link.db").symlink_to("real.db")
    assert parse_address(f"sqlite:///{tmp_path}/link.db") == (tmp_path / "real.db").resolve()


@pytest.mark.skipif(not IS_ROOT, reason="only root can give a folder away")
async def test_a_folder_of_another_user_is_refused(disk: Disk):
    await disk.stop()
    os.chown(disk.path, 12_345, 12_345)
    with pytest.raises(ConfigError, match="belongs to another user"):
        await disk.start()
    await disk.store.close()


async def test_a_folder_that_was_open_to_others_is_closed(disk: Disk):
    await disk.stop()
    disk.path.chmod(0o777)
    await disk.start()
    assert disk.path.stat().st_mode & 0o777 == 0o700
    await disk.stop()


async def test_something_that_cannot_be_deleted_stops_neither_the_start_nor_the_rest(disk: Disk):
    first, second = await disk.add(b"first"), await disk.add(b"second")
    (disk.path / first).unlink()
    (disk.path / first / "inner").mkdir(parents=True)  # in the place of a file
    await disk.detach(first)
    await disk.detach(second)
    await disk.files.remove([first, second])
    assert disk.names() == {first}
    await disk.stop()
    await disk.start()
    assert disk.names() == {first}
    await disk.stop()


@pytest.mark.parametrize("seed", sampled(range(25), 8))
async def test_whatever_happens_in_whatever_order_no_attached_file_is_erased(tmp_path: Path, seed: int):
    """Files come and go, the service dies at any point, and its database is lost, copied or set back in between."""
    chance = random.Random(seed)
    disk = Disk(tmp_path)
    await disk.start()
    content_of: dict[str, bytes] = {}
    detached: set[str] = set()
    backups: list[Path] = []
    stranger = disk.path / "mine.txt"
    stranger.write_bytes(b"a stranger's")
    for step in range(40):
        attached = sorted(await disk.store.file_ids())
        match chance.choice(
            ["add", "add", "receive", "no name", "detach", "half detach", "restart", "damage", "backup"]
        ):
            case "add":
                content = f"{seed} {step}".encode()
                content_of[await disk.add(content)] = content
            case "receive":
                await disk.receive(b"unfinished")
            case "no name":
                content = f"{seed} {step}".encode()
                file_id = await disk.receive(content)
                await disk.attach(file_id)
                content_of[file_id] = content
            case "detach" if attached:
                detached.add(attached[0])
                await disk.detach(attached[0])
                await disk.files.remove([attached[0]])
            case "half detach" if attached:
                detached.add(attached[-1])
                await disk.detach(attached[-1])
            case "backup":
                backups.append(tmp_path / f"backup-{step}")
                with closing(sqlite3.connect(disk.database)) as source, closing(sqlite3.connect(backups[-1])) as copy:
                    source.backup(copy)
            case "restart" | "damage" as what:
                await disk.stop()
                if what == "damage":
                    disk.database.unlink()
                    if backups and chance.random() < 0.7:
                        shutil.copy(chance.choice(backups), disk.database)
                await disk.start()
                known = await disk.store.file_ids() - detached
                assert {disk.source(file_id).read_bytes() for file_id in known} == {
                    content_of[file_id] for file_id in known
                }
        expected = {content for file_id, content in content_of.items() if file_id not in detached}
        assert expected <= disk.contents()
        assert stranger.read_bytes() == b"a stranger's"
    await disk.stop()
