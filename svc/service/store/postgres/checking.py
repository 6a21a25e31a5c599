"""Read a PostgreSQL database for ``checking``, in one snapshot, without changing it."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from svc.errors import ConfigError
from svc.service.store.address import PostgresAddress
from svc.service.store.checking import CheckedFile, CheckedMessage, CheckedSession, CheckedTurn, StoredSizes
from svc.service.store.postgres.links import FAILURES, connect
from svc.service.store.postgres.schema import migrations
from svc.service.store.records import FileRecord

_AT_ONCE = 256  # rows; a message may have a megabyte
_STRAYS = ("turns", "messages", "files", "feedback")


class PostgresChecking:
    """A ``CheckableStore``; without ``sizes`` the contents of files are not looked at."""

    def __init__(self, runner: asyncio.Runner, connection: Any, sizes: StoredSizes | None) -> None:  # noqa: ANN401  # asyncpg has no types
        self._runner = runner
        self._connection = connection
        self._sizes = sizes

    def sessions(self) -> Iterator[CheckedSession]:
        """All sessions."""
        for row in self._rows("SELECT number, id, last_seq, turns FROM sessions ORDER BY number"):
            yield CheckedSession(*row)

    def turns(self, session: CheckedSession) -> Sequence[CheckedTurn]:
        """The session's turns."""
        sql = "SELECT number, id, query_id, query_seq, state FROM turns WHERE session_number = $1 ORDER BY query_seq"
        return [CheckedTurn(*row) for row in self._rows(sql, session.number)]

    def messages(self, session: CheckedSession) -> Iterator[CheckedMessage]:
        """The session's messages."""
        sql = "SELECT seq, turn_number, id, body FROM messages WHERE session_number = $1 ORDER BY seq"
        for row in self._rows(sql, session.number):
            yield CheckedMessage(*row)

    def files(self) -> Iterator[CheckedFile]:
        """The files of all sessions, with the size of what is stored."""
        if self._sizes is None:
            return
        sql = (
            "SELECT s.id, f.record, f.id FROM files f JOIN sessions s ON s.number = f.session_number ORDER BY f.number"
        )
        for session_id, record, file_id in self._rows(sql):
            file = msgspec.json.decode(record, type=FileRecord)
            yield CheckedFile(session_id, file_id, file.name, file.size, self._sizes(file_id))

    def strays(self) -> Iterator[str]:
        """Rows of sessions that do not exist, and sessions whose running turn does not."""
        for table in _STRAYS:
            sql = f"SELECT count(*) FROM {table} WHERE session_number NOT IN (SELECT number FROM sessions)"  # noqa: S608
            ((count,),) = self._rows(sql)
            if count:
                yield f"{count:,} rows of {table} belong to no session"
        sql = """
            SELECT s.id FROM sessions s WHERE s.running_turn <> 0 AND NOT EXISTS (
              SELECT 1 FROM turns t WHERE t.number = s.running_turn AND t.session_number = s.number
              AND t.state = 'running'
            ) ORDER BY s.number
        """
        for (session_id,) in self._rows(sql):
            yield f"session {session_id}: its running turn is not one that runs"

    def _rows(self, sql: str, *values: object) -> Iterator[Sequence[Any]]:
        """The rows, a few at a time."""
        cursor = self._runner.run(_cursor(self._connection, sql, values))
        while rows := self._runner.run(cursor.fetch(_AT_ONCE)):
            yield from rows


async def _cursor(connection: Any, sql: str, values: Sequence[object]) -> Any:  # noqa: ANN401  # asyncpg has no types
    return await connection.cursor(sql, *values)


@contextlib.contextmanager
def opened_for_checking(address: PostgresAddress, sizes: StoredSizes | None) -> Iterator[PostgresChecking]:
    """Open a database to read it; raises ConfigError if it cannot be read or has another schema."""
    address.take_password(os.environ)
    with asyncio.Runner() as runner:
        try:
            connection = runner.run(_connected(address))
            try:
                yield PostgresChecking(runner, connection, sizes)
            finally:
                connection.terminate()
        except FAILURES as error:
            raise ConfigError(f"{address} cannot be read: {type(error).__name__}: {error}") from None


async def _connected(address: PostgresAddress) -> Any:  # noqa: ANN401  # asyncpg has no types
    connection = await connect(address, None)
    has_schema = await connection.fetchval("SELECT to_regclass('schema_state')") is not None
    version = await connection.fetchval("SELECT version FROM schema_state") if has_schema else None
    if version != max(migrations()):
        connection.terminate()
        state = f"schema version {version}" if version else "no tables of a service"
        raise ConfigError(
            f"{address} has {state}, and this program reads version {max(migrations())}. Check it with the svc that "
            "serves it"
        )
    await connection.transaction(isolation="repeatable_read", readonly=True).start()
    return connection
