"""The mark of a place for attached files that services share: which database the files belong to.

A service that was given a wrong folder or bucket, or a folder that only its own machine has, would find no file of the
others, and its own would be missing for them. So the database and the place know each other by an id: the first service
makes it, and every other one finds it in both or does not start.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Protocol

from svc.errors import ConfigError
from svc.messages import new_id

MARK = ".svc-database"
MARK_BYTES = 1_000  # of one that is read; those written have 33
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


class MarkedPlace(Protocol):
    """A folder or a place in an object store. Its methods raise ConfigError if it cannot be used."""

    @property
    def title(self) -> str:
        """What it is called in messages, such as "the folder for attached files /srv/files"."""
        ...

    @property
    def advice(self) -> str:
        """What to give instead of a wrong one."""
        ...

    @property
    def loss(self) -> str:
        """Why none of its files may be in it although it is the right one."""
        ...

    async def read_mark(self) -> bytes | None:
        """The mark; None if there is none."""
        ...

    async def write_mark(self, mark: bytes) -> bool:
        """Write the mark whole; False if there is one."""
        ...

    async def remove_mark(self) -> None:
        """Remove the mark that was just written."""
        ...

    async def has_one(self, file_ids: set[str]) -> bool:
        """Whether one of these files is there."""
        ...


async def check_mark(place: MarkedPlace, database: MarkedDatabase) -> None:
    """Raise ConfigError unless the place is the database's; a database without one takes it."""
    known = await database.meta(_META)  # read first: the place is marked before the database
    found = await place.read_mark()
    if known is None and found is None:
        found, known = await _begin(place, database)
    for _ in range(_TRIES):
        if known is not None:
            break
        await asyncio.sleep(_TRY_SECONDS)
        known = await database.meta(_META)
    _compare(place, found, known)


async def has_mark(place: MarkedPlace, database: MarkedDatabase) -> bool:
    """Whether the place is still the database's; a volume may have gone."""
    return await place.read_mark() == await database.meta(_META)


async def _begin(place: MarkedPlace, database: MarkedDatabase) -> tuple[bytes | None, bytes | None]:
    """Mark the place of a database that has none; returns what the place and the database then say."""
    attached = await database.file_ids()
    if attached and not await place.has_one(attached):
        raise ConfigError(
            f"{place.title} has none of the {len(attached):,} files that the database knows: {place.loss}. Give the "
            "right one with --files"
        )
    mark = new_id().encode()
    if not await place.write_mark(mark):  # another service was first
        return await place.read_mark(), None
    known = await database.first_meta(_META, mark)
    if known != mark:
        await place.remove_mark()
        return None, known
    return mark, known


def _compare(place: MarkedPlace, found: bytes | None, known: bytes | None) -> None:
    if found is not None and found == known:
        return
    if found is None:
        raise ConfigError(
            f"{place.title} is not that of this database: it has no {MARK}. {place.advice}. If this is the right one, "
            f"restored without {MARK}, write {(known or b'').decode()} into {MARK} there"
        )
    raise ConfigError(
        f"{place.title} belongs to another database: {MARK} in it says {found.decode('ascii', 'replace')[:80]}, and "
        f"this database {(known or b'nothing').decode()}. Give each database a place of its own with --files"
    )


class MarkedFolder:
    """A folder as a ``MarkedPlace``."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._mark = folder / MARK
        self.title: str = f"the folder for attached files {folder}"
        self.advice: str = "Give the folder that the other services use, on a volume that all of them share"
        self.loss: str = "it is another folder, or its volume is not mounted"

    async def read_mark(self) -> bytes | None:
        """The mark; None if there is none."""
        return await asyncio.to_thread(self._read)

    def _read(self) -> bytes | None:
        try:
            return self._mark.read_bytes().strip()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise ConfigError(f"{self._mark} cannot be read: {error}") from error

    async def write_mark(self, mark: bytes) -> bool:
        """Write the mark whole; False if there is one."""
        return await asyncio.to_thread(self._write, mark)

    def _write(self, mark: bytes) -> bool:
        part = self._folder / f"{MARK}.{mark.decode()}"
        try:
            part.write_bytes(mark + b"\n")
            part.chmod(0o600)
            try:
                os.link(part, self._mark)
            finally:
                part.unlink()
        except FileExistsError:
            return False
        except OSError as error:
            raise ConfigError(f"{self._mark} cannot be written: {error}") from error
        return True

    async def remove_mark(self) -> None:
        """Remove the mark that was just written."""
        await asyncio.to_thread(self._mark.unlink, missing_ok=True)

    async def has_one(self, file_ids: set[str]) -> bool:
        """Whether one of these files is there, complete or not."""
        return await asyncio.to_thread(self._has_one, file_ids)

    def _has_one(self, file_ids: set[str]) -> bool:
        with os.scandir(self._folder) as entries:
            return any(entry.name.partition(".")[0] in file_ids for entry in entries)
