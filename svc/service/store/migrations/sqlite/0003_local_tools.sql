-- The tools offered with a session's last query, as a JSON list: a turn that is recovered needs them too.
ALTER TABLE sessions ADD COLUMN local_tools TEXT NOT NULL DEFAULT '[]';
