-- A session's first question, in one short line, so that a list of sessions says what they are about.
ALTER TABLE sessions ADD COLUMN title TEXT NOT NULL DEFAULT '';
UPDATE sessions SET title = coalesce((
  SELECT substr(trim(replace(replace(replace(json_extract(CAST(body AS TEXT), '$.content'), char(13), ' '), char(10), ' '),
    char(9), ' ')), 1, 80)
  FROM messages WHERE session_number = sessions.number AND message_type = 'query' ORDER BY seq LIMIT 1), '');
