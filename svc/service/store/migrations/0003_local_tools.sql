-- The tools that the client of a session's last query offered, a JSON list: a turn that is taken up again has them, too.
ALTER TABLE sessions ADD COLUMN local_tools TEXT NOT NULL DEFAULT '[]';
