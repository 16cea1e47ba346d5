-- Up Migration
-- The highest revision of any workspace that was removed. One of the same slug begins there: sidecars may hold what the other had.
alter table deployment add column removed_revision bigint not null default 0;

-- Down Migration
alter table deployment drop column removed_revision;
