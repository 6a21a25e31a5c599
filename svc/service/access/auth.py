"""Authenticate requests by the key in ``Authorization: Bearer`` or, hidden, in ``Authorization: Svc-Sealed``.

Every invalid key gets the same error after the same work: the digest is looked up even for a malformed key, so that the
response time does not reveal why a key was refused.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from svc.errors import InvalidApiKeyError
from svc.service.access.keys import is_well_formed, key_digest
from svc.service.access.passed_requests import PassedRequests, is_passed
from svc.service.access.service_proofs import SEALED_SCHEME, ServiceProofs
from svc.service.store import Store
from svc.service.store.records import KeyRecord

_SCHEME = "bearer "


class Authenticator:
    """Looks keys up in the store for every request, so that a revoked key is refused at once."""

    def __init__(
        self,
        store: Store,
        clock: Callable[[], float],
        passed: PassedRequests | None = None,
        front_addresses: Sequence[str] = (),
    ) -> None:
        """``passed``: accepts what other services of the database pass on, if several share it.

        Raises ConfigError if one of ``front_addresses`` is no numeric address of loopback.
        """
        self._store = store
        self._clock = clock
        self._passed = passed
        self.proofs: ServiceProofs = ServiceProofs(store, clock, front_addresses)

    async def authenticate(self, authorization: str | None, *, method: str, target: str) -> KeyRecord:
        """Return the valid key of the header of a request; raises InvalidApiKeyError."""
        if self._passed is not None and is_passed(authorization):
            found = await self._passed.key_of(authorization or "", method, target)
            is_well_given = True
        else:
            key = await self._key_in(authorization or "", method, target)
            found = await self._store.key_by_digest(key_digest(key))
            is_well_given = is_well_formed(key)
        is_usable = is_well_given and found is not None and found.is_valid(self._clock())
        if found is None or not is_usable:
            raise InvalidApiKeyError(
                "the API key is missing or not valid; send a valid one as `Authorization: Bearer svc_…`. Create keys "
                "with `svc keys create NAME`, or on this service's page at / (`svc open`)"
            )
        return found

    async def _key_in(self, header: str, method: str, target: str) -> str:
        if hmac.compare_digest(header[: len(SEALED_SCHEME)].lower().encode(), SEALED_SCHEME.encode()):
            return await self.proofs.open_sealed(header[len(SEALED_SCHEME) :], method, target)
        return _bearer(header)

    async def check_still_valid(self, key: KeyRecord) -> None:
        """Raise InvalidApiKeyError if the key was revoked or has expired since it was read."""
        if await self.invalid_keys({key.id}):
            raise InvalidApiKeyError("the API key behind the ticket is no longer valid; send a valid one")

    async def invalid_keys(self, key_ids: set[str]) -> set[str]:
        """Those of the keys that are revoked, expired or deleted by now."""
        return key_ids - await self._store.valid_keys(key_ids, self._clock()) if key_ids else set()


def request_target(scope: Mapping[str, Any]) -> str:
    """The path and query of an ASGI request as the client sent them, which a sealed key is bound to."""
    path, query = scope["raw_path"].decode("latin-1"), scope["query_string"].decode("latin-1")
    return f"{path}?{query}" if query else path


def _bearer(header: str) -> str:
    has_scheme = hmac.compare_digest(header[: len(_SCHEME)].lower().encode(), _SCHEME.encode())
    return header[len(_SCHEME) :].strip() if has_scheme else ""
