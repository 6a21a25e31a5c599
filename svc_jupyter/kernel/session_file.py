"""``kernels.json`` in the state folder: which session each kernel and each notebook had, so that it is found again.

Only the user can read the file. It is written atomically, and treated as empty if it cannot be read. It contains
session IDs and a prefix of the key's hash, never a key. Records unused for 30 days are dropped.
"""

from __future__ import annotations

import hashlib
import time
from pathlib import Path

import msgspec
from filelock import FileLock

from svc._atomic_file import write_atomic
from svc.process_safety.private_files import make_private_folder

FILE_NAME = "kernels.json"
KEEP_SECONDS = 2_592_000  # the longest ttl of a session; docs/wire.md, "Limits"
LOCK_SECONDS = 10.0


class Owner(msgspec.Struct, frozen=True):
    """A kernel, or a notebook (``notebook_id``), that uses a service with a key."""

    kernel_id: str
    service: str
    key_id: str


class Record(msgspec.Struct, frozen=True):
    """A session of a kernel or notebook. ``model`` is the requested model, or None for the service's choice.

    ``turn`` is the last turn that was asked; it may be running if the kernel ended meanwhile.
    """

    owner: Owner
    session_id: str
    model: str | None
    used: float
    turn: str = ""


def notebook_id(path: Path) -> str:
    """Return what stands for a notebook in ``Owner.kernel_id``."""
    return f"notebook {path}"


def key_id(key: str) -> str:
    """Return a short hash that distinguishes keys without revealing them; ``""`` for an empty key."""
    return hashlib.sha256(key.encode()).hexdigest()[:12] if key else ""


def load(folder: Path, owner: Owner) -> Record | None:
    """Return the owner's record, if there is one."""
    return next((record for record in _read(folder / FILE_NAME) if record.owner == owner), None)


def save(folder: Path, owner: Owner, session_id: str, model: str | None, *, turn: str = "") -> None:
    """Record the owner's session and its running turn. Raises OSError if the folder cannot be written."""
    make_private_folder(folder)
    _replace(folder, owner, [Record(owner, session_id, model, time.time(), turn)])


def forget(folder: Path, owner: Owner) -> None:
    """Drop the owner's record. Raises OSError if the folder cannot be written."""
    _replace(folder, owner, [])


def _replace(folder: Path, owner: Owner, records: list[Record]) -> None:
    now = time.time()
    with FileLock(folder / f"{FILE_NAME}.lock", timeout=LOCK_SECONDS, mode=0o600):
        kept = [r for r in _read(folder / FILE_NAME) if r.owner != owner and now - r.used < KEEP_SECONDS]
        write_atomic(folder / FILE_NAME, msgspec.json.encode([*kept, *records]))


def _read(path: Path) -> list[Record]:
    try:
        return msgspec.json.decode(path.read_bytes(), type=list[Record])
    except (FileNotFoundError, msgspec.MsgspecError):
        return []
