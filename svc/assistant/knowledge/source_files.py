"""The files of the user's own source definitions in the knowledge folder. What they hold is checked by their reader."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from svc._atomic_file import write_atomic
from svc.assistant.knowledge import user_folder

State = tuple[tuple[str, int, int], ...]
"""The files' names, sizes and times: it changes if a definition does."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def name_for(file: Path, wanted: str | None) -> str:
    """Return the name under which a definition is stored: ``wanted``, otherwise the file's.

    Raises:
        ValueError: It is not a valid file name.
    """
    name = wanted or re.sub(r"[^A-Za-z0-9._-]+", "-", file.stem).strip("-.")
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} is not a valid name. Choose another: --name my-source")
    return name


def save(name: str, content: bytes) -> Path:
    """Store a definition, replacing one of the same name, and return its file."""
    file = _folder() / f"{name}.toml"
    write_atomic(file, content, mode=None)
    return file


def remove(name: str) -> bool:
    """Remove a definition; return False if there is none of that name."""
    file = _folder() / f"{name}.toml"
    is_there = bool(_NAME.fullmatch(name)) and file.is_file()
    if is_there:
        file.unlink(missing_ok=True)
    return is_there


def state(limit: int) -> State:
    """Return the state of the first ``limit`` files."""
    found = []
    for file in _files(limit):
        try:
            status = file.stat()
        except OSError:  # removed in this moment
            continue
        found.append((str(file), status.st_size, status.st_mtime_ns))
    return tuple(found)


def read_all(limit: int, size: int) -> Iterator[tuple[str, bytes | str]]:
    """Yield the name and the first ``size`` bytes of the first ``limit`` files, or why a file cannot be read."""
    for file in _files(limit):
        try:
            with file.open("rb") as opened:
                yield file.stem, opened.read(size)
        except OSError as error:
            yield file.stem, error.strerror or type(error).__name__


def _folder() -> Path:
    return user_folder() / "sources"


def _files(limit: int) -> list[Path]:
    return sorted(_folder().glob("*.toml"))[:limit]
