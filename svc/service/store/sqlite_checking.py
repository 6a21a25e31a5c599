"""Read a SQLite database and its folder of files for ``checking``, without changing either."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from svc.errors import ConfigError
from svc.service.store.checking import CheckedFile, CheckedMessage, CheckedSession, CheckedTurn
from svc.service.store.connection import newest_version
from svc.service.store.records import FileRecord

_STRAYS = {
    "turns": "session_number NOT IN (SELECT number FROM sessions)",
    "messages": "session_number NOT IN (SELECT number FROM sessions)",
    "files": "session_number NOT IN (SELECT number FROM sessions)",
    "feedback": "session_number NOT IN (SELECT number FROM sessions)",
}
_MAX_DAMAGE = 20  # lines of SQLite's own check


class SqliteChecking:
    """A ``CheckableStore``: one snapshot, also of a database that a service uses."""

    def __init__(self, connection: sqlite3.Connection, folder: Path) -> None:
        self._connection = connection
        self._folder = folder

    def sessions(self) -> Iterator[CheckedSession]:
        """All sessions."""
        for row in self._connection.execute("SELECT number, id, last_seq, turns FROM sessions ORDER BY number"):
            yield CheckedSession(*row)

    def turns(self, session: CheckedSession) -> Sequence[CheckedTurn]:
        """The session's turns."""
        sql = "SELECT number, id, query_id, query_seq, state FROM turns WHERE session_number = ? ORDER BY number"
        return [CheckedTurn(*row) for row in self._connection.execute(sql, [session.number])]

    def messages(self, session: CheckedSession) -> Iterator[CheckedMessage]:
        """The session's messages."""
        sql = "SELECT seq, turn_number, id, body FROM messages WHERE session_number = ? ORDER BY seq"
        for row in self._connection.execute(sql, [session.number]):
            yield CheckedMessage(*row)

    def files(self) -> Iterator[CheckedFile]:
        """The files of all sessions, with the size of what is in the folder."""
        sql = (
            "SELECT s.id, f.record, f.id FROM files f JOIN sessions s ON s.number = f.session_number ORDER BY f.number"
        )
        for session_id, record, file_id in self._connection.execute(sql):
            file = msgspec.json.decode(record, type=FileRecord)
            path = self._folder / file_id
            size = path.stat().st_size if path.is_file() else None
            yield CheckedFile(session_id, file_id, file.name, file.size, size)

    def strays(self) -> Iterator[str]:
        """Damaged pages, and rows of sessions that do not exist."""
        for (line,) in self._connection.execute(f"PRAGMA integrity_check({_MAX_DAMAGE})"):
            if line != "ok":
                yield f"the database is damaged: {line}"
        for table, condition in _STRAYS.items():
            count = self._connection.execute(f"SELECT count(*) FROM {table} WHERE {condition}").fetchone()[0]  # noqa: S608
            if count:
                yield f"{count:,} rows of {table} belong to no session"


@contextlib.contextmanager
def opened_for_checking(path: Path) -> Iterator[SqliteChecking]:
    """Open a database to read it; raises ConfigError if it is missing, is not a database, or has another schema."""
    if not path.is_file():
        raise ConfigError(f"the database {path} does not exist")
    try:
        with contextlib.closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
            version = int(connection.execute("PRAGMA user_version").fetchone()[0])
            if version != newest_version():
                raise ConfigError(
                    f"{path} has schema version {version}, and this program reads {newest_version()}. "
                    "Check it with the svc that serves it"
                )
            connection.execute("BEGIN")
            yield SqliteChecking(connection, path.with_name(f"{path.name}.files"))
    except sqlite3.Error as error:
        raise ConfigError(f"the database {path} cannot be read: {error}") from error
