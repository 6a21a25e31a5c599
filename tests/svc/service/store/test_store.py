"""The promises of every store: seq without gaps, one RESULT a turn, leases that fence, erasure, exact counts."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator, Awaitable
from pathlib import Path

import asyncpg
import msgspec
import pytest

from svc.errors import InvalidRequestError, SessionNotFoundError, TurnInProgressError, UnavailableError
from svc.messages import ROOT_ID, Usage
from svc.service.store import Store
from svc.service.store.address import PostgresAddress
from svc.service.store.postgres.shared import SharedPostgresStore
from svc.service.store.postgres.store import PostgresStore
from svc.service.store.records import (
    FeedbackRecord,
    FileRecord,
    FirstBatch,
    LeaseLostError,
    NoRoomError,
    TurnEnd,
    TurnStart,
    TurnState,
)
from svc.service.store.sqlite import SqliteStore
from tests.support.store_records import END, begun, info, kept, query, result, session


@pytest.fixture(params=["file", "memory", "postgres", "shared"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    if request.param in ("postgres", "shared"):
        kind = PostgresStore if request.param == "postgres" else SharedPostgresStore
        opened: Store = kind(PostgresAddress(request.getfixturevalue("postgres").new_schema()))
    else:
        opened = SqliteStore(tmp_path / "a.db" if request.param == "file" else None)
    await opened.open()
    yield opened
    await opened.close()


async def test_many_appends_at_once_get_gapless_seqs_in_their_order(store: Store):
    turn = await begun(store)
    batches = await asyncio.gather(*(store.append(turn, [info(f"{n}a"), info(f"{n}b")]) for n in range(200)))
    given = [stored.seq for batch in batches for stored in batch]
    kept = await store.messages_after("s", 0)

    assert given == list(range(2, 402))
    assert [stored.seq for stored in kept] == list(range(1, 402))
    assert kept[1:] == [stored for batch in batches for stored in batch]


async def test_a_failed_operation_affects_neither_its_batch_nor_the_seq(store: Store):
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


async def test_a_turn_has_one_result(store: Store):
    turn = await begun(store)
    await store.append(turn, [result()])
    with pytest.raises((sqlite3.IntegrityError, asyncpg.UniqueViolationError)):
        await store.append(turn, [result()])
    assert (await store.session("s")).last_seq == 2


async def test_an_ended_turn_accepts_no_messages(store: Store):
    turn = await begun(store)
    await store.append(turn, [result(), info()], END)
    with pytest.raises(LeaseLostError):
        await store.append(turn, [info()])
    now = await store.session("s")
    assert (now.last_seq, now.is_running, now.usage.total_tokens, now.turns) == (3, False, 5, 1)


async def test_a_turn_taken_over_is_closed_to_its_former_owner(store: Store):
    before = await begun(store)
    (after,) = await store.claim_orphans(owner="other")
    with pytest.raises(LeaseLostError):
        await store.append(before, [info()])
    await store.append(after, [info()])
    assert (after.fence, after.attempts) == (before.fence + 1, 2)


async def test_a_turn_handed_back_does_not_count_as_an_attempt(store: Store):
    await store.release(await begun(store))
    (taken,) = await store.claim_orphans(owner="other")
    assert taken.attempts == 1


async def test_a_turn_that_waits_is_claimed_once_and_was_no_attempt_before(store: Store):
    await store.add_session(session())
    waiting = (await store.begin_turn("s", query(), owner="")).turn
    claims = await asyncio.gather(*(store.claim(waiting, owner=owner) for owner in ("a", "b", "c")))
    (taken,) = [claim for claim in claims if claim is not None]
    assert (waiting.attempts, taken.attempts, taken.fence) == (0, 1, waiting.fence + 1)
    with pytest.raises(LeaseLostError):
        await store.append(waiting, [info()])
    await store.append(taken, [info()], END)
    assert await store.claim(taken, owner="d") is None


async def test_an_ended_turn_is_not_an_orphan(store: Store):
    await store.append(await begun(store), [info()], END)
    assert await store.claim_orphans(owner="other") == []


async def test_the_same_query_id_gives_the_same_turn(store: Store):
    turn = await begun(store)
    again = await store.begin_turn("s", query(), owner="me")
    assert (again.is_new, again.turn) == (False, turn)


async def test_a_query_id_used_by_another_message_is_rejected(store: Store):
    turn = await begun(store)
    said = info()
    await store.append(turn, [said], END)
    with pytest.raises(InvalidRequestError, match=said.id):
        await store.begin_turn("s", query(said.id), owner="me")


@pytest.mark.parametrize("after_seq", [3, 0], ids=["current", "outdated"])
async def test_a_query_with_a_first_batch_keeps_to_the_same_rules(store: Store, after_seq: int):
    """A batch that was made from the session as it is takes the shortest way; what decides is the same."""
    said = info()
    first = await begun(store)
    await store.append(first, [said], None)

    async def ask(query_id: str, turn: str, **fields: object) -> TurnStart:
        batch = FirstBatch(after_seq=after_seq, messages=[info("early")])
        return await store.begin_turn("s", query(query_id, turn, **fields), owner="me", first_batch=batch, key_id="k")

    with pytest.raises(TurnInProgressError):
        await ask("q2", "t2")
    await store.append(first, [result()], END)
    with pytest.raises(InvalidRequestError, match=said.id):
        await ask(said.id, "t2")
    assert (await ask("q", "t2")).turn.id == "t"
    with pytest.raises(SessionNotFoundError):
        await store.begin_turn("none", query("q2", "t2"), owner="me", first_batch=FirstBatch(after_seq=0, messages=[]))
    start = await ask("q2", "t", parent_id="unknown")
    assert (start.turn.id != "t", start.turn.query_seq, start.turn.fence > 0, start.turn.key_id) == (True, 4, True, "k")
    assert start.is_first_batch_stored == (after_seq == 3)
    found = [json.loads(one.body) for one in await store.messages_after("s", 3)]
    assert [one.get("parent_id") for one in found][:1] == [ROOT_ID]
    assert [one["seq"] for one in found] == [*range(4, 4 + len(start.stored))]
    await store.append(start.turn, [result()], END)
    usage, seq = (await store.session("s")).usage, (await store.session("s")).last_seq
    assert usage.total_tokens == 2 * END.usage.total_tokens
    for number, known in enumerate((usage, Usage(total_tokens=1))):  # the second is outdated, and does not count
        whole = FirstBatch(after_seq=seq, messages=[result()], turn_end=END, usage=known)
        ended = await store.begin_turn("s", query(f"q{number + 3}", f"t{number + 3}"), owner="me", first_batch=whole)
        assert (ended.turn.state, ended.is_first_batch_stored) == (TurnState.ANSWERED, True)
        seq += 2
    assert (await store.session("s")).usage.total_tokens == 4 * END.usage.total_tokens


async def test_two_queries_at_once_start_one_turn(store: Store):
    await store.add_session(session())
    outcomes = await asyncio.gather(
        *(store.begin_turn("s", query(f"q{n}"), owner="me") for n in range(10)), return_exceptions=True
    )
    assert sum(not isinstance(outcome, TurnInProgressError) for outcome in outcomes) == 1
    assert len(await store.messages_after("s", 0)) == 1


async def test_a_file_that_is_received_for_long_is_known_until_it_is_attached_or_forgotten(store: Store):
    for file_id in ("a", "b"):
        await store.begin_file(file_id)
    assert (await store.stalled_files(3_600), await store.stalled_files(-10)) == (set(), {"a", "b"})
    await store.forget_files(["a"])
    assert await store.stalled_files(-10) == {"b"}


async def test_messages_are_read_in_pages_of_bytes_and_at_least_one(store: Store):
    turn = await begun(store)
    await store.append(turn, [info("x" * 1_000) for _ in range(10)])
    assert len(await store.messages_after("s", 1, limit_bytes=1)) == 1
    assert len(await store.messages_after("s", 1, limit_bytes=3_000)) < 10
    assert len(await store.messages_after("s", 1)) == 10


async def test_exchanges_are_the_newest_answered_turns_within_the_limit(store: Store):
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


async def test_files_are_counted_when_they_are_added(store: Store):
    await store.add_session(session())

    def file(name: str) -> FileRecord:
        return FileRecord(id=name, name=name, size=1, sha256=name, mime_type="text/plain", label="txt")

    added = await asyncio.gather(*(store.add_file("s", file(f"f{n}"), limit=3) for n in range(5)))
    await store.remove_file("s", file("f0"))
    assert [one.id if one else None for one in added] == ["f0", "f1", "f2", None, None]
    assert [f.id for f in (await store.session("s")).files] == ["f1", "f2"]


async def test_files_are_added_only_if_there_is_room_beside_what_the_user_keeps(store: Store):
    await store.add_session(session())
    await store.add_session(session("other", user_id="other"))

    def add(name: str, session_id: str = "s", content: str = "") -> Awaitable[FileRecord | None]:
        file = FileRecord(id=name, name=name, size=40, sha256=content or name, mime_type="text/plain", label="txt")
        return store.add_file(session_id, file, limit=9, room=100)

    added = await asyncio.gather(*(add(f"f{n}") for n in range(4)), add("theirs", "other"), return_exceptions=True)
    assert [one.kept for one in added if isinstance(one, NoRoomError)] == [80, 80]
    assert [one.id for one in added if isinstance(one, FileRecord)] == ["f0", "f1", "theirs"]
    assert (await add("f0")).id == "f0"  # a retry
    await store.remove_file("s", added[0])
    assert (await add("f5")).id == "f5"


async def test_erasing_keeps_the_id_and_the_times(store: Store):
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


async def test_live_sessions_exist_and_have_not_expired(store: Store):
    await store.add_session(session("a"))
    await store.add_session(session("b", expire_time=200))
    assert await store.alive({"a", "b", "c"}, 300) == {"a"}


async def test_after_close_nothing_is_accepted(store: Store):
    await store.close()
    with pytest.raises(UnavailableError):
        await store.add_session(session())


async def test_what_a_user_keeps_is_counted_with_what_is_stored(store: Store):
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


async def test_a_refused_append_counts_nothing(store: Store):
    turn = await begun(store)
    await store.append(turn, [result()], END)
    before = await kept(store)
    with pytest.raises(LeaseLostError):
        await store.append(turn, [info("x" * 1_000)])
    assert await kept(store) == before


async def test_only_live_sessions_count_and_are_listed(store: Store):
    for number in range(5):
        await store.add_session(session(f"s{number}", expire_time=400 + number))
    assert await store.count_sessions("u", now=401) == 3
    assert [one.id for one in await store.list_sessions("u", now=401)] == ["s2", "s3", "s4"]
    assert await store.count_sessions("other", now=0) == 0


async def test_consents_are_the_sessions_and_bounded(store: Store, monkeypatch: pytest.MonkeyPatch):
    await store.add_session(session())
    await store.add_session(session("other"))
    for digest in ("a", "b", "a"):
        await store.add_consent("s", digest)
    assert (await store.consents("s"), await store.consents("other"), await store.consents("none")) == (
        {"a", "b"}, set(), set(),
    )  # fmt: skip
    for module in ("svc.service.store.sqlite", "svc.service.store.postgres.store"):
        monkeypatch.setattr(f"{module}.MAX_CONSENTS", 3)
    for digest in ("c", "d"):
        await store.add_consent("s", digest)
    assert await store.consents("s") == {"a", "b", "c"}
    await store.delete_session("s")
    await store.add_session(session())
    assert await store.consents("s") == set()


async def test_the_first_value_under_a_name_stays(store: Store):
    assert await store.first_meta("files", b"one") == b"one"
    assert await store.first_meta("files", b"two") == b"one" == await store.meta("files")
