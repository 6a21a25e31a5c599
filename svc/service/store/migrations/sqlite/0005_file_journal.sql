-- What the service remembers of itself, such as its clock.
CREATE TABLE meta (
  name TEXT PRIMARY KEY,
  value BLOB NOT NULL
);

-- Files that are being received or removed. Only a file that is named here, or in `files`, is ever deleted from the disk.
CREATE TABLE file_journal (
  id TEXT PRIMARY KEY,
  state TEXT NOT NULL
);
CREATE TRIGGER file_attached AFTER INSERT ON files BEGIN
  DELETE FROM file_journal WHERE id = NEW.id;
END;
CREATE TRIGGER file_detached AFTER DELETE ON files BEGIN
  INSERT OR REPLACE INTO file_journal (id, state) VALUES (OLD.id, 'removing');
END;
