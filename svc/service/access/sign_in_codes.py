"""Codes that sign the page in: once, within a minute. Kept in this process's memory alone.

A code travels in the body of a form that a file of the user's posts, so that no key is ever in an address, in a cookie
(those of 127.0.0.1 are shared by all its ports) or in a browser's history. Facts: docs/wire.md, "The service's page".
"""

from __future__ import annotations

import secrets
from collections.abc import Callable

import msgspec

from svc.messages import PageCode
from svc.service.store.records import KeyRecord

CODE_SECONDS = 60  # a browser that has to start first takes ten
_BYTES = 32  # 256 bits, as a key has


class _Entry(msgspec.Struct, frozen=True):
    """Whose code it is, and when it ends."""

    key: KeyRecord
    expires: float


class SignInCodes:
    """The codes that were given out and not used yet. ``clock`` gives seconds since the epoch."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._open: dict[str, _Entry] = {}

    def issue(self, key: KeyRecord) -> PageCode:
        """A new code for the key; those that have run out are dropped on the way."""
        now = self._clock()
        self._open = {code: entry for code, entry in self._open.items() if now < entry.expires}
        code = secrets.token_urlsafe(_BYTES)
        self._open[code] = _Entry(key, now + CODE_SECONDS)
        return PageCode(code=code, expires_in=CODE_SECONDS)

    def redeem(self, code: str) -> KeyRecord | None:
        """The key behind a code, which is used up by it; None where it was used, has run out or never was."""
        entry = self._open.pop(code, None)
        return entry.key if entry is not None and self._clock() < entry.expires else None
