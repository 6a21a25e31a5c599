"""The append path: svc/service/store/turn_rows.py."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from svc.messages import Message, MessageType
from svc.service.sessions.models import STABLE
from svc.service.store.records import SessionRecord
from svc.service.store.sqlite import SqliteStore

SESSION = SessionRecord(
    id="s", user_id="u", org_id="o", model=STABLE, ttl=300, language="en", name="n", description="", create_time=100,
    update_time=100, expire_time=400, can_log=True,
)  # fmt: skip


@pytest.mark.parametrize("number", [1, 3, 4, 21, 64, 65, 200], ids=str)
async def test_a_batch_of_any_size_is_stored_completely_and_in_order(tmp_path: Path, number: int):
    store = SqliteStore(tmp_path / "service.db")
    await store.open()
    try:
        await store.add_session(SESSION)
        begun = await store.begin_turn(SESSION.id, Message(message_type=MessageType.QUERY, content="?"), owner="me")
        messages = [Message(message_type=MessageType.INFO, content=f"step {i} ✓") for i in range(number)]
        stored = await store.append(begun.turn, messages)
        kept = await store.messages_after(SESSION.id, 1)
    finally:
        await store.close()
    assert [one.seq for one in kept] == list(range(2, number + 2))
    assert kept == stored
    assert [msgspec.json.decode(one.body, type=Message).content for one in kept] == [m.content for m in messages]
