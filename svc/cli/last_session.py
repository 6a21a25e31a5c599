"""``last_sessions.json`` in the state folder: the session that each service's user asked last, for ``--continue``.

Only the user can read the file. It holds session IDs and a prefix of the key's hash, never a key. It is treated as
empty if it cannot be read.
"""

from __future__ import annotations

import contextlib
import hashlib
import time
from pathlib import Path

import msgspec
from filelock import FileLock, Timeout

from svc._atomic_file import write_atomic
from svc.config import Config, resolve, state_folder

FILE_NAME = "last_sessions.json"
MAX_RECORDS = 50
_LOCK_SECONDS = 5.0


class _Record(msgspec.Struct, frozen=True, kw_only=True):
    service: str
    key_id: str
    session_id: str
    used: float


def recall() -> str | None:
    """The last session of the configured service and key; None if there is none."""
    owner = _owner()
    return next((one.session_id for one in _read(_path()) if (one.service, one.key_id) == owner), None)


def remember(session_id: str) -> None:
    """Keep the session as the last one. A disk that cannot be written only means that ``--continue`` has none."""
    service, key_id = owner = _owner()
    path = _path()
    new = _Record(service=service, key_id=key_id, session_id=session_id, used=time.time())
    with contextlib.suppress(OSError, Timeout):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with FileLock(path.with_name(f"{FILE_NAME}.lock"), timeout=_LOCK_SECONDS, mode=0o600):
            others = [one for one in _read(path) if (one.service, one.key_id) != owner]
            write_atomic(path, msgspec.json.encode([new, *others][:MAX_RECORDS]))


def _path() -> Path:
    return state_folder() / FILE_NAME


def _owner() -> tuple[str, str]:
    """The service and its key; the local service's port may change."""
    found = resolve()
    if not isinstance(found, Config):
        return found, ""
    return found.base_url, hashlib.sha256(found.api_key.encode()).hexdigest()[:12]


def _read(path: Path) -> list[_Record]:
    try:
        return msgspec.json.decode(path.read_bytes(), type=list[_Record])
    except (OSError, msgspec.MsgspecError):
        return []
