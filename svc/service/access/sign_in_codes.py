"""One-time sign-in codes for the service's page, valid for a minute and kept in memory only.

A code travels in the body of a form that a local file posts. So no key ever appears in a URL, in the browser's history
or in a cookie (cookies of 127.0.0.1 are shared by all its ports). Facts: docs/wire.md, "The service's page".
"""

from __future__ import annotations

import secrets
from collections.abc import Callable

import msgspec

from svc.messages import PageCode
from svc.service.store.records import KeyRecord

CODE_SECONDS = 60  # starting a browser takes up to ten
_BYTES = 32  # 256 bits, like a key


class _IssuedCode(msgspec.Struct, frozen=True):
    """The key behind a code, and when the code expires."""

    key: KeyRecord
    expires: float


class SignInCodes:
    """The codes that are issued and not used yet. ``clock`` gives seconds since the epoch."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._codes: dict[str, _IssuedCode] = {}

    def issue(self, key: KeyRecord) -> PageCode:
        """Issue a code for the key, and drop expired codes."""
        now = self._clock()
        self._codes = {code: entry for code, entry in self._codes.items() if now < entry.expires}
        code = secrets.token_urlsafe(_BYTES)
        self._codes[code] = _IssuedCode(key, now + CODE_SECONDS)
        return PageCode(code=code, expires_in=CODE_SECONDS)

    def redeem(self, code: str) -> KeyRecord | None:
        """Use up a code and return its key; None if it was used, has expired or never existed."""
        entry = self._codes.pop(code, None)
        return entry.key if entry is not None and self._clock() < entry.expires else None
