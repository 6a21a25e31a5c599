"""The homes of unlogged sessions, in the database that several services share."""

from __future__ import annotations

from collections.abc import Iterable

from svc.service.store.homes import Home, session_digest, user_digest
from svc.service.store.postgres.store import PostgresStore

_LIVES = "EXISTS (SELECT 1 FROM replicas r WHERE r.id = {} AND r.lease_until > clock_timestamp())"
_CLAIM = f"""
INSERT INTO unlogged_homes AS h (digest, user_digest, replica, address) VALUES ($1, $2, $3, $4)
ON CONFLICT (digest) DO UPDATE
SET user_digest = excluded.user_digest, replica = excluded.replica, address = excluded.address
WHERE h.replica = excluded.replica OR NOT {_LIVES.format("h.replica")}
RETURNING 1
"""  # noqa: S608
_FIND = f"""
SELECT h.replica, h.address FROM unlogged_homes h
WHERE h.digest = $1 AND h.replica <> $2 AND {_LIVES.format("h.replica")}
"""  # noqa: S608
_OF_USER = f"""
SELECT DISTINCT h.replica, h.address FROM unlogged_homes h
WHERE h.user_digest = $1 AND h.replica <> $2 AND {_LIVES.format("h.replica")}
"""  # noqa: S608
_RELEASE = "DELETE FROM unlogged_homes WHERE digest = ANY($1) AND replica = $2"


class PostgresHomes:
    """A ``Homes``. ``own`` is this service."""

    def __init__(self, store: PostgresStore, own: Home) -> None:
        self._store = store
        self._own = own

    async def claim(self, session_id: str, user_id: str) -> Home | None:
        """Make this service the session's home; returns another that is its home already, or None."""
        values = (session_digest(session_id), user_digest(user_id), self._own.replica, self._own.address)
        while await self._store.run(lambda c: c.fetchval(_CLAIM, *values)) is None:
            if (home := await self.find(session_id)) is not None:
                return home
        return None

    async def release(self, session_ids: Iterable[str]) -> None:
        """Forget these sessions of this service."""
        digests = [session_digest(session_id) for session_id in session_ids]
        if digests:
            await self._store.run(lambda c: c.execute(_RELEASE, digests, self._own.replica))

    async def find(self, session_id: str) -> Home | None:
        """The other service that is the session's home; None if there is none."""
        row = await self._store.run(lambda c: c.fetchrow(_FIND, session_digest(session_id), self._own.replica))
        return None if row is None else Home(*row)

    async def of_user(self, user_id: str) -> list[Home]:
        """The other services that hold sessions of this user."""
        rows = await self._store.run(lambda c: c.fetch(_OF_USER, user_digest(user_id), self._own.replica))
        return [Home(*row) for row in rows]

    async def is_alive(self, home: Home) -> bool:
        """Whether that service holds a lease."""
        return bool(await self._store.run(lambda c: c.fetchval(f"SELECT {_LIVES.format('$1')}", home.replica)))
