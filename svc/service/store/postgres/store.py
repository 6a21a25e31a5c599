"""The store on PostgreSQL. Appends of all turns share a statement (``appends.py``); everything else is a short read or
transaction on one of a few connections. Permissions are not checked here.
"""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, TypeVar

import msgspec

from svc.errors import ConfigError, SessionNotFoundError, UnavailableError
from svc.local_tools import LocalTool
from svc.messages import Message
from svc.service.store import MAX_CONSENTS
from svc.service.store.address import PostgresAddress
from svc.service.store.postgres import beginnings, file_rows
from svc.service.store.postgres.appends import Appends, Place
from svc.service.store.postgres.beginnings import Beginning, turn_of
from svc.service.store.postgres.links import FAILURES, Links, connect, is_away, store_error
from svc.service.store.postgres.schema import migrate
from svc.service.store.postgres.statements import (
    BYTES,
    CLAIM,
    CLAIM_ONE,
    EXCHANGES,
    HELD,
    NOW,
    RELEASE,
    SESSION,
    SESSION_FOR_QUERY,
    TURN_COLUMNS,
    TURN_MESSAGES,
)
from svc.service.store.records import (
    FeedbackRecord,
    FileRecord,
    FileState,
    FirstBatch,
    HistoryRow,
    KeyRecord,
    SessionRecord,
    StoredMessage,
    TurnEnd,
    TurnRecord,
    TurnStart,
)
from svc.service.store.rows import (
    CONSENTS_DECODER,
    HISTORY_DECODER,
    KEY_DECODER,
    MESSAGE_DECODER,
    session_record,
    session_values,
)

T = TypeVar("T")
LINKS = 5  # connections for everything but appends
PAGE_ROWS = 256  # messages read at once where a page ends by its bytes
PURGED_AT_ONCE = 100  # sessions, which may have many thousands of messages each
DELETE_SECONDS = 300.0
PATIENCE_SECONDS = 60.0  # a failover takes 10 to 60 s; a running turn waits for it
APPEND_SECONDS = 6.0  # a link that is cut without a word is given up, and the append sent again on another
WAIT_SECONDS = 1.0  # between attempts to reach the server at the start
log: logging.Logger = logging.getLogger("svc.store")


