"""API keys that users manage themselves: list, create and revoke. Decides the rights of a derived key.

A derived key never has more rights than the key it was made with: it has the same user and rights, expires no later,
and shares the same rate limits. Revoking a key here also revokes the keys of pages that it opened; ``svc keys revoke``
revokes every key derived from it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import msgspec

from svc.errors import InvalidApiKeyError, InvalidRequestError
from svc.messages import CreateKeyRequest, Key, NewKey, new_id
from svc.service.access.keys import key_digest, make_key
from svc.service.store import Store
from svc.service.store.records import KeyRecord

MAX_KEYS = 50  # valid keys per user: more are a mistake, and the stream watch checks each of them
MAX_PAGES = 20  # signed-in pages per user; one more signs the oldest out
MAX_NAME_CHARS = 100
MAX_TTL_SECONDS = 315_360_000  # ten years
PAGE_SECONDS = 43_200  # 12 hours: a shift
LOCAL_PREFIX = "local-"  # starts the id of the key in a local service's key file


class UserKeys:
    """The operations on a user's keys. ``clock`` gives seconds since the epoch."""

    def __init__(self, store: Store, clock: Callable[[], float] = time.time) -> None:
        self._store = store
        self._clock = clock

    async def list(self, caller: KeyRecord) -> Sequence[Key]:
        """The caller's keys, oldest first; keys of pages only while they are valid."""
        now = self._clock()
        return [wire_key(key, caller) for key in await self._keys_of(caller) if not key.is_page or key.is_valid(now)]

    async def create(self, caller: KeyRecord, request: CreateKeyRequest) -> NewKey:
        """Create a key for the caller.

        Raises:
            InvalidRequestError: The name or ttl is not allowed, or the user has too many keys.
            InvalidApiKeyError: The key that opened the caller's page is no longer valid.
        """
        own, now = await self._keys_of(caller), self._clock()
        check_request(request)
        if sum(key.is_valid(now) and not key.is_page for key in own) >= MAX_KEYS:
            raise InvalidRequestError(f"you have {MAX_KEYS} valid keys, the maximum; revoke one that is not in use")
        parent = _parent_key(caller, own, now)
        return await self._add(derive_key(parent, now=now, ttl=request.ttl, name=request.name.strip()), caller)

    async def open_page(self, caller: KeyRecord) -> NewKey:
        """Create a short-lived key for the page; signs the oldest page out if there are too many.

        Raises InvalidApiKeyError if the caller's key was revoked.
        """
        own, now = await self._keys_of(caller), self._clock()
        parent = _parent_key(caller, own, now)
        pages = [key for key in own if key.is_page and key.is_valid(now)]
        for oldest in pages[: max(0, len(pages) + 1 - MAX_PAGES)]:
            await self._store.revoke_key(oldest.id, now)
        page = derive_key(parent, now=now, ttl=PAGE_SECONDS, name="a page (svc open)")
        return await self._add(msgspec.structs.replace(page, is_page=True), caller)

    async def revoke(self, caller: KeyRecord, key_id: str) -> None:
        """Revoke one of the caller's keys and its pages' keys; their streams close within a second."""
        own = {key.id: key for key in await self._keys_of(caller)}
        if key_id not in own:
            raise InvalidRequestError(f"no such key: {key_id[:64]!r}; GET /key/list lists yours", param="id")
        if key_id.startswith(LOCAL_PREFIX):
            raise InvalidRequestError(
                f"{key_id} is the key of the local service's key file and cannot be revoked here. To replace it, stop "
                "the service and delete the file `key` in its state folder",
                param="id",
            )
        await self._store.revoke_key(key_id, self._clock())
        for key in own.values():
            if key.is_page and key_id in key.lineage:
                await self._store.revoke_key(key.id, self._clock())

    async def _keys_of(self, caller: KeyRecord) -> Sequence[KeyRecord]:
        return [key for key in await self._store.keys() if key.user_id == caller.user_id]

    async def _add(self, record: KeyRecord, caller: KeyRecord) -> NewKey:
        key = make_key()
        await self._store.add_key(record, key_digest(key))
        return NewKey(key=wire_key(record, caller), api_key=key)


def check_request(request: CreateKeyRequest) -> None:
    """Raise InvalidRequestError for a name or ttl that a key may not have."""
    if len(request.name) > MAX_NAME_CHARS or not request.name.isprintable():
        raise InvalidRequestError(f"name must be at most {MAX_NAME_CHARS} printable characters", param="name")
    if not 0 <= request.ttl <= MAX_TTL_SECONDS:
        raise InvalidRequestError(
            f"ttl is {request.ttl:,}; it must be 0 (as long as the key it is made with) to {MAX_TTL_SECONDS:,} seconds",
            param="ttl",
        )


def derive_key(parent: KeyRecord, *, now: float, ttl: int, name: str) -> KeyRecord:
    """Build the record of a key with the rights of its parent that expires no later than it."""
    ends = [end for end in (parent.expires, now + ttl if ttl else 0.0) if end]
    return msgspec.structs.replace(
        parent,
        id=new_id()[:12],
        name=name,
        lineage=(*parent.lineage, parent.id),
        is_page=False,
        created=now,
        expires=min(ends, default=0.0),
        revoked=0.0,
    )


def wire_key(key: KeyRecord, caller: KeyRecord) -> Key:
    """The key as clients see it."""
    return Key(
        id=key.id,
        name=key.name,
        create_time=int(key.created),
        expire_time=int(key.expires),
        revoke_time=int(key.revoked),
        is_asking=key.id == caller.id,
        is_page=key.is_page,
    )


def _parent_key(caller: KeyRecord, own: Sequence[KeyRecord], now: float) -> KeyRecord:
    """The key to derive from: the caller's, or for a page's key the one that opened the page.

    A page's key is short-lived; that must not limit the keys made on the page.
    """
    parent_id = caller.lineage[-1] if caller.is_page else caller.id
    found = next((key for key in own if key.id == parent_id and key.is_valid(now)), None)
    if found is None:
        raise InvalidApiKeyError("the key that opened this page is no longer valid; run `svc open` with a valid key")
    return found
