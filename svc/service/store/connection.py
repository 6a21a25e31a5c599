"""SQLite connections with the service's pragmas, and migrations from numbered SQL files.

- ``synchronous=FULL``: a commit survives a power failure.
- ``secure_delete``: deleted text is overwritten.
- ``temp_store=MEMORY``: no temporary file contains a message.

Database files are created with mode 0600; SQLite gives the WAL the same mode.
"""

from __future__ import annotations

import os
import re
import sqlite3
from importlib import resources
from pathlib import Path

from svc.errors import ConfigError

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


def create_file(path: Path) -> None:
    """Create folder and file if they are missing, for this user only, and switch the file to WAL mode."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        connection = connect(path)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        finally:
            connection.close()
    except (OSError, sqlite3.Error) as error:
        raise ConfigError(f"the database {path} cannot be opened: {error}. Choose another with --database") from error


def migrate(connection: sqlite3.Connection, name: str) -> None:
    """Apply the migrations that the database lacks; raises ConfigError if it is newer than this program."""
    migrations = _migrations()
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    newest = max(migrations)
    if version > newest:
        raise ConfigError(
            f"{name} has schema version {version}, but this program supports up to {newest}: a newer svc used it. "
            "Upgrade svc-jupyter, or choose another database with --database"
        )
    for number in range(version + 1, newest + 1):
        script = f"BEGIN IMMEDIATE;\n{migrations[number]}\nPRAGMA user_version = {number};\nCOMMIT;"
        try:
            connection.executescript(script)
        except sqlite3.Error as error:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            if (
                int(connection.execute("PRAGMA user_version").fetchone()[0]) < number
            ):  # otherwise another process migrated first
                raise ConfigError(f"{name} could not be migrated to schema version {number}: {error}") from error


def _migrations() -> dict[int, str]:
    folder = resources.files("svc.service.store") / "migrations"
    files = [entry for entry in folder.iterdir() if re.fullmatch(r"\d{4}_\w+\.sql", entry.name)]
    return {int(entry.name[:4]): entry.read_text("utf-8") for entry in files}
