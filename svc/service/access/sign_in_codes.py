"""One-time sign-in codes for the service's page, valid for a minute and kept in memory only.

A code travels in the body of a form that a local file posts. So no key ever appears in a URL, in the browser's history
or in a cookie (cookies of 127.0.0.1 are shared by all its ports).

Any web page can post a code of its own, and would sign its visitor in to another user's account. So a code only leads
to a page that names the user, and that page's button posts a confirmation, which is accepted from the service's own
origin only. Facts: docs/wire.md, "The service's page".
"""

from __future__ import annotations

import secrets
from collections.abc import Callable

import msgspec

from svc.messages import PageCode
from svc.service.store.records import KeyRecord

CODE_SECONDS = 60  # starting a browser takes up to ten
CONFIRMATION_SECONDS = 300  # to read the page and click
MAX_CODES = 20  # of a user; more drop the oldest
_BYTES = 32  # 256 bits, like a key


class _IssuedCode(msgspec.Struct, frozen=True):
    """The key behind a code or a confirmation, and when it expires."""

    key: KeyRecord
    expires: float
    is_confirmation: bool = False


class SignInCodes:
    """The codes that are issued and not used yet. ``clock`` gives seconds since the epoch."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._codes: dict[str, _IssuedCode] = {}

    def issue(self, key: KeyRecord) -> PageCode:
        """Issue a code for the key."""
        return PageCode(code=self._add(key, CODE_SECONDS), expires_in=CODE_SECONDS)

    def redeem(self, code: str) -> tuple[KeyRecord, str] | None:
        """Use up a code; returns its key and the confirmation to ask for, or None if the code is not valid."""
        key = self._take(code, is_confirmation=False)
        return None if key is None else (key, self._add(key, CONFIRMATION_SECONDS, is_confirmation=True))

    def confirm(self, confirmation: str) -> KeyRecord | None:
        """Use up a confirmation and return its key; None if it was used, has expired or never existed."""
        return self._take(confirmation, is_confirmation=True)

    def _add(self, key: KeyRecord, seconds: int, *, is_confirmation: bool = False) -> str:
        now = self._clock()
        valid = {code: entry for code, entry in self._codes.items() if now < entry.expires}
        own = [code for code, entry in valid.items() if entry.key.user_id == key.user_id]
        for oldest in own[: max(0, len(own) + 1 - MAX_CODES)]:
            del valid[oldest]
        code = secrets.token_urlsafe(_BYTES)
        valid[code] = _IssuedCode(key, now + seconds, is_confirmation)
        self._codes = valid
        return code

    def _take(self, code: str, *, is_confirmation: bool) -> KeyRecord | None:
        entry = self._codes.get(code)
        if entry is None or entry.is_confirmation != is_confirmation:
            return None
        del self._codes[code]
        return entry.key if self._clock() < entry.expires else None
