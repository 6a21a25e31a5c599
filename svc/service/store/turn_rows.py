"""The append path in SQL: begin a turn, append under its lease, take over turns. Callers provide the transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

import msgspec

from svc.errors import InvalidRequestError, SessionNotFoundError, TurnInProgressError
from svc.messages import ROOT_ID, Message, Usage, new_id, title_of
from svc.service.store.records import (
    FirstBatch,
    LeaseLostError,
    StoredMessage,
    TurnEnd,
    TurnRecord,
    TurnStart,
    TurnState,
)
from svc.service.store.rows import TURN_COLUMNS, USAGE_DECODER, session_number, turn_row

_ENCODER = msgspec.json.Encoder()
# Each statement releases and re-acquires the GIL, so inserting many rows per statement costs a fraction.
_INSERT_SIZES = (64, 16, 4, 2, 1)
_COLUMNS = "session_number, seq, turn_number, message_type, id, body"
_WIDTH = 6
_LARGEST = 2**63 - 1  # of SQLite's integers
_INSERTS = {
    size: f"INSERT INTO messages ({_COLUMNS}) VALUES " + ", ".join(["(?, ?, ?, ?, ?, ?)"] * size)  # noqa: S608
    for size in _INSERT_SIZES
}

# Everything that storing a query depends on, in one statement: the session, and which of the query's ids exist.
_QUERY_STATE = """
SELECT number, last_seq, usage,
  EXISTS (SELECT 1 FROM turns WHERE session_number = s.number AND query_id = ?)
    OR EXISTS (SELECT 1 FROM turns WHERE session_number = s.number AND state = 'running'),
  EXISTS (SELECT 1 FROM messages WHERE session_number = s.number AND id = ?),
  EXISTS (SELECT 1 FROM turns WHERE session_number = s.number AND id = ?),
  EXISTS (SELECT 1 FROM messages WHERE session_number = s.number AND id = ?)
FROM sessions s WHERE id = ?
"""


def begin(
    connection: sqlite3.Connection,
    session_id: str,
    query: Message,
    owner: str,
    first_batch: FirstBatch | None = None,
    key_id: str = "",
) -> TurnStart:
    """Store the query with its first batch and begin its turn, or return the turn that the query id began before."""
    row = connection.execute(_QUERY_STATE, [query.id, query.id, query.turn, query.parent_id, session_id]).fetchone()
    if row is None:
        raise SessionNotFoundError(f"no such session: {session_id}; register a new one")
    number, last_seq, usage, has_turn, is_taken, has_turn_id, has_parent = row
    if has_turn and (known := _known_turn(connection, number, query)) is not None:
        return TurnStart(turn=known)
    if is_taken:
        raise InvalidRequestError(f"another message of the session has the id {query.id}; choose a new id", param="id")
    if has_turn_id or not query.turn:
        query.turn = new_id()
    if not has_parent:
        query.parent_id = ROOT_ID
    is_first_batch_stored = first_batch is not None and first_batch.after_seq == last_seq
    messages, turn_end = (
        (first_batch.messages, first_batch.turn_end)
        if first_batch is not None and is_first_batch_stored
        else ((), None)
    )
    turn = _insert_turn(connection, (number, session_id), query, owner, last_seq + 1, turn_end, key_id)
    stored = _insert_messages(connection, number, turn, [query, *messages], last_seq + 1)
    connection.execute(
        "UPDATE sessions SET turns = turns + 1, last_seq = ?, bytes = bytes + ?, update_time = ?, usage = ?,"
        " title = CASE WHEN title = '' THEN ? ELSE title END"
        " WHERE number = ?",
        [
            stored[-1].seq,
            _size(stored),
            query.timestamp if turn_end is None else int(turn_end.time),
            usage if turn_end is None else add_usage(usage, turn_end.usage),
            title_of(query.content),
            number,
        ],
    )
    return TurnStart(turn=turn, stored=tuple(stored), is_first_batch_stored=is_first_batch_stored)


def _known_turn(connection: sqlite3.Connection, number: int, query: Message) -> TurnRecord | None:
    """The turn that the query's id began before; raises TurnInProgressError if another one is running."""
    sql = f"SELECT {TURN_COLUMNS} WHERE t.session_number = ? AND (t.query_id = ? OR t.state = 'running')"
    found = [turn_row(row) for row in connection.execute(sql, [number, query.id]).fetchall()]
    for turn in found:
        if turn.query_id == query.id:
            return turn
    if found:
        raise TurnInProgressError(
            f"turn {found[0].id} of this session is still running; wait until it ends, or cancel it"
        )
    return None


