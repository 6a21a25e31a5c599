-- A user whose name is an address has an email: that address.
UPDATE keys SET record = json_set(record, '$.email', json_extract(record, '$.user_id'))
WHERE coalesce(json_extract(record, '$.email'), '') = '' AND is_email(json_extract(record, '$.user_id'));