class PostgresStore:
    """A ``Store``."""

    def __init__(self, address: PostgresAddress, *, patience_seconds: float = PATIENCE_SECONDS) -> None:
        self._address = address
        self._links = Links(address, LINKS)
        # Changes of files wait for one lock anyway, and must not take the others' links.
        self._file_links = Links(address, 1, DELETE_SECONDS)
        self._appends = Appends(Links(address, 1, APPEND_SECONDS), patience_seconds)
        self._is_open = False

    async def open(self) -> None:
        """Wait for the server, migrate the schema, start to take appends."""
        waited = False
        while not self._is_open:
            try:
                connection = await connect(self._address, None)  # an update of the tables may take long
                try:
                    await migrate(connection, str(self._address))
                finally:
                    await connection.close()
                self._is_open = True
            except FAILURES as error:
                if not is_away(error):
                    raise ConfigError(
                        f"{self._address} cannot be used as the database: {type(error).__name__}: {error}. Check the "
                        "user's rights and password, and that the database exists"
                    ) from None
                if not waited:
                    log.warning("waiting for the database", extra={"reason": f"{type(error).__name__}: {error}"})
                waited = True
                await asyncio.sleep(WAIT_SECONDS)
        self._appends.start()

    async def close(self) -> None:
        """Finish accepted appends, then close the connections."""
        self._is_open = False
        await self._appends.close()
        await self._links.close()
        await self._file_links.close()

    @property
    def patience_seconds(self) -> float:
        """For how long a turn waits while the server is out of reach."""
        return self._appends.patience_seconds

    @property
    def appends_in_doubt(self) -> int:
        """How many appends lost their answer, so that they had to be looked up."""
        return self._appends.in_doubt

    async def _read(self, operation: Callable[[Any], Awaitable[T]]) -> T:
        return await self._run(operation, is_repeatable=True)

    async def _write(self, operation: Callable[[Any], Awaitable[T]]) -> T:
        return await self._run(operation)

    async def _run(
        self,
        operation: Callable[[Any], Awaitable[T]],
        *,
        is_repeatable: bool = False,
        links: Links | None = None,
    ) -> T:
        if not self._is_open:
            raise UnavailableError("the service is starting or stopping; try again in a few seconds", retry_after=1)
        try:
            return await (links or self._links).run(operation, is_repeatable=is_repeatable)
        except FAILURES as error:
            if isinstance(error, ValueError):
                raise
            raise store_error(error) from error

    async def run(self, operation: Callable[[Any], Awaitable[T]]) -> T:
        """Run a statement about what services share besides sessions: codes, and counts of quotas."""
        return await self._write(operation)

    async def _change(self, operation: Callable[[Any], Awaitable[T]]) -> T:
        """Write in a transaction of several statements."""
        return await self._run(functools.partial(_in_transaction, operation))

    async def _change_files(self, operation: Callable[[Any], Awaitable[T]]) -> T:
        """Change records of files, in the order of the calls."""
        return await self._run(functools.partial(_in_transaction, operation), links=self._file_links)

    async def check(self) -> None:
        """Return if the database can be read and written."""
        if await self._read(lambda c: c.fetchval("SELECT pg_is_in_recovery()")):
            raise UnavailableError("the service's database can only be read; try again in a few seconds", retry_after=5)

    async def meta(self, name: str) -> bytes | None:
        """A value that the service remembers about itself; None if there is none."""
        value: bytes | None = await self._read(lambda c: c.fetchval("SELECT value FROM meta WHERE name = $1", name))
        return value

    async def set_meta(self, name: str, value: bytes) -> None:
        """Remember a value under this name."""
        sql = "INSERT INTO meta (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
        await self._write(lambda c: c.execute(sql, name, value))

    async def first_meta(self, name: str, value: bytes) -> bytes:
        """Remember a value under this name, unless there is one."""
        sql = "INSERT INTO meta (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING"
        await self._write(lambda c: c.execute(sql, name, value))
        return await self.meta(name) or value

    # sessions

    async def add_session(self, session: SessionRecord) -> SessionRecord:
        """Store a session, or return the one that already has its id."""

        async def operation(connection: Any) -> SessionRecord:  # noqa: ANN401  # asyncpg has no types
            if await _insert_session(connection, session):
                return session
            known = await _session(connection, session.id)
            if known is None:  # deleted meanwhile
                raise UnavailableError("the session was being deleted; send the request again", retry_after=1)
            return known

        return await self._write(operation)

    async def session(self, session_id: str, *, query_id: str = "") -> SessionRecord | None:
        """The session, even if expired; None if there is none. With ``query_id``, ``has_query`` is set."""
        if "\0" in session_id:  # no text of PostgreSQL has it
            return None
        return await self._read(lambda c: _session(c, session_id, "" if "\0" in query_id else query_id))

    async def list_sessions(self, user_id: str, *, now: float) -> list[SessionRecord]:
        """The user's live sessions in the order of their registration, whichever service's clock ran ahead."""
        sql = f"{SESSION} WHERE s.user_id = $1 AND s.expire_time > $2 ORDER BY s.number"
        rows = await self._read(lambda c: c.fetch(sql, user_id, _whole(now)))
        return [session_record(row[22], row, row[17]) for row in rows]

    async def count_sessions(self, user_id: str, *, now: float) -> int:
        """The number of the user's live sessions."""
        sql = "SELECT count(*) FROM sessions WHERE user_id = $1 AND expire_time > $2"
        return int(await self._read(lambda c: c.fetchval(sql, user_id, _whole(now))))

    async def bytes_of(self, user_id: str) -> int:
        """What the user's sessions keep, expired ones included."""
        return int(await self._read(lambda c: c.fetchval(BYTES, user_id)))

    async def bytes_of_all(self) -> int:
        """What the sessions of all users keep."""
        return int(await self._read(lambda c: c.fetchval(BYTES, None)))

    async def alive(self, session_ids: Iterable[str], now: float) -> set[str]:
        """Those of the sessions that exist and have not expired."""
        sql = "SELECT id FROM sessions WHERE expire_time > $1 AND id = ANY($2)"
        rows = await self._read(lambda c: c.fetch(sql, _whole(now), [*session_ids]))
        return {row[0] for row in rows}

    async def update_session(self, session: SessionRecord) -> None:
        """Store the name, description, ttl and times of a session."""
        sql = """
            UPDATE sessions SET name = $1, description = $2, ttl = $3, update_time = $4, expire_time = $5 WHERE id = $6
        """
        values = (session.name, session.description, session.ttl, session.update_time, session.expire_time, session.id)
        await self._write(lambda c: c.execute(sql, *values))

    async def set_local_tools(self, session_id: str, tools: Sequence[LocalTool]) -> None:
        """Store the tools that the session's client offers."""
        text = msgspec.json.encode(tools).decode()
        await self._write(lambda c: c.execute("UPDATE sessions SET local_tools = $1 WHERE id = $2", text, session_id))

    async def consents(self, session_id: str) -> set[str]:
        """The digests of the local tools that the user has allowed for the session."""
        sql = "SELECT consents FROM sessions WHERE id = $1"
        text = await self._read(lambda c: c.fetchval(sql, session_id))
        return set() if text is None else CONSENTS_DECODER.decode(text)

    async def add_consent(self, session_id: str, digest: str) -> None:
        """Remember that the user has allowed a local tool."""
        sql = """
            UPDATE sessions SET consents = (consents::jsonb || to_jsonb($1::text))::text WHERE id = $2
            AND jsonb_array_length(consents::jsonb) < $3 AND NOT consents::jsonb ? $1
        """
        await self._write(lambda c: c.execute(sql, digest, session_id, MAX_CONSENTS))

    async def delete_session(self, session_id: str) -> None:
        """Delete the session with everything that belongs to it."""

        async def operation(connection: Any) -> None:  # noqa: ANN401  # asyncpg has no types
            await _delete(connection, "id = $1", session_id)

        await self._change_files(operation)

    async def purge(self, *, ended_before: float) -> list[str]:
        """Delete the sessions that expired at or before this time; returns the ids of their files."""

        async def operation(connection: Any) -> tuple[int, list[str]]:  # noqa: ANN401  # asyncpg has no types
            return await _delete(connection, "expire_time <= $1", _whole(ended_before))

        files: list[str] = []
        while True:  # in pieces, so that nobody waits long
            count, ids = await self._change_files(operation)
            files += ids
            if count < PURGED_AT_ONCE:
                return files

    async def forget(self, *, ended_before: float) -> list[str]:
        """Delete the contents of sessions that expired at or before this time; returns the ids of their files.

        Such a session keeps its id and times and has -1 as its last seq.
        """

        async def operation(connection: Any) -> list[str]:  # noqa: ANN401  # asyncpg has no types
            await file_rows.lock(connection)
            rows = await connection.fetch(
                "UPDATE sessions SET name = '', description = '', title = '', instructions = '', local_tools = '[]',"
                " registered_tools = '[]', agents_config = '', consents = '[]', last_seq = -1, bytes = 0,"
                " running_turn = 0, owner = '',"
                " fence = fence + 1 WHERE expire_time <= $1 AND last_seq >= 0 RETURNING number",
                _whole(ended_before),
            )
            return await _delete_contents(connection, [row[0] for row in rows])

        return await self._change_files(operation)

    # messages and turns

    async def messages_after(
        self, session_id: str, seq: int, *, limit_bytes: int | None = None, last_seq: int | None = None
    ) -> list[StoredMessage]:
        """Return messages with a greater seq, in order; all, or the first that reach the limit, at least one."""
        sql = """
            SELECT m.seq, m.body FROM messages m JOIN sessions s ON s.number = m.session_number
            WHERE s.id = $1 AND m.seq > $2 AND m.seq <= coalesce($3, 9223372036854775807) ORDER BY m.seq LIMIT $4
        """
        found: list[StoredMessage] = []
        size = 0
        limit = None if limit_bytes is None else PAGE_ROWS
        while True:
            values = (session_id, found[-1].seq if found else seq, last_seq, limit)
            rows = await self._read(functools.partial(_fetch, sql, values))
            for number, body in rows:
                found.append(StoredMessage(number, body))
                size += len(body)
                if limit_bytes is not None and size >= limit_bytes:
                    return found
            if limit_bytes is None or len(rows) < PAGE_ROWS:
                return found

    async def exchanges(self, session_id: str, limit_bytes: int) -> list[HistoryRow]:
        """Queries, sources and results of answered turns, in order: the newest turns that fit into the limit."""
        rows = await self._read(lambda c: c.fetch(EXCHANGES, session_id, limit_bytes))
        first = 0  # a turn whose beginning is beyond the limit is left out
        while first < len(rows) and not _is_query(rows[first][0]):
            first += 1
        return await asyncio.to_thread(lambda: [HISTORY_DECODER.decode(row[0]) for row in rows[first:]])

    async def turn_messages(self, turn: TurnRecord) -> list[Message]:
        """All messages of a turn, in order."""
        rows = await self._read(lambda c: c.fetch(TURN_MESSAGES, turn.number))
        return await asyncio.to_thread(lambda: [MESSAGE_DECODER.decode(row[0]) for row in rows])

    async def begin_turn(
        self,
        session_id: str,
        query: Message,
        *,
        owner: str,
        first_batch: FirstBatch | None = None,
        key_id: str = "",
    ) -> TurnStart:
        """Store a query and begin its turn, or return the turn that the same query id began before."""
        begun = await self._write(lambda c: beginnings.begin(c, session_id, query, owner, first_batch, key_id))
        return self._noted(begun, owner)

    def _noted(self, begun: Beginning, owner: str) -> TurnStart:
        if begun.place is not None and owner:
            self._appends.know(begun.start.turn, begun.place)
        return begun.start

    async def begin_session(
        self,
        session: SessionRecord,
        exchanges: Sequence[tuple[Message, Sequence[Message]]],
        query: Message,
        *,
        owner: str,
        first_batch: FirstBatch | None = None,
        key_id: str = "",
    ) -> TurnStart:
        """Store a session, if it is not stored yet, with turns that were answered elsewhere; begin its query's turn."""
        if not exchanges:  # as most: one statement
            begun = await self._write(lambda c: beginnings.begin_session(c, session, query, owner, first_batch, key_id))
            if begun is not None:
                return self._noted(begun, owner)

        async def operation(connection: Any) -> Beginning:  # noqa: ANN401  # asyncpg has no types
            await _insert_session(connection, session)
            for earlier_query, answers in exchanges:
                await beginnings.store_exchange(connection, session.id, earlier_query, answers, time=query.created_at)
            return await beginnings.begin(connection, session.id, query, owner, first_batch, key_id)

        return self._noted(await self._change(operation), owner)

    async def append(
        self, turn: TurnRecord, messages: Sequence[Message], turn_end: TurnEnd | None = None
    ) -> list[StoredMessage]:
        """Store messages of a turn whose lease is held."""
        return await self._appends.append(turn, messages, turn_end)

    async def turn(self, session_id: str, turn_id: str) -> TurnRecord | None:
        """The turn as it is now; None if there is none."""
        return await self._turn("s.id = $1 AND t.id = $2", session_id, turn_id)

    async def running_turn(self, session_id: str) -> TurnRecord | None:
        """The session's running turn, or None."""
        return await self._turn("s.id = $1 AND t.number = s.running_turn", session_id)

    async def ended_turn(self, session_id: str, *, ended_after: float) -> TurnRecord | None:
        """The session's last turn, if it ended after this time."""
        last = "t.query_seq = (SELECT max(n.query_seq) FROM turns n WHERE n.session_number = s.number)"
        return await self._turn(f"s.id = $1 AND {last} AND t.ended > $2", session_id, float(ended_after))

    async def _turn(self, condition: str, *values: object) -> TurnRecord | None:
        row = await self._read(lambda c: c.fetchrow(f"SELECT {TURN_COLUMNS} WHERE {condition}", *values))
        return None if row is None else turn_of(row)

    async def claim_orphans(self, *, owner: str) -> list[TurnRecord]:
        """Take over every running turn of other owners; returns all that the owner has then."""
        for row in await self._write(lambda c: c.fetch(CLAIM, owner)):
            self._taken(row)
        return [turn_of(row) for row in await self._read(lambda c: c.fetch(HELD, owner))]

    def _taken(self, row: Sequence[Any]) -> TurnRecord:
        turn = turn_of(row)
        self._appends.know(turn, Place(row[9], row[10], row[11]))
        return turn

    async def claim(self, turn: TurnRecord, *, owner: str) -> TurnRecord | None:
        """Take a turn that waits without an owner; None if it was ended or taken since it was read."""
        row = await self._write(lambda c: c.fetchrow(CLAIM_ONE, owner, turn.session_id, turn.number, turn.fence))
        return None if row is None else self._taken(row)

    async def release(self, turn: TurnRecord) -> None:
        """Give up the lease of an unfinished turn; this run does not count as an attempt."""
        self._appends.forget(turn)
        await self._write(lambda c: c.execute(RELEASE, turn.number, turn.fence, turn.session_id))

    # files

    async def add_file(self, session_id: str, file: FileRecord, *, limit: int, room: int = 0) -> FileRecord | None:
        """Store the record of a file, or of a share in one; None if the session already has ``limit`` files."""
        return await self._change_files(lambda c: file_rows.add(c, session_id, file, limit=limit, room=room))

    async def remove_file(self, session_id: str, file: FileRecord) -> None:
        """Delete the record of a file."""
        await self._change_files(lambda c: file_rows.remove(c, session_id, file))

    async def add_feedback(self, feedback: FeedbackRecord) -> None:
        """Store feedback with its session."""
        sql = """
            WITH moved AS (UPDATE sessions SET bytes = bytes + $1 WHERE id = $2 RETURNING number)
            INSERT INTO feedback (session_number, group_id, type, score, comment, created)
            SELECT number, $3, $4, $5, $6, $7 FROM moved RETURNING 1
        """
        size = len(feedback.comment.encode()) + len(feedback.group_id.encode())
        values = (feedback.group_id, feedback.type, feedback.score, feedback.comment, float(feedback.created))
        if await self._write(lambda c: c.fetchval(sql, size, feedback.session_id, *values)) is None:
            raise SessionNotFoundError(f"no such session: {feedback.session_id} (it was deleted)")

    async def file_ids(self) -> set[str]:
        """The ids of all files of all sessions."""
        return {row[0] for row in await self._read(lambda c: c.fetch("SELECT DISTINCT id FROM files"))}

    async def attached(self, file_ids: Iterable[str]) -> set[str]:
        """Those of the files that a session has."""
        sql = "SELECT DISTINCT id FROM files WHERE id = ANY($1)"
        return {row[0] for row in await self._read(lambda c: c.fetch(sql, [*file_ids]))}

    async def duplicates(self) -> list[Sequence[FileRecord]]:
        """Files of one user that have the same content, but not the same id."""
        return await self._read(file_rows.duplicates)

    async def share_file(self, file_id: str, shared_id: str) -> None:
        """Let the records of a file share the bytes of another with the same content."""
        await self._change_files(lambda c: file_rows.share(c, file_id, shared_id))

    async def begin_file(self, file_id: str) -> None:
        """Record that a file with this id is being received; ``add_file`` removes the record."""
        sql = "INSERT INTO file_journal (id, state) VALUES ($1, 'receiving')"
        await self._write(lambda c: c.execute(sql, file_id))

    async def journaled_files(self) -> dict[str, FileState]:
        """Files that are being received, or that are to be removed from the disk; removed records leave them here."""
        return dict(await self._read(lambda c: c.fetch("SELECT id, state FROM file_journal")))

    async def stalled_files(self, seconds: float) -> set[str]:
        """Files that have been journaled as being received for longer than this."""
        sql = f"SELECT id FROM file_journal WHERE state = 'receiving' AND since < {NOW} - $1"  # noqa: S608
        return {row[0] for row in await self._read(lambda c: c.fetch(sql, float(seconds)))}

    async def forget_files(self, file_ids: Iterable[str]) -> None:
        """Drop files from the journal, because they are no longer on the disk."""
        await self._write(lambda c: c.execute("DELETE FROM file_journal WHERE id = ANY($1)", [*file_ids]))

    async def claim_sweep(self, seconds: float) -> bool:
        """Whether this service may sweep the files now: no other one may for so long after that."""
        return await self._write(lambda c: c.fetchval(file_rows.CLAIM_SWEEP, seconds)) is not None

    # keys

    async def add_key(self, key: KeyRecord, digest: str) -> None:
        """Store a key under its digest; a key that exists is left as it is."""
        sql = "INSERT INTO keys (id, digest, created, record) VALUES ($1, $2, $3, $4) ON CONFLICT (digest) DO NOTHING"
        record = msgspec.json.encode(key).decode()
        await self._write(lambda c: c.execute(sql, key.id, digest, float(key.created), record))

    async def key_by_digest(self, digest: str) -> KeyRecord | None:
        """The key, even if revoked or expired; None if unknown."""
        found = await self._keys("WHERE digest = $1", digest)
        return found[0] if found else None

    async def key_by_id(self, key_id: str) -> KeyRecord | None:
        """The key, even if revoked or expired; None if unknown."""
        found = await self._keys("WHERE id = $1", key_id)
        return found[0] if found else None

    async def key_digest(self, beginning: str) -> str | None:
        """The digest of the key, even if revoked or expired, that begins like this; None if unknown."""
        if "\0" in beginning:
            return None
        sql = "SELECT digest FROM keys WHERE digest >= $1 AND digest < $2 LIMIT 1"  # digests are hexadecimal
        digest: str | None = await self._read(lambda c: c.fetchval(sql, beginning, f"{beginning}g"))
        return digest

    async def valid_keys(self, key_ids: Iterable[str], now: float) -> set[str]:
        """Those of the keys that are neither revoked nor expired."""
        return {key.id for key in await self._keys("WHERE id = ANY($1)", [*key_ids]) if key.is_valid(now)}

    async def keys(self) -> list[KeyRecord]:
        """All keys, oldest first."""
        return await self._keys("ORDER BY created")

    async def _keys(self, clause: str, *values: object) -> list[KeyRecord]:
        rows = await self._read(lambda c: c.fetch(f"SELECT record, revoked FROM keys {clause}", *values))  # noqa: S608
        return [msgspec.structs.replace(KEY_DECODER.decode(row[0]), revoked=row[1]) for row in rows]

    async def set_email(self, user_id: str, email: str) -> None:
        """Store the user's email address with every key of the user."""
        sql = """
            UPDATE keys SET record = (record::jsonb || jsonb_build_object('email', $1::text))::text
            WHERE record::jsonb ->> 'user_id' = $2
        """
        await self._write(lambda c: c.execute(sql, email, user_id))

    async def revoke_key(self, key_id: str, now: float) -> bool:
        """Revoke a key; False if no valid key has this id."""
        sql = "UPDATE keys SET revoked = $1 WHERE id = $2 AND revoked = 0 RETURNING 1"
        return await self._write(lambda c: c.fetchval(sql, float(now), key_id)) is not None

    async def delete_expired_page_keys(self, *, ended_before: float) -> None:
        """Delete the keys of pages that expired or were revoked before this time."""
        sql = """
            DELETE FROM keys WHERE (record::jsonb ->> 'is_page')::boolean
            AND ((record::jsonb ->> 'expires')::double precision < $1 OR revoked BETWEEN 1 AND $1)
        """
        await self._write(lambda c: c.execute(sql, float(ended_before)))


