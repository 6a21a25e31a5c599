-- works with: 9
-- Since when a file is being received, in seconds since the epoch: a service that was killed leaves its row behind.
ALTER TABLE file_journal
  ADD COLUMN since DOUBLE PRECISION NOT NULL DEFAULT extract(epoch FROM clock_timestamp())::double precision;
