"""Open the store that an address names. The driver of PostgreSQL is imported only for a database of that kind."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from svc.errors import ConfigError
from svc.service.store import Store
from svc.service.store.address import PostgresAddress
from svc.service.store.homes import Home, Homes
from svc.service.store.shared import Hints, SharedStore
from svc.service.store.sqlite import SqliteStore


class SingleService(Protocol):
    """Lets one service at a time use a database."""

    async def take(self, on_lost: Callable[[], None]) -> None:
        """Begin to hold the database; raises ConfigError if another service does. ``on_lost``: it does now."""

    async def close(self) -> None:
        """Let another service have it."""


def single_service_of(database: Path | PostgresAddress, *, is_shared: bool = False) -> SingleService | None:
    """The lock of a PostgreSQL database; None for a SQLite file, whose lock is a file.

    ``is_shared``: those who share it do not exclude each other.
    """
    if isinstance(database, Path):
        return None
    from svc.service.store.postgres.single_service import PostgresLock

    return PostgresLock(database, is_shared=is_shared)


def store_of(database: Path | PostgresAddress, *, patience_seconds: float = 0.0) -> Store:
    """The store, still closed; raises ConfigError if what it needs is not installed.

    ``patience_seconds``: for how long a turn waits for a database on another machine that is out of reach.
    """
    if isinstance(database, Path):
        return SqliteStore(database)
    try:
        from svc.service.store.postgres.store import PostgresStore
    except ImportError as error:
        raise _without_driver(database, error) from error
    return PostgresStore(database, patience_seconds=patience_seconds)


def shared_store_of(database: Path | PostgresAddress, *, patience_seconds: float = 0.0) -> SharedStore:
    """The store of a database that several services use at once, still closed; raises ConfigError."""
    if isinstance(database, Path):
        raise ConfigError(
            f"--shared-database needs PostgreSQL: several services cannot use the SQLite file {database}. Give "
            "--database postgresql://…, or leave --shared-database out"
        )
    try:
        from svc.service.store.postgres.shared import SharedPostgresStore
    except ImportError as error:
        raise _without_driver(database, error) from error
    return SharedPostgresStore(database, patience_seconds=patience_seconds)


def doubts_of(store: Store) -> Callable[[], int] | None:
    """Counts the appends that were in doubt; None for SQLite, where no commit's answer is lost."""
    if isinstance(store, SqliteStore):
        return None
    from svc.service.store.postgres.store import PostgresStore

    return (lambda: store.appends_in_doubt) if isinstance(store, PostgresStore) else None


def hints_of(database: PostgresAddress, replica: str) -> Hints:
    """What the replicas of a shared database tell each other, still closed."""
    from svc.service.store.postgres.hints import PostgresHints

    return PostgresHints(database, replica)


def homes_of(store: SharedStore, own: Home) -> Homes:
    """Where the unlogged sessions of a shared database's services are; ``own`` is this service."""
    from svc.service.store.postgres.homes import PostgresHomes
    from svc.service.store.postgres.shared import SharedPostgresStore

    if not isinstance(store, SharedPostgresStore):
        raise TypeError(f"a store of unknown kind: {type(store).__name__}")
    return PostgresHomes(store, own)


def _without_driver(database: PostgresAddress, error: ImportError) -> ConfigError:
    return ConfigError(
        f'{database} needs the extra "postgres", which is not installed ({error}): pip install "svc-jupyter[postgres]"'
    )
