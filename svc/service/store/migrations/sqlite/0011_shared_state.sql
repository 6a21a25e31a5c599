-- The local tools that users have allowed for a session: SHA-256 of each tool as it was offered, as a list in JSON.
ALTER TABLE sessions ADD COLUMN consents TEXT NOT NULL DEFAULT '[]';
