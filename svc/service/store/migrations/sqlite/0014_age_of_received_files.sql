-- Since when a file is being received, in seconds since the epoch: a service that was killed leaves its row behind.
ALTER TABLE file_journal ADD COLUMN since REAL NOT NULL DEFAULT 0;
