"""Stored answers: one file each, named by its key and written atomically, so that parallel runs may share a folder.

The key is the SHA-256 of everything that determines the answer: the requested model, the language, the question, the
names and hashes of the attachments, and the key of the previous question of the session. ``replay.py`` decides when to
use a stored answer.

Each file is signed (``signing.py``). The answers of the example notebooks have no signature: the installed package
lists their hashes (``shipped_answers.txt``).
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import msgspec

from svc import AnswerStatus, Message, MimeType, findings_file
from svc._atomic_file import write_atomic
from svc.messages import status_of
from svc_jupyter.answers import signing
from svc_jupyter.answers.redaction import redact, redact_all, redact_drawing

VERSION = 1
_SUFFIX = ".json"
_FINDINGS_SUFFIX = ".findings.jsonl.gz"
_KEY_CHARACTERS = 64
_SIGNATURE = "signature"
_PURPOSE = "svc stored answer"
_SHIPPED = Path(__file__).with_name("shipped_answers.txt")


class StoreError(Exception):
    """A key that matches no stored answer, or more than one."""


class Entry(msgspec.Struct, kw_only=True, frozen=True):
    """A stored answer.

    ``model`` answered; ``asked_model`` was requested, ``""`` for the service's choice. ``notes`` are the kernel's
    remarks before the messages. ``question`` is the text as written: with ``--fill``, before the names in braces were
    replaced. ``findings_sha256`` is that of the stored findings file, empty if there is none.
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
    findings_sha256: str = ""

    @property
    def text(self) -> str:
        """The RESULT."""
        return "".join(str(m.get_content()) for m in self.messages if m.message_type == "result")

    @property
    def status(self) -> AnswerStatus | None:
        """How far the question is answered; None if it is unknown, as in answers stored before there was a status."""
        return status_of(self.messages)

    def differs(self, other: Entry) -> bool:
        """Whether the texts differ, or the statuses, if both are known."""
        return self.text != other.text or (None not in (self.status, other.status) and self.status != other.status)


def key_of(
    *,
    model: str,
    language: str,
    question: str,
    files: Sequence[tuple[str, str]],
    before: str,
    is_about_all: bool = False,
) -> str:
    """Compute the key. ``files`` are names with the hex SHA-256 of their content, in any order."""
    parts = [VERSION, model, language, question, sorted(files), before, *(["all files"] if is_about_all else [])]
    return hashlib.sha256(json.dumps(parts, ensure_ascii=True).encode()).hexdigest()


@dataclass(frozen=True)
class Stored:
    """An answer as it was found. ``is_verified``: the file is as this user, or someone with a shared key, stored it."""

    entry: Entry
    is_verified: bool


def load(folder: Path, key: str) -> Stored | None:
    """Return the answer, or None if it is missing, unreadable or has another key."""
    try:
        value = msgspec.json.decode(_path(folder, key).read_bytes())
        signature = str(value.pop(_SIGNATURE, ""))
        entry = msgspec.convert(value, Entry)  # from the value that was signed, so that both say the same
        is_ours = signing.is_signed(_PURPOSE, value, signature) or _digest(value) in _shipped()
    except (OSError, msgspec.MsgspecError, StoreError, AttributeError, TypeError, RecursionError):
        return None
    if entry.version != VERSION or entry.key != key:
        return None
    return Stored(entry, is_verified=is_ours and findings_sha256(folder, key) == entry.findings_sha256)


def redacted(entry: Entry, secrets: Sequence[str] = ()) -> Entry:
    """Return the answer without API keys and ``secrets`` in its texts."""
    return msgspec.structs.replace(
        entry,
        question=redact(entry.question, secrets),
        files=[(redact(name, secrets), digest) for name, digest in entry.files],
        notes=[redact(note, secrets) for note in entry.notes],
        messages=[_redacted_message(message, secrets) for message in entry.messages],
    )


def save(folder: Path, entry: Entry, secrets: Sequence[str] = ()) -> None:
    """Store the answer, redacted and signed; replaces one with the same key. Raises OSError.

    Without a usable key it is stored unsigned: it will be shown as not verified.
    """
    if not entry.findings_sha256:
        _findings_path(folder, entry.key).unlink(missing_ok=True)  # of the answer before
    value = msgspec.json.decode(msgspec.json.encode(redacted(entry, secrets)))
    value[_SIGNATURE] = signing.sign_if_possible(_PURPOSE, value)
    text = msgspec.json.format(msgspec.json.encode(value), indent=1)
    write_atomic(_path(folder, entry.key), text + b"\n")


