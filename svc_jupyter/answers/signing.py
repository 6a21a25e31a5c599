"""Authenticate what is stored and read again: an HMAC-SHA256 with a key that only this user, or a team, has.

The key is ``answers.key`` in the user's state folder (mode 0600), made when it is first needed, or the file that
``SVC_ANSWERS_KEY_FILE`` names, which a team or CI shares. A file has one key per line: the first one signs, all of them
verify, so a new first line changes the key. What a signature proves: docs/reports.md, "Verified answers".
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
from pathlib import Path

from filelock import FileLock, Timeout

from svc._atomic_file import write_atomic
from svc.config import state_folder
from svc.process_safety.private_files import make_private_folder, problem_with

VARIABLE = "SVC_ANSWERS_KEY_FILE"
MIN_CHARACTERS = 32
_OWN_NAME = "answers.key"
_MAX_BYTES = 65_536
_LOCK_SECONDS = 10


class KeyFileError(Exception):
    """The key cannot be used; the text says why and what to do."""


def check() -> None:
    """Raise KeyFileError if the file that the environment names cannot be used."""
    if os.environ.get(VARIABLE):
        _read(_path())


def sign(purpose: str, value: object) -> str:
    """Return the signature of a JSON value.

    Args:
        purpose: What the value is, so that no signature counts for something else.
        value: Anything that JSON can say.

    Raises:
        KeyFileError: There is no key, and none can be made.
    """
    path = _path()
    if not os.environ.get(VARIABLE) and not path.exists():
        _make(path)
    return _mac(_read(path)[0], purpose, value)


def sign_if_possible(purpose: str, value: object) -> str:
    """Like ``sign``, but empty without a usable key: what is not signed is not believed later."""
    try:
        return sign(purpose, value)
    except (KeyFileError, TypeError, ValueError, RecursionError):
        return ""


def is_signed(purpose: str, value: object, signature: str) -> bool:
    """Whether one of our keys made the signature of this value. Never raises."""
    given = signature.encode("utf-8", "replace")
    try:
        return any(hmac.compare_digest(_mac(key, purpose, value).encode(), given) for key in _read(_path()))
    except (KeyFileError, TypeError, ValueError, RecursionError):  # no key, or nothing that was ever signed
        return False


def canonical(value: object) -> bytes:
    """Return a JSON value in the one form that is signed."""
    return json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":")).encode()


def _mac(key: bytes, purpose: str, value: object) -> str:
    return hmac.new(key, purpose.encode() + b"\0" + canonical(value), hashlib.sha256).hexdigest()


def _path() -> Path:
    named = os.environ.get(VARIABLE)
    return Path(named) if named else state_folder() / _OWN_NAME


def _read(path: Path) -> list[bytes]:
    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            content = file.read(_MAX_BYTES)
        problem = problem_with(path, status)
    except OSError as error:
        raise KeyFileError(f"the key file {path} cannot be read: {error.strerror or error}") from error
    if problem:
        raise KeyFileError(f"the key file {path} is not private: {problem}")
    keys = [line.strip() for line in content.splitlines() if line.strip()]
    if not keys or any(len(key) < MIN_CHARACTERS for key in keys):
        raise KeyFileError(
            f"the key file {path} needs one key of at least {MIN_CHARACTERS} characters per line. "
            "Make one with: openssl rand -hex 32"
        )
    return keys


def _make(path: Path) -> None:
    """Make a key. Kernels that start at the same time make one."""
    try:
        make_private_folder(path.parent)
        with FileLock(f"{path}.lock", timeout=_LOCK_SECONDS):
            if path.exists():
                return
            write_atomic(path, f"{secrets.token_hex(32)}\n".encode())
    except (OSError, Timeout) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise KeyFileError(
            f"no key for stored answers can be made in {path.parent}: {reason}. Set {VARIABLE} to a file with one."
        ) from error
