"""The store on SQLite: a file in WAL mode, or an in-memory database for sessions that may not be logged.

Writes go through one thread with group commit (``writer.py``). Reads use connections of their own: lookups of a few
rows run in the caller's thread, because handing them to another thread costs ten times as much; longer reads run in a
thread pool. The in-memory database has a single connection, so its reads queue with its writes. Permissions are not
checked here.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import msgspec

from svc.errors import ConfigError, ServiceError, SessionNotFoundError, UnavailableError
from svc.local_tools import LocalTool
from svc.messages import Message, Usage
from svc.service.store import MAX_CONSENTS, file_rows, turn_rows
from svc.service.store.connection import check_integrity, connect, create_file, migrate, recovery
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
    TurnState,
)
from svc.service.store.rows import (
    CONSENTS_DECODER,
    HISTORY_DECODER,
    KEY_DECODER,
    MESSAGE_DECODER,
    TURN_COLUMNS,
    session_number,
    session_row,
    session_values,
    turn_row,
)
from svc.service.store.store_errors import is_damage, store_error
from svc.service.store.writer import Writer

T = TypeVar("T")
BUSY_MILLISECONDS = 5_000
READERS = 2  # threads: reads are short, and the tools need the cores
_PROBE_BYTES = 262_144  # more than small transactions find room for on a full disk
_NO_FILE_JOURNAL = "".join(f"DROP TRIGGER file_{event};" for event in ("attached", "detached", "replaced"))
"""For files in memory, which end with the process."""
log: logging.Logger = logging.getLogger("svc.store")


class SqliteStore:
    """A ``Store``. ``path`` None is an in-memory database that is lost with ``close`` or the process."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._name = str(path or "the private database")
        self._writer: Writer | None = None
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="svc-store-reader")
        self._local = threading.local()
        self._loop_connection: sqlite3.Connection | None = (
            None  # for _read_inline, used only in the event loop's thread
        )
        self._connections: list[sqlite3.Connection] = []
        self._has_erased = False  # since the WAL was last truncated
        self._damage: ServiceError | None = None

    @property
    def patience_seconds(self) -> float:
        """A file on this machine comes back by an operator's hand or not at all, so no turn waits for it."""
        return 0.0

    async def open(self) -> None:
        """Create the file if it is missing, migrate the schema, start the writer."""
        await asyncio.to_thread(self._open)

    def _open(self) -> None:
        if self._path is not None:
            create_file(self._path)
        try:
            connection = connect(self._path)
            if self._path is not None:
                check_integrity(connection, self._path)
            migrate(connection, self._name)
            if self._path is None:
                connection.executescript(_NO_FILE_JOURNAL)
        except sqlite3.Error as error:
            raise ConfigError(
                f"{self._name} cannot be used as the database: {error}. If its disk is full, free space and start again"
            ) from error
        self._writer = Writer(lambda: connection)
        if self._path is not None:
            self._loop_connection = self._reader(busy_milliseconds=0)

    def _reader(self, *, busy_milliseconds: int) -> sqlite3.Connection:
        connection = connect(self._path)
        self._connections.append(connection)
        connection.execute("PRAGMA query_only = ON")
        connection.execute(f"PRAGMA busy_timeout = {busy_milliseconds}")
        return connection

    async def close(self) -> None:
        """Finish accepted writes, truncate the WAL, close every connection."""
        self._readers.shutdown(wait=True)
        for connection in self._connections:
            connection.close()
        if self._writer is not None:
            await asyncio.to_thread(self._writer.close)

    async def _write(self, operation: Callable[[sqlite3.Connection], T]) -> T:
        if self._writer is None:
            raise UnavailableError("the service is starting; try again in a second", retry_after=1)
        return await self._writer.run(operation)

    async def _read(self, operation: Callable[[sqlite3.Connection], T]) -> T:
        if self._path is None:
            return await self._write(operation)
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._readers, self._run_read, operation)
        except sqlite3.Error as error:
            self._note_damage(error)
            raise store_error(error) from error

    def _run_read(self, operation: Callable[[sqlite3.Connection], T]) -> T:
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = self._reader(busy_milliseconds=BUSY_MILLISECONDS)
        connection.execute("BEGIN")  # one snapshot for all statements of the operation
        try:
            return operation(connection)
        finally:
            connection.execute("COMMIT")

    async def _read_inline(self, operation: Callable[[sqlite3.Connection], T]) -> T:
        """Read a few rows by index in the event loop's thread; fall back to a reader thread if the database is busy.

        Each statement sees its own snapshot: a transaction around them would cost two more statements.
        """
        if self._loop_connection is not None:
            try:
                return operation(self._loop_connection)
            except sqlite3.OperationalError:  # busy
                return await self._read(operation)
            except sqlite3.DatabaseError as error:
                self._note_damage(error)
                raise store_error(error) from error
        return await self._read(operation)

    async def check(self) -> None:
        """Return if the database can be read and, if the last write failed, written again."""
        await self._read(lambda c: c.execute("SELECT 1 FROM keys LIMIT 1").fetchone())
        if self._damage is not None:
            raise self._damage.with_traceback(None)
        if self._writer is not None and self._writer.problem is not None:
            await self._write(_probe)
            self._writer.problem = None

    def _note_damage(self, error: sqlite3.Error) -> None:
        """Remember that the file is damaged: only a restart with a restored file ends that."""
        if is_damage(error):
            log.critical("the database is damaged", extra={"reason": str(error), "recovery": recovery(self._name)})
            self._damage = store_error(error)

    async def meta(self, name: str) -> bytes | None:
        """A value that the service remembers about itself; None if there is none."""
        row = await self._read(lambda c: c.execute("SELECT value FROM meta WHERE name = ?", [name]).fetchone())
        return None if row is None else row[0]

    async def set_meta(self, name: str, value: bytes) -> None:
        """Remember a value under this name."""
        sql = "INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)"
        await self._write(lambda c: c.execute(sql, [name, value]).rowcount)

    async def first_meta(self, name: str, value: bytes) -> bytes:
        """Remember a value under this name, unless there is one."""
        sql = "INSERT OR IGNORE INTO meta (name, value) VALUES (?, ?)"
        await self._write(lambda c: c.execute(sql, [name, value]).rowcount)
        return await self.meta(name) or value

    # sessions

    async def add_session(self, session: SessionRecord) -> SessionRecord:
        """Store a session, or return the one that already has its id."""

        def operation(connection: sqlite3.Connection) -> SessionRecord:
            if (known := session_row(connection, session.id)) is not None:
                return known
            _insert_session(connection, session)
            return session

        return await self._write(operation)

    async def session(self, session_id: str, *, query_id: str = "") -> SessionRecord | None:
        """The session, even if expired; None if there is none. With ``query_id``, ``has_query`` is set."""
        return await self._read_inline(lambda c: session_row(c, session_id, query_id))

    async def list_sessions(self, user_id: str, *, now: float) -> list[SessionRecord]:
        """The user's live sessions, oldest first."""

        def operation(connection: sqlite3.Connection) -> list[SessionRecord]:
            rows = connection.execute(
                "SELECT id FROM sessions WHERE user_id = ? AND expire_time > ? ORDER BY create_time, number",
                [user_id, now],
            ).fetchall()
            found = (session_row(connection, row[0]) for row in rows)
            return [session for session in found if session is not None]

        return await self._read(operation)

    async def count_sessions(self, user_id: str, *, now: float) -> int:
        """The number of the user's live sessions."""
        sql = "SELECT count(*) FROM sessions WHERE user_id = ? AND expire_time > ?"
        return int((await self._read(lambda c: c.execute(sql, [user_id, now]).fetchone()))[0])

    async def bytes_of(self, user_id: str) -> int:
        """What the user's sessions keep, expired ones included."""
        return await self._read_inline(lambda c: file_rows.bytes_of(c, user_id))

    async def bytes_of_all(self) -> int:
        """What the sessions of all users keep."""
        row = await self._read_inline(lambda c: c.execute("SELECT coalesce(sum(bytes), 0) FROM users").fetchone())
        return int(row[0])

    async def alive(self, session_ids: Iterable[str], now: float) -> set[str]:
        """Those of the sessions that exist and have not expired."""
        sql = "SELECT id FROM sessions WHERE expire_time > ? AND id IN (SELECT value FROM json_each(?))"
        values = [now, msgspec.json.encode(list(session_ids)).decode()]
        rows = await self._read(lambda c: c.execute(sql, values).fetchall())
        return {row[0] for row in rows}

    async def update_session(self, session: SessionRecord) -> None:
        """Store the name, description, ttl and times of a session."""
        sql = "UPDATE sessions SET name = ?, description = ?, ttl = ?, update_time = ?, expire_time = ? WHERE id = ?"
        values = [session.name, session.description, session.ttl, session.update_time, session.expire_time, session.id]
        await self._write(lambda c: c.execute(sql, values).rowcount)

    async def set_local_tools(self, session_id: str, tools: Sequence[LocalTool]) -> None:
        """Store the tools that the session's client offers."""
        values = [msgspec.json.encode(tools).decode(), session_id]
        await self._write(lambda c: c.execute("UPDATE sessions SET local_tools = ? WHERE id = ?", values).rowcount)

    async def consents(self, session_id: str) -> set[str]:
        """The digests of the local tools that the user has allowed for the session."""
        sql = "SELECT consents FROM sessions WHERE id = ?"
        row = await self._read_inline(lambda c: c.execute(sql, [session_id]).fetchone())
        return set() if row is None else CONSENTS_DECODER.decode(row[0])

    async def add_consent(self, session_id: str, digest: str) -> None:
        """Remember that the user has allowed a local tool."""
        sql = """
            UPDATE sessions SET consents = json_insert(consents, '$[#]', ?1) WHERE id = ?2
            AND json_array_length(consents) < ?3 AND ?1 NOT IN (SELECT value FROM json_each(consents))
        """
        await self._write(lambda c: c.execute(sql, [digest, session_id, MAX_CONSENTS]).rowcount)

    async def delete_session(self, session_id: str) -> None:
        """Delete the session with everything that belongs to it, from the WAL too."""
        await self._write(lambda c: c.execute("DELETE FROM sessions WHERE id = ?", [session_id]).rowcount)
        self._has_erased = True
        await self.empty_wal()

    async def purge(self, *, ended_before: float) -> list[str]:
        """Delete the sessions that expired at or before this time, from the WAL too; returns the ids of their files."""

        def operation(connection: sqlite3.Connection) -> tuple[int, list[str]]:
            ended = "expire_time <= ?"
            files = file_rows.ids_of(connection, ended, ended_before)
            count = connection.execute(f"DELETE FROM sessions WHERE {ended}", [ended_before]).rowcount  # noqa: S608
            return count, files

        count, files = await self._write(operation)
        self._has_erased = self._has_erased or count > 0
        await self.empty_wal()
        return files

    async def forget(self, *, ended_before: float) -> list[str]:
        """Delete the contents of sessions that expired at or before this time; returns the ids of their files.

        Such a session keeps its id and times and has -1 as its last seq.
        """

        def operation(connection: sqlite3.Connection) -> list[str]:
            ended = "expire_time <= ? AND last_seq >= 0"
            files = file_rows.ids_of(connection, ended, ended_before)
            numbers = f"(SELECT number FROM sessions WHERE {ended})"  # noqa: S608
            connection.execute(f"DELETE FROM turns WHERE session_number IN {numbers}", [ended_before])  # noqa: S608
            connection.execute(f"DELETE FROM files WHERE session_number IN {numbers}", [ended_before])  # noqa: S608
            connection.execute(f"DELETE FROM feedback WHERE session_number IN {numbers}", [ended_before])  # noqa: S608
            connection.execute(
                "UPDATE sessions SET name = '', description = '', title = '', instructions = '', local_tools = '[]', "  # noqa: S608
                "registered_tools = '[]', agents_config = '', consents = '[]', "
                f"last_seq = -1, bytes = 0 WHERE {ended}",
                [ended_before],
            )
            return files

        return await self._write(operation)

    async def empty_wal(self) -> None:
        """Truncate the WAL if it may hold deleted text; if a reader prevents it, the next call tries again."""
        if self._path is not None and self._has_erased:
            self._has_erased = not await asyncio.get_running_loop().run_in_executor(self._readers, self._truncate_wal)

    def _truncate_wal(self) -> bool:
        connection = connect(self._path)
        try:
            return not connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        finally:
            connection.close()

    # messages and turns

    async def messages_after(
        self, session_id: str, seq: int, *, limit_bytes: int | None = None, last_seq: int | None = None
    ) -> list[StoredMessage]:
        """Return messages with a greater seq, in order; all, or the first that reach the limit, at least one."""
        return await self._read(lambda c: turn_rows.messages_after(c, session_id, seq, limit_bytes, last_seq))

    async def exchanges(self, session_id: str, limit_bytes: int) -> list[HistoryRow]:
        """Queries, sources and results of answered turns, in order: the newest turns that fit into the limit."""

        def operation(connection: sqlite3.Connection) -> list[HistoryRow]:
            bodies = turn_rows.exchange_bodies(connection, session_id, limit_bytes)
            return [
                HISTORY_DECODER.decode(body) for body in bodies
            ]  # in the reader thread: a long session has megabytes

        return await self._read(operation)

    async def turn_messages(self, turn: TurnRecord) -> list[Message]:
        """All messages of a turn, in order."""
        sql = "SELECT body FROM messages WHERE turn_number = ? ORDER BY seq"

        def operation(connection: sqlite3.Connection) -> list[Message]:
            rows = connection.execute(sql, [turn.number])
            return [MESSAGE_DECODER.decode(row[0]) for row in rows]  # not in the event loop: a turn may have megabytes

        return await self._read(operation)

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
        return await self._write(lambda c: turn_rows.begin(c, session_id, query, owner, first_batch, key_id))

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

        def operation(connection: sqlite3.Connection) -> TurnStart:
            if session_number(connection, session.id) is None:
                _insert_session(connection, session)
            turn_end = TurnEnd(state=TurnState.ANSWERED, time=query.created_at, usage=Usage())
            for earlier_query, answers in exchanges:
                turn = turn_rows.begin(connection, session.id, earlier_query, owner).turn
                turn_rows.append(connection, turn, answers, turn_end)
            return turn_rows.begin(connection, session.id, query, owner, first_batch, key_id)

        return await self._write(operation)

    async def append(
        self, turn: TurnRecord, messages: Sequence[Message], turn_end: TurnEnd | None = None
    ) -> list[StoredMessage]:
        """Store messages of a turn whose lease is held."""
        return await self._write(lambda c: turn_rows.append(c, turn, messages, turn_end))

    async def turn(self, session_id: str, turn_id: str) -> TurnRecord | None:
        """The turn as it is now; None if there is none."""
        return await self._turn("s.id = ? AND t.id = ?", [session_id, turn_id])

    async def running_turn(self, session_id: str) -> TurnRecord | None:
        """The session's running turn, or None."""
        return await self._turn("s.id = ? AND t.state = 'running'", [session_id])

    async def ended_turn(self, session_id: str, *, ended_after: float) -> TurnRecord | None:
        """The session's last turn, if it ended after this time."""
        last = "t.number = (SELECT max(number) FROM turns WHERE session_number = s.number)"
        return await self._turn(f"s.id = ? AND {last} AND t.ended > ?", [session_id, ended_after])

    async def _turn(self, condition: str, values: list[str | float]) -> TurnRecord | None:
        row = await self._read_inline(
            lambda c: c.execute(f"SELECT {TURN_COLUMNS} WHERE {condition}", values).fetchone()
        )
        return None if row is None else turn_row(row)

    async def claim_orphans(self, *, owner: str) -> list[TurnRecord]:
        """Take over every running turn of other owners."""
        return await self._write(lambda c: turn_rows.claim_orphans(c, owner))

    async def claim(self, turn: TurnRecord, *, owner: str) -> TurnRecord | None:
        """Take a turn that waits without an owner; None if it was ended or taken since it was read."""
        return await self._write(lambda c: turn_rows.claim(c, turn, owner))

    async def release(self, turn: TurnRecord) -> None:
        """Give up the lease of an unfinished turn; this run does not count as an attempt."""
        # Without an owner the turn is an orphan, which the next process claims. The fence makes this a no-op if
        # another process has claimed it already.
        sql = (
            "UPDATE turns SET owner = '', attempts = attempts - 1 WHERE number = ? AND fence = ? AND state = 'running'"
        )
        await self._write(lambda c: c.execute(sql, [turn.number, turn.fence]).rowcount)

    # files

    async def add_file(self, session_id: str, file: FileRecord, *, limit: int, room: int = 0) -> FileRecord | None:
        """Store the record of a file, or of a share in one; None if the session already has ``limit`` files."""
        may_share = self._path is not None  # files in memory are not shared
        return await self._write(
            lambda c: file_rows.add(c, session_id, file, limit=limit, room=room, may_share=may_share)
        )

    async def remove_file(self, session_id: str, file: FileRecord) -> None:
        """Delete the record of a file."""
        await self._write(lambda c: file_rows.remove(c, session_id, file))

    async def add_feedback(self, feedback: FeedbackRecord) -> None:
        """Store feedback with its session."""

        def operation(connection: sqlite3.Connection) -> None:
            if (number := session_number(connection, feedback.session_id)) is None:
                raise SessionNotFoundError(f"no such session: {feedback.session_id} (it was deleted)")
            connection.execute(
                "INSERT INTO feedback (session_number, group_id, type, score, comment, created)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                [number, feedback.group_id, feedback.type, feedback.score, feedback.comment, feedback.created],
            )

        await self._write(operation)

    async def file_ids(self) -> set[str]:
        """The ids of all files of all sessions."""
        rows = await self._read(lambda c: c.execute("SELECT DISTINCT id FROM files").fetchall())
        return {row[0] for row in rows}

    async def attached(self, file_ids: Iterable[str]) -> set[str]:
        """Those of the files that a session has."""
        ids = msgspec.json.encode(list(file_ids)).decode()
        sql = "SELECT DISTINCT id FROM files WHERE id IN (SELECT value FROM json_each(?))"
        return {row[0] for row in await self._read(lambda c: c.execute(sql, [ids]).fetchall())}

    async def duplicates(self) -> list[Sequence[FileRecord]]:
        """Files of one user that have the same content, but not the same id."""
        return await self._read(file_rows.duplicates)

    async def share_file(self, file_id: str, shared_id: str) -> None:
        """Let the records of a file share the bytes of another with the same content."""
        sql = "UPDATE files SET id = :new, record = json_set(record, '$.id', :new) WHERE id = :old AND id <> :new"
        await self._write(lambda c: c.execute(sql, {"old": file_id, "new": shared_id}).rowcount)

    async def begin_file(self, file_id: str) -> None:
        """Record that a file with this id is being received; ``add_file`` removes the record."""
        sql = "INSERT INTO file_journal (id, state, since) VALUES (?, 'receiving', strftime('%s', 'now'))"
        await self._write(lambda c: c.execute(sql, [file_id]).rowcount)

    async def journaled_files(self) -> dict[str, FileState]:
        """Files that are being received, or that are to be removed from the disk; removed records leave them here."""
        rows = await self._read(lambda c: c.execute("SELECT id, state FROM file_journal").fetchall())
        return dict(rows)

    async def stalled_files(self, seconds: float) -> set[str]:
        """Files that have been journaled as being received for longer than this."""
        sql = "SELECT id FROM file_journal WHERE state = 'receiving' AND since < strftime('%s', 'now') - ?"
        return {row[0] for row in await self._read(lambda c: c.execute(sql, [seconds]).fetchall())}

    async def forget_files(self, file_ids: Iterable[str]) -> None:
        """Drop files from the journal, because they are no longer on the disk."""
        values = [(file_id,) for file_id in file_ids]
        await self._write(lambda c: c.executemany("DELETE FROM file_journal WHERE id = ?", values).rowcount)

    async def claim_sweep(self, seconds: float) -> bool:
        """Always: this is the only service of the database."""
        return True

    # keys

    async def add_key(self, key: KeyRecord, digest: str) -> None:
        """Store a key under its digest; a key that exists is left as it is."""
        sql = "INSERT INTO keys (id, digest, created, record) VALUES (?, ?, ?, ?) ON CONFLICT (digest) DO NOTHING"
        values = [key.id, digest, key.created, msgspec.json.encode(key).decode()]
        await self._write(lambda c: c.execute(sql, values).rowcount)

    async def key_by_digest(self, digest: str) -> KeyRecord | None:
        """The key, even if revoked or expired; None if unknown."""
        found = await self._read_inline(lambda c: _keys(c, "WHERE digest = ?", [digest]))
        return found[0] if found else None

    async def key_by_id(self, key_id: str) -> KeyRecord | None:
        """The key, even if revoked or expired; None if unknown."""
        found = await self._read_inline(lambda c: _keys(c, "WHERE id = ?", [key_id]))
        return found[0] if found else None

    async def key_digest(self, beginning: str) -> str | None:
        """The digest of the key, even if revoked or expired, that begins like this; None if unknown."""
        sql = "SELECT digest FROM keys WHERE digest >= ? AND digest < ? LIMIT 1"  # digests are hexadecimal
        row = await self._read_inline(lambda c: c.execute(sql, [beginning, f"{beginning}g"]).fetchone())
        return None if row is None else str(row[0])

    async def valid_keys(self, key_ids: Iterable[str], now: float) -> set[str]:
        """Those of the keys that are neither revoked nor expired."""
        ids = msgspec.json.encode(sorted(key_ids)).decode()
        found = await self._read_inline(lambda c: _keys(c, "WHERE id IN (SELECT value FROM json_each(?))", [ids]))
        return {key.id for key in found if key.is_valid(now)}

    async def keys(self) -> list[KeyRecord]:
        """All keys, oldest first."""
        return await self._read(lambda c: _keys(c, "ORDER BY created", []))

    async def set_email(self, user_id: str, email: str) -> None:
        """Store the user's email address with every key of the user."""
        sql = "UPDATE keys SET record = json_set(record, '$.email', ?) WHERE json_extract(record, '$.user_id') = ?"
        await self._write(lambda c: c.execute(sql, [email, user_id]).rowcount)

    async def revoke_key(self, key_id: str, now: float) -> bool:
        """Revoke a key; False if no valid key has this id."""
        sql = "UPDATE keys SET revoked = ? WHERE id = ? AND revoked = 0"
        return await self._write(lambda c: c.execute(sql, [now, key_id]).rowcount) > 0

    async def delete_expired_page_keys(self, *, ended_before: float) -> None:
        """Delete the keys of pages that expired or were revoked before this time."""
        sql = """
            DELETE FROM keys WHERE json_extract(record, '$.is_page') = 1
            AND (json_extract(record, '$.expires') < :end OR revoked BETWEEN 1 AND :end)
        """
        await self._write(lambda c: c.execute(sql, {"end": ended_before}).rowcount)


def _probe(connection: sqlite3.Connection) -> None:
    """Write what a turn might write, and remove it again."""
    connection.execute("INSERT OR REPLACE INTO meta (name, value) VALUES ('probe', zeroblob(?))", [_PROBE_BYTES])
    connection.execute("DELETE FROM meta WHERE name = 'probe'")


def _insert_session(connection: sqlite3.Connection, session: SessionRecord) -> None:
    values = session_values(session)
    names, marks = ", ".join(values), ", ".join("?" * len(values))
    connection.execute(f"INSERT INTO sessions ({names}) VALUES ({marks})", list(values.values()))  # noqa: S608


def _keys(connection: sqlite3.Connection, clause: str, values: list[str]) -> list[KeyRecord]:
    rows = connection.execute(f"SELECT record, revoked FROM keys {clause}", values)  # noqa: S608
    return [msgspec.structs.replace(KEY_DECODER.decode(row[0]), revoked=row[1]) for row in rows]
