"""The store on a PostgreSQL database that several services use at once. Facts: docs/how_to/postgresql.md.

Leases are renewed on a connection of their own, so that no other statement delays them.
"""

from __future__ import annotations

from collections.abc import Sequence

from svc.service.store.address import PostgresAddress
from svc.service.store.postgres.beginnings import turn_of
from svc.service.store.postgres.links import Links
from svc.service.store.postgres.statements import HELD, NEIGHBOURS, SEIZE, TAKE_OVER, WORK
from svc.service.store.postgres.store import PATIENCE_SECONDS, PostgresStore
from svc.service.store.records import TurnRecord
from svc.service.store.shared import Neighbours, OwnerRequest, TurnsWaiting, Work

LEASE_LINK_SECONDS = 3.0
EVERYTHING = 2**31 - 1
_RENEW = """
WITH dead AS (
  DELETE FROM replicas WHERE lease_until < clock_timestamp() - interval '1 hour' AND id <> $1
), old AS (
  DELETE FROM replica_requests WHERE created < clock_timestamp() - interval '10 minutes'
)
INSERT INTO replicas (id, lease_until, answers_by) VALUES ($1, clock_timestamp() + make_interval(secs => $2), $3)
ON CONFLICT (id) DO UPDATE SET lease_until = excluded.lease_until, answers_by = excluded.answers_by
"""
_ASK = """
INSERT INTO replica_requests (id, owner, session_id, turn_number, kind, body)
SELECT $1, owner, id, running_turn, $4, $5 FROM sessions WHERE id = $2 AND running_turn = $3 AND owner <> '' RETURNING 1
"""
_REQUESTS = """
SELECT id, session_id, turn_number, kind, body FROM replica_requests
WHERE owner = $1 AND reply IS NULL ORDER BY created
"""
_TAKE_REPLY = "DELETE FROM replica_requests WHERE id = $1 AND reply IS NOT NULL RETURNING reply"


class SharedPostgresStore(PostgresStore):
    """A ``SharedStore``."""

    def __init__(self, address: PostgresAddress, *, patience_seconds: float = PATIENCE_SECONDS) -> None:
        super().__init__(address, patience_seconds=patience_seconds)
        self._lease_links = Links(address, 1, LEASE_LINK_SECONDS)

    async def close(self) -> None:
        """Finish accepted appends, then close the connections."""
        await super().close()
        await self._lease_links.close()

    async def renew(self, replica: str, seconds: float, answers_by: str = "") -> None:
        """Let the replica's lease end so many seconds from now; ``answers_by`` identifies how it answers."""
        await self._run(lambda c: c.execute(_RENEW, replica, float(seconds), answers_by), links=self._lease_links)

    async def leave(self, replica: str) -> None:
        """End the replica's lease now."""
        await self._run(lambda c: c.execute("DELETE FROM replicas WHERE id = $1", replica), links=self._lease_links)

    async def claim_orphans(self, *, owner: str) -> list[TurnRecord]:
        """Take every running turn that no living replica owns."""
        return await self.take_over(owner=owner, limit=EVERYTHING)

    async def work_for(self, owner: str, watched: Sequence[str] = ()) -> Work:
        """What there is to do for this replica, and the heads of the sessions that it watches."""
        row = await self._read(lambda c: c.fetchrow(WORK, owner, watched))
        return Work(row[0], row[1], row[2], dict(zip(row[3], row[4], strict=True)))

    async def take_over(self, *, owner: str, limit: int) -> list[TurnRecord]:
        """Take running turns that no living replica owns, the oldest first."""
        return [self._taken(row) for row in await self._write(lambda c: c.fetch(TAKE_OVER, owner, limit))]

    async def seize(self, turn: TurnRecord, *, owner: str) -> TurnRecord | None:
        """Take a running turn from its owner; None if it has ended or its fence has grown since."""
        row = await self._write(lambda c: c.fetchrow(SEIZE, owner, turn.session_id, turn.number, turn.fence))
        return None if row is None else self._taken(row)

    async def held(self, owner: str) -> list[TurnRecord]:
        """The running turns of this owner."""
        return [turn_of(row) for row in await self._read(lambda c: c.fetch(HELD, owner))]

    async def neighbours(self, answers_by: str) -> Neighbours:
        """The running turns that no living replica owns, and how many replicas answer by something else."""
        row = await self._run(lambda c: c.fetchrow(NEIGHBOURS, answers_by), links=self._lease_links)
        return Neighbours(TurnsWaiting(row[0], row[1]), row[2])

    async def ask_owner(self, request: OwnerRequest) -> bool:
        """Leave a request for the replica that runs the turn; False if nobody does."""
        values = (request.id, request.session_id, request.turn_number, request.kind, request.body)
        return await self._write(lambda c: c.fetchval(_ASK, *values)) is not None

    async def requests_for(self, owner: str) -> list[OwnerRequest]:
        """The requests that this replica has not answered."""
        rows = await self._read(lambda c: c.fetch(_REQUESTS, owner))
        return [
            OwnerRequest(id=row[0], session_id=row[1], turn_number=row[2], kind=row[3], body=row[4]) for row in rows
        ]

    async def reply(self, request_id: str, reply: bytes) -> None:
        """Answer a request."""
        sql = "UPDATE replica_requests SET reply = $2 WHERE id = $1"
        await self._write(lambda c: c.execute(sql, request_id, reply))

    async def take_reply(self, request_id: str) -> bytes | None:
        """The answer to a request, which is forgotten with it; None if there is none yet."""
        reply: bytes | None = await self._write(lambda c: c.fetchval(_TAKE_REPLY, request_id))
        return reply

    async def drop_request(self, request_id: str) -> None:
        """Forget a request that nobody answered."""
        await self._write(lambda c: c.execute("DELETE FROM replica_requests WHERE id = $1", request_id))
