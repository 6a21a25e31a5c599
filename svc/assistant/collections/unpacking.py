"""Unpack one archive in a worker process: send its members, within limits. Reads only the given stream.

ZIP (with AES), TAR (also compressed with gzip, bzip2, xz or Zstandard) and 7z. A single compressed file stays as it is,
because the tools read it so. Member names are data: no path is ever made of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from itertools import islice
from typing import BinaryIO

from svc.assistant.collections.forms import Unpacked, open_archive
from svc.assistant.collections.request import CLOSED_CONTAINERS, CONTAINERS, UnpackLimits, UnpackRequest, read_request
from svc.assistant.file_types.identify import HEAD_BYTES, identify
from svc.assistant.findings import Progress, ToolEvent
from svc.assistant.workers.frames import ArchiveEnd, MemberEnd, MemberFrame, MemberPiece

PIECE_BYTES = 1024 * 1024
PROGRESS_MEMBERS = 500
MAX_NAME_CHARS = 500
ENCRYPTED = "it is encrypted, and the usual password `infected` does not open it"
_TEXT_TYPES = ("text/", "message/rfc822", "application/json")


class _Full(Exception):
    """A limit of the whole request is reached; its text completes "the rest was not unpacked: …"."""


class _Bomb(Exception):
    """One member expands far more than evidence does."""


class _Budget:
    """What may still be unpacked."""

    def __init__(self, request: UnpackRequest, archive_bytes: int) -> None:
        self._limits = request.limits
        self._archive_bytes = max(archive_bytes, 1)
        self._kept = 0
        self.members = 0

    def count_member(self) -> None:
        if self.members >= self._limits.members:
            raise _Full(f"the limit of {self._limits.members:,} members is reached")
        self.members += 1

    def count_bytes(self, size: int, kept_of_member: int, packed: int | None) -> None:
        """Count bytes that are kept; raises _Full when the whole is too large."""
        self._kept += size
        limits = self._limits
        if self._kept > limits.total_bytes:
            raise _Full(f"the limit of {limits.total_bytes:,} unpacked bytes is reached")
        if packed is not None and _is_bomb(kept_of_member, packed, limits):
            raise _Bomb(f"it expands to more than {limits.ratio:,} times its size, as a decompression bomb does")
        if packed is None and _is_bomb(self._kept, self._archive_bytes, limits):
            raise _Full(f"it expands to more than {limits.ratio:,} times its size, as a decompression bomb does")

    def is_member_full(self, kept_of_member: int) -> bool:
        return kept_of_member > self._limits.member_bytes


def _is_bomb(unpacked: int, packed: int, limits: UnpackLimits) -> bool:
    return unpacked > limits.ratio_from_bytes and unpacked > limits.ratio * max(packed, 1)


def unpack(content: BinaryIO, /, *, source: str, request: str) -> Iterator[ToolEvent | MemberFrame]:
    """Yield the archive's members and one ArchiveEnd; ``request`` is an encoded ``UnpackRequest``."""
    asked = read_request(request)
    size = content.seek(0, 2)
    content.seek(0)
    label = identify(content.read(HEAD_BYTES), source)[1]
    content.seek(0)
    opened = open_archive(content, label)
    if opened is None:
        yield ArchiveEnd(form="")
        return
    budget = _Budget(asked, size)
    names: dict[str, int] = {}
    try:
        for member in opened.members:
            yield from _sent(member, asked, budget, _unique(member.name, names))
            if budget.members % PROGRESS_MEMBERS == 0:
                yield Progress(text=f"{source}: {budget.members:,} members unpacked")
    except _Full as full:
        opened.unfinished = str(full)
        if opened.is_listed:
            rest = (_unique(member.name, names) for member in opened.members)
            yield from (
                MemberEnd(name=name, size=0, reason=f"it was not unpacked: {full}")
                for name in islice(rest, asked.limits.members)
            )
    links = [f"{opened.links:,} links and devices were not followed"] if opened.links else []
    yield ArchiveEnd(form=opened.form, unfinished=opened.unfinished, notes=links)


def _unique(name: str, names: dict[str, int]) -> str:
    """The name as it is shown: with slashes, without a leading one, numbered if it occurs again."""
    shown = name.replace("\\", "/").removeprefix("./").lstrip("/")[:MAX_NAME_CHARS] or "(no name)"
    names[shown] = names.get(shown, 0) + 1
    return shown if names[shown] == 1 else f"{shown} ({names[shown]})"


def _sent(member: Unpacked, asked: UnpackRequest, budget: _Budget, name: str) -> Iterator[MemberFrame]:
    """The pieces of a member that a tool or another round of unpacking can use, then its end."""
    if member.reason:
        yield MemberEnd(name=name, size=member.size, reason=member.reason)
        return
    try:
        budget.count_member()
        yield from _content(member, asked, budget, name)
    except _Full as full:
        yield MemberEnd(name=name, size=member.size, reason=f"it was not unpacked: {full}")
        raise
    except _Bomb as bomb:
        yield MemberEnd(name=name, size=member.size, reason=str(bomb))
    except PermissionError:
        yield MemberEnd(name=name, size=member.size, reason=ENCRYPTED)
    except member.damage as error:
        reason = f"it is damaged, or compressed with an unknown method ({type(error).__name__})"
        yield MemberEnd(name=name, size=member.size, reason=reason)


def _content(member: Unpacked, asked: UnpackRequest, budget: _Budget, name: str) -> Iterator[MemberFrame]:
    read = member.open()
    head = _read_head(read)
    mime_type, label = identify(head, name.rpartition("/")[2])
    if not _is_useful(mime_type, label, asked) or not head:
        yield MemberEnd(name=name, size=member.size, mime_type=mime_type, label=label)
        return
    digest, size, piece, cut = hashlib.sha256(), 0, head, False
    while piece and not cut:
        digest.update(piece)
        size += len(piece)
        budget.count_bytes(len(piece), size, member.packed)
        yield MemberPiece(piece)
        cut = budget.is_member_full(size)
        piece = read(PIECE_BYTES)
    yield MemberEnd(
        name=name,
        size=size if not piece else max(member.size, size),
        sha256=digest.hexdigest(),
        mime_type=mime_type,
        label=label,
        cut=size if piece else None,
        is_opened_with_password=member.is_encrypted,
    )


def _read_head(read: Callable[[int], bytes]) -> bytes:
    """As much as the identification needs; a read may give less than it is asked for."""
    head = b""
    while len(head) < HEAD_BYTES and (piece := read(HEAD_BYTES - len(head))):
        head += piece
    return head


def _is_useful(mime_type: str, label: str, asked: UnpackRequest) -> bool:
    is_text = mime_type.startswith(_TEXT_TYPES)
    return is_text or label in asked.labels or label in CONTAINERS or label in CLOSED_CONTAINERS
