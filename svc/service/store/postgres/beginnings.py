"""Begin a turn in PostgreSQL: everything is written in one statement, if the session is as the caller knows it.

Otherwise what the query depends on is read, and the statement sent again, until the session is as it was read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from svc.errors import InvalidRequestError, SessionNotFoundError, TurnInProgressError
from svc.messages import ROOT_ID, Message, Usage, new_id, title_of
from svc.service.store.postgres.appends import Place
from svc.service.store.postgres.statements import TURN_COLUMNS
from svc.service.store.records import (
    FirstBatch,
    SessionRecord,
    StoredMessage,
    TurnEnd,
    TurnRecord,
    TurnStart,
    TurnState,
)
from svc.service.store.rows import session_values
from svc.service.store.turn_rows import add_usage

MAX_TRIES = 100  # each means that another query of the session was stored meanwhile
_ENCODER = msgspec.json.Encoder()

_STATE = """
SELECT s.number, s.last_seq, s.usage, s.running_turn, s.fence,
  (SELECT t.number FROM turns t WHERE t.session_number = s.number AND t.query_id = $2),
  EXISTS (SELECT 1 FROM messages WHERE session_number = s.number AND id = $2),
  EXISTS (SELECT 1 FROM turns WHERE session_number = s.number AND id = $3),
  EXISTS (SELECT 1 FROM messages WHERE session_number = s.number AND id = $4)
