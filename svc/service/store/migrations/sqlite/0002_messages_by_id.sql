-- A query's id and its parent are looked for among all messages of the session, before each turn.

CREATE INDEX messages_by_id ON messages (session_number, id);
