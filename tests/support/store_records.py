"""Records for the tests of the store, and what a store really keeps, counted from its rows."""

from __future__ import annotations

from svc.messages import Message, MessageType, Usage
from svc.service.sessions.models import STABLE
from svc.service.store import Store
from svc.service.store.postgres.store import PostgresStore
from svc.service.store.records import SessionRecord, TurnEnd, TurnRecord, TurnState

END = TurnEnd(state=TurnState.ANSWERED, time=200.0, usage=Usage(total_tokens=5))
_BYTES = """
    SELECT coalesce(sum(length({text}(s.instructions{blob}))
      + (SELECT coalesce(sum(length(body)), 0) FROM messages m WHERE m.session_number = s.number)
      + (SELECT coalesce(sum(length({text}(comment{blob}))), 0) FROM feedback b WHERE b.session_number = s.number)
    ), 0)
      + (SELECT coalesce(sum(size), 0) FROM (SELECT DISTINCT id, size FROM files WHERE user_id = {user}) AS contents)
    FROM sessions s WHERE user_id = {user}
"""


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


async def begun(store: Store, **fields: object) -> TurnRecord:
    await store.add_session(session())
    return (await store.begin_turn("s", query(**fields), owner="me")).turn


async def kept(store: Store, user: str = "u") -> int:
    """What is counted for the user, which equals what is there."""
    counted = await store.bytes_of(user)
    if isinstance(store, PostgresStore):
        sql = _BYTES.format(text="convert_to", blob=", 'UTF8'", user="$1")
        there = await store._read(lambda c: c.fetchval(sql, user))
    else:
        sql = _BYTES.format(text="CAST", blob=" AS BLOB", user=":user")
        there = (await store._write(lambda c: c.execute(sql, {"user": user}).fetchone()))[0]
    assert counted == there
    return counted
