-- A user's attached files are stored once for each content: rows of the same id share the bytes on the disk, which are
-- removed with the last row. What they take is counted once for the user, so it is no longer part of a session's bytes.

DROP TRIGGER file_inserted;
DROP TRIGGER file_deleted;
DROP TRIGGER file_attached;
DROP TRIGGER file_detached;

CREATE TABLE shared_files (
  number INTEGER PRIMARY KEY,
  session_number INTEGER NOT NULL REFERENCES sessions (number) ON DELETE CASCADE,
  user_id TEXT NOT NULL,
  id TEXT NOT NULL,
  sha256 TEXT NOT NULL,
  size BIGINT NOT NULL,
  record TEXT NOT NULL
);
INSERT INTO shared_files
  SELECT f.number, f.session_number, s.user_id, f.id, json_extract(f.record, '$.sha256'),
    json_extract(f.record, '$.size'), f.record
  FROM files f JOIN sessions s ON s.number = f.session_number;
DROP TABLE files;
ALTER TABLE shared_files RENAME TO files;
CREATE INDEX files_of_session ON files (session_number);
CREATE INDEX files_by_id ON files (id);
CREATE INDEX files_of_content ON files (user_id, sha256);

UPDATE sessions SET bytes = bytes - (SELECT coalesce(sum(size), 0) FROM files WHERE session_number = sessions.number);
UPDATE users SET bytes = bytes + (SELECT coalesce(sum(size), 0) FROM files WHERE user_id = users.id);

CREATE TRIGGER file_inserted AFTER INSERT ON files
WHEN NOT EXISTS (SELECT 1 FROM files WHERE id = NEW.id AND number <> NEW.number) BEGIN
  UPDATE users SET bytes = bytes + NEW.size WHERE id = NEW.user_id;
END;
CREATE TRIGGER file_deleted AFTER DELETE ON files WHEN NOT EXISTS (SELECT 1 FROM files WHERE id = OLD.id) BEGIN
  UPDATE users SET bytes = bytes - OLD.size WHERE id = OLD.user_id;
END;
CREATE TRIGGER file_shared AFTER UPDATE OF id ON files WHEN NOT EXISTS (SELECT 1 FROM files WHERE id = OLD.id) BEGIN
  UPDATE users SET bytes = bytes - OLD.size WHERE id = OLD.user_id;
END;
CREATE TRIGGER file_attached AFTER INSERT ON files BEGIN
  DELETE FROM file_journal WHERE id = NEW.id;
END;
CREATE TRIGGER file_detached AFTER DELETE ON files WHEN NOT EXISTS (SELECT 1 FROM files WHERE id = OLD.id) BEGIN
  INSERT OR REPLACE INTO file_journal (id, state) VALUES (OLD.id, 'removing');
END;
CREATE TRIGGER file_replaced AFTER UPDATE OF id ON files WHEN NOT EXISTS (SELECT 1 FROM files WHERE id = OLD.id) BEGIN
  INSERT OR REPLACE INTO file_journal (id, state) VALUES (OLD.id, 'removing');
END;