FROM sessions s WHERE s.id = $1
"""
_BEGIN = """
WITH turn AS (SELECT nextval('turn_numbers') AS number), moved AS (
  UPDATE sessions s SET
    turns = s.turns + 1, last_seq = $3, bytes = s.bytes + $4, update_time = $5,
    usage = coalesce(nullif($6::text, ''), s.usage),
    title = CASE WHEN s.title = '' THEN $7::text ELSE s.title END,
    running_turn = CASE WHEN $8::text = 'running' THEN (SELECT number FROM turn) ELSE 0 END,
    owner = CASE WHEN $8::text = 'running' THEN $9::text ELSE '' END,
    fence = s.fence + 1
  WHERE {session} AND s.last_seq = $2 AND s.running_turn = 0
  RETURNING s.number, s.fence, s.usage
), begun AS (
  INSERT INTO turns (number, session_number, id, query_id, query_seq, state, attempts, started, ended, key_id)
  SELECT turn.number, moved.number, $10, $11, $2 + 1, $8, CASE WHEN $9::text = '' THEN 0 ELSE 1 END, $12, $13, $18
  FROM moved, turn
), stored AS (
  INSERT INTO messages (session_number, seq, turn_number, message_type, id, body)
  SELECT moved.number, m.seq, turn.number, m.message_type, m.id, m.body
  FROM moved, turn, unnest($14::bigint[], $15::text[], $16::text[], $17::bytea[]) AS m (seq, message_type, id, body)
)
SELECT moved.number, turn.number, moved.fence, moved.usage FROM moved, turn
"""
_BEGIN_READ = _BEGIN.format(session="s.number = $1")
# Whatever stores a query moves ``last_seq``, so what this statement sees of turns and messages is what there is.
_BEGIN_KNOWN = _BEGIN.format(
    session="""s.id = $1
    AND NOT EXISTS (SELECT 1 FROM turns t WHERE t.session_number = s.number AND t.query_id = $11)
    AND NOT EXISTS (SELECT 1 FROM turns t WHERE t.session_number = s.number AND t.id = $10)
    AND NOT EXISTS (SELECT 1 FROM messages m WHERE m.session_number = s.number AND m.id = $11)
    AND ($20::text = '' OR s.usage = $20)
    AND ($19::text = '' OR EXISTS (SELECT 1 FROM messages m WHERE m.session_number = s.number AND m.id = $19))"""
)
FIRST_COLUMN = 13  # the first value of ``_BEGIN_SESSION`` that is a column of the session
_BEGIN_SESSION = """
WITH turn AS (SELECT nextval('turn_numbers') AS number), new AS (
  INSERT INTO sessions ({columns}, turns, title, running_turn, owner, fence)
  SELECT {marks}, 1, $1::text, CASE WHEN $2::text = 'running' THEN turn.number ELSE 0 END,
    CASE WHEN $2::text = 'running' THEN $3::text ELSE '' END, 1 FROM turn
  ON CONFLICT (id) DO NOTHING RETURNING number
), begun AS (
  INSERT INTO turns (number, session_number, id, query_id, query_seq, state, attempts, started, ended, key_id)
  SELECT turn.number, new.number, $4, $5, 1, $2, CASE WHEN $3::text = '' THEN 0 ELSE 1 END, $6, $7, $12 FROM new, turn
), stored AS (
  INSERT INTO messages (session_number, seq, turn_number, message_type, id, body)
  SELECT new.number, m.seq, turn.number, m.message_type, m.id, m.body
  FROM new, turn, unnest($8::bigint[], $9::text[], $10::text[], $11::bytea[]) AS m (seq, message_type, id, body)
)
SELECT new.number, turn.number FROM new, turn
"""


class Beginning(msgspec.Struct, frozen=True, kw_only=True):
    """A turn that began, and where its next message goes; None if it began before."""

    start: TurnStart
    place: Place | None = None


class _Session(msgspec.Struct, frozen=True, kw_only=True):
    """A session as its next turn's beginning expects it; without ``usage``, what is stored stays.

    ``sql`` finds it by ``place``, its number or its id.
    """

    sql: str
    place: int | str
    id: str
    last_seq: int
    usage: str = ""


def turn_of(row: Sequence[Any]) -> TurnRecord:
    """Convert a row of ``TURN_COLUMNS``."""
    return TurnRecord(
        session_id=row[0],
        id=row[1],
        number=row[2],
        query_id=row[3],
        query_seq=row[4],
        state=TurnState(row[5]),
        fence=row[6],
        attempts=row[7],
        key_id=row[8],
    )


async def begin(
    connection: Any,  # noqa: ANN401  # asyncpg has no types
    session_id: str,
    query: Message,
    owner: str,
    first_batch: FirstBatch | None = None,
    key_id: str = "",
) -> Beginning:
    """Store the query with its first batch and begin its turn, or return the turn that the query id began before."""
    if first_batch is not None and query.turn and (first_batch.turn_end is None or first_batch.usage is not None):
        parent = "" if query.parent_id == ROOT_ID else query.parent_id
        usage = "" if first_batch.usage is None else _ENCODER.encode(first_batch.usage).decode()
        known = _Session(sql=_BEGIN_KNOWN, place=session_id, id=session_id, last_seq=first_batch.after_seq, usage=usage)
        begun = await _write(connection, known, query, (owner, key_id), first_batch, parent, usage)
        if begun is not None:
            return begun
    for _ in range(MAX_TRIES):
        row = await connection.fetchrow(_STATE, session_id, query.id, query.turn, query.parent_id)
        if row is None:
            raise SessionNotFoundError(f"no such session: {session_id}; register a new one")
        known, running = row[5], row[3]
        if known is not None or running:
            return Beginning(start=TurnStart(turn=await _known_turn(connection, known, running)))
        if row[6]:
            raise InvalidRequestError(
                f"another message of the session has the id {query.id}; choose a new id", param="id"
            )
        if row[7] or not query.turn:
            query.turn = new_id()
        if not row[8]:
            query.parent_id = ROOT_ID
        number, last_seq, usage, *_ = row
        read = _Session(sql=_BEGIN_READ, place=number, id=session_id, last_seq=last_seq, usage=usage)
        if (begun := await _write(connection, read, query, (owner, key_id), first_batch)) is not None:
            return begun
    raise TurnInProgressError("another query of this session is being stored; wait until its turn ends")


async def _known_turn(connection: Any, known: int | None, running: int) -> TurnRecord:  # noqa: ANN401  # asyncpg has no types
    """The turn that the query's id began before; raises TurnInProgressError if another one is running."""
    row = await connection.fetchrow(f"SELECT {TURN_COLUMNS} WHERE t.number = $1", known or running)
    if row is None:
        raise SessionNotFoundError("the session was deleted")
    turn = turn_of(row)
    if known is None:
        raise TurnInProgressError(f"turn {turn.id} of this session is still running; wait until it ends, or cancel it")
    return turn


