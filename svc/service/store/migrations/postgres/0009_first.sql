-- What SQLite has after nine migrations. Times are seconds since the epoch.
--
-- A session's row is its lock: it holds the last seq, the running turn, the turn's fence and owner. Every append moves
-- and checks them in one UPDATE, so an append that waited for the row behind a take-over is refused.

CREATE TABLE keys (
  id TEXT COLLATE "C" PRIMARY KEY,
  digest TEXT COLLATE "C" NOT NULL UNIQUE,
  created DOUBLE PRECISION NOT NULL,
  revoked DOUBLE PRECISION NOT NULL DEFAULT 0,
  record TEXT NOT NULL
);

CREATE SEQUENCE session_numbers;
CREATE TABLE sessions (
  number BIGINT PRIMARY KEY DEFAULT nextval('session_numbers'),
  id TEXT COLLATE "C" NOT NULL UNIQUE,
  user_id TEXT COLLATE "C" NOT NULL,
  org_id TEXT NOT NULL,
  model TEXT NOT NULL,
  ttl BIGINT NOT NULL,
  language TEXT NOT NULL,
  name TEXT NOT NULL,
  description TEXT NOT NULL,
  create_time BIGINT NOT NULL,
  update_time BIGINT NOT NULL,
  expire_time BIGINT NOT NULL,
  can_log INTEGER NOT NULL,
  instructions TEXT NOT NULL,
  last_seq BIGINT NOT NULL DEFAULT 0,
  turns BIGINT NOT NULL DEFAULT 0,
  usage TEXT NOT NULL,
  local_tools TEXT NOT NULL DEFAULT '[]',
  bytes BIGINT NOT NULL DEFAULT 0,
  title TEXT NOT NULL DEFAULT '',
  registered_tools TEXT NOT NULL DEFAULT '[]',
  agents_config TEXT NOT NULL DEFAULT '',
  running_turn BIGINT NOT NULL DEFAULT 0,
  fence BIGINT NOT NULL DEFAULT 0,
  owner TEXT COLLATE "C" NOT NULL DEFAULT ''
) WITH (fillfactor = 70);
CREATE INDEX sessions_of_user ON sessions (user_id, create_time);
CREATE INDEX live_sessions_of_user ON sessions (user_id, expire_time);
CREATE INDEX sessions_by_end ON sessions (expire_time);
CREATE INDEX sessions_running ON sessions (owner) WHERE running_turn <> 0;

CREATE SEQUENCE turn_numbers;
CREATE TABLE turns (
  number BIGINT PRIMARY KEY,
  session_number BIGINT NOT NULL,
  id TEXT COLLATE "C" NOT NULL,
  query_id TEXT COLLATE "C" NOT NULL,
  query_seq BIGINT NOT NULL,
  state TEXT NOT NULL,
  attempts INTEGER NOT NULL,
  started DOUBLE PRECISION NOT NULL,
  ended DOUBLE PRECISION NOT NULL DEFAULT 0,
  UNIQUE (session_number, id),
  UNIQUE (session_number, query_id)
);

-- No foreign keys: what deletes a session deletes its rows. They would double what an append costs.
CREATE TABLE messages (
  session_number BIGINT NOT NULL,
  seq BIGINT NOT NULL,
  turn_number BIGINT NOT NULL,
  message_type TEXT NOT NULL,
  id TEXT COLLATE "C" NOT NULL,
  body BYTEA NOT NULL,
  PRIMARY KEY (session_number, seq)
);
CREATE INDEX messages_by_id ON messages (session_number, id);
CREATE INDEX messages_of_history ON messages (session_number, seq) WHERE message_type IN ('query', 'source', 'result');
CREATE UNIQUE INDEX one_result ON messages (turn_number) WHERE message_type = 'result';

CREATE TABLE files (
  number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  session_number BIGINT NOT NULL,
  user_id TEXT COLLATE "C" NOT NULL,
  id TEXT COLLATE "C" NOT NULL,
  sha256 TEXT COLLATE "C" NOT NULL,
  size BIGINT NOT NULL,
  record TEXT NOT NULL
);
CREATE INDEX files_of_session ON files (session_number);
CREATE INDEX files_by_id ON files (id);
CREATE INDEX files_of_content ON files (user_id, sha256);

CREATE TABLE feedback (
  number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  session_number BIGINT NOT NULL,
  group_id TEXT NOT NULL,
  type TEXT NOT NULL,
  score INTEGER NOT NULL,
  comment TEXT NOT NULL,
  created DOUBLE PRECISION NOT NULL
);
CREATE INDEX feedback_of_session ON feedback (session_number);

CREATE TABLE meta (
  name TEXT COLLATE "C" PRIMARY KEY,
  value BYTEA NOT NULL
);

-- Files that are being received or removed; as in SQLite, only these are ever deleted from the disk.
CREATE TABLE file_journal (
  id TEXT COLLATE "C" PRIMARY KEY,
  state TEXT NOT NULL
);
