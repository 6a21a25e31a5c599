-- works with: 9
-- Which service holds an unlogged session: SHA-256 of the session's id and of its user, the service and its address.
-- Everything else about such a session is in that service's memory. The rows of a service end with its lease's row.
CREATE TABLE unlogged_homes (
  digest BYTEA PRIMARY KEY,
  user_digest BYTEA NOT NULL,
  replica TEXT COLLATE "C" NOT NULL REFERENCES replicas (id) ON DELETE CASCADE,
  address TEXT NOT NULL
);
CREATE INDEX unlogged_homes_of_user ON unlogged_homes (user_digest);
CREATE INDEX unlogged_homes_of_replica ON unlogged_homes (replica);
