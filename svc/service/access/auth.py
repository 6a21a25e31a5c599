"""Authenticate requests by the key in ``Authorization: Bearer``.

Every invalid key gets the same error after the same work: the digest is looked up even for a malformed key, so that the
response time does not reveal why a key was refused.
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
    """Looks keys up in the store for every request, so that a revoked key is refused at once."""

    def __init__(self, store: Store, clock: Callable[[], float]) -> None:
        self._store = store
        self._clock = clock

    async def authenticate(self, authorization: str | None) -> KeyRecord:
        """Return the valid key of the header; raises InvalidApiKeyError."""
        key = _bearer(authorization or "")
        found = await self._store.key_by_digest(key_digest(key))
        is_usable = is_well_formed(key) and found is not None and found.is_valid(self._clock())
        if found is None or not is_usable:
            raise InvalidApiKeyError(
                "the API key is missing or not valid; send a valid one as `Authorization: Bearer svc_…`. Create keys "
                "with `svc keys create NAME`, or on this service's page at / (`svc open`)"
            )
        return found

    async def check_still_valid(self, key: KeyRecord) -> None:
        """Raise InvalidApiKeyError if the key was revoked or has expired since it was read."""
        if await self.invalid_keys({key.id}):
            raise InvalidApiKeyError("the API key behind the ticket is no longer valid; send a valid one")

    async def invalid_keys(self, key_ids: set[str]) -> set[str]:
        """Those of the keys that are revoked, expired or deleted by now."""
        now = self._clock()
        valid = {key.id for key in await self._store.keys() if key.is_valid(now)}
        return key_ids - valid


def _bearer(header: str) -> str:
    has_scheme = hmac.compare_digest(header[: len(_SCHEME)].lower().encode(), _SCHEME.encode())
    return header[len(_SCHEME) :].strip() if has_scheme else ""
