"""One-time sign-in codes for the service's page, valid for a minute.

A code travels in the body of a form that a local file posts. So no key ever appears in a URL, in the browser's history
or in a cookie (cookies of 127.0.0.1 are shared by all its ports).

Any web page can post a code of its own, and would sign its visitor in to another user's account. So a code only leads
to a page that names the user, and that page's button posts a confirmation, which is accepted from the service's own
origin only. Facts: docs/wire.md, "The service's page".
"""

from __future__ import annotations

import secrets

import msgspec

from svc.messages import PageCode
from svc.service.access.once_codes import CodeKind, OnceCodes
from svc.service.store.records import KeyRecord

CODE_SECONDS = 60  # starting a browser takes up to ten
CONFIRMATION_SECONDS = 300  # to read the page and click
MAX_CODES = 20  # of a user, and as many confirmations; more drop the oldest
_BYTES = 32  # 256 bits, like a key


class SignInCodes:
    """The codes and confirmations that are issued and not used yet."""

    def __init__(self, codes: OnceCodes) -> None:
        self._codes = codes

    async def issue(self, key: KeyRecord) -> PageCode:
        """Issue a code for the key."""
        return PageCode(code=await self._add("sign_in", key, CODE_SECONDS), expires_in=CODE_SECONDS)

    async def redeem(self, code: str) -> tuple[KeyRecord, str] | None:
        """Use up a code; returns its key and the confirmation to ask for, or None if the code is not valid."""
        key = await self._take("sign_in", code)
        return None if key is None else (key, await self._add("confirmation", key, CONFIRMATION_SECONDS))

    async def confirm(self, confirmation: str) -> KeyRecord | None:
        """Use up a confirmation and return its key; None if it was used, has expired or never existed."""
        return await self._take("confirmation", confirmation)

    async def _add(self, kind: CodeKind, key: KeyRecord, seconds: int) -> str:
        code, content = secrets.token_urlsafe(_BYTES), msgspec.json.encode(key)
        await self._codes.add(kind, code, content, user_id=key.user_id, seconds=seconds, limit=MAX_CODES)
        return code

    async def _take(self, kind: CodeKind, code: str) -> KeyRecord | None:
        content = await self._codes.take(kind, code)
        return None if content is None else msgspec.json.decode(content, type=KeyRecord)
