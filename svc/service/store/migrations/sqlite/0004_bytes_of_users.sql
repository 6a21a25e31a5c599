-- What each session and each user keeps, in bytes: messages, files, instructions and feedback. Counted in the same
-- transaction as what is stored, so it is exact after a crash, and a quota need not add up messages.

ALTER TABLE sessions ADD COLUMN bytes BIGINT NOT NULL DEFAULT 0;
CREATE INDEX live_sessions_of_user ON sessions (user_id, expire_time);
CREATE TABLE users (
  id TEXT PRIMARY KEY,
  bytes BIGINT NOT NULL
);

UPDATE sessions SET bytes = length(CAST(instructions AS BLOB))
  + (SELECT coalesce(sum(length(body)), 0) FROM messages WHERE session_number = sessions.number)
  + (SELECT coalesce(sum(json_extract(record, '$.size')), 0) FROM files WHERE session_number = sessions.number)
  + (SELECT coalesce(sum(length(CAST(comment AS BLOB))), 0) FROM feedback WHERE session_number = sessions.number);
INSERT INTO users SELECT user_id, sum(bytes) FROM sessions GROUP BY user_id;

CREATE TRIGGER session_inserted AFTER INSERT ON sessions BEGIN
  INSERT INTO users VALUES (new.user_id, new.bytes) ON CONFLICT (id) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER session_changed AFTER UPDATE OF bytes ON sessions BEGIN
  UPDATE users SET bytes = bytes + new.bytes - old.bytes WHERE id = new.user_id;
END;
CREATE TRIGGER session_deleted AFTER DELETE ON sessions BEGIN
  UPDATE users SET bytes = bytes - old.bytes WHERE id = old.user_id;
END;
CREATE TRIGGER file_inserted AFTER INSERT ON files BEGIN
  UPDATE sessions SET bytes = bytes + json_extract(new.record, '$.size') WHERE number = new.session_number;
END;
CREATE TRIGGER file_deleted AFTER DELETE ON files BEGIN
  UPDATE sessions SET bytes = bytes - json_extract(old.record, '$.size') WHERE number = old.session_number;
END;
CREATE TRIGGER feedback_inserted AFTER INSERT ON feedback BEGIN
  UPDATE sessions SET bytes = bytes + length(CAST(new.comment AS BLOB)) WHERE number = new.session_number;
END;