def _insert_turn(
    connection: sqlite3.Connection,
    session: tuple[int, str],
    query: Message,
    owner: str,
    seq: int,
    turn_end: TurnEnd | None,
    key_id: str,
) -> TurnRecord:
    """Insert the new turn, already ended if its end is known."""
    state, ended = (TurnState.RUNNING, 0.0) if turn_end is None else (turn_end.state, turn_end.time)
    inserted = connection.execute(
        "INSERT INTO turns (session_number, id, query_id, query_seq, state, owner, fence, attempts, started, ended,"
        " key_id) VALUES (?, ?, ?, ?, ?, ?, 1, ?, ?, ?, ?)",
        [
            session[0],
            query.turn,
            query.id,
            seq,
            state.value,
            "" if turn_end else owner,
            int(bool(owner)),
            query.created_at,
            ended,
            key_id,
        ],
    )
    return TurnRecord(
        session_id=session[1],
        id=query.turn,
        number=inserted.lastrowid or 0,
        query_id=query.id,
        query_seq=seq,
        state=state,
        fence=1,
        attempts=int(bool(owner)),
        key_id=key_id,
    )


def append(
    connection: sqlite3.Connection, turn: TurnRecord, messages: Sequence[Message], turn_end: TurnEnd | None
) -> list[StoredMessage]:
    """Store messages of a turn whose lease is held; with ``turn_end`` the turn ends in the same transaction."""
    # The fence is checked in the same transaction as the insert, so a process that has lost its lease, for example
    # while it was suspended, cannot add a message.
    row = connection.execute(
        "SELECT session_number FROM turns WHERE number = ? AND id = ? AND fence = ? AND state = 'running'",
        [turn.number, turn.id, turn.fence],
    ).fetchone()
    if row is None:
        raise LeaseLostError(f"another process holds turn {turn.id}, or it has ended")
    sql = "UPDATE sessions SET last_seq = last_seq + ? WHERE number = ? RETURNING last_seq"
    last_seq = connection.execute(sql, [len(messages), row[0]]).fetchone()[0]
    stored = _insert_messages(connection, row[0], turn, messages, last_seq - len(messages) + 1)
    connection.execute("UPDATE sessions SET bytes = bytes + ? WHERE number = ?", [_size(stored), row[0]])
    if turn_end is not None:
        _end_turn(connection, row[0], turn, turn_end)
    return stored


def claim_orphans(connection: sqlite3.Connection, owner: str) -> list[TurnRecord]:
    """Take over every running turn of other owners."""
    # The new fence invalidates the previous owner's lease, even if that process is still alive.
    connection.execute(
        "UPDATE turns SET owner = ?, fence = fence + 1, attempts = attempts + 1 WHERE state = 'running' AND owner <> ?",
        [owner, owner],
    )
    rows = connection.execute(
        f"SELECT {TURN_COLUMNS} WHERE t.state = 'running' AND t.owner = ? ORDER BY t.number",
        [owner],
    )
    return [turn_row(row) for row in rows.fetchall()]