async def _in_transaction(operation: Callable[[Any], Awaitable[T]], connection: Any) -> T:  # noqa: ANN401  # the same
    async with connection.transaction():
        return await operation(connection)


async def _fetch(sql: str, values: Sequence[object], connection: Any) -> list[Any]:  # noqa: ANN401  # asyncpg has no types
    rows: list[Any] = await connection.fetch(sql, *values)
    return rows


async def _insert_session(connection: Any, session: SessionRecord) -> bool:  # noqa: ANN401  # asyncpg has no types
    """Store a new session; False if its id is known."""
    values = session_values(session)
    marks = ", ".join(f"${number}" for number in range(1, len(values) + 1))
    sql = f"INSERT INTO sessions ({', '.join(values)}) VALUES ({marks}) ON CONFLICT (id) DO NOTHING RETURNING 1"  # noqa: S608
    return await connection.fetchval(sql, *values.values()) is not None


async def _session(connection: Any, session_id: str, query_id: str = "") -> SessionRecord | None:  # noqa: ANN401  # asyncpg has no types
    row = await connection.fetchrow(SESSION_FOR_QUERY, session_id, query_id)
    return None if row is None else session_record(session_id, row, row[17], has_query=row[23])


async def _delete(connection: Any, condition: str, value: object) -> tuple[int, list[str]]:  # noqa: ANN401  # the same
    """Delete up to ``PURGED_AT_ONCE`` sessions; returns their number and the ids of their files."""
    await file_rows.lock(connection)
    rows = await connection.fetch(
        f"DELETE FROM sessions WHERE number IN (SELECT number FROM sessions WHERE {condition} LIMIT {PURGED_AT_ONCE})"  # noqa: S608
        " RETURNING number",
        value,
    )
    return len(rows), await _delete_contents(connection, [row[0] for row in rows])


async def _delete_contents(connection: Any, numbers: Sequence[int]) -> list[str]:  # noqa: ANN401  # the same
    """Delete messages, turns, feedback and records of files; returns the ids of the files."""
    for table in ("messages", "turns", "feedback"):
        await connection.execute(f"DELETE FROM {table} WHERE session_number = ANY($1)", numbers)  # noqa: S608
    return await file_rows.remove_of(connection, numbers)


def _whole(seconds: float) -> int:
    """The whole seconds of a time: a whole number is after it if and only if it is after these."""
    return int(seconds // 1)


def _is_query(body: bytes) -> bool:
    return HISTORY_DECODER.decode(body).message_type == "query"
