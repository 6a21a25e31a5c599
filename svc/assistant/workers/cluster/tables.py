"""The user's own tables as bytes: a machine that reads evidence for a service must have the same.

They are the operator's rules and copies of public tables, not evidence. Reads and writes folders, so it belongs into a
thread.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path

import msgspec

MAX_BYTES = 512 * 1024 * 1024


class TooManyTablesError(Exception):
    """The tables are larger than MAX_BYTES."""


class _TableFile(msgspec.Struct, frozen=True, array_like=True):
    name: str
    content: bytes


class Tables(msgspec.Struct, frozen=True):
    """Packed tables, and their digest."""

    data: bytes
    digest: str


NO_TABLES = Tables(b"", "")


def pack(folder: Path) -> Tables:
    """Return the files of a folder; a folder that is not there has none.

    Raises:
        TooManyTablesError: They are too large to be sent.
    """
    files = [file for file in sorted(folder.rglob("*")) if file.is_file()] if folder.is_dir() else []
    state = tuple((str(file), (status := file.stat()).st_size, status.st_mtime_ns) for file in files)
    if not state:
        return NO_TABLES
    if (size := sum(one[1] for one in state)) > MAX_BYTES:
        raise TooManyTablesError(f"the tables in {folder} have {size:,} bytes; the limit is {MAX_BYTES:,}")
    return _packed(folder, state)


@lru_cache(maxsize=1)
def _packed(folder: Path, state: tuple[tuple[str, int, int], ...]) -> Tables:
    files = [_TableFile(Path(name).relative_to(folder).as_posix(), Path(name).read_bytes()) for name, *_ in state]
    data = msgspec.msgpack.encode(files)
    return Tables(data, hashlib.sha256(data).hexdigest())


def unpack(tables: Tables, folder: Path) -> None:
    """Write packed tables into a new folder.

    Raises:
        ValueError: They are damaged, or a name leads out of the folder.
    """
    if hashlib.sha256(tables.data).hexdigest() != tables.digest:
        raise ValueError("the tables do not have their digest")
    for file in msgspec.msgpack.decode(tables.data, type=list[_TableFile]):
        path = Path(file.name)
        if path.is_absolute() or ".." in path.parts:
            raise ValueError(f"{file.name} is not a name in a folder")
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(file.content)