def save_findings(folder: Path, key: str, content: bytes, secrets: Sequence[str] = ()) -> str:
    """Store the findings file of an answer, redacted, before the answer itself; return its SHA-256.

    Raises OSError, ValueError.
    """
    write_atomic(_findings_path(folder, key), _redacted_pieces(content, secrets))
    return findings_sha256(folder, key)


def findings_sha256(folder: Path, key: str) -> str:
    """Return the SHA-256 of the stored findings file, empty if there is none or it cannot be read."""
    try:
        with _findings_path(folder, key).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


def findings_path(folder: Path, key: str) -> Path | None:
    """Return the path of the stored findings file of an answer; None if it has none."""
    path = _findings_path(folder, key)
    return path if path.exists() else None


def entries(folder: Path) -> Iterator[Entry]:
    """Yield all readable answers, oldest first."""
    yield from (stored.entry for stored in stored_answers(folder))


def stored_answers(folder: Path) -> Iterator[Stored]:
    """Like ``entries``, with whether each one is verified."""
    found = [stored for path in folder.glob(f"??/*{_SUFFIX}") if (stored := load(folder, path.stem)) is not None]
    yield from sorted(found, key=lambda stored: stored.entry.saved)


def write_shipped(folder: Path) -> None:
    """Make the package list the answers in a folder, and remove their signatures: nobody else has their key."""
    digests = []
    for entry in entries(folder):
        path = _path(folder, entry.key)
        value = msgspec.json.decode(path.read_bytes())
        value.pop(_SIGNATURE, None)
        path.write_bytes(msgspec.json.format(msgspec.json.encode(value), indent=1) + b"\n")
        digests.append(_digest(value))
    _SHIPPED.write_text("".join(f"{digest}\n" for digest in sorted(digests)), encoding="ascii")
    _shipped.cache_clear()


def find(folder: Path, start: str) -> Stored:
    """Return the one answer whose key begins with ``start``. Raises StoreError."""
    found = [stored for stored in stored_answers(folder) if stored.entry.key.startswith(start.lower())]
    if len(found) == 1:
        return found[0]
    raise StoreError(
        f"the keys of {len(found)} answers in {folder} begin with {start}. List them with `svc report answers list`."
        if found
        else f"no key of an answer in {folder} begins with {start}. List the answers with `svc report answers list`."
    )


def prune(folder: Path, *, unused_since: float) -> list[Entry]:
    """Delete the answers unused since then, except those that a used answer follows; return the deleted ones."""
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
        _findings_path(folder, entry.key).unlink(missing_ok=True)
    return removed


def touch(folder: Path, key: str) -> None:
    """Record that the answer was used, for ``prune``. Does nothing if the folder is read-only."""
    try:
        os.utime(_path(folder, key), (time.time(), time.time()))
    except OSError:
        return


def size(folder: Path, key: str) -> int:
    """Return the size of the stored answer, with its findings file, in bytes; 0 if it is missing."""
    total = 0
    for path in (_path(folder, key), _findings_path(folder, key)):
        with contextlib.suppress(OSError):
            total += path.stat().st_size
    return total


@cache
def _shipped() -> frozenset[str]:
    """The hashes of the example notebooks' answers."""
    return frozenset(_SHIPPED.read_text(encoding="ascii").split())


def _digest(value: object) -> str:
    return hashlib.sha256(signing.canonical(value)).hexdigest()


def _redacted_message(message: Message, secrets: Sequence[str]) -> Message:
    clean = redact_drawing if message.mime_type == MimeType.SVG else redact
    return msgspec.structs.replace(
        message,
        title=redact(message.title, secrets) if message.title else message.title,
        content=clean(message.content, secrets) if message.content else message.content,
    )


def _redacted_pieces(content: bytes, secrets: Sequence[str]) -> Iterator[bytes]:
    """The findings file without API keys and ``secrets``; blocks that have none are not changed."""
    yield findings_file.pack_header(sum(block.count for _, block in findings_file.members(content)))
    for member, block in findings_file.members(content):
        text = msgspec.json.encode(block).decode()
        if redact(text, secrets) == text:
            yield member
        else:
            columns = {name: block.column(name) for name in block.columns}
            shown = redact_all({"same": block.same, "columns": columns}, secrets)
            yield findings_file.pack_line({"kind": block.kind, "count": block.count, **shown})


def _used(folder: Path, key: str) -> float:
    try:
        return _path(folder, key).stat().st_mtime
    except OSError:
        return 0.0


def _path(folder: Path, key: str) -> Path:
    if len(key) != _KEY_CHARACTERS or not all(c in "0123456789abcdef" for c in key):
        raise StoreError(f"not an answer's key: {key[:80]!r}")
    return folder / key[:2] / f"{key}{_SUFFIX}"


def _findings_path(folder: Path, key: str) -> Path:
    return _path(folder, key).with_suffix(_FINDINGS_SUFFIX)
