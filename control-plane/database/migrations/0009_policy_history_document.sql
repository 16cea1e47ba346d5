-- Up Migration

-- What a document was before a write, and at a revision.
create index policy_history_document on policy_history (workspace_id, layer, key, part, revision);

-- Down Migration
drop index policy_history_document;
