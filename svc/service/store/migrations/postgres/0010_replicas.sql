-- works with: 9
-- Several services on one database. A replica lives as long as its lease, by the clock of the database.

CREATE TABLE replicas (
  id TEXT COLLATE "C" PRIMARY KEY,
  lease_until TIMESTAMPTZ NOT NULL
);

-- What one replica asks of the one that runs a turn. A crash of the server may empty it: the asking one tries again.
CREATE UNLOGGED TABLE replica_requests (
  id TEXT COLLATE "C" PRIMARY KEY,
  owner TEXT COLLATE "C" NOT NULL,
  session_id TEXT COLLATE "C" NOT NULL,
  turn_number BIGINT NOT NULL,
  kind TEXT NOT NULL,
  body BYTEA NOT NULL,
  reply BYTEA,
  created TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX replica_requests_of_owner ON replica_requests (owner) WHERE reply IS NULL;
