"""Stored answers: one file for each, named by its key, written whole or not at all, shared by runs side by side.

The key is SHA-256 over everything that the answer follows from: the model as asked for, the options, the prompt, names
and hashes of what was attached, and the key of the question before in the session. Decides nothing about when an
answer is taken from here (``answer_book.py``).
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from svc import Message, MimeType
from svc_jupyter.answers.redaction import redact, redact_drawing

VERSION = 1
_SUFFIX = ".json"
_KEY_CHARACTERS = 64


class StoreError(Exception):
    """A key that names no stored answer, or more than one."""


class Entry(msgspec.Struct, kw_only=True, frozen=True):
    """A stored answer. ``model`` is what answered, ``asked_model`` what was asked for, ``""`` the service's choice.

    ``notes`` are the words of the kernel's own that were shown before the messages. ``question`` is as it was written:
    with ``--fill`` the names in braces, not what stood in for them; the key tells the one asked from others.
    """

    version: int = VERSION
    key: str
    before: str
    question: str
    asked_model: str
    language: str
    files: list[tuple[str, str]]
    model: str
    session_id: str
    saved: float
    notes: list[str]
    messages: list[Message]

    @property
    def text(self) -> str:
        """The RESULT."""
        return "".join(str(m.get_content()) for m in self.messages if m.message_type == "result")


def key_of(*, model: str, language: str, question: str, files: Sequence[tuple[str, str]], before: str) -> str:
    """The key. ``files`` are names with the hex SHA-256 of what is in them, in any order."""
    parts = [VERSION, model, language, question, sorted(files), before]
    return hashlib.sha256(json.dumps(parts, ensure_ascii=True).encode()).hexdigest()


def load(folder: Path, key: str) -> Entry | None:
    """The answer; None where there is none, or it cannot be read, or says that it is another."""
    try:
        entry = msgspec.json.decode(_path(folder, key).read_bytes(), type=Entry)
    except (OSError, msgspec.MsgspecError, StoreError):
        return None
    return entry if entry.version == VERSION and entry.key == key else None


def redacted(entry: Entry, secrets: Sequence[str] = ()) -> Entry:
    """The answer without keys and ``secrets`` in any text that came from outside."""
    return msgspec.structs.replace(
        entry,
        question=redact(entry.question, secrets),
        files=[(redact(name, secrets), digest) for name, digest in entry.files],
        notes=[redact(note, secrets) for note in entry.notes],
        messages=[_redacted_message(message, secrets) for message in entry.messages],
    )


def save(folder: Path, entry: Entry, secrets: Sequence[str] = ()) -> None:
    """Store the answer, redacted. The same key twice is the same file; the later stays. Raises OSError."""
    path = _path(folder, entry.key)
    path.parent.mkdir(parents=True, exist_ok=True)
    text = msgspec.json.format(msgspec.json.encode(redacted(entry, secrets)), indent=1).decode()
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".answer.")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text + "\n")
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def entries(folder: Path) -> Iterator[Entry]:
    """All answers that can be read, the oldest first."""
    found = [entry for path in folder.glob(f"??/*{_SUFFIX}") if (entry := load(folder, path.stem)) is not None]
    yield from sorted(found, key=lambda entry: entry.saved)


def find(folder: Path, start: str) -> Entry:
    """The one answer whose key begins so. Raises StoreError."""
    found = [entry for entry in entries(folder) if entry.key.startswith(start.lower())]
    if len(found) == 1:
        return found[0]
    raise StoreError(
        f"{len(found)} answers in {folder} have a key that begins with {start}. `svc report answers list` shows all."
        if found
        else f"no answer in {folder} has a key that begins with {start}. `svc report answers list` shows all."
    )


def prune(folder: Path, *, unused_since: float) -> list[Entry]:
    """Remove the answers that nobody took or stored since then; returns them. A question keeps the ones before it."""
    known = {entry.key: entry for entry in entries(folder)}
    kept: set[str] = set()
    for key in known:
        if _used(folder, key) >= unused_since:
            link = key
            while link in known and link not in kept:
                kept.add(link)
                link = known[link].before
    removed = [entry for key, entry in known.items() if key not in kept]
    for entry in removed:
        _path(folder, entry.key).unlink(missing_ok=True)
    return removed


def touch(folder: Path, key: str) -> None:
    """Note that the answer was used: ``prune`` goes by it. Where the folder is read-only, nothing is noted."""
    try:
        os.utime(_path(folder, key), (time.time(), time.time()))
    except OSError:
        return


def size(folder: Path, key: str) -> int:
    """Bytes of the stored answer; 0 where it is gone."""
    try:
        return _path(folder, key).stat().st_size
    except OSError:
        return 0


def _redacted_message(message: Message, secrets: Sequence[str]) -> Message:
    clean = redact_drawing if message.mime_type == MimeType.SVG else redact
    return msgspec.structs.replace(
        message,
        title=redact(message.title, secrets) if message.title else message.title,
        content=clean(message.content, secrets) if message.content else message.content,
    )


def _used(folder: Path, key: str) -> float:
    try:
        return _path(folder, key).stat().st_mtime
    except OSError:
        return 0.0


def _path(folder: Path, key: str) -> Path:
    if len(key) != _KEY_CHARACTERS or not all(c in "0123456789abcdef" for c in key):
        raise StoreError(f"{key[:80]!r} is no key of an answer.")
    return folder / key[:2] / f"{key}{_SUFFIX}"
