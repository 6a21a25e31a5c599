"""Convert rows of the stores to records and back."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import msgspec

from svc.local_tools import LocalTool
from svc.messages import Message, ModelInfo, Usage
from svc.service.store.records import FileRecord, HistoryRow, KeyRecord, SessionRecord, TurnRecord, TurnState

MESSAGE_DECODER = msgspec.json.Decoder(Message)
HISTORY_DECODER = msgspec.json.Decoder(HistoryRow)
KEY_DECODER = msgspec.json.Decoder(KeyRecord)
FILE_DECODER = msgspec.json.Decoder(FileRecord)
CONSENTS_DECODER = msgspec.json.Decoder(set[str])
USAGE_DECODER = msgspec.json.Decoder(Usage)
_MODEL_DECODER = msgspec.json.Decoder(ModelInfo)
_LOCAL_TOOLS_DECODER = msgspec.json.Decoder(tuple[LocalTool, ...])
NO_LOCAL_TOOLS = "[]"

TURN_COLUMNS = (
    "s.id, t.id, t.number, t.query_id, t.query_seq, t.state, t.fence, t.attempts, t.key_id"
    " FROM turns t JOIN sessions s ON s.number = t.session_number"
)
Row = tuple[str, str, int, str, int, str, int, int, str]
SESSION_VALUES = (
    "user_id, org_id, model, ttl, language, name, description, create_time, update_time, expire_time, can_log,"
    " last_seq, turns, usage, number, instructions"
)
_SESSION_COLUMNS = ", ".join((
    SESSION_VALUES,
    "EXISTS (SELECT 1 FROM turns t WHERE t.session_number = sessions.number AND t.state = 'running')",
    "EXISTS (SELECT 1 FROM files f WHERE f.session_number = sessions.number)",
    "local_tools, title, registered_tools, agents_config",
))  # fmt: skip


def session_number(connection: sqlite3.Connection, session_id: str) -> int | None:
    """The session's row number in this database, or None."""
    row = connection.execute("SELECT number FROM sessions WHERE id = ?", [session_id]).fetchone()
    return None if row is None else int(row[0])


def session_row(connection: sqlite3.Connection, session_id: str, query_id: str = "") -> SessionRecord | None:
    """The session with its files, and whether it has this query, or None."""
    sql = f"SELECT {_SESSION_COLUMNS} FROM sessions WHERE id = ?"  # noqa: S608
    row = connection.execute(sql, [session_id]).fetchone()
    if row is None:
        return None
    files: list[tuple[str]] = []
    if row[17]:
        files = connection.execute(
            "SELECT record FROM files WHERE session_number = ? ORDER BY number", [row[14]]
        ).fetchall()
    sql = "SELECT 1 FROM turns WHERE session_number = ? AND query_id = ?"
    has_turns = query_id and row[12]
    has_query = has_turns and connection.execute(sql, [row[14], query_id]).fetchone() is not None
    return session_record(session_id, row, [file[0] for file in files], has_query=bool(has_query))


def session_record(
    session_id: str, row: Sequence[Any], files: Sequence[str], *, has_query: bool = False
) -> SessionRecord:
    """The session of a row with its columns in this order, and the records of its files."""
    return SessionRecord(
        id=session_id,
        user_id=row[0],
        org_id=row[1],
        model=_model(row[2]),
        ttl=row[3],
        language=row[4],
        name=row[5],
        description=row[6],
        title=row[19],
        create_time=row[7],
        update_time=row[8],
        expire_time=row[9],
        can_log=bool(row[10]),
        instructions=row[15],
        last_seq=max(row[11], 0),
        turns=row[12],
        usage=USAGE_DECODER.decode(row[13]),
        is_running=bool(row[16]),
        files=tuple(FILE_DECODER.decode(file) for file in files),
        local_tools=_local_tools(row[18]),
        registered_tools=_local_tools(row[20]),
        agents_config=row[21],
        number=row[14],
        has_query=has_query,
    )


def _local_tools(text: str) -> tuple[LocalTool, ...]:
    return () if text == NO_LOCAL_TOOLS else _LOCAL_TOOLS_DECODER.decode(text)


@lru_cache(maxsize=32)
def _model(text: str) -> ModelInfo:
    """The model; one object for all sessions that have it, because it is the largest part of a session."""
    return _MODEL_DECODER.decode(text)


def session_values(session: SessionRecord) -> dict[str, str | int | float]:
    """The columns of a new session."""
    tools = msgspec.json.encode(session.registered_tools).decode()
    texts = (session.instructions, session.agents_config, tools if session.registered_tools else "")
    return {
        "id": session.id,
        "user_id": session.user_id,
        "org_id": session.org_id,
        "model": msgspec.json.encode(session.model).decode(),
        "ttl": session.ttl,
        "language": session.language,
        "name": session.name,
        "description": session.description,
        "create_time": session.create_time,
        "update_time": session.update_time,
        "expire_time": session.expire_time,
        "can_log": int(session.can_log),
        "instructions": session.instructions,
        "usage": msgspec.json.encode(session.usage).decode(),
        "registered_tools": tools,
        "agents_config": session.agents_config,
        "bytes": sum(len(text.encode()) for text in texts),
    }


def turn_row(row: Row) -> TurnRecord:
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