def claim(connection: sqlite3.Connection, turn: TurnRecord, owner: str) -> TurnRecord | None:
    """Take a turn without an owner, unless it was ended or taken since it was read."""
    connection.execute(
        "UPDATE turns SET owner = ?, fence = fence + 1, attempts = attempts + 1"
        " WHERE number = ? AND id = ? AND fence = ? AND owner = '' AND state = 'running'",
        [owner, turn.number, turn.id, turn.fence],
    )
    row = connection.execute(
        f"SELECT {TURN_COLUMNS} WHERE t.number = ? AND t.owner = ? AND t.fence = ?",
        [turn.number, owner, turn.fence + 1],
    ).fetchone()
    return None if row is None else turn_row(row)


def messages_after(
    connection: sqlite3.Connection, session_id: str, seq: int, limit_bytes: int | None, last_seq: int | None
) -> list[StoredMessage]:
    """Return messages with a greater seq up to ``last_seq``, in order: all, or the first that reach a limit."""
    rows = connection.execute(
        "SELECT seq, body FROM messages WHERE session_number = ? AND seq > ? AND seq <= ? ORDER BY seq",
        [session_number(connection, session_id), seq, _LARGEST if last_seq is None else last_seq],
    )
    found: list[StoredMessage] = []
    size = 0
    for number, body in rows:
        found.append(StoredMessage(number, body))
        size += len(body)
        if limit_bytes is not None and size >= limit_bytes:
            break
    rows.close()
    return found


def exchange_bodies(connection: sqlite3.Connection, session_id: str, limit_bytes: int) -> list[bytes]:
    """Queries, sources and results of answered turns, in order: the newest turns whose sum is within the limit."""
    rows = connection.execute(
        "SELECT m.body, m.turn_number FROM messages m JOIN turns t ON t.number = m.turn_number"
        " WHERE m.session_number = ? AND t.state = 'answered' AND m.message_type IN ('query', 'source', 'result')"
        " ORDER BY m.seq DESC",
        [session_number(connection, session_id)],
    )
    chosen: list[bytes] = []
    turn_bodies: list[bytes] = []
    left = limit_bytes
    current: int | None = None
    for body, turn_number in rows:
        if turn_number != current:
            chosen, turn_bodies, current = chosen + turn_bodies, [], turn_number
        left -= len(body)
        if left < 0:
            return chosen[::-1]
        turn_bodies.append(body)
    return (chosen + turn_bodies)[::-1]


def _insert_messages(
    connection: sqlite3.Connection, number: int, turn: TurnRecord, messages: Sequence[Message], first_seq: int
) -> list[StoredMessage]:
    stored = []
    values: list[int | str | bytes] = []  # row after row
    for seq, message in enumerate(messages, start=first_seq):
        message.seq, message.turn = seq, turn.id
        body = _ENCODER.encode(message)
        values += (number, seq, turn.number, message.message_type.value, message.id, body)
        stored.append(StoredMessage(seq, body))
    done = 0
    for size in _INSERT_SIZES:
        while len(values) - done >= size * _WIDTH:
            connection.execute(_INSERTS[size], values[done : done + size * _WIDTH])
            done += size * _WIDTH
    return stored


def _size(stored: Sequence[StoredMessage]) -> int:
    return sum(len(message.body) for message in stored)


def _end_turn(connection: sqlite3.Connection, number: int, turn: TurnRecord, turn_end: TurnEnd) -> None:
    connection.execute(
        "UPDATE turns SET state = ?, ended = ?, owner = '' WHERE number = ?",
        [TurnState(turn_end.state).value, turn_end.time, turn.number],
    )
    usage = connection.execute("SELECT usage FROM sessions WHERE number = ?", [number]).fetchone()[0]
    connection.execute(
        "UPDATE sessions SET usage = ?, update_time = ? WHERE number = ?",
        [add_usage(usage, turn_end.usage), int(turn_end.time), number],
    )


def add_usage(usage: str, more: Usage) -> str:
    """The sum of a session's usage, as JSON, and a turn's."""
    return _ENCODER.encode(USAGE_DECODER.decode(usage) + more).decode()
