"""Create, list and revoke keys in a service's database for ``svc keys``, whether or not the service is running."""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TypeVar

import msgspec

from svc.errors import ConfigError
from svc.messages import new_id
from svc.service.access.keys import key_digest, make_key
from svc.service.store import Store
from svc.service.store.address import PostgresAddress
from svc.service.store.emails import is_email
from svc.service.store.opening import store_of
from svc.service.store.records import KeyRecord, Logging

T = TypeVar("T")


async def create_key(
    database: Path | PostgresAddress,
    user_id: str,
    *,
    logging: Logging,
    allow_experimental: bool,
    rpm: int,
    tpm: int,
    expires: float,
    email: str | None = None,
) -> tuple[KeyRecord, str]:
    """Create a key for a user.

    Args:
        database: The service's database; created if it is missing.
        user_id: Whose sessions the key opens.
        logging: Whether the key's sessions are stored on disk.
        allow_experimental: Whether the key may use the experimental model.
        rpm: Requests per minute; 0 is unlimited.
        tpm: Tokens per minute; 0 is unlimited.
        expires: Seconds since the epoch; 0 is never.
        email: The user's email address, for all keys of the user. None leaves it as it is: that of the user's other
            keys, else the user's name if it is an address, else none.

    Returns:
        The key's record, and the key itself, which is not stored.

    Raises:
        ConfigError: The name or the email cannot be used.
    """
    if not user_id or len(user_id) > 200 or not user_id.isprintable():
        raise ConfigError("NAME must be 1 to 200 printable characters; it is the user that the key belongs to")
    if email is not None and not is_email(email):
        raise ConfigError(f"--email {email[:80]!r} is not an email address; it must be like name@example.org")
    key = make_key()
    record = KeyRecord(
        id=new_id()[:12],
        user_id=user_id,
        email=email or (user_id if is_email(user_id) else ""),
        logging=logging,
        allow_experimental=allow_experimental,
        rpm=rpm,
        tpm=tpm,
        created=time.time(),
        expires=expires,
    )
    return await _with_store(database, lambda store: _add(store, record, key_digest(key), email)), key


async def _add(store: Store, record: KeyRecord, digest: str, email: str | None) -> KeyRecord:
    """Store the key; returns it as it is stored. All keys of a user have the same email."""
    known = [key.email for key in await store.keys() if key.user_id == record.user_id and key.email]
    if email is None and known:
        record = msgspec.structs.replace(record, email=known[-1])
    await store.add_key(record, digest)
    if email is not None:
        await store.set_email(record.user_id, email)
    return record


async def list_keys(database: Path | PostgresAddress) -> list[KeyRecord]:
    """The records of all keys, oldest first."""
    _check_exists(database)
    return await _with_store(database, lambda store: store.keys())


async def revoke_key(database: Path | PostgresAddress, key_id: str) -> int:
    """Revoke a key and all keys derived from it; a running service closes their streams within a second.

    Returns:
        The number of derived keys that were revoked.

    Raises:
        ConfigError: No database, or no valid key with this id.
    """
    _check_exists(database)

    async def revoke(store: Store) -> int | None:
        if not await store.revoke_key(key_id, time.time()):
            return None
        derived = [key for key in await store.keys() if key_id in key.lineage and not key.revoked]
        for key in derived:
            await store.revoke_key(key.id, time.time())
        return len(derived)

    if (count := await _with_store(database, revoke)) is None:
        raise ConfigError(f"no such key: {key_id}, or it is revoked already; see `svc keys list`")
    return count


def _check_exists(database: Path | PostgresAddress) -> None:
    if isinstance(database, Path) and not database.exists():
        raise ConfigError(f"no such database: {database}; give the service's with --database")


async def _with_store(database: Path | PostgresAddress, work: Callable[[Store], Coroutine[None, None, T]]) -> T:
    store = store_of(database)
    await store.open()
    try:
        return await work(store)
    finally:
        await store.close()
