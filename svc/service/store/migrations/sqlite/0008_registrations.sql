-- What a registration brings along besides the session's own fields: its client's tools, and its settings of agents.
ALTER TABLE sessions ADD COLUMN registered_tools TEXT NOT NULL DEFAULT '[]';
ALTER TABLE sessions ADD COLUMN agents_config TEXT NOT NULL DEFAULT '';

-- The group of feedback may be a text, which counts like the comment.
DROP TRIGGER IF EXISTS feedback_inserted;
CREATE TRIGGER feedback_inserted AFTER INSERT ON feedback BEGIN
  UPDATE sessions SET bytes = bytes + length(CAST(new.comment AS BLOB)) + length(CAST(new.group_id AS BLOB))
  WHERE number = new.session_number;
END;
