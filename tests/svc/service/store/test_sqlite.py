"""The store on SQLite: its file, its migrations, a full disk. What every store promises: test_store.py."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from importlib import resources
from pathlib import Path

import pytest

from svc.errors import (
    ConfigError,
    InsufficientStorageError,
)
from svc.service.store.records import (
    FileRecord,
    TurnRecord,
)
from svc.service.store.sqlite import SqliteStore
from tests.support.store_records import begun, info, kept, session


async def test_data_accepted_before_close_is_kept(tmp_path: Path):
    store = SqliteStore(tmp_path / "a.db")
    await store.open()
    turn = await begun(store)
    appends = [asyncio.ensure_future(store.append(turn, [info()])) for _ in range(50)]
    await asyncio.sleep(0)
    await store.close()
    await asyncio.gather(*appends)
    again = SqliteStore(tmp_path / "a.db")
    await again.open()
    assert len(await again.messages_after("s", 0)) == 51
    await again.close()


async def test_a_full_disk_has_its_own_error_and_stored_data_is_kept(tmp_path: Path):
    store = SqliteStore(tmp_path / "a.db")
    await store.open()
    turn = await begun(store)
    await store._write(lambda c: c.execute("PRAGMA max_page_count = 60").fetchone())
    with pytest.raises(InsufficientStorageError, match=r"full.*Free space.*no restart"):
        await fill(store, turn)
    kept = await store.messages_after("s", 0)
    assert [stored.seq for stored in kept] == list(range(1, len(kept) + 1))
    await store._write(lambda c: c.execute("PRAGMA max_page_count = 100000").fetchone())
    assert (await store.append(turn, [info()]))[0].seq == len(kept) + 1
    await store.close()


async def fill(store: SqliteStore, turn: TurnRecord) -> None:
    for _ in range(200):
        await store.append(turn, [info("x" * 4_000)])


async def test_a_database_of_a_newer_program_is_refused(tmp_path: Path):
    connection = sqlite3.connect(tmp_path / "a.db")
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(ConfigError, match="schema version 99"):
        await SqliteStore(tmp_path / "a.db").open()


async def test_two_processes_may_open_a_new_database_at_once(tmp_path: Path):
    stores = [SqliteStore(tmp_path / "a.db") for _ in range(4)]
    await asyncio.gather(*(store.open() for store in stores))
    for number, store in enumerate(stores):
        await store.add_session(session(f"s{number}"))
    assert len(await stores[0].list_sessions("u", now=0)) == 4
    for store in stores:
        await store.close()


async def test_an_older_database_is_counted_when_it_is_opened(tmp_path: Path):
    path = tmp_path / "a.db"
    first = SqliteStore(path)
    await first.open()
    turn = await begun(first)
    await first.append(turn, [info("x" * 1_000)])
    assert (await first.session("s")).title == "who?"
    file = FileRecord(id="f", name="f", size=500, sha256="", mime_type="text/plain", label="txt")
    await first.add_file("s", file, limit=5)
    before = await kept(first)
    await first.close()
    with sqlite3.connect(path) as connection:
        for name in ("session_inserted", "session_changed", "session_deleted", "feedback_inserted"):
            connection.execute(f"DROP TRIGGER {name}")
        connection.executescript(
            "CREATE TABLE old_files (number INTEGER PRIMARY KEY, session_number INTEGER, id TEXT UNIQUE, record TEXT);"
            "INSERT INTO old_files SELECT number, session_number, id, record FROM files;"
            "DROP TABLE files; ALTER TABLE old_files RENAME TO files;"
            "DROP TABLE users; DROP TABLE meta; DROP TABLE file_journal;"
            "DROP INDEX live_sessions_of_user; ALTER TABLE sessions DROP COLUMN bytes;"
            "ALTER TABLE sessions DROP COLUMN title;"
            "ALTER TABLE sessions DROP COLUMN registered_tools; ALTER TABLE sessions DROP COLUMN agents_config;"
            "ALTER TABLE sessions DROP COLUMN consents;"
            "ALTER TABLE turns DROP COLUMN key_id;"
            "PRAGMA user_version = 3;"
        )
    connection.close()
    again = SqliteStore(path)
    await again.open()
    assert await kept(again) == before > 1_500
    assert (await again.session("s")).title == "who?"
    await again.close()


def test_migrations_are_numbered_from_one_without_gaps_or_doubles():
    folder = resources.files("svc.service.store") / "migrations" / "sqlite"
    numbers = sorted(entry.name[:4] for entry in folder.iterdir() if entry.name.endswith(".sql"))
    assert numbers == [f"{number:04}" for number in range(1, len(numbers) + 1)]


async def test_a_database_of_the_previous_version_keeps_its_files(tmp_path: Path):
    """Before there was a journal, every file of the folder belonged to a session."""
    folder = resources.files("svc.service.store") / "migrations" / "sqlite"
    with contextlib.closing(sqlite3.connect(tmp_path / "a.db")) as old:
        for name in ("0001_first.sql", "0002_messages_by_id.sql", "0003_local_tools.sql"):
            old.executescript((folder / name).read_text("utf-8"))
        old.execute("PRAGMA user_version = 3")
    store = SqliteStore(tmp_path / "a.db")
    await store.open()
    assert (await store.journaled_files(), await store.meta("clock")) == ({}, None)
    await store.close()
