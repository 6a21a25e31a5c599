"""Open the store that an address names. The driver of PostgreSQL is imported only for a database of that kind."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from svc.errors import ConfigError
from svc.service.store import Store
from svc.service.store.address import PostgresAddress
from svc.service.store.sqlite import SqliteStore


class SingleService(Protocol):
    """Lets one service at a time use a database."""

    async def take(self, on_lost: Callable[[], None]) -> None:
        """Begin to hold the database; raises ConfigError if another service does. ``on_lost``: it does now."""

    async def close(self) -> None:
        """Let another service have it."""


def single_service_of(database: Path | PostgresAddress) -> SingleService | None:
    """The lock of a PostgreSQL database; None for a SQLite file, whose lock is a file."""
    if isinstance(database, Path):
        return None
    from svc.service.store.postgres.single_service import PostgresLock

    return PostgresLock(database)


def store_of(database: Path | PostgresAddress) -> Store:
    """The store, still closed; raises ConfigError if what it needs is not installed."""
    if isinstance(database, Path):
        return SqliteStore(database)
    try:
        from svc.service.store.postgres.store import PostgresStore
    except ImportError as error:
        raise ConfigError(
            f'{database} needs the extra "postgres", which is not installed ({error}): '
            'pip install "svc-jupyter[postgres]"'
        ) from error
    return PostgresStore(database)
