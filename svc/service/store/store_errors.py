"""Which error of the wire a failure of SQLite becomes. Pure."""

from __future__ import annotations

import sqlite3

from svc.errors import InsufficientStorageError, ServiceError, UnavailableError

_CANNOT_WRITE = frozenset({
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_READONLY,
    # SQLite has no codes for an exceeded quota or file size limit: these fail as writes.
    sqlite3.SQLITE_IOERR_WRITE,
    sqlite3.SQLITE_IOERR_FSYNC,
    sqlite3.SQLITE_IOERR_DIR_FSYNC,
    sqlite3.SQLITE_IOERR_TRUNCATE,
    sqlite3.SQLITE_IOERR_SHMSIZE,
})  # fmt: skip
_DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_PRIMARY = 0xFF  # the low byte of an extended result code


def store_error(error: sqlite3.Error) -> ServiceError:
    """The error for a database that cannot be read or written at the moment."""
    code = getattr(error, "sqlite_errorcode", None) or 0
    if code in _CANNOT_WRITE or code & _PRIMARY in _CANNOT_WRITE:
        return storage_full(str(error))
    if is_damage(error):
        return UnavailableError(
            f"the service's database is damaged ({error}); its operator must restore a backup. The service's log says "
            "how",
            retry_after=60,
        )
    return UnavailableError(
        f"the service's database is unavailable ({error}); try again in a few seconds", retry_after=5
    )


def is_damage(error: sqlite3.Error) -> bool:
    """Whether the file itself is damaged."""
    return (getattr(error, "sqlite_errorcode", None) or 0) & _PRIMARY in _DAMAGED


def is_store_failure(error: Exception) -> bool:
    """Whether the store failed, as opposed to an operation that it refused."""
    return isinstance(error, sqlite3.OperationalError) or (isinstance(error, sqlite3.Error) and is_damage(error))


def storage_full(reason: str) -> InsufficientStorageError:
    """The error for a disk on which nothing can be stored."""
    return InsufficientStorageError(
        f"nothing was stored: the service's disk is full or cannot be written ({reason}). Free space on the disk of "
        "its database, then send the request again; the service needs no restart",
        retry_after=60,
    )
