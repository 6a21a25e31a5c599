"""What several services on one database must know together besides its sessions: codes, counts, and the time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, Protocol

from svc.service.access.once_codes import MemoryOnceCodes, OnceCodes
from svc.service.quotas.counters import Counters, MemoryCounters
from svc.service.store import Store
from svc.service.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from svc.service.store.postgres.store import PostgresStore


class SharedState(NamedTuple):
    """Codes that work once, and what accounts have used."""

    codes: OnceCodes
    counters: Counters


class TimeSource(Protocol):
    """Seconds since the epoch, by another machine's clock."""

    def __call__(self) -> float:
        """The time now."""
        ...

    async def start(self) -> None:
        """Begin to follow the other clock."""

    async def close(self) -> None:
        """Follow it no more."""


def time_source_of(store: Store, elapsed: Callable[[], float]) -> TimeSource | None:
    """The clock of the database's machine; None for SQLite, whose machine is this one."""
    if isinstance(store, SqliteStore):
        return None
    from svc.service.store.postgres.clock import DatabaseTime

    return DatabaseTime(_postgres(store), elapsed)


def shared_state_of(store: Store, clock: Callable[[], float]) -> SharedState:
    """In memory for SQLite, which has one service; in the database for PostgreSQL."""
    if isinstance(store, SqliteStore):
        return SharedState(MemoryOnceCodes(clock), MemoryCounters())
    from svc.service.access.shared_codes import PostgresOnceCodes
    from svc.service.quotas.shared_counters import PostgresCounters

    shared = _postgres(store)
    return SharedState(PostgresOnceCodes(shared), PostgresCounters(shared))


def _postgres(store: Store) -> PostgresStore:
    from svc.service.store.postgres.store import PostgresStore

    if not isinstance(store, PostgresStore):
        raise TypeError(f"a store of unknown kind: {type(store).__name__}")
    return store
