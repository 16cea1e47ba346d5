-- Up Migration

-- Side by side: only how new values are stored changes.

-- Hashes do not become smaller, so PostgreSQL need not try to compress them.
alter table audit_sent alter column hashes set storage external;

-- Down Migration
alter table audit_sent alter column hashes set storage extended;
