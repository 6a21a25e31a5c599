"""The append path in SQL: a turn is begun, appended to under its lease, taken over; each inside a transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

import msgspec

from svc.errors import InvalidRequestError, SessionNotFoundError, TurnInProgressError
from svc.messages import ROOT_ID, Message, new_id
from svc.service.store import Begun, Ending, LeaseLostError, Opening, Stored, TurnRecord, TurnState
from svc.service.store.rows import TURN_COLUMNS, USAGE_DECODER, session_number, turn_row

_ENCODER = msgspec.json.Encoder()
# Each statement gives the interpreter's lock away and has to get it back: many rows in one cost a fraction.
_ROWS_AT_ONCE = (64, 16, 4, 1)
_COLUMNS = "session_number, seq, turn_number, message_type, id, body"
_WIDTH = 6
_INSERTS = {
    size: f"INSERT INTO messages ({_COLUMNS}) VALUES " + ", ".join(["(?, ?, ?, ?, ?, ?)"] * size)  # noqa: S608
    for size in _ROWS_AT_ONCE
}


def begin(
    connection: sqlite3.Connection, session_id: str, query: Message, owner: str, opening: Opening | None = None
) -> Begun:
    """Store the query, its opening with it, and take its turn, or return the turn that this query id made before."""
    row = connection.execute("SELECT number, last_seq FROM sessions WHERE id = ?", [session_id]).fetchone()
    if row is None:
        raise SessionNotFoundError(f"there is no session {session_id}; register a new one")
    number, last_seq = row
    if (known := _turn_in_the_way(connection, number, query)) is not None:
        return Begun(turn=known)
    if _has_message(connection, number, query.id):
        raise InvalidRequestError(f"another message of the session has the id {query.id}; take a new one", param="id")
    _make_fit(connection, number, query)
    inserted = connection.execute(
        "INSERT INTO turns (session_number, id, query_id, query_seq, state, owner, fence, attempts, started)"
        " VALUES (?, ?, ?, ?, 'running', ?, 1, 1, ?)",
        [number, query.turn, query.id, last_seq + 1, owner, query.created_at],
    )
    connection.execute(
        "UPDATE sessions SET turns = turns + 1, update_time = ? WHERE number = ?", [query.timestamp, number]
    )
    turn = TurnRecord(
        session_id=session_id,
        id=query.turn,
        number=inserted.lastrowid or 0,
        query_id=query.id,
        query_seq=last_seq + 1,
        state=TurnState.RUNNING,
        fence=1,
        attempts=1,
    )
    if opening is None or opening.after_seq != last_seq:
        return Begun(turn=turn, stored=tuple(_insert(connection, number, turn, [query])))
    stored = _insert(connection, number, turn, [query, *opening.messages])
    if opening.ending is not None:
        _end(connection, number, turn, opening.ending)
        turn = msgspec.structs.replace(turn, state=opening.ending.state)
    return Begun(turn=turn, stored=tuple(stored), has_opening=True)


def _turn_in_the_way(connection: sqlite3.Connection, number: int, query: Message) -> TurnRecord | None:
    """The turn that the query's id made before; raises TurnInProgressError where another one runs."""
    running = None
    sql = f"SELECT {TURN_COLUMNS} WHERE t.session_number = ? AND (t.query_id = ? OR t.state = 'running')"
    for row in connection.execute(sql, [number, query.id]).fetchall():
        turn = turn_row(row)
        if turn.query_id == query.id:
            return turn
        running = turn
    if running is not None:
        raise TurnInProgressError(
            f"turn {running.id} of this session is still running; wait for its end, or cancel it first"
        )
    return None


def append(
    connection: sqlite3.Connection, turn: TurnRecord, messages: Sequence[Message], ending: Ending | None
) -> list[Stored]:
    """Store messages of a turn whose lease is held; with ``ending`` the turn ends in the same transaction."""
    row = connection.execute(
        "SELECT session_number FROM turns WHERE number = ? AND id = ? AND fence = ? AND state = 'running'",
        [turn.number, turn.id, turn.fence],
    ).fetchone()
    if row is None:
        raise LeaseLostError(f"turn {turn.id} is no longer run here")
    stored = _insert(connection, row[0], turn, messages)
    if ending is not None:
        _end(connection, row[0], turn, ending)
    return stored


def take_orphans(connection: sqlite3.Connection, owner: str) -> list[TurnRecord]:
    """Take over every running turn of other owners."""
    connection.execute(
        "UPDATE turns SET owner = ?, fence = fence + 1, attempts = attempts + 1 WHERE state = 'running' AND owner <> ?",
        [owner, owner],
    )
    rows = connection.execute(
        f"SELECT {TURN_COLUMNS} WHERE t.state = 'running' AND t.owner = ? ORDER BY t.number",
        [owner],
    )
    return [turn_row(row) for row in rows.fetchall()]


def messages_after(connection: sqlite3.Connection, session_id: str, seq: int, limit_bytes: int | None) -> list[Stored]:
    """Messages with a greater seq, in order; all, or the first that reach the limit, at least one."""
    rows = connection.execute(
        "SELECT seq, body FROM messages WHERE session_number = ? AND seq > ? ORDER BY seq",
        [session_number(connection, session_id), seq],
    )
    found: list[Stored] = []
    size = 0
    for number, body in rows:
        found.append(Stored(number, body))
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


def _has_message(connection: sqlite3.Connection, number: int, message_id: str) -> bool:
    sql = "SELECT 1 FROM messages WHERE session_number = ? AND id = ? LIMIT 1"
    return connection.execute(sql, [number, message_id]).fetchone() is not None


def _make_fit(connection: sqlite3.Connection, number: int, query: Message) -> None:
    """Give the query a turn that the session has not, and a parent that it has."""
    sql = "SELECT 1 FROM turns WHERE session_number = ? AND id = ?"
    if not query.turn or connection.execute(sql, [number, query.turn]).fetchone() is not None:
        query.turn = new_id()
    if query.parent_id != ROOT_ID and not _has_message(connection, number, query.parent_id):
        query.parent_id = ROOT_ID


def _insert(connection: sqlite3.Connection, number: int, turn: TurnRecord, messages: Sequence[Message]) -> list[Stored]:
    sql = "UPDATE sessions SET last_seq = last_seq + ? WHERE number = ? RETURNING last_seq"
    last = connection.execute(sql, [len(messages), number]).fetchone()[0]
    stored = []
    values: list[int | str | bytes] = []  # of one row after the other
    for seq, message in enumerate(messages, start=last - len(messages) + 1):
        message.seq, message.turn = seq, turn.id
        body = _ENCODER.encode(message)
        values += (number, seq, turn.number, message.message_type.value, message.id, body)
        stored.append(Stored(seq, body))
    done = 0
    for size in _ROWS_AT_ONCE:
        while len(values) - done >= size * _WIDTH:
            connection.execute(_INSERTS[size], values[done : done + size * _WIDTH])
            done += size * _WIDTH
    return stored


def _end(connection: sqlite3.Connection, number: int, turn: TurnRecord, ending: Ending) -> None:
    connection.execute(
        "UPDATE turns SET state = ?, ended = ?, owner = '' WHERE number = ?",
        [TurnState(ending.state).value, ending.time, turn.number],
    )
    usage = USAGE_DECODER.decode(
        connection.execute("SELECT usage FROM sessions WHERE number = ?", [number]).fetchone()[0]
    )
    connection.execute(
        "UPDATE sessions SET usage = ?, update_time = ? WHERE number = ?",
        [_ENCODER.encode(usage + ending.usage).decode(), int(ending.time), number],
    )
