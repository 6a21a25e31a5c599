-- The key that asked, so that a turn counts for its quotas after a restart, too. Empty: not known, or not run.
ALTER TABLE turns ADD COLUMN key_id TEXT NOT NULL DEFAULT '';
