"""The mark of a folder of attached files that several services share: which database the files belong to.

A service that was given a wrong folder, or one that only its own machine has, would find no file of the others, and
its own would be missing for them. So the database and its folder know each other by an id: the first service makes it,
and every other one finds it in both or does not start.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from pathlib import Path
from typing import Protocol

from svc.errors import ConfigError
from svc.messages import new_id

MARK = ".svc-database"
_META = "files"  # the name of the id in the database
_TRIES = 50  # while another service is about to write the id into the database
_TRY_SECONDS = 0.1


class MarkedDatabase(Protocol):
    """What is needed of the database."""

    async def meta(self, name: str) -> bytes | None:
        """A value that the service remembers."""
        ...

    async def first_meta(self, name: str, value: bytes) -> bytes:
        """Remember a value, unless there is one; returns that which is remembered."""
        ...

    async def file_ids(self) -> set[str]:
        """The ids of all attached files."""
        ...


async def check_mark(folder: Path, database: MarkedDatabase) -> None:
    """Raise ConfigError unless the folder is the database's; a database without a folder takes it."""
    known = await database.meta(_META)  # read first: the folder is marked before the database
    found = await asyncio.to_thread(_read, folder)
    if known is None and found is None:
        found, known = await _begin(folder, database)
    for _ in range(_TRIES):
        if known is not None:
            break
        await asyncio.sleep(_TRY_SECONDS)
        known = await database.meta(_META)
    _compare(folder, found, known)


async def has_mark(folder: Path, database: MarkedDatabase) -> bool:
    """Whether the folder is still the database's; its volume may have gone."""
    return await asyncio.to_thread(_read, folder) == await database.meta(_META)


async def _begin(folder: Path, database: MarkedDatabase) -> tuple[bytes | None, bytes | None]:
    """Mark the folder of a database that has none; returns what the folder and the database then say."""
    attached = await database.file_ids()
    if attached and not await asyncio.to_thread(_has_one, folder, attached):
        raise ConfigError(
            f"the folder for attached files {folder} has none of the {len(attached):,} files that the database knows: "
            "it is another folder, or its volume is not mounted. Give the right one with --files"
        )
    mark = new_id().encode()
    if not await asyncio.to_thread(_write, folder, mark):  # another service was first
        return await asyncio.to_thread(_read, folder), None
    known = await database.first_meta(_META, mark)
    if known != mark:
        with contextlib.suppress(OSError):
            await asyncio.to_thread((folder / MARK).unlink)
        return None, known
    return mark, known


def _compare(folder: Path, found: bytes | None, known: bytes | None) -> None:
    if found is not None and found == known:
        return
    if found is None:
        raise ConfigError(
            f"the folder for attached files {folder} is not that of this database: it has no file {MARK}. Give the "
            "folder that the other services use, on a volume that all of them share. If this is the folder, restored "
            f"without its hidden files, write {(known or b'').decode()} into {folder / MARK}"
        )
    raise ConfigError(
        f"the folder for attached files {folder} belongs to another database: {MARK} in it says "
        f"{found.decode('ascii', 'replace')[:80]}, and this database {(known or b'nothing').decode()}. Give each "
        "database a folder of its own with --files"
    )


def _read(folder: Path) -> bytes | None:
    try:
        return (folder / MARK).read_bytes().strip()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigError(f"{folder / MARK} cannot be read: {error}") from error


def _write(folder: Path, mark: bytes) -> bool:
    """Write the mark at once and whole; False if there is one."""
    part = folder / f"{MARK}.{mark.decode()}"
    try:
        part.write_bytes(mark + b"\n")
        part.chmod(0o600)
        try:
            os.link(part, folder / MARK)
        finally:
            part.unlink()
    except FileExistsError:
        return False
    except OSError as error:
        raise ConfigError(f"{folder / MARK} cannot be written: {error}") from error
    return True


def _has_one(folder: Path, file_ids: set[str]) -> bool:
    with os.scandir(folder) as entries:
        return any(entry.name.partition(".")[0] in file_ids for entry in entries)
