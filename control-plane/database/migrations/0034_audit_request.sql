-- Up Migration

-- Side by side: while it is built, entries wait in the spools of the sidecars, which send them again.

-- Finds the entries of a request by its id. An index on an expression and not a column: entries of a control plane of the
-- version before are found too, no row is written again, and COPY sends nothing more. The hash makes each index entry
-- 8 bytes, however long the id is. Its seed is the workspace, so a request id of another workspace has another hash.
create index audit_entry_request on audit_entry (hashtextextended(entry ->> 'requestId', workspace_id));

-- Down Migration
drop index audit_entry_request;
