"""One-time codes for all services of a database: the service that deletes the row has used the code."""

from __future__ import annotations

from svc.service.access.once_codes import CodeKind, code_digest
from svc.service.store.postgres.statements import NOW
from svc.service.store.postgres.store import PostgresStore

_ADD = f"""
WITH old AS (
  DELETE FROM once_codes WHERE $6 > 0 AND number IN (
    SELECT number FROM once_codes WHERE user_id = $3 AND kind = $1 ORDER BY number DESC OFFSET greatest($6 - 1, 0)
  )
)
INSERT INTO once_codes (kind, digest, user_id, content, expires) VALUES ($1, $2, $3, $4, {NOW} + $5)
"""  # noqa: S608
_TAKE = f"DELETE FROM once_codes WHERE kind = $1 AND digest = $2 AND expires > {NOW} RETURNING content"  # noqa: S608
_TAKE_AND_KEEP = f"""
UPDATE once_codes SET expires = least(expires, {NOW} + $3) WHERE kind = $1 AND digest = $2 AND expires > {NOW}
RETURNING content
"""  # noqa: S608
_SWEEP = f"DELETE FROM once_codes WHERE expires <= {NOW}"  # noqa: S608


class PostgresOnceCodes:
    """An ``OnceCodes``; times are the database's."""

    def __init__(self, store: PostgresStore) -> None:
        self._store = store

    async def add(
        self, kind: CodeKind, code: str, content: bytes, *, user_id: str, seconds: float, limit: int = 0
    ) -> None:
        """Keep what a new code stands for."""
        values = (kind, code_digest(code), user_id, content, float(seconds), limit)
        await self._store.run(lambda c: c.execute(_ADD, *values))

    async def take(self, kind: CodeKind, code: str, *, grace_seconds: float = 0.0) -> bytes | None:
        """Use up a code; within ``grace_seconds`` it may be used again."""
        values = (kind, code_digest(code), *([grace_seconds] if grace_seconds else []))
        sql = _TAKE_AND_KEEP if grace_seconds else _TAKE
        content: bytes | None = await self._store.run(lambda c: c.fetchval(sql, *values))
        return content

    async def sweep(self) -> None:
        """Drop the codes that have expired."""
        await self._store.run(lambda c: c.execute(_SWEEP))
