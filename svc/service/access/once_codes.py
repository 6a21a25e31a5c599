"""Stores of one-time codes, which keep their digests until they are used or expire.

A service on SQLite keeps them in its memory. Several services on one PostgreSQL keep them there, so that a code that
one of them issued works once, whichever of them redeems it (``shared_codes.py``).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Literal, Protocol

import msgspec

CodeKind = Literal["stream", "sign_in", "confirmation", "page"]


class OnceCodes(Protocol):
    """The codes that are issued and not used yet."""

    async def add(
        self, kind: CodeKind, code: str, content: bytes, *, user_id: str, seconds: float, limit: int = 0
    ) -> None:
        """Keep what a new code stands for.

        Args:
            kind: What it is for; a code of another kind is another code.
            code: The code itself, which is not kept.
            content: What it stands for.
            user_id: Whose it is.
            seconds: How long it works.
            limit: How many of this kind a user may have: more drop the oldest. 0 is no limit.
        """

    async def take(self, kind: CodeKind, code: str, *, grace_seconds: float = 0.0) -> bytes | None:
        """Use up a code; returns what it stands for, or None if it was used, has expired or never existed.

        Within ``grace_seconds`` of its first use, it may be used again.
        """
        ...

    async def sweep(self) -> None:
        """Drop the codes that have expired."""


def code_digest(code: str) -> bytes:
    """What is kept of a code. It has 256 bits, so that a slow hash would add nothing."""
    return hashlib.sha256(code.encode("utf-8", "surrogatepass")).digest()


class _KeptCode(msgspec.Struct):
    """What a code stands for, whose it is, and when it expires."""

    content: bytes
    user_id: str
    expires: float


class MemoryOnceCodes:
    """The codes of one service, in its memory. ``clock`` gives seconds since the epoch."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._codes: dict[tuple[CodeKind, bytes], _KeptCode] = {}  # the oldest first

    async def add(
        self, kind: CodeKind, code: str, content: bytes, *, user_id: str, seconds: float, limit: int = 0
    ) -> None:
        """Keep what a new code stands for, and drop expired ones."""
        await self.sweep()
        own = [place for place, kept in self._codes.items() if place[0] == kind and kept.user_id == user_id]
        for oldest in own[: max(0, len(own) + 1 - limit)] if limit else ():
            del self._codes[oldest]
        self._codes[kind, code_digest(code)] = _KeptCode(content, user_id, self._clock() + seconds)

    async def take(self, kind: CodeKind, code: str, *, grace_seconds: float = 0.0) -> bytes | None:
        """Use up a code; within ``grace_seconds`` it may be used again."""
        place, now = (kind, code_digest(code)), self._clock()
        kept = self._codes.get(place)
        if kept is None or now >= kept.expires:
            return None
        if grace_seconds:
            kept.expires = min(kept.expires, now + grace_seconds)
        else:
            del self._codes[place]
        return kept.content

    async def sweep(self) -> None:
        """Drop the codes that have expired."""
        now = self._clock()
        self._codes = {place: kept for place, kept in self._codes.items() if now < kept.expires}
