"""Records of attached files in the SQLite store: rows of the same id share the bytes on the disk."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Sequence

import msgspec

from svc.errors import SessionNotFoundError
from svc.service.store.records import FileRecord, NoRoomError
from svc.service.store.rows import FILE_DECODER


def add(
    connection: sqlite3.Connection, session_id: str, file: FileRecord, *, limit: int, room: int, may_share: bool
) -> FileRecord | None:
    """Store the record of a file, as ``Store.add_file`` says; returns it as it is stored."""
    row = connection.execute("SELECT number, user_id FROM sessions WHERE id = ?", [session_id]).fetchone()
    if row is None:
        raise SessionNotFoundError(f"no such session: {session_id} (it was deleted)")
    number, user_id = row
    same = [
        known
        for known in _records(connection, "session_number = ? AND sha256 = ?", [number, file.sha256])
        if (known.name, known.label) == (file.name, file.label)
    ]
    if same:
        return same[0]
    count = connection.execute("SELECT count(*) FROM files WHERE session_number = ?", [number]).fetchone()[0]
    if count >= limit:
        return None
    same_content = "user_id = ? AND sha256 = ? AND size = ?"
    shared = _records(connection, same_content, [user_id, file.sha256, file.size]) if may_share else []
    if shared:
        file = msgspec.structs.replace(file, id=shared[0].id)
    elif room and (kept := bytes_of(connection, user_id)) + file.size > room:
        raise NoRoomError(kept)
    connection.execute(
        "INSERT INTO files (session_number, user_id, id, sha256, size, record) VALUES (?, ?, ?, ?, ?, ?)",
        [number, user_id, file.id, file.sha256, file.size, msgspec.json.encode(file).decode()],
    )
    return file


def bytes_of(connection: sqlite3.Connection, user_id: str) -> int:
    """What the user's sessions keep."""
    row = connection.execute("SELECT bytes FROM users WHERE id = ?", [user_id]).fetchone()
    return int(row[0]) if row else 0


def remove(connection: sqlite3.Connection, session_id: str, file: FileRecord) -> int:
    """Delete one record: a session may have the same content under several names."""
    sql = """
        DELETE FROM files WHERE number = (
          SELECT min(f.number) FROM files f JOIN sessions s ON s.number = f.session_number
          WHERE s.id = ? AND f.id = ? AND json_extract(f.record, '$.name') = ? AND json_extract(f.record, '$.label') = ?
        )
    """
    return connection.execute(sql, [session_id, file.id, file.name, file.label]).rowcount


def ids_of(connection: sqlite3.Connection, condition: str, value: float) -> list[str]:
    """The ids of the files of the sessions that meet an SQL condition."""
    numbers = f"(SELECT number FROM sessions WHERE {condition})"  # noqa: S608
    rows = connection.execute(f"SELECT DISTINCT id FROM files WHERE session_number IN {numbers}", [value])  # noqa: S608
    return [row[0] for row in rows]


def duplicates(connection: sqlite3.Connection) -> list[Sequence[FileRecord]]:
    """Files of one user that have the same content, but not the same id, one record of each id."""
    rows = connection.execute("""
        SELECT user_id, sha256, size, record FROM files WHERE (user_id, sha256, size) IN (
          SELECT user_id, sha256, size FROM files GROUP BY user_id, sha256, size HAVING count(DISTINCT id) > 1
        ) GROUP BY user_id, id ORDER BY number
    """)
    groups: defaultdict[tuple[str, str, int], list[FileRecord]] = defaultdict(list)
    for user_id, sha256, size, record in rows:
        groups[user_id, sha256, size].append(FILE_DECODER.decode(record))
    return [*groups.values()]


def _records(connection: sqlite3.Connection, condition: str, values: list[str | int]) -> list[FileRecord]:
    rows = connection.execute(f"SELECT record FROM files WHERE {condition} ORDER BY number", values)  # noqa: S608
    return [FILE_DECODER.decode(row[0]) for row in rows]
