"""A user's own keys: listed, made and revoked with one of them. Decides what a key that was made so may.

It never may more than the key that it was made with: the same user and rights, no longer a life, and a share of the
same limits. Revoking a key here ends it and the pages that it opened; ``svc keys revoke`` ends what was made with it,
too.
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

MAX_KEYS = 50  # of a user, valid at the same time: more are a mistake, and each is looked at every second
MAX_NAME_CHARS = 100
MAX_TTL_SECONDS = 315_360_000  # ten years
PAGE_SECONDS = 43_200  # 12 hours: a shift
LOCAL_PREFIX = "local-"  # of the id of the key that a local service keeps in a file


class UserKeys:
    """The operations on keys. ``clock`` gives seconds since the epoch."""

    def __init__(self, store: Store, clock: Callable[[], float] = time.time) -> None:
        self._store = store
        self._clock = clock

    async def listed(self, caller: KeyRecord) -> Sequence[Key]:
        """The caller's keys, oldest first; of pages' keys the valid ones alone."""
        now = self._clock()
        return [wire_key(key, caller) for key in await self._of(caller) if not key.is_page or key.is_valid(now)]

    async def create(self, caller: KeyRecord, request: CreateKeyRequest) -> NewKey:
        """A new key of the caller; raises InvalidRequestError, or InvalidApiKeyError where a page's own key is gone."""
        own, now = await self._of(caller), self._clock()
        check_request(request)
        if sum(key.is_valid(now) and not key.is_page for key in own) >= MAX_KEYS:
            raise InvalidRequestError(f"you have {MAX_KEYS} keys that are valid; revoke one that nobody uses first")
        behind = _behind(caller, own, now)
        return await self._add(derived(behind, now=now, ttl=request.ttl, name=request.name.strip()), caller)

    async def open_page(self, caller: KeyRecord) -> NewKey:
        """A short-lived key for a page; raises InvalidApiKeyError where the caller's was revoked meanwhile."""
        now = self._clock()
        behind = _behind(caller, await self._of(caller), now)
        page = derived(behind, now=now, ttl=PAGE_SECONDS, name="a page (svc open)")
        return await self._add(msgspec.structs.replace(page, is_page=True), caller)

    async def revoke(self, caller: KeyRecord, key_id: str) -> None:
        """Revoke a key of the caller's, with its pages; its streams close within a second."""
        own = {key.id: key for key in await self._of(caller)}
        if key_id not in own:
            raise InvalidRequestError(f"you have no key {key_id[:64]!r}; /key/list shows those you have", param="id")
        if key_id.startswith(LOCAL_PREFIX):
            raise InvalidRequestError(
                f"{key_id} is the key in this machine's key file, which the local service needs. To replace it, stop "
                "the service and delete the file `key` in its state folder",
                param="id",
            )
        await self._store.revoke_key(key_id, self._clock())
        for key in own.values():
            if key.is_page and key_id in key.lineage:
                await self._store.revoke_key(key.id, self._clock())

    async def _of(self, caller: KeyRecord) -> Sequence[KeyRecord]:
        return [key for key in await self._store.keys() if key.user_id == caller.user_id]

    async def _add(self, record: KeyRecord, caller: KeyRecord) -> NewKey:
        key = make_key()
        await self._store.add_key(record, key_digest(key))
        return NewKey(key=wire_key(record, caller), api_key=key)


def check_request(request: CreateKeyRequest) -> None:
    """Raise InvalidRequestError for a name or a ttl that a key cannot have."""
    if len(request.name) > MAX_NAME_CHARS or not request.name.isprintable():
        raise InvalidRequestError(f"name has to be at most {MAX_NAME_CHARS} printable characters", param="name")
    if not 0 <= request.ttl <= MAX_TTL_SECONDS:
        raise InvalidRequestError(
            f"ttl is {request.ttl:,}; it goes from 0 (as long as the key that asks may) to {MAX_TTL_SECONDS:,} seconds",
            param="ttl",
        )


def derived(behind: KeyRecord, *, now: float, ttl: int, name: str) -> KeyRecord:
    """A key with the rights of the one behind it, that lives no longer than that one."""
    ends = [end for end in (behind.expires, now + ttl if ttl else 0.0) if end]
    return msgspec.structs.replace(
        behind,
        id=new_id()[:12],
        name=name,
        lineage=(*behind.lineage, behind.id),
        is_page=False,
        created=now,
        expires=min(ends, default=0.0),
        revoked=0.0,
    )


def wire_key(key: KeyRecord, caller: KeyRecord) -> Key:
    """What the caller is told of the key."""
    return Key(
        id=key.id,
        name=key.name,
        create_time=int(key.created),
        expire_time=int(key.expires),
        revoke_time=int(key.revoked),
        is_asking=key.id == caller.id,
        is_page=key.is_page,
    )


def _behind(caller: KeyRecord, own: Sequence[KeyRecord], now: float) -> KeyRecord:
    """The caller's key, or for a page's the one that opened it: the page's short life is no limit of what it makes."""
    wanted = caller.lineage[-1] if caller.is_page else caller.id
    found = next((key for key in own if key.id == wanted and key.is_valid(now)), None)
    if found is None:
        raise InvalidApiKeyError("the key that opened this page is no longer valid; run `svc open` with a valid one")
    return found
