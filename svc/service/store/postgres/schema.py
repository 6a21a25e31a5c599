"""The schema of a PostgreSQL database: numbered SQL files, applied one after the other under a lock.

Each file names the oldest program that may go on beside it (``-- works with: NUMBER``, the number of that program's
newest file), so that services of two versions can share a database while they are upgraded one after the other.
"""

from __future__ import annotations

import re
from importlib import resources
from typing import Any

from svc.errors import ConfigError

_WORKS_WITH = re.compile(r"^-- works with: (\d+)$", re.MULTILINE)
_LOCK = "SELECT pg_advisory_xact_lock(hashtext('svc migrations'), hashtext(current_schema()))"
_STATE = """
CREATE TABLE IF NOT EXISTS schema_state (
  only_row BOOLEAN PRIMARY KEY DEFAULT TRUE CHECK (only_row),
  version INTEGER NOT NULL,
  oldest_program INTEGER NOT NULL
)
"""


def migrations() -> dict[int, str]:
    """The SQL files of this program by number."""
    folder = resources.files("svc.service.store") / "migrations" / "postgres"
    files = [entry for entry in folder.iterdir() if re.fullmatch(r"\d{4}_\w+\.sql", entry.name)]
    return {int(entry.name[:4]): entry.read_text("utf-8") for entry in files}


def oldest_program(number: int, text: str) -> int:
    """The oldest program that may go on after this file; without a line of its own, none that lacks the file."""
    found = _WORKS_WITH.search(text)
    return int(found[1]) if found else number


async def migrate(connection: Any, name: str) -> None:  # noqa: ANN401  # asyncpg has no types
    """Apply the files that the database lacks; raises ConfigError if it says that this program is too old for it."""
    files = migrations()
    newest = max(files)
    if await _version(connection, newest, name) >= newest:  # the service's user need not be allowed to change tables
        return
    async with connection.transaction():
        await connection.execute(_LOCK)
        await connection.execute(_STATE)
        version = await _version(connection, newest, name)  # another program may have been first
        oldest = await connection.fetchval("SELECT oldest_program FROM schema_state") or 0
        for number in sorted(files):
            if number > version:
                await connection.execute(files[number])
                oldest = max(oldest, oldest_program(number, files[number]))
        if newest > version:
            await connection.execute(
                "INSERT INTO schema_state (version, oldest_program) VALUES ($1, $2)"
                " ON CONFLICT (only_row) DO UPDATE SET version = excluded.version, oldest_program = "
                "excluded.oldest_program",
                newest,
                oldest,
            )


async def _version(connection: Any, newest: int, name: str) -> int:  # noqa: ANN401  # asyncpg has no types
    """The version of the schema; raises ConfigError if it needs a newer program than this one."""
    if await connection.fetchval("SELECT to_regclass('schema_state')") is None:
        return 0
    row = await connection.fetchrow("SELECT version, oldest_program FROM schema_state")
    version, oldest = (0, 0) if row is None else (row[0], row[1])
    if newest < oldest:
        raise ConfigError(
            f"{name} has schema version {version}, which needs a program that supports {oldest}; this one supports up "
            f"to {newest}: a newer svc used it. Upgrade svc-jupyter, or choose another database"
        )
    return int(version)
