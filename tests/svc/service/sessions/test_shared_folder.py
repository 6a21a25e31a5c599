"""A folder of files that several services share: the right one, and nothing in it is lost or left for ever."""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from svc.errors import ConfigError
from svc.messages import new_id
from svc.service.sessions.database_mark import MARK
from svc.service.sessions.files import ORPHAN_SECONDS, DiskFiles, chunks_of
from svc.service.store.address import PostgresAddress
from svc.service.store.disk_space import DiskSpace
from svc.service.store.postgres.store import PostgresStore
from svc.service.store.records import FileRecord
from tests.support.postgres import PostgresServer
from tests.support.store_records import session


@pytest.fixture
async def store(postgres: PostgresServer) -> AsyncIterator[PostgresStore]:
    opened = PostgresStore(PostgresAddress(postgres.new_schema()))
    await opened.open()
    await opened.add_session(session())
    yield opened
    await opened.close()


def files_in(folder: Path, store: PostgresStore) -> DiskFiles:
    return DiskFiles(folder, store, DiskSpace([folder], 0), results_bytes=1_000_000, is_shared=True)


async def attach(files: DiskFiles, store: PostgresStore, content: bytes, *, publishes: bool = True) -> FileRecord:
    received = await files.receive(chunks_of([content]), 1_000_000)
    record = FileRecord(
        id=received.id, name="a", size=received.size, sha256=received.sha256, mime_type="text/plain", label="text"
    )
    stored = await store.add_file("s", record, limit=10)
    assert stored is not None
    if publishes:
        await files.publish(received.id, stored)
    return stored


def age(path: Path, seconds: float) -> None:
    then = time.time() - seconds
    os.utime(path, (then, then))


async def test_all_services_of_a_database_open_its_folder(tmp_path: Path, store: PostgresStore):
    opened = [files_in(tmp_path / "files", store) for _ in range(4)]
    await asyncio.gather(*(one.open() for one in opened))
    assert (tmp_path / "files" / MARK).read_bytes().strip() == await store.meta("files")


async def test_of_two_folders_at_once_one_becomes_the_databases(tmp_path: Path, store: PostgresStore):
    opened = [files_in(tmp_path / name, store) for name in "ab"]
    outcomes = await asyncio.gather(*(one.open() for one in opened), return_exceptions=True)
    assert sorted(type(outcome).__name__ for outcome in outcomes) == ["ConfigError", "NoneType"]
    assert sum((tmp_path / name / MARK).exists() for name in "ab") == 1


async def test_a_folder_that_others_do_not_share_is_refused(tmp_path: Path, store: PostgresStore):
    await files_in(tmp_path / "shared", store).open()
    with pytest.raises(ConfigError, match=r"is not that of this database: it has no \.svc-database"):
        await files_in(tmp_path / "own", store).open()


async def test_the_folder_of_another_database_is_refused(
    tmp_path: Path, store: PostgresStore, postgres: PostgresServer
):
    other = PostgresStore(PostgresAddress(postgres.new_schema()))
    await other.open()
    await files_in(tmp_path / "others", other).open()
    await other.close()
    await files_in(tmp_path / "own", store).open()
    with pytest.raises(ConfigError, match="belongs to another database"):
        await files_in(tmp_path / "others", store).open()


async def test_an_empty_folder_is_refused_if_the_database_has_files(tmp_path: Path, store: PostgresStore):
    files = files_in(tmp_path / "files", store)
    await files.open()
    await attach(files, store, b"evidence")
    await store.run(lambda c: c.execute("DELETE FROM meta"))  # as a version without marks left it
    (tmp_path / "files" / MARK).unlink()
    with pytest.raises(ConfigError, match="has none of the 1 files that the database knows"):
        await files_in(tmp_path / "empty", store).open()
    await files_in(tmp_path / "files", store).open()


async def test_what_the_refusal_says_to_do_helps(tmp_path: Path, store: PostgresStore):
    folder = tmp_path / "files"
    await files_in(folder, store).open()
    (folder / MARK).unlink()
    with pytest.raises(ConfigError) as refused:
        await files_in(folder, store).open()
    mark = str(refused.value).partition("write ")[2].split()[0]
    (folder / MARK).write_text(mark, "utf-8")
    await files_in(folder, store).open()


async def test_a_service_that_starts_moves_and_erases_nothing(tmp_path: Path, store: PostgresStore):
    folder = tmp_path / "files"
    first = files_in(folder, store)
    await first.open()
    received = await first.receive(chunks_of([b"on its way"]), 1_000)
    (folder / new_id()).write_bytes(b"unknown")
    before = {path.name for path in folder.iterdir()}
    await files_in(folder, store).open()
    assert {path.name for path in folder.iterdir()} == before
    assert (folder / f"{received.id}.part").read_bytes() == b"on its way"


async def test_the_sweep_erases_by_age_what_no_session_has(tmp_path: Path, store: PostgresStore):
    folder = tmp_path / "files"
    files = files_in(folder, store)
    await files.open()
    kept = await attach(files, store, b"evidence")
    abandoned = await files.receive(chunks_of([b"of a service that died"]), 1_000)
    recent = await files.receive(chunks_of([b"on its way"]), 1_000)
    unknown, strange = folder / new_id(), folder / "notes.txt"
    unknown.write_bytes(b"unknown")
    strange.write_bytes(b"somebody's")
    for path in (folder / kept.id, folder / f"{abandoned.id}.part", unknown, strange):
        age(path, ORPHAN_SECONDS + 60)

    await files.sweep()

    assert {path.name for path in folder.iterdir()} == {MARK, kept.id, f"{recent.id}.part", "notes.txt"}
    assert set(await store.journaled_files()) == {recent.id}


async def test_the_sweep_does_nothing_where_the_volume_is_gone(tmp_path: Path, store: PostgresStore):
    folder = tmp_path / "files"
    files = files_in(folder, store)
    await files.open()
    unknown = folder / new_id()
    unknown.write_bytes(b"unknown")
    age(unknown, ORPHAN_SECONDS + 60)
    (folder / MARK).unlink()
    await files.sweep()
    assert unknown.exists()


async def test_a_file_whose_service_died_before_it_named_it_is_read(tmp_path: Path, store: PostgresStore):
    folder = tmp_path / "files"
    first, second = files_in(folder, store), files_in(folder, store)
    await first.open()
    await second.open()
    file = await attach(first, store, b"evidence", publishes=False)
    assert (folder / f"{file.id}.part").exists()
    assert second.source(file).read_bytes() == b"evidence"
    assert first.source(file).read_bytes() == b"evidence"


async def test_results_that_one_service_kept_are_used_by_the_other_until_the_file_is_erased(
    tmp_path: Path, store: PostgresStore
):
    folder = tmp_path / "files"
    first, second = files_in(folder, store), files_in(folder, store)
    await first.open()
    await second.open()
    file = await attach(first, store, b"evidence")
    here, there = first.results(file.id), second.results(file.id)
    await here.keep("0" * 64, b"found")
    assert await there.find("0" * 64) == b"found"
    await store.remove_file("s", file)
    await second.remove([file.id])
    assert await here.find("0" * 64) is None
    await here.keep("0" * 64, b"too late")
    assert not (tmp_path / "files.results" / file.id).exists()
    shutil.rmtree(folder)


async def test_one_service_of_several_sweeps(store: PostgresStore):
    claimed = await asyncio.gather(*(store.claim_sweep(3_000.0) for _ in range(6)))
    assert sorted(claimed) == [False] * 5 + [True]
    await store.set_meta("sweep", b"0")  # an hour later
    assert await store.claim_sweep(3_000.0)
