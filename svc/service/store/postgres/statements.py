"""Longer statements of the store on PostgreSQL. Pure."""

from __future__ import annotations

from svc.service.store.rows import SESSION_VALUES

NOW = "extract(epoch FROM clock_timestamp())::double precision"
"""The database's time, in seconds since the epoch: the same for all services, whatever their own clocks say."""
TURN_COLUMNS = (
    "s.id, t.id, t.number, t.query_id, t.query_seq, t.state,"
    " CASE WHEN s.running_turn = t.number THEN s.fence ELSE 0 END, t.attempts, t.key_id"
    " FROM turns t JOIN sessions s ON s.number = t.session_number"
)
_SESSION = f"""
SELECT {SESSION_VALUES}, s.running_turn <> 0,
  (SELECT coalesce(array_agg(f.record ORDER BY f.number), '{{}}') FROM files f WHERE f.session_number = s.number),
  s.local_tools, s.title, s.registered_tools, s.agents_config, s.id
"""  # noqa: S608
SESSION = f"{_SESSION} FROM sessions s"
SESSION_FOR_QUERY = f"""
{_SESSION}, EXISTS (SELECT 1 FROM turns t WHERE t.session_number = s.number AND t.query_id = $2)
FROM sessions s WHERE s.id = $1
"""  # noqa: S608
_FREE = "SELECT number FROM sessions WHERE running_turn <> 0 AND owner <> $1 ORDER BY number FOR UPDATE SKIP LOCKED"
_FREE_ONE = "SELECT number FROM sessions WHERE id = $2 AND running_turn = $3 AND fence = $4 AND owner = '' FOR UPDATE"
_WITHOUT_OWNER = """
  SELECT s.number FROM sessions s WHERE s.running_turn <> 0 AND s.owner <> $1 AND NOT EXISTS (
    SELECT 1 FROM replicas r WHERE r.id = s.owner AND r.lease_until > clock_timestamp()
  ) ORDER BY s.running_turn LIMIT $2 FOR UPDATE OF s SKIP LOCKED
"""
WORK = """
SELECT EXISTS (SELECT 1 FROM replica_requests WHERE owner = $1 AND reply IS NULL),
  EXISTS (SELECT 1 FROM sessions WHERE running_turn <> 0 AND owner = $1),
  EXISTS (
    SELECT 1 FROM sessions s WHERE s.running_turn <> 0 AND s.owner <> $1 AND NOT EXISTS (
      SELECT 1 FROM replicas r WHERE r.id = s.owner AND r.lease_until > clock_timestamp()
    )
  ), heads.ids, heads.seqs
FROM (
  SELECT coalesce(array_agg(id), '{}') AS ids, coalesce(array_agg(last_seq), '{}') AS seqs
  FROM sessions WHERE id = ANY($2)
) AS heads
"""
NEIGHBOURS = """
SELECT count(*), greatest(0, extract(epoch FROM clock_timestamp()) - min(t.started))::double precision, (
  SELECT count(*) FROM replicas WHERE lease_until > clock_timestamp() AND answers_by NOT IN ('', $1)
)
FROM sessions s JOIN turns t ON t.number = s.running_turn
WHERE s.running_turn <> 0 AND NOT EXISTS (
  SELECT 1 FROM replicas r WHERE r.id = s.owner AND r.lease_until > clock_timestamp()
)
"""
_SEIZED = "SELECT number FROM sessions WHERE id = $2 AND running_turn = $3 AND fence = $4 FOR UPDATE"
_TAKE = """
WITH free AS (
  {free}
), taken AS (
  UPDATE sessions s SET owner = $1, fence = s.fence + 1 FROM free WHERE s.number = free.number
  RETURNING s.number, s.id, s.running_turn, s.fence, s.last_seq, s.usage
), counted AS (
  UPDATE turns t SET attempts = t.attempts + 1 FROM taken WHERE t.number = taken.running_turn
  RETURNING t.number, t.id, t.query_id, t.query_seq, t.state, t.attempts, t.key_id
)
SELECT taken.id, t.id, t.number, t.query_id, t.query_seq, t.state, taken.fence, t.attempts, t.key_id,
  taken.number, taken.last_seq, taken.usage
FROM counted t JOIN taken ON taken.running_turn = t.number ORDER BY t.number
"""
CLAIM, CLAIM_ONE = _TAKE.format(free=_FREE), _TAKE.format(free=_FREE_ONE)
TAKE_OVER, SEIZE = _TAKE.format(free=_WITHOUT_OWNER), _TAKE.format(free=_SEIZED)
HELD = f"SELECT {TURN_COLUMNS} WHERE s.owner = $1 AND s.running_turn <> 0 AND t.number = s.running_turn"
RELEASE = """
WITH released AS (
  UPDATE sessions SET owner = '' WHERE running_turn = $1 AND fence = $2 AND id = $3 RETURNING running_turn
)
UPDATE turns SET attempts = attempts - 1 FROM released WHERE number = released.running_turn
"""
TURN_MESSAGES = """
SELECT m.body FROM messages m JOIN turns t ON t.session_number = m.session_number
WHERE t.number = $1 AND m.seq >= t.query_seq AND m.seq < coalesce(
  (SELECT min(n.query_seq) FROM turns n WHERE n.session_number = t.session_number AND n.query_seq > t.query_seq),
  9223372036854775807)
ORDER BY m.seq
"""
EXCHANGES = """
SELECT body, turn_number FROM (
  SELECT m.seq, m.body, m.turn_number, sum(length(m.body)) OVER (ORDER BY m.seq DESC) AS size
  FROM messages m JOIN turns t ON t.number = m.turn_number JOIN sessions s ON s.number = m.session_number
  WHERE s.id = $1 AND t.state = 'answered' AND m.message_type IN ('query', 'source', 'result')
) AS newest WHERE size <= $2 ORDER BY seq
"""
BYTES = """
SELECT (SELECT coalesce(sum(bytes), 0) FROM sessions WHERE $1::text IS NULL OR user_id = $1)
  + (SELECT coalesce(sum(size), 0)
     FROM (SELECT DISTINCT id, size FROM files WHERE $1::text IS NULL OR user_id = $1) AS contents)
"""
