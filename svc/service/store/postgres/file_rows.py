"""Records of attached files in PostgreSQL: rows of the same id share the bytes on the disk.

Whether a content has another row is asked and changed under one lock for all files: two transactions that each remove
one of the last two rows would otherwise both see the other's.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import msgspec

from svc.errors import SessionNotFoundError
from svc.service.store.postgres.statements import BYTES
from svc.service.store.records import FileRecord, NoRoomError
from svc.service.store.rows import FILE_DECODER

_LOCK = "SELECT pg_advisory_xact_lock(hashtext('svc files'), hashtext(current_schema()))"
_NOT_SHARED = """
INSERT INTO file_journal (id, state)
SELECT DISTINCT id, 'removing' FROM unnest($1::text[]) AS gone (id)
WHERE NOT EXISTS (SELECT 1 FROM files WHERE files.id = gone.id)
ON CONFLICT (id) DO UPDATE SET state = 'removing'
"""
CLAIM_SWEEP = """
INSERT INTO meta (name, value) VALUES ('sweep', convert_to(extract(epoch FROM clock_timestamp())::text, 'UTF8'))
ON CONFLICT (name) DO UPDATE SET value = excluded.value
WHERE convert_from(meta.value, 'UTF8')::float8 <= extract(epoch FROM clock_timestamp()) - $1::float8 RETURNING 1
"""
_DUPLICATES = """
SELECT DISTINCT ON (user_id, id) user_id, sha256, size, record, number FROM files f
WHERE EXISTS (
  SELECT 1 FROM files o WHERE o.user_id = f.user_id AND o.sha256 = f.sha256 AND o.size = f.size AND o.id <> f.id
) ORDER BY user_id, id, number
"""


async def lock(connection: Any) -> None:  # noqa: ANN401  # asyncpg has no types
    """Wait until nobody else changes rows of files; until the end of the transaction."""
    await connection.execute(_LOCK)


async def add(
    connection: Any,  # noqa: ANN401  # the same
    session_id: str,
    file: FileRecord,
    *,
    limit: int,
    room: int,
) -> FileRecord | None:
    """Store the record of a file, as ``Store.add_file`` says; returns it as it is stored."""
    await lock(connection)
    row = await connection.fetchrow("SELECT number, user_id FROM sessions WHERE id = $1 FOR SHARE", session_id)
    if row is None:
        raise SessionNotFoundError(f"no such session: {session_id} (it was deleted)")
    number, user_id = row
    known = await _records(connection, "session_number = $1 AND sha256 = $2", number, file.sha256)
    same = [one for one in known if (one.name, one.label) == (file.name, file.label)]
    if same:
        return same[0]
    if await connection.fetchval("SELECT count(*) FROM files WHERE session_number = $1", number) >= limit:
        return None
    shared = await _records(connection, "user_id = $1 AND sha256 = $2 AND size = $3", user_id, file.sha256, file.size)
    if shared:
        file = msgspec.structs.replace(file, id=shared[0].id)
    elif room and (kept := int(await connection.fetchval(BYTES, user_id))) + file.size > room:
        raise NoRoomError(kept)
    await connection.execute(
        "INSERT INTO files (session_number, user_id, id, sha256, size, record) VALUES ($1, $2, $3, $4, $5, $6)",
        number, user_id, file.id, file.sha256, file.size, msgspec.json.encode(file).decode(),
    )  # fmt: skip
    await connection.execute("DELETE FROM file_journal WHERE id = $1", file.id)
    return file


async def remove(connection: Any, session_id: str, file: FileRecord) -> None:  # noqa: ANN401  # the same
    """Delete one record: a session may have the same content under several names."""
    await lock(connection)
    rows = await connection.fetch(
        "SELECT f.number, f.record FROM files f JOIN sessions s ON s.number = f.session_number"
        " WHERE s.id = $1 AND f.id = $2 ORDER BY f.number",
        session_id, file.id,
    )  # fmt: skip
    for number, record in rows:
        found = FILE_DECODER.decode(record)
        if (found.name, found.label) == (file.name, file.label):
            await connection.execute("DELETE FROM files WHERE number = $1", number)
            await connection.execute(_NOT_SHARED, [file.id])
            return


async def remove_of(connection: Any, session_numbers: Sequence[int]) -> list[str]:  # noqa: ANN401  # the same
    """Delete the records of these sessions; returns the ids."""
    rows = await connection.fetch("DELETE FROM files WHERE session_number = ANY($1) RETURNING id", session_numbers)
    ids = sorted({row[0] for row in rows})
    await connection.execute(_NOT_SHARED, ids)
    return ids


async def duplicates(connection: Any) -> list[Sequence[FileRecord]]:  # noqa: ANN401  # the same
    """Files of one user that have the same content, but not the same id, one record of each id."""
    groups: defaultdict[tuple[str, str, int], list[FileRecord]] = defaultdict(list)
    for user_id, sha256, size, record, _ in sorted(await connection.fetch(_DUPLICATES), key=lambda row: row[4]):
        groups[user_id, sha256, size].append(FILE_DECODER.decode(record))
    return [*groups.values()]


async def share(connection: Any, file_id: str, shared_id: str) -> None:  # noqa: ANN401  # the same
    """Let the records of a file share the bytes of another with the same content."""
    await lock(connection)
    for number, record in await connection.fetch("SELECT number, record FROM files WHERE id = $1", file_id):
        changed = msgspec.structs.replace(FILE_DECODER.decode(record), id=shared_id)
        await connection.execute(
            "UPDATE files SET id = $2, record = $3 WHERE number = $1",
            number, shared_id, msgspec.json.encode(changed).decode(),
        )  # fmt: skip
    if file_id != shared_id:
        await connection.execute(_NOT_SHARED, [file_id])


async def _records(connection: Any, condition: str, *values: object) -> list[FileRecord]:  # noqa: ANN401  # the same
    rows = await connection.fetch(f"SELECT record FROM files WHERE {condition} ORDER BY number", *values)  # noqa: S608
    return [FILE_DECODER.decode(row[0]) for row in rows]
