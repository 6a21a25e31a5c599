"""SQLite connections with the service's pragmas, and migrations from numbered SQL files.

- ``synchronous=FULL``: a commit survives a power failure.
- ``secure_delete``: deleted text is overwritten.
- ``temp_store=MEMORY``: no temporary file contains a message.

Database files are created with mode 0600; SQLite gives the WAL the same mode.
"""

from __future__ import annotations

import logging
import os
import re
import sqlite3
import time
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

from svc.errors import ConfigError
from svc.process_safety.private_files import make_private_file
from svc.service.store.emails import is_email
from svc.service.store.store_errors import is_damage

log: logging.Logger = logging.getLogger("svc.store")
CHECK_SECONDS = (
    5.0  # about two gigabytes; a reader of damage that is found later gets an error, and so does GET /health
)
_STEPS_PER_LOOK = 10_000
_PRAGMAS = """
PRAGMA busy_timeout = 5000;
PRAGMA temp_store = MEMORY;
PRAGMA secure_delete = ON;
PRAGMA foreign_keys = ON;
PRAGMA synchronous = FULL;
"""


def connect(path: Path | None) -> sqlite3.Connection:
    """Connect to the file, or to a new in-memory database; transactions are begun explicitly."""
    connection = sqlite3.connect(path or ":memory:", isolation_level=None, check_same_thread=False)
    connection.executescript(_PRAGMAS)
    return connection


def recovery(name: str) -> str:
    """What an operator does about a damaged database."""
    return (
        f"stop the service, move {name} away together with its -wal and -shm files, copy a backup to {name} and start "
        "again. Without a backup it starts with an empty database; attached files are kept, and come back with the "
        "database that knows them"
    )


def check_integrity(connection: sqlite3.Connection, path: Path) -> None:
    """Raise ConfigError if the file is damaged. A check that takes longer than ``CHECK_SECONDS`` is given up."""
    end = time.monotonic() + CHECK_SECONDS
    connection.set_progress_handler(lambda: time.monotonic() > end, _STEPS_PER_LOOK)
    try:
        found = [row[0] for row in connection.execute("PRAGMA quick_check(1)").fetchall()]
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_INTERRUPT:
            raise
        log.info("integrity check aborted", extra={"seconds": CHECK_SECONDS})
        return
    except sqlite3.DatabaseError as error:
        found = [str(error)]
    finally:
        connection.set_progress_handler(None, 0)
    if found != ["ok"]:
        raise ConfigError(f"the database {path} is damaged ({found[0][:200]}). To recover, {recovery(str(path))}")


def _keep_log_of_missing(path: Path) -> None:
    """Move aside a write-ahead log whose database is missing or empty; SQLite would delete it."""
    write_ahead_log = path.with_name(f"{path.name}-wal")
    is_missing = not path.exists() or not path.stat().st_size
    if is_missing and write_ahead_log.is_file() and write_ahead_log.stat().st_size:
        aside = path.with_name(f"{write_ahead_log.name}.orphaned-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}")
        write_ahead_log.rename(aside)
        log.error("write-ahead log without a database", extra={"moved_to": str(aside)})


def create_file(path: Path) -> None:
    """Create folder and file if they are missing, for this user only, and switch the file to WAL mode."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _keep_log_of_missing(path)
        if not path.exists():
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
            make_private_file(path)
        connection = connect(path)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        finally:
            connection.close()
    except (OSError, sqlite3.Error) as error:
        if isinstance(error, sqlite3.Error) and is_damage(error):
            raise ConfigError(f"the database {path} is damaged ({error}). To recover, {recovery(str(path))}") from error
        raise ConfigError(
            f"the database {path} cannot be opened: {error}. Check the folder's permissions and free space, or choose "
            "another with --database"
        ) from error


def migrate(connection: sqlite3.Connection, name: str) -> None:
    """Apply the migrations that the database lacks; raises ConfigError if it is newer than this program."""
    migrations = _migrations()
    connection.create_function("is_email", 1, lambda text: isinstance(text, str) and is_email(text), deterministic=True)
    version = _version(connection)
    newest = max(migrations)
    if version > newest:
        raise ConfigError(
            f"{name} has schema version {version}, but this program supports up to {newest}: a newer svc used it. "
            "Upgrade svc-jupyter, or choose another database with --database"
        )
    for number in range(version + 1, newest + 1):
        try:
            connection.execute("BEGIN IMMEDIATE")
            if _version(connection) < number:  # otherwise another process migrated first
                for statement in _statements(migrations[number]):
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {number}")
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise ConfigError(f"{name} could not be migrated to schema version {number}: {error}") from error


def newest_version() -> int:
    """The version of the schema that this program writes."""
    return max(_migrations())


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _statements(script: str) -> Iterator[str]:
    """The script's statements; ``executescript`` would end the transaction in which the version was read."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


def _migrations() -> dict[int, str]:
    folder = resources.files("svc.service.store") / "migrations" / "sqlite"
    files = [entry for entry in folder.iterdir() if re.fullmatch(r"\d{4}_\w+\.sql", entry.name)]
    return {int(entry.name[:4]): entry.read_text("utf-8") for entry in files}
