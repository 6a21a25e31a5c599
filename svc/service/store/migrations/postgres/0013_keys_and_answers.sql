-- works with: 9
-- The key that asked, so that a turn counts for its quotas wherever it runs. Empty: not known, or not run by a service.
ALTER TABLE turns ADD COLUMN key_id TEXT NOT NULL DEFAULT '';
-- What decides how a service answers (SHA-256), so that services which answer differently are noticed. Empty: not known.
ALTER TABLE replicas ADD COLUMN answers_by TEXT NOT NULL DEFAULT '';
