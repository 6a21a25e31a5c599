"""What PostgreSQL itself notes of each turn's owners, to prove that a turn is taken once, and from a dead one only."""

from __future__ import annotations

import asyncpg

from svc.service.store.address import PostgresAddress

RACE_SECONDS = 0.1  # a lease that was renewed while a turn was being taken was not to be seen yet
TAKING_SECONDS = 0.02  # that a take-over lasts longer, so that others come in between
_TRAIL = f"""
CREATE TABLE owner_trail (
  number BIGINT GENERATED ALWAYS AS IDENTITY,
  session BIGINT, turn BIGINT, old_fence BIGINT, new_fence BIGINT, old_owner TEXT, new_owner TEXT,
  began DOUBLE PRECISION, seconds_left DOUBLE PRECISION
);
CREATE FUNCTION note_owner() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF OLD.running_turn <> 0 AND NEW.running_turn <> 0 THEN PERFORM pg_sleep({TAKING_SECONDS}); END IF;
  INSERT INTO owner_trail (session, turn, old_fence, new_fence, old_owner, new_owner, began, seconds_left)
  SELECT NEW.number, NEW.running_turn, OLD.fence, NEW.fence, OLD.owner, NEW.owner,
    extract(epoch FROM statement_timestamp()),
    (SELECT extract(epoch FROM r.lease_until - statement_timestamp()) FROM replicas r WHERE r.id = OLD.owner);
  RETURN NULL;
END $$;
CREATE TRIGGER owner_trail AFTER UPDATE ON sessions FOR EACH ROW
  WHEN (OLD.fence <> NEW.fence OR OLD.owner <> NEW.owner) EXECUTE FUNCTION note_owner();
"""
_WRONG = """
SELECT number, session, turn, old_fence, new_fence, old_owner, new_owner, seconds_left FROM owner_trail
WHERE new_fence < old_fence
  OR (new_owner <> '' AND new_fence <> old_fence + 1)
  OR (old_owner <> '' AND new_owner <> '' AND seconds_left > 0 AND seconds_left < $1::double precision - $2)
ORDER BY number
"""
_TAKEN = "SELECT count(*) FROM owner_trail WHERE turn <> 0 AND new_owner <> '' AND old_owner <> ''"


class OwnerAudit:
    """The trail of a database; no turn may be cancelled elsewhere meanwhile, which takes it from a living service."""

    def __init__(self, database: PostgresAddress, lease_seconds: float) -> None:
        self._database = database
        self._lease_seconds = lease_seconds

    async def start(self) -> None:
        """Note every change from now on."""
        await self._run("execute", _TRAIL)

    async def taken(self) -> int:
        """How many turns were taken from a service that did not give them up."""
        return await self._run("fetchval", _TAKEN)

    async def check(self) -> None:
        """Every owner got its turn under a new fence, and none from a service whose lease lived."""
        wrong = await self._run("fetch", _WRONG, self._lease_seconds, RACE_SECONDS)
        assert not wrong, f"taken from a living service, or under an old fence: {[dict(row) for row in wrong]}"

    async def _run(self, method: str, *arguments: object) -> object:
        connection = await asyncpg.connect(self._database.url)
        try:
            return await getattr(connection, method)(*arguments)
        finally:
            await connection.close()
