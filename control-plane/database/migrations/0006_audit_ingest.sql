-- Up Migration

-- For who follows the log in the order in which entries came in: the live stream and the export.
create index audit_entry_ingest on audit_entry (workspace_id, ingest);

-- Down Migration
drop index audit_entry_ingest;
