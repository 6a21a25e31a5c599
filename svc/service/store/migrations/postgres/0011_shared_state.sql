-- works with: 9
--
-- What several services must know together. SQLite has one service, which keeps codes and counts in its memory.

-- The local tools that users have allowed for a session: SHA-256 of each tool as it was offered, as a list in JSON.
ALTER TABLE sessions ADD COLUMN consents TEXT NOT NULL DEFAULT '[]';

-- Tickets and sign-in codes by their SHA-256, which is all that is known of them here.
CREATE TABLE once_codes (
  number BIGINT GENERATED ALWAYS AS IDENTITY,
  kind TEXT COLLATE "C" NOT NULL,
  digest BYTEA NOT NULL,
  user_id TEXT COLLATE "C" NOT NULL,
  content BYTEA NOT NULL,
  expires DOUBLE PRECISION NOT NULL,
  PRIMARY KEY (digest, kind)
);
CREATE INDEX once_codes_of_user ON once_codes (user_id, kind, number);
CREATE INDEX once_codes_by_end ON once_codes (expires);

-- What accounts used within a quota's window, in sixtieths of it. Not in the write-ahead log: a request must not wait
-- for the disk, and after a crash of the server counting begins at 0, as it does where a service counts in memory.
CREATE UNLOGGED TABLE quota_windows (
  quota TEXT COLLATE "C" NOT NULL,
  account TEXT COLLATE "C" NOT NULL,
  slots BIGINT[] NOT NULL,
  amounts DOUBLE PRECISION[] NOT NULL,
  until DOUBLE PRECISION NOT NULL,
  PRIMARY KEY (quota, account)
) WITH (fillfactor = 50);

-- What accounts hold now (open streams, running turns): for each service an amount, and until when it counts.
CREATE UNLOGGED TABLE quota_holds (
  quota TEXT COLLATE "C" NOT NULL,
  account TEXT COLLATE "C" NOT NULL,
  services TEXT[] NOT NULL,
  amounts BIGINT[] NOT NULL,
  untils DOUBLE PRECISION[] NOT NULL,
  PRIMARY KEY (quota, account)
) WITH (fillfactor = 50);