async def _write(
    connection: Any,  # noqa: ANN401  # asyncpg has no types
    session: _Session,
    query: Message,
    holder: tuple[str, str],
    first_batch: FirstBatch | None,
    *more: object,
) -> Beginning | None:
    """Store the turn's beginning; None if the session is not as it was known. ``holder``: its owner and key."""
    owner, key_id = holder
    is_stored, everything, turn_end = _first_messages(query, session.last_seq, first_batch)
    stored = _encoded(everything, session.last_seq)
    state, usage, update_time, ended = _ending(query, session.usage, turn_end)
    row = await connection.fetchrow(
        session.sql,
        session.place, session.last_seq, stored[-1].seq, sum(len(one.body) for one in stored), update_time, usage,
        title_of(query.content), state.value, owner, query.turn, query.id, float(query.created_at), float(ended),
        *_message_columns(stored, everything), key_id, *more,
    )  # fmt: skip
    if row is None:
        return None
    number, turn_number, fence, usage = row
    turn = TurnRecord(
        session_id=session.id,
        id=query.turn,
        number=turn_number,
        query_id=query.id,
        query_seq=session.last_seq + 1,
        state=state,
        fence=fence,
        attempts=int(bool(owner)),
        key_id=key_id,
    )
    start = TurnStart(turn=turn, stored=tuple(stored), is_first_batch_stored=is_stored)
    return Beginning(start=start, place=None if turn_end else Place(number, stored[-1].seq, usage))


async def begin_session(
    connection: Any,  # noqa: ANN401  # asyncpg has no types
    session: SessionRecord,
    query: Message,
    owner: str,
    first_batch: FirstBatch | None = None,
    key_id: str = "",
) -> Beginning | None:
    """Store a new session with its first query, and begin its turn; None if the session's id is known."""
    query.turn, query.parent_id = query.turn or new_id(), ROOT_ID
    is_stored, everything, turn_end = _first_messages(query, 0, first_batch)
    stored = _encoded(everything, 0)
    values = session_values(session)
    state, usage, update_time, ended = _ending(query, str(values["usage"]), turn_end)
    size = int(values["bytes"]) + sum(len(one.body) for one in stored)
    values |= {"usage": usage, "update_time": update_time, "bytes": size, "last_seq": stored[-1].seq}
    columns = ", ".join(values)
    marks = ", ".join(f"${number}" for number in range(FIRST_COLUMN, FIRST_COLUMN + len(values)))
    row = await connection.fetchrow(
        _BEGIN_SESSION.format(columns=columns, marks=marks),
        title_of(query.content), state.value, owner, query.turn, query.id, float(query.created_at), float(ended),
        *_message_columns(stored, everything), key_id, *values.values(),
    )  # fmt: skip
    if row is None:
        return None
    session_number, turn_number = row
    turn = TurnRecord(
        session_id=session.id, id=query.turn, number=turn_number, query_id=query.id, query_seq=1, state=state, fence=1,
        attempts=int(bool(owner)), key_id=key_id,
    )  # fmt: skip
    start = TurnStart(turn=turn, stored=tuple(stored), is_first_batch_stored=is_stored, is_session_new=True)
    return Beginning(start=start, place=None if turn_end else Place(session_number, stored[-1].seq, usage))


def _first_messages(
    query: Message, last_seq: int, first_batch: FirstBatch | None
) -> tuple[bool, list[Message], TurnEnd | None]:
    """Whether the first batch is stored with the query, what is stored, and the turn's end if it is known."""
    if first_batch is None or first_batch.after_seq != last_seq:
        return False, [query], None
    return True, [query, *first_batch.messages], first_batch.turn_end


def _encoded(messages: Sequence[Message], last_seq: int) -> list[StoredMessage]:
    """Give the messages of a query's turn their places; the query is the first."""
    stored = []
    for seq, message in enumerate(messages, last_seq + 1):
        message.seq, message.turn = seq, messages[0].turn
        stored.append(StoredMessage(seq, _ENCODER.encode(message)))
    return stored


def _message_columns(stored: Sequence[StoredMessage], messages: Sequence[Message]) -> tuple[list[object], ...]:
    return (
        [one.seq for one in stored],
        [one.message_type.value for one in messages],
        [one.id for one in messages],
        [one.body for one in stored],
    )


def _ending(query: Message, usage: str, turn_end: TurnEnd | None) -> tuple[TurnState, str, int, float]:
    """State, usage, update time and end of a new turn, whose end may be known already."""
    if turn_end is None:
        return TurnState.RUNNING, usage, int(query.timestamp), 0.0
    return turn_end.state, add_usage(usage, turn_end.usage), int(turn_end.time), turn_end.time


async def store_exchange(
    connection: Any,  # noqa: ANN401  # asyncpg has no types
    session_id: str,
    query: Message,
    answers: Sequence[Message],
    *,
    time: float,
) -> None:
    """Store a turn that was answered elsewhere."""
    turn_end = TurnEnd(state=TurnState.ANSWERED, time=time, usage=Usage())
    last_seq = await connection.fetchval("SELECT last_seq FROM sessions WHERE id = $1", session_id)
    await begin(connection, session_id, query, "", FirstBatch(after_seq=last_seq, messages=answers, turn_end=turn_end))
