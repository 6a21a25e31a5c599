"""The store's promises: seq without gaps, durable before told, one RESULT a turn, leases that fence, erasure."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import AsyncIterator
from importlib import resources
from pathlib import Path

import msgspec
import pytest

from svc.errors import (
    ConfigError,
    InsufficientStorageError,
    InvalidRequestError,
    SessionNotFoundError,
    TurnInProgressError,
    UnavailableError,
)
from svc.messages import Message, MessageType, Usage
from svc.service.sessions.models import STABLE
from svc.service.store.records import (
    FeedbackRecord,
    FileRecord,
    LeaseLostError,
    SessionRecord,
    TurnEnd,
    TurnRecord,
    TurnState,
)
from svc.service.store.sqlite import SqliteStore

END = TurnEnd(state=TurnState.ANSWERED, time=200.0, usage=Usage(total_tokens=5))


@pytest.fixture(params=["file", "memory"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[SqliteStore]:
    opened = SqliteStore(tmp_path / "a.db" if request.param == "file" else None)
    await opened.open()
    yield opened
    await opened.close()


def session(name: str = "s", **fields: object) -> SessionRecord:
    plain = {
        "id": name, "user_id": "u", "org_id": "o", "model": STABLE, "ttl": 300, "language": "en", "name": "n",
        "description": "", "create_time": 100, "update_time": 100, "expire_time": 400, "can_log": True,
    }  # fmt: skip
    return SessionRecord(**(plain | fields))


def query(query_id: str = "q", turn: str = "t", **fields: object) -> Message:
    return Message(message_type=MessageType.QUERY, id=query_id, turn=turn, content="who?", created_at=150.0, **fields)


def info(content: str = "i") -> Message:
    return Message(message_type=MessageType.INFO, content=content)


def result() -> Message:
    return Message(message_type=MessageType.RESULT, content="r")


async def begun(store: SqliteStore, **fields: object) -> TurnRecord:
    await store.add_session(session())
    return (await store.begin_turn("s", query(**fields), owner="me")).turn


async def test_many_appends_at_once_get_gapless_seqs_in_their_order(store: SqliteStore):
    turn = await begun(store)
    batches = await asyncio.gather(*(store.append(turn, [info(f"{n}a"), info(f"{n}b")]) for n in range(200)))
    given = [stored.seq for batch in batches for stored in batch]
    kept = await store.messages_after("s", 0)

    assert given == list(range(2, 402))
    assert [stored.seq for stored in kept] == list(range(1, 402))
    assert kept[1:] == [stored for batch in batches for stored in batch]


async def test_a_failed_operation_affects_neither_its_batch_nor_the_seq(store: SqliteStore):
    turn = await begun(store)
    outcomes = await asyncio.gather(
        store.append(turn, [info()]),
        store.begin_turn("nowhere", query(), owner="me"),
        store.begin_turn("s", query("q2"), owner="me"),
        store.append(turn, [info()]),
        return_exceptions=True,
    )
    assert [type(outcome) for outcome in outcomes] == [list, SessionNotFoundError, TurnInProgressError, list]
    assert [stored.seq for stored in await store.messages_after("s", 0)] == [1, 2, 3]


async def test_a_turn_has_one_result(store: SqliteStore):
    turn = await begun(store)
    await store.append(turn, [result()])
    with pytest.raises(sqlite3.IntegrityError):
        await store.append(turn, [result()])
    assert (await store.session("s")).last_seq == 2


async def test_an_ended_turn_accepts_no_messages(store: SqliteStore):
    turn = await begun(store)
    await store.append(turn, [result(), info()], END)
    with pytest.raises(LeaseLostError):
        await store.append(turn, [info()])
    now = await store.session("s")
    assert (now.last_seq, now.is_running, now.usage.total_tokens, now.turns) == (3, False, 5, 1)


async def test_a_turn_taken_over_is_closed_to_its_former_owner(store: SqliteStore):
    before = await begun(store)
    (after,) = await store.claim_orphans(owner="other")
    with pytest.raises(LeaseLostError):
        await store.append(before, [info()])
    await store.append(after, [info()])
    assert (after.fence, after.attempts) == (before.fence + 1, 2)


async def test_a_turn_handed_back_does_not_count_as_an_attempt(store: SqliteStore):
    await store.release(await begun(store))
    (taken,) = await store.claim_orphans(owner="other")
    assert taken.attempts == 1


async def test_an_ended_turn_is_not_an_orphan(store: SqliteStore):
    await store.append(await begun(store), [info()], END)
    assert await store.claim_orphans(owner="other") == []


async def test_the_same_query_id_gives_the_same_turn(store: SqliteStore):
    turn = await begun(store)
    again = await store.begin_turn("s", query(), owner="me")
    assert (again.is_new, again.turn) == (False, turn)


async def test_a_query_id_used_by_another_message_is_rejected(store: SqliteStore):
    turn = await begun(store)
    said = info()
    await store.append(turn, [said], END)
    with pytest.raises(InvalidRequestError, match=said.id):
        await store.begin_turn("s", query(said.id), owner="me")


async def test_two_queries_at_once_start_one_turn(store: SqliteStore):
    await store.add_session(session())
    outcomes = await asyncio.gather(
        *(store.begin_turn("s", query(f"q{n}"), owner="me") for n in range(10)), return_exceptions=True
    )
    assert sum(not isinstance(outcome, TurnInProgressError) for outcome in outcomes) == 1
    assert len(await store.messages_after("s", 0)) == 1


async def test_messages_are_read_in_pages_of_bytes_and_at_least_one(store: SqliteStore):
    turn = await begun(store)
    await store.append(turn, [info("x" * 1_000) for _ in range(10)])
    assert len(await store.messages_after("s", 1, limit_bytes=1)) == 1
    assert len(await store.messages_after("s", 1, limit_bytes=3_000)) < 10
    assert len(await store.messages_after("s", 1)) == 10


async def test_exchanges_are_the_newest_answered_turns_within_the_limit(store: SqliteStore):
    await store.add_session(session())
    for number, state in enumerate([TurnState.ANSWERED, TurnState.FAILED, TurnState.ANSWERED]):
        turn = (await store.begin_turn("s", query(f"q{number}", f"t{number}"), owner="me")).turn
        await store.append(turn, [info(), result()], TurnEnd(state=state, time=1.0, usage=Usage()))

    everything = await store.exchanges("s", 100_000)
    assert [(m.turn, m.message_type) for m in everything if m.message_type == "query"] == [
        ("t0", "query"),
        ("t2", "query"),
    ]
    of_newest = [m for m in await store.turn_messages(turn) if m.message_type in ("query", "result")]
    size_of_newest = sum(len(msgspec.json.encode(message)) for message in of_newest)
    assert [m.message_type for m in everything] == ["query", "result", "query", "result"]
    assert [m.turn for m in await store.exchanges("s", size_of_newest + 10) if m.message_type == "query"] == ["t2"]
    assert await store.exchanges("s", size_of_newest - 10) == []


async def test_files_are_counted_when_they_are_added(store: SqliteStore):
    await store.add_session(session())

    def file(name: str) -> FileRecord:
        return FileRecord(id=name, name=name, size=1, sha256=name, mime_type="text/plain", label="txt")

    added = await asyncio.gather(*(store.add_file("s", file(f"f{n}"), limit=3) for n in range(5)))
    await store.remove_file("s", file("f0"))
    assert [one.id if one else None for one in added] == ["f0", "f1", "f2", None, None]
    assert [f.id for f in (await store.session("s")).files] == ["f1", "f2"]


async def test_erasing_keeps_the_id_and_the_times(store: SqliteStore):
    turn = await begun(store)
    await store.append(turn, [info()], END)
    file = FileRecord(id="f", name="f", size=1, sha256="", mime_type="text/plain", label="txt")
    await store.add_file("s", file, limit=3)

    assert await store.forget(ended_before=399) == []
    assert await store.forget(ended_before=400) == ["f"]
    assert await store.forget(ended_before=400) == []
    left = await store.session("s")
    assert (left.name, left.files, left.last_seq, left.expire_time) == ("", (), 0, 400)
    assert await store.messages_after("s", 0) == []


async def test_live_sessions_exist_and_have_not_expired(store: SqliteStore):
    await store.add_session(session("a"))
    await store.add_session(session("b", expire_time=200))
    assert await store.alive({"a", "b", "c"}, 300) == {"a"}


async def test_after_close_nothing_is_accepted(store: SqliteStore):
    await store.close()
    with pytest.raises(UnavailableError):
        await store.add_session(session())


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


async def kept(store: SqliteStore, user: str = "u") -> int:
    """What is counted for the user, which equals what is there."""
    counted = await store.bytes_of(user)
    sql = """
        SELECT coalesce(sum(length(CAST(s.instructions AS BLOB))
          + (SELECT coalesce(sum(length(body)), 0) FROM messages m WHERE m.session_number = s.number)
          + (SELECT coalesce(sum(length(CAST(comment AS BLOB))), 0) FROM feedback b WHERE b.session_number = s.number)
        ), 0)
          + (SELECT coalesce(sum(size), 0) FROM (SELECT DISTINCT id, size FROM files WHERE user_id = :user))
        FROM sessions s WHERE user_id = :user
    """
    assert counted == (await store._write(lambda c: c.execute(sql, {"user": user}).fetchone()))[0]
    return counted


async def test_what_a_user_keeps_is_counted_with_what_is_stored(store: SqliteStore):
    assert await kept(store) == 0
    turn = await begun(store)
    question = await kept(store)
    assert question > 0
    await store.append(turn, [info("ü" * 1_000)])
    assert await kept(store) > question + 2_000
    await store.append(turn, [result()], END)
    await store.add_session(session("t", instructions="grüße", expire_time=500))
    file = FileRecord(id="f", name="f", size=70_000, sha256="", mime_type="text/plain", label="txt")
    before = await kept(store)
    await store.add_file("t", file, limit=5)
    assert await kept(store) == before + 70_000
    await store.add_feedback(FeedbackRecord(session_id="t", group_id="", type="", score=0, comment="üü", created=0))
    assert await kept(store) == before + 70_004
    await store.add_session(session("v", user_id="other", instructions="x"))
    assert (await kept(store, "other"), await store.bytes_of_all()) == (1, before + 70_005)
    await store.remove_file("t", file)
    await store.add_file("t", file, limit=5)
    await store.forget(ended_before=450)
    assert await kept(store) == 70_004 + len("grüße".encode())
    await store.delete_session("t")
    assert await kept(store) == 0
    await store.purge(ended_before=1_000)
    assert (await kept(store), await store.bytes_of_all()) == (0, 0)


async def test_a_refused_append_counts_nothing(store: SqliteStore):
    turn = await begun(store)
    await store.append(turn, [result()], END)
    before = await kept(store)
    with pytest.raises(LeaseLostError):
        await store.append(turn, [info("x" * 1_000)])
    assert await kept(store) == before


async def test_only_live_sessions_count_and_are_listed(store: SqliteStore):
    for number in range(5):
        await store.add_session(session(f"s{number}", expire_time=400 + number))
    assert await store.count_sessions("u", now=401) == 3
    assert [one.id for one in await store.list_sessions("u", now=401)] == ["s2", "s3", "s4"]
    assert await store.count_sessions("other", now=0) == 0


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
            "PRAGMA user_version = 3;"
        )
    connection.close()
    again = SqliteStore(path)
    await again.open()
    assert await kept(again) == before > 1_500
    assert (await again.session("s")).title == "who?"
    await again.close()


def test_migrations_are_numbered_from_one_without_gaps_or_doubles():
    folder = resources.files("svc.service.store") / "migrations"
    numbers = sorted(entry.name[:4] for entry in folder.iterdir() if entry.name.endswith(".sql"))
    assert numbers == [f"{number:04}" for number in range(1, len(numbers) + 1)]


async def test_a_database_of_the_previous_version_keeps_its_files(tmp_path: Path):
    """Before there was a journal, every file of the folder belonged to a session."""
    folder = resources.files("svc.service.store") / "migrations"
    with contextlib.closing(sqlite3.connect(tmp_path / "a.db")) as old:
        for name in ("0001_first.sql", "0002_messages_by_id.sql", "0003_local_tools.sql"):
            old.executescript((folder / name).read_text("utf-8"))
        old.execute("PRAGMA user_version = 3")
    store = SqliteStore(tmp_path / "a.db")
    await store.open()
    assert (await store.journaled_files(), await store.meta("clock")) == ({}, None)
    await store.close()
