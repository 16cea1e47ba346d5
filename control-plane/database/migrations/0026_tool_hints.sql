-- Up Migration

-- [[tool, digest of its definition, {hint: boolean}]]: what definitions that were discovered or admitted say of their
-- tools. Servers that were discovered before have none until they are discovered again. The lock is short: a constant
-- default writes no rows.
alter table tool_server add column hints json not null default '[]';

-- Down Migration
alter table tool_server drop column hints;
