"""What ``svc keys`` does to the database of a service, running or not."""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TypeVar

from svc.errors import ConfigError
from svc.messages import new_id
from svc.service.access.keys import key_digest, make_key
from svc.service.store.records import KeyRecord, Logging
from svc.service.store.sqlite import SqliteStore

T = TypeVar("T")


async def create_key(
    database: Path,
    user_id: str,
    *,
    logging: Logging,
    allow_experimental: bool,
    rpm: int,
    tpm: int,
    expires: float,
) -> tuple[KeyRecord, str]:
    """Make a key for the user; its record, and the key itself, which is shown now or never."""
    if not user_id or len(user_id) > 200 or not user_id.isprintable():
        raise ConfigError("NAME must be 1 to 200 printable characters: it says whose sessions the key opens")
    key = make_key()
    record = KeyRecord(
        id=new_id()[:12],
        user_id=user_id,
        logging=logging,
        allow_experimental=allow_experimental,
        rpm=rpm,
        tpm=tpm,
        created=time.time(),
        expires=expires,
    )
    await _with_store(database, lambda store: store.add_key(record, key_digest(key)))
    return record, key


async def list_keys(database: Path) -> list[KeyRecord]:
    """Every key's record, oldest first."""
    _check_exists(database)
    return await _with_store(database, lambda store: store.keys())


async def revoke_key(database: Path, key_id: str) -> int:
    """Revoke the key and all that was made with it; how many these are. Raises ConfigError.

    A running service closes their streams within a second.
    """
    _check_exists(database)

    async def revoke(store: SqliteStore) -> int | None:
        if not await store.revoke_key(key_id, time.time()):
            return None
        made = [key for key in await store.keys() if key_id in key.lineage and not key.revoked]
        for key in made:
            await store.revoke_key(key.id, time.time())
        return len(made)

    if (count := await _with_store(database, revoke)) is None:
        raise ConfigError(f"there is no key {key_id} that is not revoked yet; `svc keys list` shows them")
    return count


def _check_exists(database: Path) -> None:
    if not database.exists():
        raise ConfigError(f"there is no database {database}; name the service's with --database")


async def _with_store(database: Path, work: Callable[[SqliteStore], Coroutine[None, None, T]]) -> T:
    store = SqliteStore(database)
    await store.open()
    try:
        return await work(store)
    finally:
        await store.close()
