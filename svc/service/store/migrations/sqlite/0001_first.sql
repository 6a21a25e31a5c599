-- Sessions, turns, messages, files, keys. Times are seconds since the epoch.

CREATE TABLE keys (
  id TEXT PRIMARY KEY,
  digest TEXT NOT NULL UNIQUE,
  created DOUBLE PRECISION NOT NULL,
  revoked DOUBLE PRECISION NOT NULL DEFAULT 0,
  record TEXT NOT NULL
);

CREATE TABLE sessions (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  user_id TEXT NOT NULL,
  org_id TEXT NOT NULL,
  model TEXT NOT NULL,
  ttl INTEGER NOT NULL,
  language TEXT NOT NULL,
  name TEXT NOT NULL,
  description TEXT NOT NULL,
  create_time BIGINT NOT NULL,
  update_time BIGINT NOT NULL,
  expire_time BIGINT NOT NULL,
  can_log INTEGER NOT NULL,
  instructions TEXT NOT NULL,
  last_seq INTEGER NOT NULL DEFAULT 0,
  turns INTEGER NOT NULL DEFAULT 0,
  usage TEXT NOT NULL
);
CREATE INDEX sessions_of_user ON sessions (user_id, create_time);
CREATE INDEX sessions_by_end ON sessions (expire_time);

-- `owner` holds the lease (empty: released), `fence` grows with each takeover, and every append checks it.
CREATE TABLE turns (
  number INTEGER PRIMARY KEY,
  session_number INTEGER NOT NULL REFERENCES sessions (number) ON DELETE CASCADE,
  id TEXT NOT NULL,
  query_id TEXT NOT NULL,
  query_seq INTEGER NOT NULL,
  state TEXT NOT NULL,
  owner TEXT NOT NULL,
  fence INTEGER NOT NULL,
  attempts INTEGER NOT NULL,
  started DOUBLE PRECISION NOT NULL,
  ended DOUBLE PRECISION NOT NULL DEFAULT 0,
  UNIQUE (session_number, id),
  UNIQUE (session_number, query_id)
);
CREATE UNIQUE INDEX one_running_turn ON turns (session_number) WHERE state = 'running';

CREATE TABLE messages (
  session_number INTEGER NOT NULL REFERENCES sessions (number) ON DELETE CASCADE,
  seq INTEGER NOT NULL,
  turn_number INTEGER NOT NULL REFERENCES turns (number) ON DELETE CASCADE,
  message_type TEXT NOT NULL,
  id TEXT NOT NULL,
  body BLOB NOT NULL,
  PRIMARY KEY (session_number, seq)
);
CREATE INDEX messages_of_turn ON messages (turn_number);
-- The messages of a session's history: few among many that only show progress.
CREATE INDEX messages_of_history ON messages (session_number, seq) WHERE message_type IN ('query', 'source', 'result');
CREATE UNIQUE INDEX one_result ON messages (turn_number) WHERE message_type = 'result';

CREATE TABLE files (
  number INTEGER PRIMARY KEY,
  session_number INTEGER NOT NULL REFERENCES sessions (number) ON DELETE CASCADE,
  id TEXT NOT NULL UNIQUE,
  record TEXT NOT NULL
);
CREATE INDEX files_of_session ON files (session_number);

CREATE TABLE feedback (
  number INTEGER PRIMARY KEY,
  session_number INTEGER NOT NULL REFERENCES sessions (number) ON DELETE CASCADE,
  group_id TEXT NOT NULL,
  type TEXT NOT NULL,
  score INTEGER NOT NULL,
  comment TEXT NOT NULL,
  created DOUBLE PRECISION NOT NULL
);
CREATE INDEX feedback_of_session ON feedback (session_number);
