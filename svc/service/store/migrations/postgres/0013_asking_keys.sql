-- works with: 9
-- The key that asked, so that a turn counts for its quotas wherever it runs. Empty: not known, or not run by a service.
ALTER TABLE turns ADD COLUMN key_id TEXT NOT NULL DEFAULT '';
