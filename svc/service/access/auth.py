"""Who is asking: the key in ``Authorization: Bearer``. One answer for every bad key, after the same work.

The key's digest is looked up whatever the key looks like, so that time tells nothing about why it was refused.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable

from svc.errors import InvalidApiKeyError
from svc.service.access.keys import is_well_formed, key_digest
from svc.service.store import Store
from svc.service.store.records import KeyRecord

_SCHEME = "bearer "


class Authenticator:
    """Finds the key of a request in the store, each time: a revoked key is refused at once."""

    def __init__(self, store: Store, clock: Callable[[], float]) -> None:
        self._store = store
        self._clock = clock

    async def caller(self, authorization: str | None) -> KeyRecord:
        """The valid key of the header; raises InvalidApiKeyError."""
        key = _bearer(authorization or "")
        found = await self._store.key_by_digest(key_digest(key))
        is_usable = is_well_formed(key) and found is not None and found.is_valid(self._clock())
        if found is None or not is_usable:
            raise InvalidApiKeyError(
                "the API key is missing or not valid; send a valid one as `Authorization: Bearer svc_…`. The page at / "
                "of this service makes keys (`svc open` shows it), and so does `svc keys create NAME`"
            )
        return found

    async def check_still_valid(self, key: KeyRecord) -> None:
        """Raise InvalidApiKeyError for a key that was revoked or expired since it was read."""
        if await self.invalid_of({key.id}):
            raise InvalidApiKeyError("the API key behind the ticket is no longer valid; send a valid one")

    async def invalid_of(self, key_ids: set[str]) -> set[str]:
        """Those of the keys that are revoked, expired or gone by now."""
        now = self._clock()
        valid = {key.id for key in await self._store.keys() if key.is_valid(now)}
        return key_ids - valid


def _bearer(header: str) -> str:
    has_scheme = hmac.compare_digest(header[: len(_SCHEME)].lower().encode(), _SCHEME.encode())
    return header[len(_SCHEME) :].strip() if has_scheme else ""
