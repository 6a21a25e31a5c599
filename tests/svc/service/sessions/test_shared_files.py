"""A user's files are stored once for each content: nothing is lost, nothing is left, and others never notice."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import random
import sqlite3
from importlib import resources
from pathlib import Path

import msgspec
import pytest

from svc.service.sessions.files import DiskFiles, chunks_of
from svc.service.store.disk_space import DiskSpace
from svc.service.store.records import FileRecord
from svc.service.store.sqlite import SqliteStore
from tests.support.assistants.scripted import Echo
from tests.support.live import StartService, ThreadService
from tests.support.store_records import session
from tests.support.wire_client import register

CONTENT = b"Nov 20 03:04:05 host sshd[7]: Failed password for root from 203.0.113.9 port 22 ssh2\n" * 40
RESULT = "1" * 64


class Disk:
    """A store with its files, as a service has them; ``crash`` stops it without ending anything in order."""

    def __init__(self, folder: Path) -> None:
        self.database = folder / "a.db"
        self.path = folder / "a.db.files"
        self.results = folder / "a.db.results"

    async def start(self) -> None:
        self.store = SqliteStore(self.database)
        await self.store.open()
        self.files = DiskFiles(self.path, self.store, DiskSpace([], 0), results_bytes=1_000_000)
        await self.files.open()

    async def stop(self) -> None:
        self.files.close()
        await self.store.close()

    async def restart(self) -> None:
        await self.stop()
        await self.start()

    async def receive(self, content: bytes) -> FileRecord:
        received = await self.files.receive(chunks_of([content]), 1_000_000)
        return FileRecord(
            id=received.id, name="auth.log", size=received.size, sha256=received.sha256, mime_type="", label=""
        )

    async def attach(self, session_id: str, content: bytes = CONTENT, name: str = "auth.log") -> FileRecord:
        file = msgspec.structs.replace(await self.receive(content), name=name)
        stored = await self.store.add_file(session_id, file, limit=1_000)
        assert stored is not None
        await self.files.publish(file.id, stored)
        return stored

    async def detach(self, session_id: str, file: FileRecord) -> None:
        await self.store.remove_file(session_id, file)
        await self.files.remove([file.id])

    async def delete(self, session_id: str) -> None:
        files = (await self.store.session(session_id)).files
        await self.store.delete_session(session_id)
        await self.files.remove(file.id for file in files)

    def stored(self) -> list[bytes]:
        return sorted(path.read_bytes() for path in self.path.iterdir())

    async def check(self) -> None:
        """Each attached file has its content; nothing else is on the disk, in the journal or in the account."""
        files = {}
        for session_id in await self.store.alive((f"s{n}" for n in range(99)), 0):
            files |= {file.id: file for file in (await self.store.session(session_id)).files}
        for file in files.values():
            assert hashlib.sha256(self.files.source(file).read_bytes()).hexdigest() == file.sha256
        assert {path.name for path in self.path.iterdir()} == set(files)
        assert len({file.sha256 for file in files.values()}) == len(files)
        assert await self.store.journaled_files() == {}
        assert await self.store.bytes_of("u") == sum(file.size for file in files.values())
        assert {path.name for path in self.results.iterdir()} <= set(files)


@pytest.fixture
async def disk(tmp_path: Path):
    made = Disk(tmp_path)
    await made.start()
    for number in range(15):
        await made.store.add_session(session(f"s{number}"))
    await made.store.add_session(session("other", user_id="other"))
    yield made
    with contextlib.suppress(Exception):
        await made.stop()


async def test_the_same_content_in_many_sessions_at_once_is_one_file(disk: Disk):
    files = await asyncio.gather(*(disk.attach(f"s{number}") for number in range(15)))
    assert (len({file.id for file in files}), disk.stored()) == (1, [CONTENT])
    await disk.check()
    for number in range(15):
        assert disk.stored() == [CONTENT]
        await disk.delete(f"s{number}")
    assert (disk.stored(), await disk.store.bytes_of("u")) == ([], 0)


async def test_another_user_has_a_file_of_his_own(disk: Disk):
    mine, theirs = await disk.attach("s1"), await disk.attach("other")
    assert mine.id != theirs.id
    assert disk.stored() == [CONTENT, CONTENT]
    await disk.delete("s1")
    assert (disk.stored(), disk.files.source(theirs).read_bytes()) == ([CONTENT], CONTENT)
    assert (await disk.store.bytes_of("u"), await disk.store.bytes_of("other")) == (0, len(CONTENT))


async def test_attaching_the_same_file_twice_at_once_is_one_file_of_the_session(disk: Disk):
    await asyncio.gather(*(disk.attach("s1") for _ in range(5)))
    assert len((await disk.store.session("s1")).files) == 1
    await disk.check()


async def test_one_content_under_two_names_goes_with_the_second(disk: Disk):
    first, second = await disk.attach("s1", name="a.log"), await disk.attach("s1", name="b.log")
    assert first.id == second.id
    await disk.detach("s1", first)
    assert [file.name for file in (await disk.store.session("s1")).files] == ["b.log"]
    await disk.check()
    await disk.detach("s1", second)
    assert disk.stored() == []


async def test_results_live_as_long_as_any_session_has_the_file(disk: Disk):
    first, second = await disk.attach("s1"), await disk.attach("s2")
    await disk.files.results(first.id).keep(RESULT, b"found")
    await disk.delete("s1")
    assert await disk.files.results(second.id).find(RESULT) == b"found"
    await disk.store.purge(ended_before=1_000)
    await disk.files.remove([second.id])
    assert await disk.files.results(second.id).find(RESULT) is None
    assert [*disk.results.rglob("*")] == []


@pytest.mark.parametrize("damage", ["gone", "cut"])
async def test_a_file_whose_bytes_are_lost_is_repaired_by_the_next_attachment(disk: Disk, damage: str):
    file = await disk.attach("s1")
    if damage == "gone":
        (disk.path / file.id).unlink()
    else:
        (disk.path / file.id).write_bytes(b"half")
    await disk.attach("s2")
    await disk.check()


@pytest.mark.parametrize("seed", range(12))
async def test_attaching_detaching_and_deleting_at_the_same_time_loses_and_leaves_nothing(disk: Disk, seed: int):
    chance = random.Random(seed)
    contents = [CONTENT, CONTENT + b"x"]

    async def act(session_id: str) -> None:
        for _ in range(6):
            files = (await disk.store.session(session_id)).files
            if files and chance.random() < 0.5:
                await disk.detach(session_id, chance.choice(files))
            else:
                await disk.attach(session_id, chance.choice(contents), chance.choice("ab"))
            await asyncio.sleep(chance.random() / 500)
        if chance.random() < 0.5:
            await disk.delete(session_id)

    await asyncio.gather(*(act(f"s{number}") for number in range(6)))
    await disk.check()


STEPS = ("received", "recorded", "renamed", "detached", "deleted", "shared but not dropped")


@pytest.mark.parametrize("has_other", [True, False])
@pytest.mark.parametrize("step", STEPS)
async def test_a_crash_between_any_two_steps_loses_and_leaves_nothing(disk: Disk, step: str, has_other: bool):
    if has_other:
        await disk.attach("s1")
    match step:
        case "received":
            await disk.receive(CONTENT)
        case "recorded" | "shared but not dropped":
            await disk.store.add_file("s2", await disk.receive(CONTENT), limit=9)
        case "renamed":
            file = await disk.receive(CONTENT)
            await disk.store.add_file("s2", file, limit=9)
            (disk.path / f"{file.id}.part").rename(disk.path / file.id) if not has_other else None
        case "detached":
            await disk.store.remove_file("s2", await disk.attach("s2"))
        case _:
            await disk.attach("s2")
            await disk.store.delete_session("s2")
    await disk.restart()
    await disk.check()
    has_file = has_other or step in ("recorded", "renamed", "shared but not dropped")
    assert disk.stored() == ([CONTENT] if has_file else [])


async def old_database(disk: Disk, files: list[tuple[str, FileRecord, bytes]]) -> None:
    """A database of the version before files were shared, with one row and one file on the disk for each."""
    folder = resources.files("svc.service.store") / "migrations" / "sqlite"
    with contextlib.closing(sqlite3.connect(disk.database)) as old:
        for name in sorted(entry.name for entry in folder.iterdir() if entry.name < "0006"):
            old.executescript((folder / name).read_text("utf-8"))
        old.execute("PRAGMA user_version = 5")
        for number in range(15):
            old.execute(
                "INSERT INTO sessions (id, user_id, org_id, model, ttl, language, name, description, create_time,"
                " update_time, expire_time, can_log, instructions, usage, bytes) VALUES (?, 'u', 'o', ?, 300, 'en',"
                " 'n', '', 100, 100, 400, 1, '', '{}', 0)",
                [f"s{number}", msgspec.json.encode(session().model).decode()],
            )
        disk.path.mkdir(mode=0o700)
        for session_id, record, content in files:
            old.execute(
                "INSERT INTO files (session_number, id, record) SELECT number, ?, ? FROM sessions WHERE id = ?",
                [record.id, msgspec.json.encode(record).decode(), session_id],
            )
            (disk.path / record.id).write_bytes(content)
        old.commit()


def record(number: int, content: bytes) -> FileRecord:
    digest = hashlib.sha256(content).hexdigest()
    return FileRecord(
        id=f"{number:032x}", name="auth.log", size=len(content), sha256=digest, mime_type="", label="", attached=number
    )


async def test_the_files_of_an_older_version_are_shared_at_the_first_start(tmp_path: Path):
    disk, other = Disk(tmp_path), b"another log\n"
    files = [(f"s{number}", record(number, CONTENT), CONTENT) for number in range(5)]
    await old_database(disk, [*files, ("s1", record(8, other), other)])
    await disk.start()
    await disk.check()
    assert disk.stored() == sorted([CONTENT, other])
    kept = (await disk.store.session("s1")).files
    assert [(file.sha256, file.attached) for file in kept] == [
        (record(1, CONTENT).sha256, 1),
        (record(8, other).sha256, 8),
    ]
    await disk.restart()
    await disk.check()
    await disk.stop()


async def test_a_damaged_file_of_an_older_version_never_replaces_a_whole_one(tmp_path: Path):
    disk = Disk(tmp_path)
    damaged = CONTENT[:-1] + b"!"
    files = [("s0", record(0, CONTENT), damaged), ("s1", record(1, CONTENT), CONTENT), ("s2", record(2, CONTENT), b"")]
    await old_database(disk, files)
    await disk.start()
    await disk.check()
    assert disk.stored() == [CONTENT]
    await disk.stop()


async def test_files_of_an_older_version_of_which_none_is_whole_are_left(tmp_path: Path):
    disk = Disk(tmp_path)
    files = [(f"s{number}", record(number, CONTENT), b"damaged %d" % number) for number in range(2)]
    await old_database(disk, files)
    await disk.start()
    assert disk.stored() == [b"damaged 0", b"damaged 1"]
    await disk.stop()


def upload(service: ThreadService, session_id: str, content: bytes, key: str | None = None) -> int:
    with service.http(key) as http:
        path = {"session_id": session_id, "filename": "auth.log"}
        return http.post("/session/upload_file", params=path, content=content).status_code


def test_a_service_counts_a_shared_file_once_for_the_account(start_service: StartService):
    content = CONTENT * 100
    service = start_service(Echo, key_disk_bytes=2 * len(content) + 20_000)
    sessions = [register(service) for _ in range(6)]
    assert [upload(service, session_id, content) for session_id in sessions] == [200] * 6
    assert upload(service, sessions[0], content + b"x") == 200
    assert upload(service, sessions[0], content + b"y") == 507, "two contents take the room that there is"


@pytest.mark.one_service("looks into the memory of one service")
def test_unlogged_sessions_share_nothing(start_service: StartService):
    service = start_service(Echo)
    _, key = service.make_key("v")
    sessions = [register(service, key, can_log=can_log) for can_log in (True, False, False)]
    assert [upload(service, session_id, CONTENT, key) for session_id in sessions] == [200] * 3
    assert [path.read_bytes() for path in service.stored_files] == [CONTENT]
    assert service.running.service.session_stores.memory.used_bytes == 2 * len(CONTENT)
