-- Up Migration

-- The cases in the rules of a document, and the length of their conditions, so that a write counts those of a workspace without reading
-- its documents. A version before cases writes documents without any.
alter table policy_document add column cases integer not null default 0, add column condition_bytes integer not null default 0;

-- Down Migration
alter table policy_document drop column condition_bytes, drop column cases;
